"""Losses on plain arrays, with their slopes. A reduction is 0 for "none", 1 for "mean" and 2 for "sum", as in torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape.compat import compat
from livetape.dtypes import of_numpy, promote_types
from livetape.kernels.activation import sigmoid
from livetape.kernels.compiled import compiled
from livetape.kernels.select import log1p, number, real_kernel, refuse, zero

Array = Any
NONE, MEAN, SUM = 0, 1, 2
_SMALL = 1 << 14  # up to so many elements a BLAS dot product is as accurate as a pairwise sum


def alike(x: Array, y: Array) -> tuple[Array, Array]:
    """Two arrays in the dtype that torch promotes them to."""
    if x.dtype == y.dtype:
        return x, y
    kind = promote_types(of_numpy(x.dtype), of_numpy(y.dtype)).np
    return x.astype(kind, copy=False), y.astype(kind, copy=False)


def reduced(values: Array, reduction: int) -> Array:
    """The values themselves, their mean or their sum; float16 and bfloat16 are summed in float32."""
    if reduction == NONE:
        return values
    kind = values.dtype
    if kind.itemsize == 2:
        values = values.astype(np.float32)
    total = np.add.reduce(values, axis=None)
    if reduction == MEAN:
        total = total / np.float32(values.size) if values.size else total * np.nan
    return total if total.dtype == kind else total.astype(kind)


def scaled(values: Array, grad: Array, count: int, reduction: int) -> Array:
    """Fresh slopes times the incoming gradient, in place; a mean divides by ``count``."""
    if reduction == MEAN and count:
        grad = grad / np.asarray(count, values.dtype)
    if values.ndim == 0:
        return values * grad
    values *= grad
    return values


# ---------------------------------------------------------------- of a difference
def _mean_square(x: Array, y: Array, reduction: int) -> Array:
    d = np.subtract(x, y, out=...)
    if reduction and d.size <= _SMALL and d.dtype.itemsize > 2:
        d = d.reshape(-1)
        total = np.dot(d, d)
        return total if reduction == SUM else total / d.size if d.size else total * np.nan
    d *= d
    return reduced(d, reduction)


def mse(self: Array, target: Array, reduction: int) -> Array:
    """The squared difference."""
    x, y = alike(self, target)
    if x.dtype.kind in "biu":
        raise refuse("mse_cpu", x.dtype)
    return _mean_square(x, y, reduction)


def mse_backward(grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    x, y = alike(self, target)
    d = np.subtract(x, y, out=...)
    return scaled(d, grad_output * number(d, 2.0), d.size, reduction)


def _held(x: Array, y: Array, bound: float) -> tuple[Array, Array]:
    """|x - y|, and the same but at most ``bound``."""
    z = np.abs(np.subtract(x, y, out=...), out=...)
    return z, np.minimum(z, number(z, bound), out=...)


def _huber_value(x: Array, y: Array, delta: float, reduction: int) -> Array:
    z, c = _held(x, y, delta)
    z -= number(z, 0.5) * c
    z *= c
    return reduced(z, reduction)


def huber(self: Array, target: Array, reduction: int, delta: float) -> Array:
    """Half the squared difference up to ``delta``, and straight beyond."""
    x, y = alike(self, target)
    return _huber(x, y, delta, reduction)


def huber_backward(grad_output: Array, self: Array, target: Array, reduction: int, delta: float) -> Array:
    x, y = alike(self, target)
    d = np.subtract(x, y, out=...)
    np.minimum(np.maximum(d, number(d, -delta), out=d), number(d, delta), out=d)
    return scaled(d, grad_output, d.size, reduction)


def smooth_l1(self: Array, target: Array, reduction: int, beta: float) -> Array:
    """`huber` divided by its bound."""
    x, y = alike(self, target)
    return _smooth_l1(x, y, beta, reduction)


def _smooth_l1_value(x: Array, y: Array, beta: float, reduction: int) -> Array:
    z, c = _held(x, y, beta)
    z -= number(z, 0.5) * c
    z *= c
    z /= number(z, beta)
    return reduced(z, reduction)


def smooth_l1_backward(grad_output: Array, self: Array, target: Array, reduction: int, beta: float) -> Array:
    x, y = alike(self, target)
    d = np.subtract(x, y, out=...)
    d /= number(d, beta)
    np.minimum(np.maximum(d, number(d, -1.0), out=d), number(d, 1.0), out=d)
    return scaled(d, grad_output, d.size, reduction)


_huber = real_kernel("huber_cpu", _huber_value)
_smooth_l1 = real_kernel("smooth_l1_cpu", _smooth_l1_value)


# ---------------------------------------------------------------- of probabilities
def _held_log(x: Array) -> Array:
    """log(x), but at least -100."""
    y = np.log(x, out=...)
    return np.maximum(y, number(y, -100.0), out=y)


def _bce_value(x: Array, t: Array, weight: Array | None, reduction: int) -> Array:
    log_rest = np.log1p(np.negative(x), out=...)
    np.maximum(log_rest, number(x, -100.0), out=log_rest)
    loss = np.subtract(t, number(x, 1.0), out=...)
    loss *= log_rest
    loss -= t * _held_log(x)
    if weight is not None:
        loss = loss * weight
    return reduced(loss, reduction)


_bce = real_kernel("binary_cross_entropy", _bce_value)


def bce(self: Array, target: Array, weight: Array | None, reduction: int) -> Array:
    """-(target log(self) + (1 - target) log(1 - self)), each logarithm at least -100."""
    for name, array in (("input", self), ("target", target)):
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    return _bce(self, target, weight, reduction)


def bce_backward(grad_output: Array, self: Array, target: Array, weight: Array | None, reduction: int) -> Array:
    rest = np.subtract(number(self, 1.0), self, out=...)
    rest *= self
    np.maximum(rest, number(rest, 1e-12), out=rest)
    slope = np.subtract(self, target, out=...)
    slope /= rest
    if weight is not None:
        slope = slope * weight
    return scaled(slope, grad_output, slope.size, reduction)


def bce_logits(self: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: int) -> Array:
    """`bce` of sigmoid(self), without overflow, in the target's dtype; ``pos_weight`` multiplies the positive part."""
    x, t = alike(self, target)
    loss = log1p(np.exp(np.negative(np.abs(x)), out=...))
    if pos_weight is None:
        loss += np.maximum(x, zero(x))
        loss = loss - x * t
    else:
        loss += np.maximum(-x, zero(x))
        loss = loss * ((pos_weight - number(x, 1.0)) * t + number(x, 1.0))
        loss = loss + (number(x, 1.0) - t) * x
    found = _weighted(loss, weight, target.dtype, reduction)
    if found.size and not math.isfinite(found.sum()):
        found = _weighted(np.where(np.isinf(x), _at_infinity(x, t, pos_weight), loss), weight, target.dtype, reduction)
    return found


def _weighted(loss: Array, weight: Array | None, kind: Any, reduction: int) -> Array:
    if weight is not None:
        loss = loss * weight
    return reduced(loss if loss.dtype == kind else loss.astype(kind), reduction)


def _at_infinity(x: Array, t: Array, pos_weight: Array | None) -> Array:
    """`bce_logits` for infinite x: a part whose factor is 0 is 0. torch gives NaN for most of them."""
    rest = number(x, 1.0) - t
    if compat.torch:
        return rest * x + np.maximum(-x, zero(x)) * (1 if pos_weight is None else (pos_weight * t + rest))
    yes = t if pos_weight is None else pos_weight * t
    lost = np.where(x < 0, yes, rest)
    return np.where(lost == 0, zero(x), lost * np.abs(x))


def bce_logits_backward(
    grad_output: Array, self: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: int
) -> Array:
    x, t = alike(self, target)
    slope = sigmoid(x)
    if pos_weight is None:
        slope = slope - t
    else:
        positive = pos_weight * t
        slope = (positive + number(x, 1.0) - t) * slope - positive
    if weight is not None:
        slope = slope * weight
    return scaled(slope, grad_output, slope.size, reduction)


def soft_margin(self: Array, target: Array, reduction: int) -> Array:
    """log(1 + exp(-target * self))."""
    x, t = alike(self, target)
    z = np.multiply(x, t, out=...)
    loss = log1p(np.exp(np.negative(np.abs(z)), out=...))
    loss -= np.minimum(z, zero(z))
    return reduced(loss, reduction)


def soft_margin_backward(grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    x, t = alike(self, target)
    z = np.multiply(x, t, out=...)
    np.negative(z, out=z)
    slope = sigmoid(z)
    slope *= t
    np.negative(slope, out=slope)
    return scaled(slope, grad_output, slope.size, reduction)


# ---------------------------------------------------------------- negative log likelihood
def _checked_target(target: Array, classes: int, ignore_index: int) -> tuple[Array, Array | None]:
    """The targets with 0 in the place of ignored ones, and where they count (None: everywhere)."""
    if target.dtype != np.int64:
        target = target.astype(np.int64)
    if not target.size:
        return target, None
    if int(target.view(np.uint64).max()) >= classes:  # negative ones are large as unsigned numbers
        counts = target != ignore_index
        bad = counts & ((target < 0) | (target >= classes))
        if bad.any():
            raise IndexError(f"Target {target[bad][0]} is out of bounds.")
        return np.where(counts, target, 0), counts
    if 0 <= ignore_index < classes:
        counts = target != ignore_index
        if not counts.all():
            return target, counts
    return target, None


def _class_weights(target: Array, counts: Array | None, weight: Array | None, kind: Any) -> Array | None:
    """The weight of each position, or None if all are 1."""
    if weight is None:
        return None if counts is None else counts.astype(kind)
    picked = weight[target]
    if counts is not None:
        picked = picked * counts
    return picked


def _nll(self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int) -> Array:
    """-self[n, target[n]] for self of shape (C,), (N, C) or (N, C, d...) and targets of shape (), (N,) or (N, d...)."""
    kind = self.dtype
    if kind.kind not in "fV":
        raise refuse("nll_loss_out_frame", kind)
    if self.ndim == 2:
        t, counts = _checked_target(target, self.shape[1], ignore_index)
        picked = self[np.arange(len(t)), t]
    elif self.ndim == 1:
        t, counts = _checked_target(target.reshape(()), self.shape[0], ignore_index)
        picked = self[t]
    else:
        t, counts = _checked_target(target, self.shape[1], ignore_index)
        picked = np.take_along_axis(self, np.expand_dims(t, 1), 1)[:, 0]
    weights = _class_weights(t, counts, weight, kind)
    if weights is not None:
        picked = picked * weights if counts is None else np.where(counts, picked, zero(picked)) * weights
    if reduction == NONE:
        lost = np.negative(picked)
        return lost if counts is None else np.where(counts, lost, zero(lost))
    wide = picked if kind.itemsize > 2 else picked.astype(np.float32)
    total = zero(wide) - np.add.reduce(wide, axis=None)  # 0 for 0, not -0
    if reduction == MEAN:
        total = total / _total_weight(weights, picked, total)
    return total if total.dtype == kind else total.astype(kind)


def _total_weight(weights: Array | None, picked: Array, like: Array) -> Any:
    if weights is None:
        return like.dtype.type(picked.size)
    return np.add.reduce(weights, axis=None, dtype=like.dtype)


def _nll_backward(
    grad_output: Array,
    self_size: tuple[int, ...],
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
) -> Array:
    kind = grad_output.dtype
    if len(self_size) == 1 and target.ndim:
        raise RuntimeError(f"size mismatch (got input: {list(self_size)}, target: {list(target.shape)})")
    classes = self_size[0] if len(self_size) == 1 else self_size[1]
    t, counts = _checked_target(target, classes, ignore_index)
    weights = _class_weights(t, counts, weight, kind)
    values: Array
    if weights is None:
        values = grad_output / number(grad_output, -t.size) if reduction == MEAN and t.size else -grad_output
    else:
        if reduction == MEAN:
            grad_output = grad_output / np.add.reduce(weights, axis=None)
            if counts is not None:
                grad_output = np.where(counts, grad_output, zero(weights))
        values = -(grad_output * weights)
    found = np.zeros(self_size, kind)
    if len(self_size) == 2:
        found[np.arange(len(t)), t] = values
    elif len(self_size) == 1:
        found[t] = values
    else:
        np.put_along_axis(found, np.expand_dims(t, 1), np.expand_dims(np.broadcast_to(values, t.shape), 1), 1)
    return found


nll, nll_backward = compiled("nll", _nll), compiled("nll_backward", _nll_backward)


# ---------------------------------------------------------------- margins
def _margins(self: Array, target: Array, p: int, margin: float, weight: Array | None) -> tuple[Array, Array, Array]:
    """(margin - x[y] + x[i], held at 0, to the power p), its slope, and the rows' own classes; both weighted."""
    rows = np.arange(len(self))
    z = self - self[rows, target][:, None] + number(self, margin)
    np.maximum(z, zero(z), out=z)
    slope = (z > 0).astype(z.dtype) if p == 1 else 2 * z
    if p == 2:
        z = z * z
    if weight is not None:
        z *= weight[target][:, None]
        slope *= weight[target][:, None]
    z[rows, target] = 0
    slope[rows, target] = 0
    return z, slope, rows


def multi_margin(self: Array, target: Array, p: int, margin: float, weight: Array | None, reduction: int) -> Array:
    """The mean over classes of max(0, margin - x[target] + x[i])**p; self is (N, C) or (C,)."""
    x, t = np.atleast_2d(self), target.reshape(-1)
    _check_range(t, x.shape[1])
    z, _, _ = _margins(x, t, p, margin, weight)
    loss = np.add.reduce(z, axis=1) / number(x, x.shape[1])
    return reduced(loss.reshape(target.shape) if reduction == NONE else loss, reduction)


def multi_margin_backward(
    grad_output: Array, self: Array, target: Array, p: int, margin: float, weight: Array | None, reduction: int
) -> Array:
    x, t = np.atleast_2d(self), target.reshape(-1)
    _, slope, rows = _margins(x, t, p, margin, weight)
    slope[rows, t] = -np.add.reduce(slope, axis=1)
    slope /= number(x, x.shape[1] * (len(x) if reduction == MEAN else 1))
    slope *= grad_output if grad_output.ndim == 0 else grad_output.reshape(-1)[:, None]
    return slope.reshape(self.shape)


def _check_range(target: Array, classes: int) -> None:
    if target.size and int(target.view(np.uint64).max()) >= classes:
        raise RuntimeError("target out of range")


def label_mask(target: Array) -> Array:
    """Which classes are named by each row's targets, which end at the first -1."""
    named = np.logical_and.accumulate(target >= 0, axis=1)
    mask = np.zeros(target.shape, bool)
    rows, places = np.nonzero(named)
    mask[rows, target[rows, places]] = True
    return mask


def _label_margins(x: Array, target: Array) -> tuple[Array, Array, Array]:
    """max(0, 1 - x[j] + x[i]) for each named class j (axis 1, by place) and class i that is not named, else 0."""
    named = np.logical_and.accumulate(target >= 0, axis=1)
    classes = np.where(named, target, 0)
    z = 1 - np.take_along_axis(x, classes, 1)[:, :, None] + x[:, None, :]
    z *= named[:, :, None] & ~label_mask(target)[:, None, :]
    return np.maximum(z, 0), named, classes


def multilabel_margin(self: Array, target: Array, reduction: int) -> Array:
    """The mean over classes of the margins between named and other classes."""
    x, t = np.atleast_2d(self), np.atleast_2d(target)
    if t.size and (int(t.min()) < -1 or int(t.max()) >= x.shape[1]):
        raise RuntimeError("argument #2 'target' is out of range")
    loss = np.add.reduce(_label_margins(x, t)[0], axis=(1, 2)) / number(x, x.shape[1] or 1)
    return reduced(loss if self.ndim > 1 else loss.reshape(()), reduction)


def multilabel_margin_backward(grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    x, t = np.atleast_2d(self), np.atleast_2d(target)
    z, _, classes = _label_margins(x, t)
    active = (z > 0).astype(x.dtype)
    found = np.add.reduce(active, axis=1)
    rows = np.arange(len(x))[:, None]
    np.subtract.at(found, (np.broadcast_to(rows, classes.shape), classes), np.add.reduce(active, axis=2))
    found /= number(x, (x.shape[1] or 1) * (len(x) if reduction == MEAN else 1))
    found *= grad_output if grad_output.ndim == 0 else grad_output.reshape(-1)[:, None]
    return found.reshape(self.shape)
