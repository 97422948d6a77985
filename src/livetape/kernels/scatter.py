"""Adding at positions that may repeat: the backward of gathering.

NumPy adds quickly at positions of one flat dimension, ten times slower anywhere else: so positions are made flat.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def flat_places(shape: Any, key: tuple[Any, ...]) -> Any:
    """The flat positions that index arrays, first in ``key`` and perhaps followed by whole dimensions, stand for."""
    arrays = [k for k in key if not isinstance(k, slice)]
    place: Any = 0
    for extent, index in zip(shape, arrays):
        low = index.min(initial=0)
        if low < 0:
            if low < -extent:
                raise IndexError("index is out of bounds")
            index = np.where(index < 0, index + extent, index)
        if index.max(initial=-1) >= extent:
            raise IndexError("index is out of bounds")
        place = place * extent + index
    inner = math.prod(shape[len(arrays) :])
    if inner == 1:
        return place
    return place[..., None] * inner + np.arange(inner)


def add_at(total: Any, key: tuple[Any, ...], values: Any) -> Any:
    """``total[key] += values``, where every repetition of a place counts; returns ``total``."""
    arrays = 0
    for k in key:
        if isinstance(k, slice):
            break
        arrays += 1
    leading = arrays > 0 and all(isinstance(k, slice) for k in key[arrays:])
    if not leading or not total.flags.c_contiguous or total.dtype.kind in "bV":
        if total.dtype.kind == "b":
            np.logical_or.at(total, key, values)
        else:
            np.add.at(total, key, values)
        return total
    places = flat_places(total.shape, key)
    have = values.shape
    wanted = (*np.broadcast_shapes(*[k.shape for k in key[:arrays]]), *total.shape[arrays:])
    if have != wanted:
        values = np.broadcast_to(values, wanted)
    np.add.at(
        total.reshape(-1), places.reshape(-1), np.ascontiguousarray(values).reshape(-1).astype(total.dtype, copy=False)
    )
    return total


def along(shape: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """Index arrays that place ``index`` along one dimension, and count in the others (as gather and scatter do)."""
    found = []
    ndim = index.ndim
    for d in range(ndim):
        found.append(index if d == dim else np.arange(index.shape[d]).reshape((-1,) + (1,) * (ndim - 1 - d)))
    return tuple(found)


def flat_along(shape: Any, dim: int, index: Any) -> Any:
    """The flat positions of `along` in an array of the given shape."""
    place: Any = np.zeros((), np.int64)
    stride = 1
    ndim = index.ndim
    for d in range(ndim - 1, -1, -1):
        part = index if d == dim else np.arange(index.shape[d]).reshape((-1,) + (1,) * (ndim - 1 - d))
        place = place + part * stride
        stride *= shape[d]
    return place


def add_along(total: Any, dim: int, index: Any, values: Any) -> Any:
    """Add ``values`` to ``total`` where ``index`` says along a dimension; repetitions count."""
    if not index.size:
        return total
    if not index.ndim or not total.ndim:
        total += values.reshape(total.shape) if values.size == 1 else values.sum()
        return total
    if total.flags.c_contiguous and total.dtype.kind not in "bV":
        flat = flat_along(total.shape, dim, index).reshape(-1)
        np.add.at(total.reshape(-1), flat, values.reshape(-1).astype(total.dtype, copy=False))
    else:
        np.add.at(total, along(total.shape, dim, index), values)
    return total


def add_rows(total: Any, dim: int, index: Any, values: Any) -> Any:
    """Add slice i of ``values`` along a dimension to slice ``index[i]`` of ``total``; repetitions count."""
    if dim == 0:
        return add_at(total, (index,), values)
    moved = np.moveaxis(total, dim, 0)
    if total.ndim == 2 and total.flags.c_contiguous:
        flat = np.arange(total.shape[0])[:, None] * total.shape[1] + np.where(index < 0, index + total.shape[1], index)
        np.add.at(total.reshape(-1), flat.reshape(-1), values.reshape(-1).astype(total.dtype, copy=False))
        return total
    np.add.at(moved, index, np.moveaxis(values, dim, 0))
    return total


# ---------------------------------------------------------------- with a reduction
_START = {"sum": 0, "mean": 0, "prod": 1}


def _start_of(reduce: str, kind: Any) -> Any:
    """What changes nothing under a reduction."""
    if reduce in _START:
        return _START[reduce]
    if kind.kind == "f" or kind.kind == "V":
        return -np.inf if reduce == "amax" else np.inf
    if kind.kind == "b":
        return reduce == "amin"
    return np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max


def _reduce_at(total: Any, key: Any, src: Any, reduce: str) -> None:
    if reduce in ("sum", "mean"):
        np.add.at(total, key, src)
    elif reduce == "prod":
        np.multiply.at(total, key, src)
    elif reduce == "amax":
        np.maximum.at(total, key, src)
    else:
        np.minimum.at(total, key, src)


def reduce_at_key(self: Any, key: Any, src: Any, reduce: str, include_self: bool) -> Any:
    """A copy of ``self`` with ``src`` combined into it at index arrays."""
    out = self.copy()
    if not include_self:
        out[key] = _start_of(reduce, out.dtype)
    _reduce_at(out, key, src, reduce)
    if reduce == "mean":
        count = np.full(out.shape, int(include_self), np.int64)
        np.add.at(count, key, 1)
        count[count == 0] = 1
        out = out // count if out.dtype.kind in "iu" else out / count
    return out.astype(self.dtype, copy=False)


def reduce_along(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    """A copy of ``self`` with ``src`` combined into it where ``index`` says along a dimension."""
    if not index.size:
        return self.copy()
    if not self.ndim:
        found = reduce_at_key(
            self.reshape(1), (index.reshape(-1),), src.reshape(-1)[: index.size], reduce, include_self
        )
        return found.reshape(())
    if not index.ndim:
        index, src = index.reshape(1), src.reshape(-1)
    return reduce_at_key(
        self, along(self.shape, dim, index), src[tuple([slice(n) for n in index.shape])], reduce, include_self
    )
