"""autocast, as a context manager and decorator, and what custom Functions say of it (source: ``torch.amp``)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from livetape import dtypes
from livetape._tape.tensor import TensorBase
from livetape.amp import switches
from livetape.amp.switches import is_autocast_available
from livetape.device import device as device_of
from livetape.ops.basics import cast

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_SUPPORTED = (dtypes.bfloat16, dtypes.float16)


def _need_text(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def autocast_decorator(autocast_instance: Any, func: Callable[..., Any]) -> Any:
    """``func`` run inside an autocast."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast:
    """Run the operations inside in lower precision where that is quick, and in single precision where that is needed.

    Products of matrices and convolutions take and give ``dtype`` (bfloat16 unless said otherwise); losses, norms,
    decompositions and transforms take and give float32; the others what they get. float64 is left alone. Backward runs in
    the dtypes of forward, outside of the context. Casts of leaves are remembered until the outermost context ends.

    Source: ``torch.autocast``. Device types other than "cpu" are accepted, and change nothing.

    >>> import livetape as torch
    >>> with torch.autocast("cpu"):
    ...     y = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> y.dtype
    torch.bfloat16
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
        _need_text(device_type)
        kind = device_of(device_type).type
        if kind == "hip":
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.fast_dtype = switches.get_autocast_dtype(kind) if dtype is None else dtype
        switches.get_autocast_dtype(kind)
        self.device = device_type
        self._type = kind
        self._cache_enabled = switches.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if kind == "cuda" and enabled:
            warnings.warn(
                "CUDA is not available or torch_xla is imported. Disabling autocast.", UserWarning, stacklevel=2
            )
            enabled = False
        elif enabled and self.fast_dtype not in _SUPPORTED:
            name = kind.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        self.prev = switches.is_autocast_enabled(self._type)
        self.prev_fastdtype = switches.get_autocast_dtype(self._type)
        self.prev_cache_enabled = switches.is_autocast_cache_enabled()
        switches.set_autocast_enabled(self._type, bool(self._enabled))
        switches.set_autocast_dtype(self._type, self.fast_dtype)
        switches.autocast_increment_nesting()
        switches.set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> Literal[False]:
        if switches.autocast_decrement_nesting() == 0:
            switches.clear_autocast_cache()
        switches.set_autocast_enabled(self._type, self.prev)
        switches.set_autocast_dtype(self._type, self.prev_fastdtype)
        switches.set_autocast_cache_enabled(self.prev_cache_enabled)
        return False

    def __call__(self, func: Callable[..., Any]) -> Any:
        return autocast_decorator(self, func)


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    if isinstance(value, TensorBase):
        castable = value.dtype.category == dtypes.FLOAT and value.dtype is not dtypes.float64 and device_type == "cpu"
        return cast(value, dtype) if castable and value.dtype is not dtype else value
    if isinstance(value, (str, np.ndarray)):
        return value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(v, device_type, dtype) for v in value])
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorates the ``forward`` of a custom Function for use with autocast (source: ``torch.amp.custom_fwd``).

    cast_inputs   inside an autocast: cast the floating point arguments to this dtype, and run without autocast
    """
    _need_text(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = switches.get_autocast_dtype(device_type)
        on = switches.is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorates the ``backward`` of a custom Function: autocast as in its forward (source: ``torch.amp.custom_bwd``)."""
    _need_text(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
