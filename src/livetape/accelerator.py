"""Devices beside the CPU, of which there are none (source: ``torch.accelerator``)."""

from __future__ import annotations

from typing import Any, NoReturn

from livetape._tape.explain import noted

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """None."""
    return None


def _none() -> NoReturn:
    raise noted(RuntimeError("Cannot access accelerator device when none is available."))


class device_index:
    """A context that would choose a device: entering it raises, there being none."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _none()

    def __exit__(self, *exc: object) -> None:
        pass


def current_device_index() -> int:
    """RuntimeError: there is no device."""
    _none()


def current_stream(device: Any = None, /) -> Any:
    """RuntimeError: there is no device."""
    _none()


def set_device_index(device: Any, /) -> None:
    """RuntimeError: there is no device."""
    _none()


def set_stream(stream: Any) -> None:
    """RuntimeError: there is no device."""
    _none()


def synchronize(device: Any = None, /) -> None:
    """RuntimeError: there is no device."""
    _none()


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """RuntimeError: there is no device."""
    _none()


def empty_cache() -> None:
    """RuntimeError: there is no device."""
    _none()


def empty_host_cache() -> None:
    """RuntimeError: there is no device."""
    _none()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """RuntimeError: there is no device."""
    _none()


def memory_stats(device_index: Any = None, /) -> dict[str, Any]:
    """RuntimeError: there is no device."""
    _none()


def memory_allocated(device_index: Any = None, /) -> int:
    """RuntimeError: there is no device."""
    _none()


def max_memory_allocated(device_index: Any = None, /) -> int:
    """RuntimeError: there is no device."""
    _none()


def memory_reserved(device_index: Any = None, /) -> int:
    """RuntimeError: there is no device."""
    _none()


def max_memory_reserved(device_index: Any = None, /) -> int:
    """RuntimeError: there is no device."""
    _none()


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """RuntimeError: there is no device."""
    _none()


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """RuntimeError: there is no device."""
    _none()


current_device_idx = current_device_index
set_device_idx = set_device_index
