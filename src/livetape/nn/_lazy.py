"""Namespaces whose names are loaded when first used, so that a program pays only for the layers it builds."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def lazy(package: str, table: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose modules define the names that ``table`` lists."""
    homes = {name: module for module, names in table.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in homes:
            found = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        elif name in table:
            found = importlib.import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module '{package.replace('livetape', 'torch', 1)}' has no attribute '{name}'")
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *table})

    return load, names, sorted(homes)
