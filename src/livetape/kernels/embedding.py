"""Rows of a table by index: lookups, the sums that are their gradients, and bags of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
_FEW = 512  # elements up to which one pass over whole rows is quickest


def check_indices(indices: Array, count: int) -> bool:
    """Whether all indices are in [0, count)."""
    if not indices.size:
        return True
    if indices.dtype.itemsize == 8:
        return int(indices.view(np.uint64).max()) < count  # negative ones are large as unsigned numbers
    return int(indices.min()) >= 0 and int(indices.max()) < count


def lookup(weight: Array, indices: Array) -> Array:
    """weight[indices] for indices known to be in range."""
    return weight.take(indices, axis=0)


def sum_rows(count: int, indices: Array, values: Array) -> Array:
    """Zeros of shape (count, D) with each row of ``values``, (n, D), added at its index."""
    width = values.shape[1]
    kind = values.dtype
    if kind.itemsize == 2:
        return sum_rows(count, indices, values.astype(np.float32)).astype(kind)
    if values.size <= _FEW:
        found = np.zeros((count, width), kind)
        np.add.at(found, indices, values)
        return found
    flat = np.zeros(count * width, kind)
    places = indices.astype(np.intp, copy=False)[:, None] * width + np.arange(width)
    np.add.at(flat, places.reshape(-1), values.reshape(-1))
    return flat.reshape(count, width)


def embedding_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """The gradient of a table from that of its looked-up rows; 0 for ``padding_idx``."""
    flat = indices.reshape(-1)
    values = grad_output.reshape(flat.size, grad_output.shape[-1])
    if scale_grad_by_freq and flat.size:
        counts = np.bincount(flat, minlength=num_weights)
        values = values / counts[flat][:, None].astype(values.dtype)
    found = sum_rows(num_weights, flat, values)
    if padding_idx >= 0:
        found[padding_idx] = 0
    return found


def renormalize(weight: Array, indices: Array, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are looked up and whose norm is above ``max_norm`` down to it, in place."""
    rows = np.unique(indices)
    if not rows.size:
        return
    picked = weight[rows]
    norms = np.linalg.norm(picked, norm_type, axis=1)
    long = norms > max_norm
    weight[rows[long]] = picked[long] * (max_norm / (norms[long] + 1e-7)).astype(weight.dtype)[:, None]


# ---------------------------------------------------------------- bags
SUM, MEAN, MAX = 0, 1, 2


def bag_of(offsets: Array, count: int) -> Array:
    """The number of the bag that each of ``count`` indices is in; bags start at ``offsets``."""
    sizes = np.diff(offsets, append=count)
    return np.repeat(np.arange(len(offsets)), sizes)


def bag_counts(bags: Array, kept: Array | None, bag_count: int) -> Array:
    """How many indices each bag has, padding not counted."""
    return np.bincount(bags if kept is None else bags[kept], minlength=bag_count)


def embedding_bag(
    weight: Array, indices: Array, offsets: Array, mode: int, per_sample_weights: Array | None, padding_idx: int
) -> tuple[Array, Array]:
    """The sum, mean or maximum of the rows in each bag, and for maxima the row that each came from (else empty)."""
    bags = bag_of(offsets, len(indices))
    kept = indices != padding_idx if padding_idx >= 0 else None
    rows = weight.take(indices, axis=0)
    if per_sample_weights is not None:
        rows *= per_sample_weights[:, None]
    if kept is not None:
        rows, bags, indices = rows[kept], bags[kept], indices[kept]
    count = len(offsets)
    if mode == MAX:
        return _bag_maxima(rows, bags, indices, count)
    found = sum_rows(count, bags, rows)
    if mode == MEAN:
        found /= np.maximum(np.bincount(bags, minlength=count), 1).astype(found.dtype)[:, None]
    return found, np.empty(0, np.int64)


def _bag_maxima(rows: Array, bags: Array, indices: Array, count: int) -> tuple[Array, Array]:
    found, origin = np.zeros((count, rows.shape[1]), rows.dtype), np.zeros((count, rows.shape[1]), np.int64)
    starts = np.flatnonzero(np.diff(bags, prepend=-1))
    columns = np.arange(rows.shape[1])
    for start, end in zip(starts, [*starts[1:], len(bags)]):
        best = rows[start:end].argmax(axis=0) + start
        found[bags[start]] = rows[best, columns]
        origin[bags[start]] = indices[best]
    return found, origin
