"""Counted and spaced numbers, rounded as torch rounds them.

torch computes blocks of eight floats (four doubles) from the first of each block, the rest one by one; what differs is
the last bit, and a loop over ``arange(0, 1, 0.1)`` shows it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def _lanes(dtype: Any) -> int:
    """How many numbers torch computes at once."""
    return max(1, 32 // dtype.itemsize)


def arange_values(start: Any, end: Any, step: Any, dtype: Any, closed: bool = False) -> Any:
    """Numbers from ``start`` by ``step``, up to ``end``, which belongs to them if ``closed``."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    for value in (start, end):
        if isinstance(value, float) and not math.isfinite(value):
            raise RuntimeError(f"unsupported range: {_shown(start)} -> {_shown(end)}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    if dtype.kind in "iu" and not closed:
        if int(step) == 0:
            raise ValueError("step must be nonzero")
        start, end, step = (int(v) for v in (start, end, step)) if not whole else (start, end, step)
        count = -(-(end - start) // step)
        return (np.arange(count, dtype=np.int64) * step + start).astype(dtype)
    if closed:
        count = math.floor((end - start) / step + 1)
    elif whole:
        count = -(-(end - start) // step)
    else:
        count = math.ceil((end - start) / step)
    if whole and abs(start) < 2**20 and abs(end) < 2**20:
        return np.arange(start, start + count * step, step, dtype=np.int64).astype(dtype)  # exact either way
    lanes = _lanes(dtype)
    index = np.arange(count)
    if dtype.kind in "iu":
        return (start + index * step).astype(dtype)
    if dtype == np.float64 or closed or dtype.itemsize < 4:
        return (float(start) + index * float(step)).astype(dtype)
    blocked = count - count % (2 * lanes)
    first = index // lanes * lanes
    base = (float(start) + first * float(step)).astype(dtype).astype(np.float64)
    values = base + (index - first) * float(step)
    values[blocked:] = float(start) + index[blocked:] * float(step)
    return values.astype(dtype)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def linspace_values(start: Any, end: Any, steps: int, dtype: Any) -> Any:
    """``steps`` numbers from ``start`` to ``end``, counted from the nearer end."""
    return _spaced(start, end, steps, dtype)


def _spaced(start: Any, end: Any, steps: int, dtype: Any) -> Any:
    if steps == 0:
        return np.empty(0, dtype)
    if steps == 1:
        return np.full(1, start, dtype) if dtype.kind in "fc" else np.full(1, int(start), dtype)
    wide = np.dtype(np.float64) if dtype.kind in "iu" else dtype
    if dtype.kind in "iu":
        start, end = int(start), int(end)
    first, last = np.asarray(start, wide), np.asarray(end, wide)
    step = ((last - first) / wide.type(steps - 1)).astype(wide)
    index = np.arange(steps)
    halfway = steps // 2
    below = index < halfway
    if dtype.kind == "c":
        return np.where(below, first + step * index, last - step * (steps - 1 - index)).astype(dtype)
    exact = np.float64 if wide.itemsize <= 4 else wide  # products of floats are exact in double: as fused
    values = np.where(below, first.astype(exact) + step.astype(exact) * index,
                      last.astype(exact) - step.astype(exact) * (steps - 1 - index))
    return np.trunc(values).astype(dtype) if dtype.kind in "iu" else values.astype(dtype)


def logspace_values(start: Any, end: Any, steps: int, base: float, dtype: Any) -> Any:
    """``base`` to the power of spaced numbers."""
    wide = np.dtype(np.float64) if dtype.kind in "iu" else dtype
    if steps == 1:
        return np.full(1, np.power(float(base), start)).astype(dtype)
    powers = np.power(np.asarray(base, wide), _spaced(start, end, steps, wide))
    return powers.astype(dtype)
