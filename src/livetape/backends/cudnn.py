"""cuDNN, which there is none of (source: ``torch.backends.cudnn``)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

from livetape.backends._switches import set_switches, switched

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
conv = SimpleNamespace(fp32_precision="tf32")
rnn = SimpleNamespace(fp32_precision="tf32")


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN could take a tensor: False."""
    return False


def _values(*given: Any) -> dict[str, Any]:
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision")
    return dict(zip(names, given))


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = "none",
) -> tuple[Any, ...]:
    """Set the switches given; the former values of all."""
    return set_switches(
        __name__, _values(_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32, _fp32_precision)
    )


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """Set the switches for the time of a block."""
    return switched(__name__, _values(enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision))
