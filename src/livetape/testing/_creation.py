"""make_tensor: random tensors of any dtype, range and layout."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from livetape import dtypes, ops

_INTEGERS = (
    dtypes.uint8,
    dtypes.int8,
    dtypes.int16,
    dtypes.int32,
    dtypes.int64,
    dtypes.uint16,
    dtypes.uint32,
    dtypes.uint64,
)
_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_COMPLEX = (dtypes.complex32, dtypes.complex64, dtypes.complex128)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of uniform values in [low, high), by default within 9 of 0 (source: ``torch.testing.make_tensor``).

    With ``exclude_zero`` zeros become 1, or the smallest positive number. Same seed, same values as torch's.

    >>> import livetape as torch
    >>> torch.testing.make_tensor((2, 3), dtype=torch.int64, device="cpu", low=5, high=6)
    tensor([[5, 5, 5],
            [5, 5, 5]])
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got {noncontiguous=} and {memory_format=}"
        )
    whole = dtype in _INTEGERS or dtype is dtypes.boolean
    if requires_grad and whole:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    noncontiguous = noncontiguous and math.prod(shape) > 1
    if noncontiguous:  # every second element of twice as many
        shape = (*shape[:-1], 2 * shape[-1])

    if dtype is dtypes.boolean:
        low, high = _limits(dtype, low, high, 0, 2, (0, 2))
        found = ops.randint(low, high, shape, device=device, dtype=dtype)
    elif dtype in _INTEGERS:
        info = ops.iinfo(dtype)
        end = info.max if dtype is dtypes.int64 else info.max + 1  # randint takes no more
        low, high = _limits(dtype, low, high, info.min, end, (-9, 10))
        found = ops.randint(low, high, shape, device=device, dtype=dtype)
    elif dtype in _FLOATS or dtype in _COMPLEX:
        finfo = ops.finfo(dtype)
        low, high = _limits(dtype, low, high, finfo.min, finfo.max, (-9, 9))
        found = ops.empty(shape, device=device, dtype=dtype)
        parts = ops.view_as_real(found) if dtype in _COMPLEX else found
        if high - low >= finfo.max:
            parts.uniform_(low / 2, high / 2).mul_(2)
        else:
            parts.uniform_(low, high)
    else:
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). "
            "To request support, file an issue at: https://github.com/pytorch/pytorch/issues"
        )
    if noncontiguous:
        found = found[..., 1::2]
    elif memory_format is not None:
        found = found.clone(memory_format=memory_format)
    if exclude_zero:
        found[found == 0] = 1 if whole else ops.finfo(dtype).tiny
    if not whole:
        found.requires_grad_(requires_grad)
    return found


def _limits(dtype: Any, low: Any, high: Any, least: float, end: float, default: tuple[float, float]) -> tuple[Any, Any]:
    """The range of the values, cut to what the dtype can hold."""
    low = default[0] if low is None else low
    high = default[1] if high is None else high
    whole = dtype in _INTEGERS or dtype is dtypes.boolean
    if any(isinstance(value, float) and math.isnan(value) for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and not whole:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types "
            "is deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), "
            f"but {dtype} only supports [{least}, {end})"
        )
    low, high = min(max(low, least), end), min(max(high, least), end)
    return (math.ceil(low), math.ceil(high)) if whole else (low, high)
