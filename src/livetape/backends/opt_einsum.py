"""opt_einsum, which ``einsum`` does without (source: ``torch.backends.opt_einsum``)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from livetape.backends._switches import set_switches, switched

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False: ``einsum`` finds its own order of contractions."""
    return False


def get_opt_einsum() -> Any:
    """None."""
    return None


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[Any, ...]:
    """Set the switches given; the former values of all."""
    return set_switches(__name__, {"enabled": _enabled, "strategy": _strategy})


def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]:
    """Set the switches for the time of a block."""
    return switched(__name__, {"enabled": enabled, "strategy": strategy})
