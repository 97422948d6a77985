"""The functions that read and set what `autocast` sets, device by device (source: ``torch.get_autocast_dtype`` etc.)."""

from __future__ import annotations

import warnings
from typing import Any

from livetape import dtypes
from livetape.amp._casts import enable, settings
from livetape.device import device

_BFLOAT16 = ("cpu", "hpu", "maia", "xla")
_AVAILABLE = (*_BFLOAT16, "cuda", "ipu", "mps", "mtia", "privateuseone", "xpu")


def device_type(name: str, value: Any) -> str:
    """The type in a text that names a device; ``name`` is the function that was given it."""
    if not isinstance(value, str):
        raise TypeError(f"{name}(): argument 'device_type' (position 1) must be str, not {type(value).__name__}")
    return device(value).type


def _kind(name: str, value: Any) -> str:
    found = device_type(name, value)
    if found in _AVAILABLE:
        return found
    if found == "hip":
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    raise RuntimeError("unsupported scalarType")


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` knows a type of device (source: ``torch.amp.is_autocast_available``)."""
    return device(device_type).type in _AVAILABLE


def is_autocast_enabled(device_type: Any = "cuda") -> bool:
    """Whether autocast is on in this thread; without an argument: for "cuda" (source: the torch function)."""
    return bool(settings().enabled.get(_kind("is_autocast_enabled", device_type), False))


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Turn autocast on or off for this thread; with one argument: for "cuda" (source: the torch function)."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    kind = _kind("set_autocast_enabled", device_type)
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not {type(enabled).__name__}"
        )
    settings().enabled[kind] = enabled
    if kind == "cpu":
        enable(enabled)


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that autocast uses on a type of device (source: ``torch.get_autocast_dtype``).

    >>> get_autocast_dtype("cpu")
    torch.bfloat16
    """
    kind = _kind("get_autocast_dtype", device_type)
    return settings().dtypes.get(kind, dtypes.bfloat16 if kind in _BFLOAT16 else dtypes.float16)


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the dtype that autocast uses (source: ``torch.set_autocast_dtype``)."""
    kind = _kind("set_autocast_dtype", device_type)
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type(dtype).__name__}"
        )
    settings().dtypes[kind] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether the copies of leaves are remembered (source: ``torch.is_autocast_cache_enabled``)."""
    return settings().caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether the copies of leaves are remembered (source: ``torch.set_autocast_cache_enabled``)."""
    settings().caches = enabled


def clear_autocast_cache() -> None:
    """Forget the copies of leaves (source: ``torch.clear_autocast_cache``)."""
    settings().cache.clear()


def autocast_increment_nesting() -> int:
    """Enter another autocast: returns how many are entered (source: the torch function of that name)."""
    settings().nesting += 1
    return settings().nesting


def autocast_decrement_nesting() -> int:
    """Leave an autocast: returns how many are entered (source: the torch function of that name)."""
    settings().nesting -= 1
    return settings().nesting


def _deprecated(name: str, argument: str, instead: str) -> None:
    warnings.warn(
        f"torch.{name}({argument}) is deprecated. Please use torch.{instead} instead.", DeprecationWarning, stacklevel=3
    )


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled` for the CPU (source: ``torch.is_autocast_cpu_enabled``)."""
    _deprecated("is_autocast_cpu_enabled", "", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled` for the CPU (source: ``torch.set_autocast_cpu_enabled``)."""
    _deprecated("set_autocast_cpu_enabled", "enabled", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> Any:
    """`get_autocast_dtype` for the CPU (source: ``torch.get_autocast_cpu_dtype``)."""
    _deprecated("get_autocast_cpu_dtype", "", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype` for the CPU (source: ``torch.set_autocast_cpu_dtype``)."""
    _deprecated("set_autocast_cpu_dtype", "dtype", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> Any:
    """`get_autocast_dtype` for CUDA (source: ``torch.get_autocast_gpu_dtype``)."""
    _deprecated("get_autocast_gpu_dtype", "", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype` for CUDA (source: ``torch.set_autocast_gpu_dtype``)."""
    _deprecated("set_autocast_gpu_dtype", "dtype", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)
