"""Pooling of (..., d...) over windows of its last dimensions, forward and backward, on plain arrays.

Values of maxima and averages are found along one dimension after the other: kH + kW passes rather than kH kW.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled

Array = Any
Ints = tuple[int, ...]


def pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """The number of windows; with ``ceil_mode`` also one that starts inside and ends outside."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def _lowest(kind: Any) -> Any:
    if kind.kind in "iu":
        return np.iinfo(kind).min
    return -np.inf


def _surrounded(x: Array, sizes: Ints, padding: Ints, value: Any) -> Array:
    """``x`` with ``value`` around its last dimensions, so that they have ``sizes``; itself if nothing is added."""
    lead = x.ndim - len(sizes)
    if tuple(x.shape[lead:]) == tuple(sizes):
        return x
    found: Array = np.full((*x.shape[:lead], *sizes), value, x.dtype)
    found[(..., *[slice(p, p + n) for p, n in zip(padding, x.shape[lead:])])] = x
    return found


def _extent(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints) -> Ints:
    """How far the padded input must reach: beyond its own padding if the last window does."""
    return tuple(
        [
            max(n + p, (o - 1) * s + d * (k - 1) + 1)
            for n, k, s, p, d, o in zip(size, kernel, stride, padding, dilation, out)
        ]
    )


def _along(ndim: int, axis: int, part: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, part, *[slice(None)] * (ndim - axis - 1))


def _reduced(x: Array, axis: int, kernel: int, stride: int, dilation: int, out: int, combine: Any) -> Array:
    """Windows along one axis combined by a ufunc."""
    parts = [
        x[_along(x.ndim, axis, slice(i * dilation, i * dilation + stride * (out - 1) + 1, stride))]
        for i in range(kernel)
    ]
    if kernel == 1:
        return parts[0]
    found = combine(parts[0], parts[1])
    for part in parts[2:]:
        combine(found, part, out=found)
    return found


# ---------------------------------------------------------------- maxima
def _max_pool(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints) -> Array:
    """The largest value of each window; NaN if there is one."""
    lead = x.ndim - len(kernel)
    y = _surrounded(x, _extent(x.shape[lead:], kernel, stride, padding, dilation, out), padding, _lowest(x.dtype))
    for at in reversed(range(len(kernel))):
        y = _reduced(y, lead + at, kernel[at], stride[at], dilation[at], out[at], np.maximum)
    return np.ascontiguousarray(y) if y is not x else x.copy()


def _positions(kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Any:
    for at in product(*[range(k) for k in kernel]):
        yield at, (..., *[slice(i * d, i * d + s * (n - 1) + 1, s) for i, d, s, n in zip(at, dilation, stride, out)])


def _max_pool_indices(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints) -> Array:
    """Where each window's largest value is, as a number in the flattened last dimensions.

    The first of equal ones, and the last NaN.
    """
    lead, size = x.ndim - len(kernel), x.shape[x.ndim - len(kernel) :]
    reach = _extent(size, kernel, stride, padding, dilation, out)
    padded = _surrounded(x, reach, padding, _lowest(x.dtype))
    places = np.arange(math.prod(size), dtype=np.int64).reshape(size)
    places = _surrounded(places, reach, padding, -1)
    best: Array = None
    where = np.full((*x.shape[:lead], *out), -1, np.int64)
    is_float = x.dtype.kind not in "iu"
    for _, part in _positions(kernel, stride, dilation, out):
        value, place = padded[part], np.broadcast_to(places[part], where.shape)
        inside = place >= 0
        if best is None:
            best = value.copy()
            np.copyto(where, place, where=inside)
            continue
        better = value > best
        if is_float:
            better |= np.isnan(value)
        better |= where < 0
        better &= inside
        np.copyto(best, value, where=better)
        np.copyto(where, place, where=better)
    return where


def _max_pool_backward(
    grad: Array, x: Array, result: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints
) -> Array:
    """The gradient of the input: each goes to the first place in its window that holds the result."""
    if np.isnan(result).any():
        indices = max_pool_indices(x, kernel, stride, padding, dilation, out)
        return scatter_places(grad, indices, x.shape[x.ndim - len(kernel) :])
    lead = x.ndim - len(kernel)
    reach = _extent(x.shape[lead:], kernel, stride, padding, dilation, out)
    padded = _surrounded(x, reach, padding, np.nan)  # equal to nothing
    found: Array = np.zeros(padded.shape, grad.dtype)
    apart = all(s >= d * (k - 1) + 1 for k, s, d in zip(kernel, stride, dilation))
    free = np.ones(result.shape, bool)
    for _, part in _positions(kernel, stride, dilation, out):
        hit = padded[part] == result
        hit &= free
        free ^= hit
        if apart:
            np.multiply(grad, hit, out=found[part])
        else:
            found[part] += grad * hit
    if found.shape == x.shape:
        return found
    return np.ascontiguousarray(found[(..., *[slice(p, p + n) for p, n in zip(padding, x.shape[lead:])])])


# ---------------------------------------------------------------- averages
def _counts(size: int, kernel: int, stride: int, padding: int, out: int, with_padding: bool) -> Array:
    """How many elements each window along one dimension averages."""
    start = np.arange(out) * stride - padding
    end = np.minimum(start + kernel, size + padding)
    if with_padding:
        return end - start
    return np.minimum(end, size) - np.maximum(start, 0)


def _divisor(
    size: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    out: Ints,
    with_padding: bool,
    override: int | None,
    kind: Any,
) -> Array:
    if override is not None:
        return np.asarray(override, kind)
    counts = [_counts(*args, with_padding) for args in zip(size, kernel, stride, padding, out)]
    if all((c == c[:1]).all() for c in counts):
        return np.asarray(math.prod([int(c[0]) if c.size else 1 for c in counts]), kind)
    found = counts[0]
    for count in counts[1:]:
        found = found[..., None] * count
    return found.astype(kind)


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def _avg_pool(
    x: Array, kernel: Ints, stride: Ints, padding: Ints, out: Ints, with_padding: bool, override: int | None
) -> Array:
    """The mean of each window."""
    kind, ones, lead = x.dtype, (1,) * len(kernel), x.ndim - len(kernel)
    size = x.shape[lead:]
    y = _surrounded(_wide(x), _extent(size, kernel, stride, padding, ones, out), padding, 0)
    for at in reversed(range(len(kernel))):
        y = _reduced(y, lead + at, kernel[at], stride[at], 1, out[at], np.add)
    divisor = _divisor(size, kernel, stride, padding, out, with_padding, override, y.dtype)
    y = np.sign(y) * np.sign(divisor) * (np.abs(y) // np.abs(divisor)) if kind.kind in "iu" else y / divisor
    return y if y.dtype == kind else y.astype(kind)


def _avg_pool_backward(
    grad: Array,
    size: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    out: Ints,
    with_padding: bool,
    override: int | None,
) -> Array:
    """The transpose of `avg_pool`, for an input whose last dimensions are ``size``."""
    kind, ones, lead = grad.dtype, (1,) * len(kernel), grad.ndim - len(kernel)
    g = _wide(grad)
    g = g / _divisor(size, kernel, stride, padding, out, with_padding, override, g.dtype)
    reach = _extent(size, kernel, stride, padding, ones, out)
    for at in range(len(kernel)):
        axis = lead + at
        wide = np.zeros((*g.shape[:axis], reach[at], *g.shape[axis + 1 :]), g.dtype)
        for i in range(kernel[at]):
            part = wide[_along(g.ndim, axis, slice(i, i + stride[at] * (out[at] - 1) + 1, stride[at]))]
            part += g
        g = wide[_along(g.ndim, axis, slice(padding[at], padding[at] + size[at]))]
    return np.ascontiguousarray(g if g.dtype == kind else g.astype(kind))


# ---------------------------------------------------------------- places
def _scatter_places(grad: Array, indices: Array, size: Ints) -> Array:
    """Zeros (..., size...) with each gradient added at its place in the flattened last dimensions."""
    lead = grad.shape[: grad.ndim - len(size)]
    rows, width = math.prod(lead), math.prod(size)
    if not indices.size:
        return np.zeros((*lead, *size), grad.dtype)
    flat = indices.reshape(rows, -1) + (np.arange(rows) * width)[:, None]
    found = np.zeros(rows * width, np.float32 if grad.dtype.itemsize == 2 else grad.dtype)
    np.add.at(found, flat.reshape(-1), grad.reshape(-1).astype(found.dtype, copy=False))
    return found.astype(grad.dtype, copy=False).reshape(*lead, *size)


def gather_places(x: Array, indices: Array, dims: int) -> Array:
    """The elements at places in the flattened last ``dims`` dimensions."""
    lead = x.shape[: x.ndim - dims]
    rows = math.prod(lead)
    if not indices.size:
        return np.empty(indices.shape, x.dtype)
    return np.take_along_axis(x.reshape(rows, -1), indices.reshape(rows, -1), axis=1).reshape(indices.shape)


def put_places(x: Array, indices: Array, size: Ints) -> Array:
    """Zeros (..., size...) with each element written at its place."""
    dims = len(size)
    lead = x.shape[: x.ndim - dims]
    rows, width = math.prod(lead), math.prod(size)
    found = np.zeros((rows, width), x.dtype)
    if x.size:
        np.put_along_axis(found, indices.reshape(rows, -1), x.reshape(rows, -1), axis=1)
    return found.reshape(*lead, *size)


def windowed_max(x: Array, places: list[Array]) -> tuple[Array, Array]:
    """Maxima and their places over windows of any kind.

    ``places`` has for each of the last dimensions the positions (..., out, width) that its windows cover; a position
    given twice changes nothing. Leading dimensions of a table are those of ``x``.
    """
    dims = len(places)
    lead, size = x.shape[: x.ndim - dims], x.shape[x.ndim - dims :]
    flat = np.zeros((1,) * (2 * dims), np.int64)
    for at, table in enumerate(places):
        shape = [1] * (2 * dims)
        shape[at], shape[dims + at] = table.shape[-2:]
        flat = flat * size[at] + table.reshape(*table.shape[:-2], *shape)
    out = flat.shape[flat.ndim - 2 * dims :][:dims]
    if not math.prod(lead) * math.prod(out):
        return np.empty((*lead, *out), x.dtype), np.empty((*lead, *out), np.int64)
    flat = flat.reshape(*flat.shape[: flat.ndim - dims], -1)  # (..., out..., width)
    rows = math.prod(lead)
    table = np.broadcast_to(flat, (*lead, *flat.shape[flat.ndim - dims - 1 :])).reshape(rows, -1)
    values = np.take_along_axis(x.reshape(rows, -1), table, axis=1).reshape(*lead, *out, -1)
    best = values.argmax(axis=-1)
    if values.dtype.kind not in "iu":
        bad = np.isnan(values)
        if bad.any():
            last = values.shape[-1] - 1 - bad[..., ::-1].argmax(axis=-1)
            best = np.where(bad.any(axis=-1), last, best)
    best = best[..., None]
    indices = np.take_along_axis(table.reshape(values.shape), best, axis=-1)[..., 0]
    return np.take_along_axis(values, best, axis=-1)[..., 0], indices


def adaptive_windows(size: int, out: int) -> tuple[Array, Array]:
    """Where each of ``out`` windows that cover ``size`` elements starts and ends."""
    number = np.arange(out)
    return number * size // out, -((-(number + 1) * size) // out)


def adaptive_places(size: int, out: int) -> Array:
    """The positions (out, width) of adaptive windows; short windows repeat their last one."""
    start, end = adaptive_windows(size, out)
    width = int((end - start).max(initial=1))
    return np.minimum(start[:, None] + np.arange(width), end[:, None] - 1)


def averaging_matrix(size: int, out: int, kind: Any) -> Array:
    """(out, size): each row averages one adaptive window."""
    start, end = adaptive_windows(size, out)
    at = np.arange(size)
    inside = (at >= start[:, None]) & (at < end[:, None])
    return inside.astype(kind) / (end - start)[:, None].astype(kind)


def applied(x: Array, matrices: list[Array]) -> Array:
    """Each of the last dimensions multiplied by its matrix (out, in)."""
    lead = x.ndim - len(matrices)
    for at in reversed(range(len(matrices))):
        axis = lead + at
        if axis == x.ndim - 1:
            x = np.matmul(x, matrices[at].T)
        else:
            after = math.prod(x.shape[axis + 1 :])
            y = np.matmul(matrices[at], x.reshape(*x.shape[: axis + 1], after))
            x = y.reshape(*x.shape[:axis], matrices[at].shape[0], *x.shape[axis + 1 :])
    return x


def adaptive_avg(x: Array, out: Ints) -> Array:
    """The mean of each adaptive window."""
    wide = _wide(x)
    lead = x.ndim - len(out)
    matrices = [averaging_matrix(n, o, wide.dtype) for n, o in zip(x.shape[lead:], out)]
    return np.ascontiguousarray(applied(wide, matrices)).astype(x.dtype, copy=False)


def adaptive_avg_backward(grad: Array, size: Ints) -> Array:
    """The transpose of `adaptive_avg`."""
    wide = _wide(grad)
    lead = grad.ndim - len(size)
    matrices = [averaging_matrix(n, o, wide.dtype).T for n, o in zip(size, grad.shape[lead:])]
    return np.ascontiguousarray(applied(wide, matrices)).astype(grad.dtype, copy=False)


def fractional_starts(samples: Array, size: int, out: int, kernel: int) -> Array:
    """Where the windows of fractional pooling start: (..., out) for random samples (...)."""
    if out == 1:
        return np.full((*samples.shape, 1), size - kernel, np.int64)
    kind = samples.dtype.type
    alpha = kind((size - kernel) / kind(out - 1)) if samples.dtype.itemsize > 4 else kind(size - kernel) / kind(out - 1)
    number = np.arange(out - 1, dtype=samples.dtype)
    spread = ((number + samples[..., None]) * alpha).astype(np.int64) - (samples * alpha).astype(np.int64)[..., None]
    last = np.full((*samples.shape, 1), size - kernel, np.int64)
    return np.concatenate((spread, last), axis=-1)


max_pool = compiled("max_pool", _max_pool)
max_pool_indices = compiled("max_pool_indices", _max_pool_indices)
max_pool_backward = compiled("max_pool_backward", _max_pool_backward)
avg_pool = compiled("avg_pool", _avg_pool)
avg_pool_backward = compiled("avg_pool_backward", _avg_pool_backward)
scatter_places = compiled("scatter_places", _scatter_places)
