"""Switches that a ``with`` sets for a while: attributes of a module."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def set_switches(module: str, values: dict[str, Any]) -> tuple[Any, ...]:
    """Set those attributes of a module for which a value is given; their former values, in order."""
    owner = sys.modules[module]
    before = tuple(getattr(owner, name) for name in values)
    for name, value in values.items():
        if value is not None:
            setattr(owner, name, value)
    return before


@contextmanager
def switched(module: str, values: dict[str, Any]) -> Iterator[None]:
    """Set them for the time of a block."""
    before = set_switches(module, values)
    try:
        yield
    finally:
        owner = sys.modules[module]
        for name, value in zip(values, before):
            setattr(owner, name, value)
