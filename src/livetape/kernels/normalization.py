"""Normalisation over rows (layer norm), channels (batch norm) and groups, forward and backward, on plain arrays.

Large arrays are worked on in blocks of rows that stay in cache, and sums along contiguous memory are left to BLAS.
float16 and bfloat16 are computed in float32; their saved means and deviations stay float32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled
from livetape.kernels.select import refuse

Array = Any
BLOCK = 1 << 16
_NOTHING = np.empty(0, np.float32)  # in the place of a gradient that nobody wants


def _wide(label: str, x: Array) -> Array:
    """``x``, or float32 for a half precision array; torch's error for other dtypes."""
    kind = x.dtype
    if kind.char in "fd":
        return x
    if kind.char == "e" or kind.name == "bfloat16":
        return x.astype(np.float32)
    raise refuse(label, kind)


def _as(kind: Any, *arrays: Array | None) -> list[Array | None]:
    """The arrays in one dtype."""
    return [a if a is None or a.dtype == kind else a.astype(kind) for a in arrays]


# ---------------------------------------------------------------- layer norm
def _rows(shape: tuple[int, ...], normalized: tuple[int, ...]) -> tuple[int, int]:
    width = math.prod(normalized)
    return math.prod(shape[: len(shape) - len(normalized)]), width


def _layer_norm_block(x: Array, weight: Array | None, bias: Array | None, eps: float, out: Array | None) -> Any:
    width = x.shape[1]
    mean = np.add.reduce(x, axis=1, keepdims=True)
    mean /= width
    y = np.subtract(x, mean, out=out)
    rstd = np.vecdot(y, y)[:, None]
    rstd /= width
    rstd += eps
    np.sqrt(rstd, out=rstd)
    np.reciprocal(rstd, out=rstd)
    y *= rstd
    if weight is not None:
        y *= weight
    if bias is not None:
        y += bias
    return y, mean, rstd


def _layer_norm(
    input: Array, normalized_shape: tuple[int, ...], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """The normalised input, and the mean and 1 / standard deviation of each row."""
    wide = _wide("LayerNormKernelImpl", input)
    kind = wide.dtype
    count, width = _rows(input.shape, normalized_shape)
    stats = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
    x = wide.reshape(count, width)
    weight, bias = _as(kind, weight, bias)
    weight = None if weight is None else weight.reshape(-1)
    bias = None if bias is None else bias.reshape(-1)
    if not width:
        return np.empty(input.shape, input.dtype), np.zeros(stats, kind), np.full(stats, np.nan, kind)
    if x.size <= 2 * BLOCK:
        y, mean, rstd = _layer_norm_block(x, weight, bias, eps, None)
    else:
        y, mean, rstd = np.empty(x.shape, kind), np.empty((count, 1), kind), np.empty((count, 1), kind)
        step = max(1, BLOCK // width)
        for start in range(0, count, step):
            part = slice(start, start + step)
            _, mean[part], rstd[part] = _layer_norm_block(x[part], weight, bias, eps, y[part])
    y = y.reshape(input.shape)
    return y if kind == input.dtype else y.astype(input.dtype), mean.reshape(stats), rstd.reshape(stats)


def _layer_norm_backward_block(
    grad: Array, x: Array, mean: Array, rstd: Array, weight: Array | None, dx: Array | None, sums: list[Array | None]
) -> None:
    """Write the input's gradient into ``dx``, and add to the gradients of weight and bias in ``sums``."""
    width = x.shape[1]
    ones = np.ones(len(x), x.dtype)
    normal = np.subtract(x, mean)
    normal *= rstd
    product = grad * normal
    if sums[0] is not None:
        sums[0] += ones @ product
    if sums[1] is not None:
        sums[1] += ones @ grad
    if dx is None:
        return
    if weight is None:
        by_grad, by_product = np.add.reduce(grad, axis=1), np.add.reduce(product, axis=1)
        np.copyto(dx, grad)
    else:
        by_grad, by_product = grad @ weight, product @ weight
        np.multiply(grad, weight, out=dx)
    by_grad /= width
    by_product /= width
    normal *= by_product[:, None]
    dx -= normal
    dx -= by_grad[:, None]
    dx *= rstd


def _layer_norm_backward(
    grad_out: Array,
    input: Array,
    normalized_shape: tuple[int, ...],
    mean: Array,
    rstd: Array,
    weight: Array | None,
    wanted: list[bool],
) -> tuple[Array, Array, Array]:
    """The gradients of input, weight and bias; those not ``wanted`` are empty."""
    wide, grad = _wide("LayerNormBackwardKernelImpl", input), _wide("LayerNormBackwardKernelImpl", grad_out)
    kind = wide.dtype
    count, width = _rows(input.shape, normalized_shape)
    x, grad, mean, rstd = (
        a.reshape(count, -1) if a.size else a.reshape(count, 0)
        for a in (wide, grad.astype(kind, copy=False), mean, rstd)
    )
    param = kind if weight is None else weight.dtype
    (weight,) = _as(kind, weight)
    weight = None if weight is None else weight.reshape(-1)
    dx = np.empty(x.shape, kind) if wanted[0] else None
    sums: list[Array | None] = [np.zeros(width, kind) if w else None for w in wanted[1:]]
    step = count if x.size <= 2 * BLOCK else max(1, BLOCK // width)
    for start in range(0, count if width else 0, step or 1):
        part = slice(start, start + step)
        _layer_norm_backward_block(
            grad[part], x[part], mean[part], rstd[part], weight, None if dx is None else dx[part], sums
        )
    found = [_NOTHING if dx is None else dx.reshape(input.shape).astype(input.dtype, copy=False)]
    found += [_NOTHING if s is None else s.reshape(normalized_shape).astype(param, copy=False) for s in sums]
    return found[0], found[1], found[2]


layer_norm = compiled("layer_norm", _layer_norm)
layer_norm_backward = compiled("layer_norm_backward", _layer_norm_backward)


# ---------------------------------------------------------------- batch norm
def _by_channel(x: Array) -> Array:
    """(N, C, d...) as (N, C, S)."""
    if x.ndim < 2:  # an empty one
        return x.reshape(0, 0, 1)
    return x.reshape(x.shape[0], x.shape[1], math.prod(x.shape[2:]))


def _channel_sum(x: Array) -> Array:
    """The sum of (N, C, S) over N and S."""
    n, c, s = x.shape
    if s < 32:
        return np.add.reduce(x, axis=(0, 2))
    return np.add.reduce((x.reshape(n * c, s) @ np.ones(s, x.dtype)).reshape(n, c), axis=0)


def _channel_dot(x: Array, y: Array) -> Array:
    """The sum of x * y over N and S."""
    if x.shape[2] < 32:
        return np.einsum("ncs,ncs->c", x, y)
    return np.add.reduce(np.vecdot(x, y), axis=0)


def _spread(values: Array | None) -> Any:
    """(C,) as (C, 1), to broadcast along (N, C, S)."""
    return None if values is None else values[:, None]


def _batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Array, Array, Array]:
    """The normalised input and, in training, each channel's mean and 1 / deviation; the running ones are updated."""
    wide = _wide("batch_norm", input)
    kind = wide.dtype
    x = _by_channel(wide)
    count = x.shape[0] * x.shape[2]
    weight, bias = _as(kind, weight, bias)
    if training:
        mean = _channel_sum(x)
        mean /= count or np.nan
        y = x - _spread(mean)
        var = _channel_dot(y, y)
        var /= count or np.nan
        if count:
            _update(running_mean, mean, momentum)
            _update(running_var, var * (count / (count - 1) if count > 1 else np.inf), momentum)
        rstd = 1 / np.sqrt(var + kind.type(eps))
        scale = rstd
    else:
        assert running_mean is not None and running_var is not None
        y = x - _spread(running_mean.astype(kind, copy=False))
        scale = 1 / np.sqrt(running_var.astype(kind, copy=False) + kind.type(eps))
        mean = rstd = np.empty(0, kind)
    y *= _spread(scale if weight is None else scale * weight)
    if bias is not None:
        y += _spread(bias)
    y = y.reshape(input.shape)
    return y if kind == input.dtype else y.astype(input.dtype), mean, rstd


def _update(running: Array | None, value: Array, momentum: float) -> None:
    if running is not None:
        running *= 1 - momentum
        running += (value * momentum).astype(running.dtype, copy=False)


def _batch_norm_backward(
    grad_out: Array,
    input: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    mean: Array,
    rstd: Array,
    train: bool,
    eps: float,
    wanted: list[bool],
) -> tuple[Array, Array, Array]:
    """The gradients of input, weight and bias; those not ``wanted`` are empty."""
    wide, grad = _wide("batch_norm_backward", input), _wide("batch_norm_backward", grad_out)
    kind = wide.dtype
    param = kind if weight is None else weight.dtype
    x, grad = _by_channel(wide), _by_channel(grad.astype(kind, copy=False))
    if not train:
        assert running_mean is not None and running_var is not None
        mean = running_mean.astype(kind, copy=False)
        rstd = 1 / np.sqrt(running_var.astype(kind, copy=False) + kind.type(eps))
    count = x.shape[0] * x.shape[2]
    (weight,) = _as(kind, weight)
    centred = x - _spread(mean) if wanted[1] or (wanted[0] and train) else x
    by_grad = _channel_sum(grad)
    scale = rstd if weight is None else rstd * weight
    dx = dw = db = _NOTHING
    if wanted[1] or train:
        by_product = _channel_dot(grad, centred)
    if wanted[1]:
        dw = (by_product * rstd).astype(param, copy=False)
    if wanted[2]:
        db = by_grad.astype(param, copy=False)
    if wanted[0]:
        if train and count:
            centred *= _spread(by_product * rstd * rstd / count)
            dx = np.subtract(grad, centred, out=centred)
            dx -= _spread(by_grad / count)
            dx *= _spread(scale)
        else:
            dx = grad * _spread(scale)
        dx = dx.reshape(input.shape).astype(input.dtype, copy=False)
    return dx, dw, db


# ---------------------------------------------------------------- group norm
def _group_norm(
    input: Array, weight: Array | None, bias: Array | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Array, Array, Array]:
    """The normalised input, and the mean and 1 / deviation of each group of channels."""
    wide = _wide("GroupNormKernelImpl", input)
    kind = wide.dtype
    if not wide.size:
        stats = np.zeros((N, group), kind)
        return np.empty(input.shape, input.dtype), stats, stats
    y, mean, rstd = _layer_norm_block(wide.reshape(N * group, -1), None, None, eps, None)
    y = y.reshape(N, C, HxW)
    weight, bias = _as(kind, weight, bias)
    if weight is not None:
        y *= _spread(weight)
    if bias is not None:
        y += _spread(bias)
    y = y.reshape(input.shape)
    return y if kind == input.dtype else y.astype(input.dtype), mean.reshape(N, group), rstd.reshape(N, group)


def _group_norm_backward(
    grad_out: Array,
    input: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    wanted: list[bool],
) -> tuple[Array, Array, Array]:
    """The gradients of input, weight and bias; those not ``wanted`` are empty."""
    wide, grad = _wide("GroupNormBackward", input), _wide("GroupNormBackward", grad_out)
    kind = wide.dtype
    param = kind if weight is None else weight.dtype
    if not wide.size:
        return np.zeros(input.shape, input.dtype), np.zeros(C, param), np.zeros(C, param)
    grad = grad.astype(kind, copy=False).reshape(N, C, HxW)
    (weight,) = _as(kind, weight)
    rows = N * group
    mean, rstd = mean.reshape(rows, 1), rstd.reshape(rows, 1)
    dx = dw = db = _NOTHING
    if wanted[1]:
        normal = (wide.reshape(rows, -1) - mean) * rstd
        dw = _channel_dot(grad, normal.reshape(N, C, HxW)).astype(param, copy=False)
    if wanted[2]:
        db = _channel_sum(grad).astype(param, copy=False)
    if wanted[0]:
        scaled = grad if weight is None else grad * _spread(weight)
        dx = np.empty((rows, wide.size // rows), kind)
        x = wide.reshape(rows, -1)
        _layer_norm_backward_block(scaled.reshape(rows, -1), x, mean, rstd, None, dx, [None, None])
        dx = dx.reshape(input.shape).astype(input.dtype, copy=False)
    return dx, dw, db


batch_norm = compiled("batch_norm", _batch_norm)
batch_norm_backward = compiled("batch_norm_backward", _batch_norm_backward)
group_norm = compiled("group_norm", _group_norm)
group_norm_backward = compiled("group_norm_backward", _group_norm_backward)
