"""Batching rules of further rows: batch norm, flattened places, systems of equations, distances and searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.tensor import from_array, shape_of
from livetape.func._arrays import dynamic_error
from livetape.func._networks import _from_channels, _into_channels
from livetape.func._rules import aligned, all_batches, expanded, flat, loop, rank
from livetape.func._special import numbers, rule, spread_out
from livetape.ops.arithmetic import mul
from livetape.ops.joining import cat
from livetape.ops.shape import reshape
from livetape.ops.table import TABLE

EXPAND, NORM_DIM, SUM_DIM, WHERE = TABLE["expand"], TABLE["norm.dim"], TABLE["sum.dim"], TABLE["where"]
GROUP_NORM_BACKWARD = TABLE["native_group_norm_backward"]

_RUNNING = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were not "
    "batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be False.If you are "
    "using a prebuilt module and do not need eval mode, please see the functorch website for resources on how to patch your "
    "module to work with vmap"
)


# ---------------------------------------------------------------- normalisations
def _as_channels(value: Any, flag: bool, size: int) -> Any:
    """A number for each channel as one for each channel of each sample."""
    return None if value is None else reshape(value if flag else expanded(value, size), (-1,))


def _by_sample(values: Any, size: int) -> Any:
    return reshape(values, (size, shape_of(values)[0] // size))


@rule("batch_norm")
def _batch_norm(op: Any, values: Any, flags: Any, size: int) -> Any:
    input, weight, bias, mean, var, training, *rest = values
    if training and mean is not None and flags[0] and not (flags[3] and flags[4]):
        raise RuntimeError(_RUNNING)
    whole = _into_channels(input if flags[0] else expanded(input, size))
    weight, bias, mean, var = [
        _as_channels(v, f, size) for v, f in zip((weight, bias, mean, var), (flags[1], flags[2], flags[3], flags[4]))
    ]
    found, *saved = op.apply((whole, weight, bias, mean, var, training, *rest))
    if training and mean is not None:  # what the kernel has updated may be a copy
        for kept, running in zip(values[3:5], (mean, var)):
            if not np.shares_memory(kept.array, running.array):
                # all the same where there are several
                kept.array[...] = running.array.reshape(-1, *kept.array.shape)[0]
    return _from_channels(found, size), *[_by_sample(s, size) for s in saved]


@rule("batch_norm_backward")
def _batch_norm_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, input, *channels, train, eps, wanted = values
    whole = [_into_channels(v if f else expanded(v, size)) for v, f in ((grad, flags[0]), (input, flags[1]))]
    channels = [
        v if v is not None and not f and v.array.size == 0 else _as_channels(v, f, size)
        for v, f in zip(channels, flags[2:7])
    ]
    by_input, by_weight, by_bias = op.apply((*whole, *channels, train, eps, wanted))
    if by_input.array.size:
        by_input = _from_channels(by_input, size)
    else:
        by_input = reshape(by_input, (size, 0))
    return by_input, _by_sample(by_weight, size), _by_sample(by_bias, size)


@rule("group_norm_backward")
def _group_norm_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, input, mean, rstd, weight, n, c, area, group, eps, _ = values
    grad, input, mean, rstd = [
        v if f else expanded(v, size)
        for v, f in zip((grad, input, mean, rstd), (flags[0], flags[1], flags[2], flags[3]))
    ]
    shape = shape_of(input)
    scaled = grad
    if weight is not None:
        scaled = mul(grad, reshape(weight, (size if flags[4] else 1, 1, c, *[1] * (len(shape) - 3))))
    folded = [reshape(v, (size * n, *shape_of(v)[2:])) for v in (scaled, input, mean, rstd)]
    by_input = GROUP_NORM_BACKWARD.apply((*folded, None, size * n, c, area, group, eps, [True, False, False]))[0]
    grouped = (size, n, group, -1)
    centre = (size, n, group, 1)
    normal = mul(reshape(input, grouped) - reshape(mean, centre), reshape(rstd, centre))
    by_bias = reshape(grad, (size, n, c, -1))
    by_weight = mul(by_bias, reshape(normal, (size, n, c, -1)))
    by_weight, by_bias = (SUM_DIM.apply((v, (1, 3), False, None)) for v in (by_weight, by_bias))
    return reshape(by_input, shape), by_weight, by_bias


# ---------------------------------------------------------------- places in the flattened tensor
def _offset(index: Any, flag: bool, size: int, count: int) -> Any:
    """Places in each sample as places in the whole batch."""
    index = index if flag else expanded(index, size)
    index = WHERE.apply((index < 0, index + count, index))
    return index + numbers(size, int(index.array.ndim), count)


@rule("take")
def _take(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, index = values
    if not flags[0]:
        return op.apply(values)
    return op.apply((tensor, _offset(index, flags[1], size, tensor.array.size // max(size, 1))))


@rule("take_backward")
def _take_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, shape, index = values
    count = int(np.prod(shape, dtype=np.int64))
    grad = grad if flags[0] else expanded(grad, size)
    return op.apply((grad, (size, *shape), _offset(index, flags[2], size, count)))


@rule("put")
def _put(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, index, source, accumulate = values
    tensor = tensor if flags[0] else expanded(tensor, size)
    places = _offset(index, flags[1], size, tensor.array.size // max(size, 1))
    source = source if flags[2] else expanded(source, size)
    return op.apply((tensor, reshape(places, (-1,)), reshape(source, (-1,)), accumulate))


# ---------------------------------------------------------------- masks
@rule("masked_select")
def _masked_select(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, mask = values
    if flags[1]:
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this "
            "because for each batch this would return a differently shaped Tensor. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        )
    wide = max(rank(tensor, True), int(mask.array.ndim))
    return reshape(op.apply((spread_out(tensor, wide + 1), expanded(mask, size))), (size, -1))


@rule("masked_place")
def _masked_place(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, shape, mask = values
    if flags[2]:
        raise RuntimeError(dynamic_error("masked_select_backward"))
    wide = max(len(shape), int(mask.array.ndim))
    both = np.broadcast_shapes(shape, shape_of(mask))
    mask = expanded(EXPAND.apply((mask, both)), size)
    return op.apply((flat(grad).reshape(-1), (size, *(1,) * (wide - len(shape)), *shape), mask))


@rule("index_fill")
def _index_fill(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, dim, index, value = values
    if flags[2] or rank(tensor, flags[0]) == 0:
        return loop(op, values, flags, size)
    tensor = tensor if flags[0] else expanded(tensor, size)
    if not flags[3]:
        return op.apply((tensor, dim + 1 if dim >= 0 else dim, index, value))
    place = dim + 1 if dim >= 0 else int(tensor.array.ndim) + dim
    extent = shape_of(tensor)[place]
    mask = np.zeros(extent, np.bool_)
    mask[index.array] = True
    inside = from_array(mask.reshape(extent, *(1,) * (int(tensor.array.ndim) - place - 1)))
    return WHERE.apply((inside, spread_out(value, int(tensor.array.ndim)).to(tensor.dtype), tensor))


# ---------------------------------------------------------------- linear algebra
@rule("factors_solve")
def _factors_solve(op: Any, values: Any, flags: Any, size: int) -> Any:
    """Rows that take factors, pivots, which have a dimension less, and the right side."""
    factors, pivots, right, *rest = all_batches(op, values, flags, size)
    wide = max(int(factors.array.ndim), int(right.array.ndim))
    return op.apply((spread_out(factors, wide), spread_out(pivots, wide - 1), spread_out(right, wide), *rest))


@rule("lstsq")
def _lstsq(op: Any, values: Any, flags: Any, size: int) -> Any:
    found = op.apply(tuple(all_batches(op, values, flags, size)))
    return tuple([f if f.array.ndim > 1 or f.array.size else reshape(f, (size, 0)) for f in found])


@rule("block_diag")
def _block_diag(op: Any, values: Any, flags: Any, size: int) -> Any:
    blocks = [spread_out(v, 3) for v in values[0]]
    columns = sum([shape_of(b)[2] for b in blocks])
    rows, before = [], 0
    for block in blocks:
        height, width = shape_of(block)[1:]
        sides = [block.new_zeros((size, height, n)) for n in (before, columns - before - width)]
        rows.append(cat([sides[0], block, sides[1]], 2))
        before += width
    return cat(rows, 1)


@rule("whole_norm")
def _whole_norm(op: Any, values: Any, flags: Any, size: int) -> Any:
    return NORM_DIM.apply((flat(values[0]), values[1], (1,), False))


@rule("dist")
def _dist(op: Any, values: Any, flags: Any, size: int) -> Any:
    left, right = aligned(values, flags, [0, 1])[:2]
    return NORM_DIM.apply((flat(left - right), values[2], (1,), False))


# ---------------------------------------------------------------- searches
@rule("searchsorted")
def _searchsorted(op: Any, values: Any, flags: Any, size: int) -> Any:
    bounds, tensor, *rest = values
    if rank(bounds, flags[0]) > 1:
        return op.apply(tuple(all_batches(op, values, flags, size)))
    if not flags[0]:
        return op.apply(values)  # one row of bounds for all
    tensor = tensor if flags[1] else expanded(tensor, size)
    rows = flat(tensor) if rank(tensor, True) else reshape(tensor, (size, 1))
    return reshape(op.apply((bounds, rows, *rest)), shape_of(tensor))
