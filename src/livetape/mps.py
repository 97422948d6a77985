"""Apple's Metal devices, of which there are none (source: ``torch.mps``)."""

from __future__ import annotations

from typing import Any, NoReturn

from livetape._tape.explain import noted

__all__ = [
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def _none(function: str) -> NoReturn:
    raise noted(RuntimeError(f"Cannot execute {function}() without MPS backend."))


def manual_seed(seed: int) -> None:
    """Accepted: there is no generator to seed."""


def synchronize() -> None:
    """RuntimeError: there is no device."""
    _none("deviceSynchronize")


def empty_cache() -> None:
    """RuntimeError: there is no device."""
    _none("emptyCache")


def seed() -> None:
    """RuntimeError: there is no device."""
    _none("getDefaultGenerator")


def get_rng_state(device: Any = "mps") -> Any:
    """RuntimeError: there is no device."""
    _none("getDefaultGenerator")


def set_rng_state(new_state: Any, device: Any = "mps") -> None:
    """RuntimeError: there is no device."""
    _none("getDefaultGenerator")


def current_allocated_memory() -> int:
    """RuntimeError: there is no device."""
    _none("getCurrentAllocatedMemory")


def driver_allocated_memory() -> int:
    """RuntimeError: there is no device."""
    _none("getDriverAllocatedMemory")


def recommended_max_memory() -> int:
    """RuntimeError: there is no device."""
    _none("getRecommendedMaxMemory")


def set_per_process_memory_fraction(fraction: Any) -> None:
    """RuntimeError: there is no device."""
    _none("setMemoryFraction")
