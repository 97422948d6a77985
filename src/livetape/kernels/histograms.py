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


def histogram(x: Any, edges: Any, weight: Any, density: bool) -> tuple[Any, Any]:
    """The counts (or sums of weights) between ascending edges, the last of which belongs to its bin; and the edges."""
    flat = x.reshape(-1)
    inside = (flat >= edges[0]) & (flat <= edges[-1])
    place = np.minimum(np.searchsorted(edges, flat[inside], "right") - 1, len(edges) - 2)
    weights = None if weight is None else weight.reshape(-1)[inside].astype(np.float64)
    found = np.bincount(place, weights, len(edges) - 1)[: len(edges) - 1].astype(x.dtype)
    if density:
        found = (found / np.diff(edges) / found.sum()).astype(x.dtype)
    return found, edges.copy()
