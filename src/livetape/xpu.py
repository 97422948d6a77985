"""Intel's XPU devices, of which there are none (source: ``torch.xpu``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from livetape._tape.explain import noted

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_device",
    "synchronize",
]


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def get_arch_list() -> list[str]:
    """An empty list."""
    return []


def empty_cache() -> None:
    """Accepted: nothing is held."""


def manual_seed(seed: int) -> None:
    """Accepted."""


def manual_seed_all(seed: int) -> None:
    """Accepted."""


def seed() -> None:
    """Accepted."""


def seed_all() -> None:
    """Accepted."""


def get_rng_state_all() -> list[Any]:
    """An empty list."""
    return []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Accepted."""


def _none() -> NoReturn:
    raise noted(AssertionError("Torch not compiled with XPU enabled"))


def init() -> None:
    """AssertionError: there is no device."""
    _none()


def current_device() -> int:
    """AssertionError: there is no device."""
    _none()


def set_device(device: Any) -> None:
    """AssertionError: there is no device."""
    _none()


def get_device_name(device: Any = None) -> str:
    """AssertionError: there is no device."""
    _none()


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """AssertionError: there is no device."""
    _none()


def get_device_properties(device: Any = None) -> Any:
    """AssertionError: there is no device."""
    _none()


def synchronize(device: Any = None) -> None:
    """AssertionError: there is no device."""
    _none()
