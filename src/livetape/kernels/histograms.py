"""Counting elements by value."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.reductions import wide


def bincount(x: Any, weights: Any, minlength: int) -> Any:
    """How often each integer from 0 on occurs; with ``weights``, their sums: float32 for float32, else float64."""
    if x.size == 0:
        kind = np.int64 if weights is None else np.float32 if weights.dtype == np.float32 else np.float64
        return np.zeros(minlength, kind)
    if weights is None:
        return np.bincount(x, minlength=minlength)
    found = np.bincount(x, weights.astype(np.float64), minlength)
    return found.astype(np.float32) if weights.dtype == np.float32 else found


def bounds(x: Any, low: float, high: float, margin: float) -> tuple[float, float]:
    """The range of a histogram: if none is given the data's, widened by ``margin`` if that is a single point."""
    if low == high and x.size:
        x = wide(x)
        low, high = float(np.min(x)), float(np.max(x))
    if low == high:
        low, high = low - margin, high + margin
    return low, high


def histc(x: Any, bins: int, low: float, high: float) -> Any:
    """The counts in equal bins; the last contains its upper edge."""
    kind = x.dtype
    x = wide(x).reshape(-1)
    one = x.dtype.type
    x = x[(x >= one(low)) & (x <= one(high))]
    place = ((x - one(low)) * one(bins) / (one(high) - one(low))).astype(np.int64)
    return np.bincount(np.minimum(place, bins - 1), minlength=bins).astype(kind)


def edges(bins: int, low: float, high: float, kind: Any) -> Any:
    """The edges of equal bins."""
    return np.linspace(low, high, bins + 1).astype(kind)


def histogram(points: Any, edges: list[Any], weight: Any, density: bool) -> tuple[Any, ...]:
    """The counts (or sums of weights) of points [N, D] between ascending edges of each dimension; and the edges.

    The last edge belongs to its bin.
    """
    counts = [max(len(e) - 1, 0) for e in edges]
    cell: Any = np.zeros(len(points), np.int64)
    inside: Any = np.ones(len(points), bool)
    for column, e, count in zip(points.T, edges, counts):
        inside &= (column >= e[0]) & (column <= e[-1]) & (count > 0)
        cell = cell * count + np.minimum(np.searchsorted(e, column, "right") - 1, count - 1)
    total = int(np.prod(counts, dtype=np.int64))
    weights = None if weight is None else weight[inside].astype(np.float64)
    found = np.bincount(cell[inside], weights, total)[:total].astype(points.dtype).reshape(counts)
    if not edges:
        found = np.zeros((), points.dtype)
    if density:
        sum_ = found.sum()
        for axis, e in enumerate(edges):
            found = found / np.diff(e).reshape([-1 if i == axis else 1 for i in range(len(edges))])
        found = np.asarray(found / sum_, points.dtype)
    return found, *[e.copy() for e in edges]
