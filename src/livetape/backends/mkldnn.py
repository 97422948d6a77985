"""oneDNN, which there is none of (source: ``torch.backends.mkldnn``)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

from livetape.backends._switches import set_switches, switched

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"
matmul = SimpleNamespace(fp32_precision="none")
conv = SimpleNamespace(fp32_precision="none")
rnn = SimpleNamespace(fp32_precision="none")


def is_available() -> bool:
    """False."""
    return False


def is_acl_available() -> bool:
    """False."""
    return False


class verbose:
    """Accepted: there are no messages to print."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose | None:
        return None if self.level == VERBOSE_OFF else self

    def __exit__(self, *exc: object) -> None:
        pass


def _values(*given: Any) -> dict[str, Any]:
    return dict(zip(("enabled", "deterministic", "allow_tf32", "fp32_precision"), given))


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = "none",
) -> tuple[Any, ...]:
    """Set the switches given; the former values of all."""
    return set_switches(__name__, _values(_enabled, _deterministic, _allow_tf32, _fp32_precision))


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> AbstractContextManager[None]:
    """Set the switches for the time of a block."""
    return switched(__name__, _values(enabled, deterministic, allow_tf32, fp32_precision))
