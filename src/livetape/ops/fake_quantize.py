"""Rounding to the values that quantized numbers can have, for training with what will be left of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import FLOAT, SCALAR_TYPE, bfloat16, float16, float32, int32
from livetape.kernels.reductions import wide
from livetape.ops.dims import wrap_dim
from livetape.ops.refuse import must_be_tensors
from livetape.ops.table import row


def _rounded(x: Any, scale: Any, zero_point: Any, low: int, high: int) -> tuple[Any, Any]:
    """The rounded values, and which of them are within the range."""
    steps = np.rint(wide(x) * (np.float32(1) / np.asarray(scale, np.float32)) + zero_point)
    kept = np.fmin(np.fmax(steps, low), high)  # NaN becomes the lowest
    # + 0.0: no -0
    return np.asarray((kept - zero_point + 0.0) * scale, x.dtype), (steps >= low) & (steps <= high)


def _along(x: Any, scale: Any, zero_point: Any, axis: int, low: int, high: int) -> tuple[Any, Any]:
    shape = [1] * x.ndim
    shape[axis] = -1
    return _rounded(x, scale.reshape(shape), np.asarray(zero_point, np.float32).reshape(shape), low, high)


def _passed(grad: Any, result1: Any) -> Any:
    """As if nothing was rounded, for the elements within the range."""
    return grad * result1


BY_NUMBERS = row(
    "fake_quantize_per_tensor_affine_cachemask",
    lambda self, scale, zero_point, low, high: _rounded(self, scale, zero_point, low, high),
    outputs=2,
    batch="any",
    self=lambda grads, result1: _passed(grads[0], result1),
)
BY_TENSORS = row(
    "fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    lambda self, scale, zero_point, low, high: _rounded(self, wide(scale), zero_point, low, high),
    tensors="self scale zero_point",
    outputs=2,
    self=lambda grads, result1: _passed(grads[0], result1),
)
BY_CHANNELS = row(
    "fake_quantize_per_channel_affine_cachemask",
    lambda self, scale, zero_point, axis, low, high: _along(self, wide(scale), zero_point, axis, low, high),
    tensors="self scale zero_point",
    outputs=2,
    self=lambda grads, result1: _passed(grads[0], result1),
)


def _check(input: Any, low: Any, high: Any) -> None:
    if low > high:
        raise noted(RuntimeError("`quant_min` should be less than or         equal to `quant_max`."))
    if input.dtype.category != FLOAT:
        kernel = "fake_quantize_tensor_cachemask_kernel_type_handling"
        raise noted(NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPE[input.dtype]}'"))


def _check_zero(lowest: Any, highest: Any, low: Any, high: Any) -> None:
    if lowest < low or highest > high:
        raise noted(RuntimeError("`zero_point` must be between `quant_min` and `quant_max`."))


def fake_quantize_per_tensor_affine(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """Each element as a quantized number would give it back: a whole number of ``scale``, counted from ``zero_point``.

    ``scale`` and ``zero_point`` are numbers, or tensors of one element. The gradient passes where the number of steps is
    from ``quant_min`` to ``quant_max`` (source: ``torch.fake_quantize_per_tensor_affine``).

    >>> import livetape as torch
    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.1, 0.6, 9.]), 0.5, 1, 0, 7)
    tensor([0.0000, 0.5000, 3.0000])
    """
    must_be_tensors("fake_quantize_per_tensor_affine", input=input)
    _check(input, quant_min, quant_max)
    if isinstance(scale, TensorBase):
        return BY_TENSORS.apply((input, scale, zero_point, quant_min, quant_max))[0]
    _check_zero(zero_point, zero_point, quant_min, quant_max)
    return BY_NUMBERS.apply((input, float(scale), int(zero_point), quant_min, quant_max))[0]


def fake_quantize_per_channel_affine(
    input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each place along ``axis``.

    Source: ``torch.fake_quantize_per_channel_affine``.
    """
    must_be_tensors("fake_quantize_per_channel_affine", input=input, scale=scale, zero_point=zero_point)
    if scale.dtype not in (float32, bfloat16):
        raise noted(RuntimeError(f"Scale must be Float or BFloat16, found {SCALAR_TYPE[scale.dtype]}"))
    if zero_point.dtype not in (int32, float32, float16):
        raise noted(RuntimeError(f"Zero-point must be Int32, Float or Half, found {SCALAR_TYPE[zero_point.dtype]}"))
    _check(input, quant_min, quant_max)
    axis = wrap_dim(axis, input.ndim)
    count = (shape_of(input)[axis],)
    if shape_of(scale) != count or shape_of(zero_point) != count:
        raise noted(RuntimeError("dimensions of scale and zero-point are not consistent with input tensor"))
    if zero_point.dtype is int32 and zero_point.array.size:
        _check_zero(zero_point.array.min(), zero_point.array.max(), quant_min, quant_max)
    return BY_CHANNELS.apply((input, scale, zero_point, axis, quant_min, quant_max))[0]


FUNCTIONS = ["fake_quantize_per_tensor_affine", "fake_quantize_per_channel_affine"]
