"""NNPACK, which there is none of (source: ``torch.backends.nnpack``)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from livetape.backends._switches import set_switches, switched

__all__ = ["flags", "is_available", "set_flags"]

enabled = True


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool) -> tuple[Any, ...]:
    """Set the switch; its former value."""
    return set_switches(__name__, {"enabled": _enabled})


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Set the switch for the time of a block."""
    return switched(__name__, {"enabled": enabled})
