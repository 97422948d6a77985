"""Running sums, products and extremes along one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.reductions import sum_kind, wide

_WIDER = {"f": np.dtype(np.float64), "c": np.dtype(np.complex128)}


def cumsum(x: Any, axis: int, kind: Any = None) -> Any:
    """Running sums, added with twice the precision."""
    return _accumulate(np.add, x, axis, kind)


def cumprod(x: Any, axis: int, kind: Any = None) -> Any:
    """Running products, multiplied with twice the precision."""
    return _accumulate(np.multiply, x, axis, kind)


def _accumulate(ufunc: Any, x: Any, axis: int, kind: Any) -> Any:
    kind = sum_kind(x) if kind is None else kind
    if x.ndim == 0:
        return x.astype(kind)
    if kind.itemsize == 2 and kind.kind in "fV":
        x, wider = x.astype(kind).astype(np.float32), np.dtype(np.float32)
    else:
        x = x.astype(kind, copy=False)
        wider = _WIDER.get(kind.kind, kind)
    return accumulate(ufunc, x.astype(wider), axis).astype(kind, copy=False)


def accumulate(ufunc: Any, x: Any, axis: int) -> Any:
    """``ufunc.accumulate`` in the memory of ``x``; row by row where that is quicker."""
    if axis == x.ndim - 1 or x.size < 64 * x.shape[axis]:
        return ufunc.accumulate(x, axis=axis, out=x)
    rows = np.moveaxis(x, axis, 0)
    for i in range(1, rows.shape[0]):
        ufunc(rows[i - 1], rows[i], out=rows[i])
    return x


def reversed_cumsum(x: Any, axis: int) -> Any:
    """Running sums from the end."""
    return np.flip(cumsum(np.flip(x, axis), axis), axis) if x.ndim else x.copy()


def extremes(x: Any, axis: int, largest: bool) -> tuple[Any, Any]:
    """Running maxima or minima and where each was found: the latest of equal ones; the first NaN stays."""
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    ufunc = np.maximum if largest else np.minimum
    values = accumulate(ufunc, x.copy(), axis)
    places = np.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    hit = x == values
    if x.dtype.kind in "fV":
        hit |= np.isnan(x)
    return values, accumulate(np.maximum, np.where(hit, places, 0), axis)


def logcumsumexp(x: Any, axis: int) -> Any:
    """log of the running sums of exp(x), without overflow."""
    kind = x.dtype
    if x.ndim == 0:
        return x.copy()
    x = wide(x)
    if kind.kind != "c":
        return np.logaddexp.accumulate(x, axis=axis).astype(kind, copy=False)
    found = np.empty_like(x)
    source, target = np.moveaxis(x, axis, 0), np.moveaxis(found, axis, 0)
    before = None
    for i in range(source.shape[0]):
        now = source[i]
        if before is not None:
            swap = before.real < now.real
            top, low = np.where(swap, now, before), np.where(swap, before, now)
            added = top + np.log1p(np.exp(low - top))
            now = np.where(np.isneginf(low.real), top, added)
        target[i] = before = now
    return found


def recurrence(factor: Any, x: Any, axis: int) -> Any:
    """y[i] = x[i] + factor[i] * y[i - 1] along ``axis``, with y[-1] = 0."""
    if x.ndim == 0:
        return x.copy()
    factor, x = np.broadcast_arrays(factor, x)
    kind = x.dtype
    y = wide(np.moveaxis(x, axis, 0)).copy("C")
    factor = wide(np.moveaxis(factor, axis, 0))
    count = y.shape[0]
    if count <= 32 or y.size >= 64 * count:
        for i in range(1, count):
            y[i] += factor[i] * y[i - 1]
    else:  # few but long rows: pairs, then pairs of pairs, and so on
        factor = factor.copy()
        step = 1
        while step < count:
            y[step:] += factor[step:] * y[:-step]
            factor[step:] = factor[step:] * factor[:-step]
            step *= 2
    return np.moveaxis(y, 0, axis).astype(kind, copy=False)
