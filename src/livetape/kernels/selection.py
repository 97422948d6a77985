"""Order: sorting, the k-th smallest, the most frequent, counting equal ones. NaN counts as the largest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape.kernels import choice_of_equals
from livetape.kernels.reductions import is_half, wide

FEW = 2048  # up to so many elements a stable sort is quickest


def take_last(x: Any, order: Any) -> Any:
    """The elements of a contiguous array at the places ``order`` in its last dimension."""
    if x.ndim == 1:
        return x[order]
    rows, count = math.prod(x.shape[:-1]), x.shape[-1]
    starts = np.arange(0, rows * count, max(1, count)).reshape(*x.shape[:-1], 1)
    return x.reshape(-1).take(order + starts)


def sort(x: Any, axis: int, descending: bool) -> tuple[Any, Any]:
    """The elements in order, and where each was; equal ones stay in their order."""
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    if axis not in (-1, x.ndim - 1):
        values, order = sort(np.ascontiguousarray(np.moveaxis(x, axis, -1)), -1, descending)
        return np.moveaxis(values, -1, axis).copy("C"), np.moveaxis(order, -1, axis).copy("C")
    if is_half(x) and x.dtype.kind == "V":
        values, order = sort(wide(x), -1, descending)
        return values.astype(x.dtype), order
    if x.size <= FEW or x.itemsize < 4:
        order = _stable(x, descending)
        return take_last(x, order), order
    order = np.argsort(x, axis=-1)  # much quicker than a stable sort; only equal elements are out of order
    if descending:
        order = order[..., ::-1].copy()
    values = take_last(x, order)
    _restore_order(values, order)
    return values, order


def _stable(x: Any, descending: bool) -> Any:
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    return (x.shape[-1] - 1) - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def _changes(values: Any) -> Any:
    """Where a sorted row goes on to another value; all NaN are one."""
    new = values[..., 1:] != values[..., :-1]
    if values.dtype.kind == "f":
        absent = values != values
        if absent.any():
            new &= ~(absent[..., 1:] & absent[..., :-1])
    return new


def _restore_order(values: Any, order: Any) -> None:
    """Bring the indices of equal elements into ascending order."""
    same = ~_changes(values)
    if not same.any():
        return
    count = values.shape[-1]
    tied = np.zeros(values.shape, np.bool_)
    tied[..., 1:] = same
    tied[..., :-1] |= same
    first = np.ones(values.shape, np.bool_)
    first[..., 1:] = ~same
    run = np.cumsum(first.reshape(-1)).reshape(values.shape)[tied]
    keys = run * count + order[tied]
    keys.sort()
    order[tied] = keys % count


def sort_as_torch(x: Any, axis: int, descending: bool) -> tuple[Any, Any]:
    """As `sort`, but equal elements are in the order in which torch's default, unstable sort leaves them."""
    if x.ndim == 0 or x.shape[axis] <= 16 or x.size > choice_of_equals.SORT_LIMIT:
        return sort(x, axis, descending)
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    values, order = sort(rows, -1, descending)
    _order_of_equals(rows, values, order, descending)
    return np.moveaxis(values, -1, axis).copy("C"), np.moveaxis(order, -1, axis).copy("C")


def _order_of_equals(rows: Any, values: Any, order: Any, descending: bool) -> None:
    """Reorder the indices of equal elements as torch's unstable sort does, which is stable up to 16 elements."""
    count = rows.shape[-1]
    if count <= 16 or rows.size > choice_of_equals.SORT_LIMIT:
        return
    tied = ~_changes(wide(values)).all(axis=-1)
    if tied.any():
        flat, places = wide(rows).reshape(-1, count), order.reshape(-1, count)
        for i in np.flatnonzero(tied):
            places[i] = choice_of_equals.order(flat[i].tolist(), descending)


def topk(x: Any, k: int, axis: int, largest: bool, ordered: bool) -> tuple[Any, Any]:
    """The k largest (or smallest) elements, in order if ``ordered``, and where each was."""
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    if axis not in (-1, x.ndim - 1):
        values, order = topk(np.ascontiguousarray(np.moveaxis(x, axis, -1)), k, -1, largest, ordered)
        return np.moveaxis(values, -1, axis).copy("C"), np.moveaxis(order, -1, axis).copy("C")
    count = x.shape[-1]
    if k == 0:
        return x[..., :0].copy(), np.zeros((*x.shape[:-1], 0), np.int64)
    if count <= 64 or k * 4 > count or x.dtype.kind == "V":
        ranked, order = sort(x, -1, largest)
        order = order[..., :k].copy()
        ranked = ranked[..., : k + 1]
    else:
        if largest:
            chosen = np.argpartition(x, count - k, axis=-1)[..., count - k :]
        else:
            chosen = np.argpartition(x, k - 1, axis=-1)[..., :k]
        chosen = np.sort(chosen, axis=-1)
        ranked, inner = sort(take_last(x, chosen), -1, largest)
        order = take_last(chosen, inner)
    if x.size <= choice_of_equals.LIMIT:
        _break_ties(wide(x), wide(ranked), order, k, largest, ordered)
    return take_last(x, order), order


def _break_ties(x: Any, ranked: Any, order: Any, k: int, largest: bool, ordered: bool) -> None:
    """Take of equal elements those that torch takes; ``ranked`` holds the k or k + 1 first elements of each row."""
    rows = None
    if ordered:
        tied = ~_changes(ranked).all(axis=-1)
        if ranked.shape[-1] == k < x.shape[-1]:
            tied |= _how_many(x, ranked[..., -1:], -1) > 1
        if not tied.any():
            return
        rows = np.flatnonzero(tied)
    values, places = x.reshape(-1, x.shape[-1]), order.reshape(-1, k)
    for i in range(len(values)) if rows is None else rows:
        places[i] = choice_of_equals.topk(values[i].tolist(), k, largest, ordered)


def _how_many(x: Any, value: Any, axis: int) -> Any:
    """How many elements equal ``value``; NaN equals NaN."""
    same = x == value
    if x.dtype.kind == "f":
        same |= np.isnan(x) & np.isnan(value)
    return np.count_nonzero(same, axis=axis)


# ---------------------------------------------------------------- the k-th smallest
def kth(x: Any, k: int, axis: int) -> tuple[Any, Any]:
    """The element that is k-th (from 0) when sorted, and where it was; of equal ones, the k-th by place."""
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    values, order = sort(x, axis, False)
    return np.take(values, k, axis), np.take(order, k, axis)


def kth_by_partition(x: Any, k: int, axis: int) -> tuple[Any, Any]:
    """As `kth`, but of equal elements the one that torch's quickselect ends up with."""
    values, order = kth(x, k, axis)
    if x.ndim == 0 or x.size > choice_of_equals.LIMIT:
        return values, order
    same = _how_many(wide(x), wide(np.expand_dims(values, axis)), axis)
    if not np.any(same > 1):
        return values, order
    rows = np.moveaxis(wide(x), axis, -1).reshape(-1, x.shape[axis])
    found = np.array([choice_of_equals.quickselect(row.tolist(), k) for row in rows], np.int64).reshape(values.shape)
    return values, np.where(same > 1, found, order)


def median(x: Any, axis: int, ignore_nan: bool) -> tuple[Any, Any]:
    """The lower median along ``axis`` and where it was; NaN if there is one, unless NaN are ignored."""
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    count = x.shape[axis]
    if x.dtype.kind not in "fV":
        return kth(x, (count - 1) // 2, axis)
    values, order = sort(x, axis, False)
    absent = np.isnan(values)
    missing = np.count_nonzero(absent, axis=axis, keepdims=True)
    if ignore_nan:
        place = np.maximum(count - missing - 1, 0) // 2
    else:
        place = np.where(missing > 0, count - missing, (count - 1) // 2)
    return (np.take_along_axis(values, place, axis).squeeze(axis), np.take_along_axis(order, place, axis).squeeze(axis))


def median_of_all(x: Any, ignore_nan: bool) -> Any:
    """The lower median of all elements."""
    flat = x.reshape(-1)
    if flat.size == 0:
        return np.full((), np.nan, x.dtype) if x.dtype.kind in "fV" else np.array(np.iinfo(x.dtype).min, x.dtype)
    if x.dtype.kind in "fV":
        absent = np.isnan(flat)
        if absent.any():
            flat = flat[~absent]
            if not ignore_nan or flat.size == 0:
                return np.full((), np.nan, x.dtype)
    middle = (flat.size - 1) // 2
    return np.partition(wide(flat), middle)[middle].astype(x.dtype)


def mode(x: Any, axis: int) -> tuple[Any, Any]:
    """The most frequent element along ``axis``, of several the smallest, and its last place; each NaN is alone."""
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    values, order = sort(rows, -1, False)
    _order_of_equals(rows, values, order, False)
    places = np.arange(values.shape[-1])
    first = np.zeros(values.shape, np.int64)
    first[..., 1:] = np.where(values[..., 1:] != values[..., :-1], places[1:], 0)
    length = places - np.maximum.accumulate(first, axis=-1)
    best = np.argmax(length, axis=-1)[..., None]
    return np.take_along_axis(values, best, -1)[..., 0], np.take_along_axis(order, best, -1)[..., 0]


# ---------------------------------------------------------------- which values there are
def unique(x: Any) -> tuple[Any, Any, Any]:
    """The different values in ascending order, each element's place among them, and the counts; each NaN is alone."""
    values, order = sort(x.reshape(-1), -1, False)
    new = np.ones(values.shape, np.bool_)
    new[1:] = values[1:] != values[:-1]
    starts = np.flatnonzero(new)
    inverse = np.empty(order.shape, np.int64)
    inverse[order] = np.cumsum(new) - 1
    return values[starts], inverse.reshape(x.shape), np.diff(np.append(starts, values.size))


def unique_slices(x: Any, axis: int) -> tuple[Any, Any, Any]:
    """As `unique`, for the slices along ``axis`` in lexicographic order."""
    rows = np.moveaxis(x, axis, 0).reshape(x.shape[axis], math.prod(x.shape) // max(1, x.shape[axis]))
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(rows.shape[0])
    ordered = rows[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(new)
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(new) - 1
    return np.take(x, order[starts], axis), inverse, np.diff(np.append(starts, len(order)))


def unique_runs(x: Any, axis: int | None) -> tuple[Any, Any, Any]:
    """The first of each run of equal neighbours, the run of each element (or slice), and the runs' lengths."""
    if axis is None:
        rows = x.reshape(-1, 1)
    else:
        rows = np.moveaxis(x, axis, 0).reshape(x.shape[axis], math.prod(x.shape) // max(1, x.shape[axis]))
    new = np.ones(rows.shape[0], np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.flatnonzero(new)
    inverse = np.cumsum(new) - 1
    counts = np.diff(np.append(starts, rows.shape[0]))
    if axis is None:
        return x.reshape(-1)[starts], inverse.reshape(x.shape), counts
    return np.take(x, starts, axis), inverse, counts


def searchsorted(bounds: Any, x: Any, right: bool) -> Any:
    """For each element, the first place in the sorted ``bounds`` (rows for rows, or one for all) where it fits in."""
    bounds, x = wide(bounds), wide(x)
    side: Any = "right" if right else "left"
    if bounds.ndim == 1:
        return np.searchsorted(bounds, x, side)
    if not x.size:
        return np.zeros(x.shape, np.int64)
    rows, queries = bounds.reshape(math.prod(bounds.shape[:-1]), -1), x.reshape(math.prod(x.shape[:-1]), -1)
    if rows.shape[0] <= 64:
        found = [np.searchsorted(row, query, side) for row, query in zip(rows, queries)]
        return np.array(found, np.int64).reshape(x.shape)
    low = np.zeros(queries.shape, np.int64)
    high = np.full(queries.shape, rows.shape[1], np.int64)
    while np.any(low < high):
        middle = (low + high) // 2
        value = np.take_along_axis(rows, np.minimum(middle, rows.shape[1] - 1), 1)
        later = (value <= queries) if right else (value < queries)
        if x.dtype.kind == "f":  # NaN comes last
            later |= np.isnan(queries) & (~np.isnan(value) if not right else True)
        later &= low < high
        low = np.where(later, middle + 1, low)
        high = np.where(later | (low >= high), high, middle)
    return low.reshape(x.shape)
