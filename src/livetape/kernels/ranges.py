"""Counted and spaced numbers, rounded as torch rounds them.

torch computes blocks of eight floats (four doubles) from the first of each block, the rest one by one; what differs is
the last bit, and a loop over ``arange(0, 1, 0.1)`` shows it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape.kernels.draws import fused


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
        return np.arange(start, end, step, dtype=np.int64).astype(dtype, copy=False)
    if closed and dtype.itemsize == 2:
        start, end, step = (float(np.float32(v)) for v in (start, end, step))
        count = math.floor(float(np.float32(np.float32(end - start) / np.float32(step)) + np.float32(1)))
    elif closed:
        count = math.floor((end - start) / step + 1)
    elif whole:
        count = -(-(end - start) // step)
    else:
        count = math.ceil((end - start) / step)
    if whole and abs(start) < 2**20 and abs(end) < 2**20:
        return np.arange(start, start + count * step, step, dtype=np.int64).astype(dtype)  # exact either way
    index = np.arange(count, dtype=np.float64)
    if dtype.kind in "iu":
        return (start + np.arange(count) * step).astype(dtype)
    if dtype.itemsize == 2:  # torch adds in single precision
        start, step = float(np.float32(start)), float(np.float32(step))
        if closed:
            return (np.float32(start) + index.astype(np.float32) * np.float32(step)).astype(dtype)
    elif closed:
        return (start + index * step).astype(dtype)
    lanes = max(1, 32 // dtype.itemsize)
    blocked = count - count % (2 * lanes)
    first = np.floor_divide(index, lanes) * lanes
    if dtype.itemsize == 2:
        base = (start + first * step).astype(np.float32).astype(dtype).astype(np.float64)
        values = (base + (index - first) * step).astype(np.float32)
        values[blocked:] = start + index[blocked:] * step
        return values.astype(dtype)
    values = fused(index, step, start)
    base = fused(np.arange(0, blocked, lanes, dtype=np.float64), step, start).astype(dtype).astype(np.float64)
    for lane in range(lanes):
        values[lane:blocked:lanes] = _sum_rounded_once(base, lane, step)
    return values.astype(dtype)


def _sum_rounded_once(base: Any, lane: int, step: float) -> Any:
    """``base + lane * step`` as a fused multiply-add gives it: the product's error is carried along."""
    product = lane * step
    high = float(np.float32(step))  # both parts times a small whole number are exact
    missing = (lane * high - product) + lane * (step - high)
    total = base + product
    back = total - base
    return total + ((base - (total - back)) + (product - back) + missing)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def linspace_values(start: Any, end: Any, steps: int, dtype: Any) -> Any:
    """``steps`` numbers from ``start`` to ``end``, counted from the nearer end."""
    if steps == 0:
        return np.empty(0, dtype)
    if steps == 1:
        return np.full(1, start if dtype.kind in "fcV" else int(start)).astype(dtype)
    wide = np.dtype(np.float64) if dtype.kind in "iu" else dtype
    if dtype.kind in "iu":
        start, end = int(start), int(end)
    first, last = np.asarray(start).astype(wide), np.asarray(end).astype(wide)
    step = ((last - first) / np.asarray(steps - 1).astype(wide)).astype(wide)
    values = _from_both_ends(first, last, step, steps, wide)
    return np.trunc(values).astype(dtype) if dtype.kind in "iu" else values


def _from_both_ends(first: Any, last: Any, step: Any, steps: int, dtype: Any) -> Any:
    """``first + step * i`` for the lower half, ``last - step * i`` counted back for the upper, rounded once."""
    half = steps // 2
    up, down = np.arange(half), np.arange(steps - half - 1, -1, -1)
    if dtype.itemsize == 2:  # half precision rounds after each operation
        return np.concatenate([first + step * up.astype(dtype), last - step * down.astype(dtype)]).astype(dtype)
    if dtype.kind == "c":
        return np.concatenate([first + step * up, last - step * down]).astype(dtype)
    lower = fused(up.astype(np.float64), float(step), float(first))
    upper = fused(down.astype(np.float64), -float(step), float(last))
    return np.concatenate([lower, upper]).astype(dtype)


def logspace_values(start: Any, end: Any, steps: int, base: float, dtype: Any) -> Any:
    """``base`` to the power of spaced numbers; torch rounds after each operation here."""
    if steps < 2:
        return np.full(steps, np.power(float(base), start)).astype(dtype)
    if dtype.kind == "c":
        return np.power(base, linspace_values(start, end, steps, dtype)).astype(dtype)
    if dtype.kind in "iu":
        start, end = int(start), int(end)
    bounds = np.array([start, end], np.float64).astype(dtype)
    first, last = float(bounds[0]), float(bounds[1])
    step = float((bounds[1:] - bounds[:1]).astype(dtype)[0]) / (steps - 1)
    half = steps // 2
    up, down = np.arange(half), np.arange(steps - half - 1, -1, -1)
    return np.power(float(base), np.concatenate([first + step * up, last - step * down])).astype(dtype)
