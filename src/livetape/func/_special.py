"""Batching rules of rows that need more than moving a dimension: views by strides, products, indices, sums of everything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.tensor import from_array, shape_of
from livetape.dtypes import BOOL, uint8
from livetape.func._arrays import dynamic_error
from livetape.func._rules import SPECIAL, Rule, aligned, all_batches, broadcast, expanded, flat, loop, rank
from livetape.ops.added_products import scaled
from livetape.ops.arithmetic import mul
from livetape.ops.basics import clone, clone_as, conj
from livetape.ops.permuting import permute
from livetape.ops.shape import reshape
from livetape.ops.table import TABLE

ALIAS, AMAX, AMIN = TABLE["alias"], TABLE["amax"], TABLE["amin"]
AS_STRIDED, AS_STRIDED_BACKWARD, LAID_OUT = TABLE["as_strided"], TABLE["as_strided_backward"], TABLE["clone.layout"]
BMM, BMM_NT, BMM_TN, MM_NT, MV = TABLE["bmm"], TABLE["bmm.nt"], TABLE["bmm.tn"], TABLE["mm.nt"], TABLE["mv"]
EMBEDDING, EMBEDDING_BACKWARD = TABLE["embedding"], TABLE["embedding_dense_backward"]
EXPAND, UNSQUEEZE, SQUEEZE_DIMS = TABLE["expand"], TABLE["unsqueeze"], TABLE["squeeze.dims"]
GATHER, GATHER_BACKWARD = TABLE["gather"], TABLE["gather_backward"]
INDEX, INDEX_BACKWARD = TABLE["index"], TABLE["index_backward"]
INDEX_PUT, INDEX_ZERO = TABLE["index_put"], TABLE["index_put.zero"]
MEDIAN_DIM, NANMEDIAN_DIM = TABLE["median.dim"], TABLE["nanmedian.dim"]
PERMUTE, TRANSPOSE = TABLE["permute"], TABLE["transpose"]
SUM_DIM, MEAN_DIM, PROD_DIM = TABLE["sum.dim"], TABLE["mean.dim"], TABLE["prod.dim"]


def rule(*names: str) -> Any:
    """A decorator: the rule of rows that name it."""

    def register(function: Rule) -> Rule:
        for name in names:
            SPECIAL[name] = function
        return function

    return register


def numbers(size: int, ndim: int, step: int = 1) -> Any:
    """0, step, 2 step, ... along dimension 0 of a tensor of ``ndim`` dimensions."""
    return from_array((np.arange(size) * step).reshape(size, *(1,) * (ndim - 1)))


def spread_out(tensor: Any, ndim: int) -> Any:
    """A batch with dimensions of one element after the batch's, so that it has ``ndim``."""
    for _ in range(ndim - int(tensor.array.ndim)):
        tensor = UNSQUEEZE.apply((tensor, 1))
    return tensor


# ---------------------------------------------------------------- shapes
@rule("sum_to")
def _sum_to(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, wanted = values
    have = shape_of(tensor)[1:]
    extra = len(have) - len(wanted)
    dims = (*range(1, extra + 1), *[i + extra + 1 for i, n in enumerate(wanted) if n == 1 and have[i + extra] != 1])
    found = SUM_DIM.apply((tensor, dims, True, None)) if dims else tensor
    return reshape(found, (size, *wanted))


@rule("expand")
def _expand(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, wanted = values
    return op.apply((spread_out(tensor, len(wanted) + 1), (size, *wanted)))


@rule("layout")
def _layout(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, layout = values
    if layout is None:
        return clone_as(tensor, None)
    step = 1 + sum([(n - 1) * s for n, s in zip(shape_of(tensor)[1:], layout) if n])
    return LAID_OUT.apply((tensor, (step, *layout)))


@rule("strided")
def _strided(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, wanted, stride, offset, layout = values
    if layout is None and not tensor.array.flags.c_contiguous:
        tensor = clone_as(tensor, None)
    step = tensor.array.strides[0] // tensor.array.itemsize
    whole = tuple([s // tensor.array.itemsize for s in tensor.array.strides])
    return AS_STRIDED.apply((tensor, (size, *wanted), (step, *stride), offset, whole))


@rule("strided_backward")
def _strided_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, base, layout, wanted, stride, offset = values
    strides = _contiguous(base) if layout is None else tuple(layout)
    step = 1 + sum([(n - 1) * s for n, s in zip(base, strides) if n])
    return AS_STRIDED_BACKWARD.apply((grad, (size, *base), (step, *strides), (size, *wanted), (step, *stride), offset))


def _contiguous(size: Any) -> tuple[int, ...]:
    return tuple([math.prod(size[i + 1 :]) for i in range(len(size))])


@rule("t")
def _t(op: Any, values: Any, flags: Any, size: int) -> Any:
    return TRANSPOSE.apply((values[0], 1, 2)) if values[0].array.ndim == 3 else ALIAS.apply(values)


@rule("permute")
def _permute(op: Any, values: Any, flags: Any, size: int) -> Any:
    return PERMUTE.apply((values[0], (0, *[d + 1 for d in values[1]])))


@rule("squeeze")
def _squeeze(op: Any, values: Any, flags: Any, size: int) -> Any:
    return SQUEEZE_DIMS.apply((values[0], tuple([i + 1 for i, n in enumerate(shape_of(values[0])[1:]) if n == 1])))


@rule("dynamic")
def _dynamic(op: Any, values: Any, flags: Any, size: int) -> Any:
    raise RuntimeError(dynamic_error(op.name))


@rule("diagonal_sum")
def _trace(op: Any, values: Any, flags: Any, size: int) -> Any:
    return SUM_DIM.apply((TABLE["diagonal"].apply((values[0], 0, 1, 2)), (1,), False, None))


@rule("fill")
def _fill(op: Any, values: Any, flags: Any, size: int) -> Any:
    target, value = values
    if not flags[1]:
        return op.apply(values)
    shape = shape_of(target) if flags[0] else (size, *shape_of(target))
    return clone(EXPAND.apply((spread_out(value, len(shape)), shape))).to(target.dtype)


@rule("masked_fill")
def _masked_fill(op: Any, values: Any, flags: Any, size: int) -> Any:
    target, mask, value = values
    if not flags[2]:
        found = aligned((expanded(target, size) if not flags[0] else target, mask), [True, flags[1]], [0, 1])
        return op.apply((*found, value))
    return broadcast(TABLE["where"], (mask, value.to(target.dtype), target), [flags[1], True, flags[0]], size)


@rule("norm_shares")
def _norm_shares(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, result, dim = all_batches(op, values, flags, size)
    ndim = int(tensor.array.ndim)
    if dim is None:
        return op.apply((tensor, spread_out(result, ndim), tuple(range(1, ndim))))
    return op.apply((tensor, result, tuple([d + 1 for d in dim])))


@rule("repeat")
def _repeat(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, repeats = values
    return op.apply((spread_out(tensor, len(repeats) + 1), (1, *repeats)))


@rule("roll")
def _roll(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, shifts, dims = values
    if dims:
        return op.apply((tensor, shifts, tuple([d + 1 if d >= 0 else d for d in dims])))
    return reshape(op.apply((flat(tensor), shifts, (1,) * len(shifts))), shape_of(tensor))


@rule("index_dim")
def _index_dim(op: Any, values: Any, flags: Any, size: int) -> Any:
    """Rows that work along one dimension at a vector of places, which is the same for all samples; else a loop."""
    at = op.params.index("index")
    if flags[at] or rank(values[0], flags[0]) == 0:
        return loop(op, values, flags, size)
    index = values[at]
    found = all_batches(op, values, flags, size)
    found[at] = index
    found[1] = found[1] + 1 if found[1] >= 0 else found[1]
    return op.apply(tuple(found))


# ---------------------------------------------------------------- of all elements
@rule("total")
def _total(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor = flat(values[0])
    kind = values[1] if len(values) > 1 else None
    if op.name in ("sum", "mean"):
        return (SUM_DIM if op.name == "sum" else MEAN_DIM).apply((tensor, (1,), False, kind))
    if op.name == "prod":
        return PROD_DIM.apply((tensor, (1,), False, kind))
    if op.name in ("max", "min"):
        return (AMAX if op.name == "max" else AMIN).apply((tensor, (1,), False))
    return (MEDIAN_DIM if op.name == "median" else NANMEDIAN_DIM).apply((tensor, 1, False))[0]


@rule("place")
def _place(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, dim, keepdim = values
    if dim is None:
        ndim = int(tensor.array.ndim)
        found = op.apply((flat(tensor), 1, False))
        return reshape(found, (size, *(1,) * (ndim - 1))) if keepdim else found
    if tensor.array.ndim == 1:
        return loop(op, values, flags, size)
    return op.apply((tensor, dim + 1, keepdim))


# ---------------------------------------------------------------- products
def _rows(op: Any, left: Any, right: Any, size: int) -> Any:
    """A batch of matrices times one matrix: the batch folded into the rows."""
    n, m = shape_of(left)[1:]
    found = op.apply((reshape(left, (size * n, m)), right))
    return reshape(found, (size, n, shape_of(found)[-1]))


@rule("mm")
def _mm(op: Any, values: Any, flags: Any, size: int) -> Any:
    left, right = values
    if not flags[1]:
        return _rows(op, left, right, size)
    return BMM.apply((left if flags[0] else expanded(left, size), right))


@rule("mm_nt")
def _mm_nt(op: Any, values: Any, flags: Any, size: int) -> Any:
    left, right = values
    if not flags[1]:
        return _rows(op, left, right, size)
    if not flags[0]:
        p, m = shape_of(right)[1:]
        found = op.apply((left, reshape(right, (size * p, m))))
        return permute(reshape(found, (shape_of(left)[0], size, p)), (1, 0, 2))
    return BMM_NT.apply((left, right))


@rule("mm_tn")
def _mm_tn(op: Any, values: Any, flags: Any, size: int) -> Any:
    return BMM_TN.apply(tuple(all_batches(op, values, flags, size)))


@rule("bmm")
def _bmm(op: Any, values: Any, flags: Any, size: int) -> Any:
    left, right = all_batches(op, values, flags, size)
    b = shape_of(left)[1]
    found = op.apply((reshape(left, (size * b, *shape_of(left)[2:])), reshape(right, (size * b, *shape_of(right)[2:]))))
    return reshape(found, (size, b, *shape_of(found)[1:]))


@rule("mv")
def _mv(op: Any, values: Any, flags: Any, size: int) -> Any:
    matrix, vector = values
    if not flags[0]:
        return MM_NT.apply((vector, matrix))
    if not flags[1]:
        n, m = shape_of(matrix)[1:]
        return reshape(MV.apply((reshape(matrix, (size * n, m)), vector)), (size, n))
    found = BMM.apply((matrix, UNSQUEEZE.apply((vector, 2))))
    return reshape(found, shape_of(found)[:2])


@rule("dot")
def _dot(op: Any, values: Any, flags: Any, size: int) -> Any:
    left, right = values
    if op.name == "vdot":
        left = conj(left)
    if flags[0] != flags[1]:
        return MV.apply((left, right) if flags[0] else (right, left))
    return SUM_DIM.apply((mul(left, right), (1,), False, left.dtype))


def _product(name: str, left: Any, right: Any, flags: list[bool], size: int) -> Any:
    """A product that may be of no batch at all."""
    op = TABLE[name]
    return SPECIAL[name](op, (left, right), flags, size) if True in flags else op.apply((left, right))


@rule("add_product")
def _add_product(op: Any, values: Any, flags: Any, size: int) -> Any:
    start, left, right, beta, alpha = values[:5]
    if op.name == "addr":
        left = UNSQUEEZE.apply((left, 2 if flags[1] else 1))
        right = UNSQUEEZE.apply((right, 1 if flags[2] else 0))
        product = mul(left, right)
    else:
        name = {"addmm": "mm", "addmv": "mv", "baddbmm": "bmm", "addbmm": "bmm"}[op.name]
        product = _product(name, left, right, [flags[1], flags[2]], size)
        if op.name == "addbmm":
            product = SUM_DIM.apply((product, (1,) if flags[1] or flags[2] else (0,), False, None))
    product = scaled(product, alpha)
    if beta == 0:
        return product if flags[1] or flags[2] else expanded(product, size)
    start = scaled(start, beta)
    if flags[0]:
        start = spread_out(start, int(product.array.ndim) + (0 if flags[1] or flags[2] else 1))
    return start + product


# ---------------------------------------------------------------- indices
def _is_mask(tensor: Any) -> bool:
    return bool(tensor.dtype.category == BOOL or tensor.dtype is uint8)


class _Places:
    """Index tensors, some of them batches, as one index into a batch.

    before     the dimensions of a sample that come before those that are indexed
    wide       the dimensions that the index tensors put in their place
    together   whether the indexed dimensions follow each other: else the new ones come first
    """

    def __init__(self, indices: Any, batched: bool, size: int) -> None:
        given = [i for i in indices if i is not None]
        if batched and any(_is_mask(i) for i in given):
            raise RuntimeError(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
                "batch over indexing with a boolean mask."
            )
        places = [at for at, i in enumerate(indices) if i is not None]
        self.before = places[0]
        self.together = places == list(range(places[0], places[-1] + 1))
        masks = [i for i in given if _is_mask(i)]
        ranks = [1 if _is_mask(i) else int(i.array.ndim) - int(batched) for i in given]
        self.wide = max(ranks)
        self.simple = self.together and not (masks and len(given) > 1)
        self.index: tuple[Any, ...]
        if batched:
            found = [None if i is None else spread_out(i, self.wide + 1) for i in indices]
            self.index = (numbers(size, self.wide + 1), *found)
        else:
            self.index = (None, *indices)
        self.batched = batched

    def order(self, ndim: int) -> tuple[int, ...] | None:
        """How the dimensions of what the whole index gives must be permuted to have the batch's first, then a sample's."""
        if not self.batched:
            if self.together:
                return None
            return (self.wide, *range(self.wide), *range(self.wide + 1, ndim))
        if not self.together or self.before == 0:
            return None
        start = 1 + self.wide
        return (0, *range(start, start + self.before), *range(1, start), *range(start + self.before, ndim))


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([order.index(i) for i in range(len(order))])


@rule("index")
def _index(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, indices = values
    places = _Places(indices, flags[1], size)
    if not flags[0]:
        tensor = expanded(tensor, size)
    found = INDEX.apply((tensor, places.index))
    order = places.order(int(found.array.ndim))
    return found if order is None else permute(found, order)


@rule("index_backward")
def _index_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, wanted, indices = values
    places = _Places(indices, flags[2], size)
    if not flags[0]:
        grad = expanded(grad, size)
    order = places.order(int(grad.array.ndim))
    if order is not None:
        grad = permute(grad, _inverse(order))
    return INDEX_BACKWARD.apply((grad, (size, *wanted), places.index))


@rule("index_put")
def _index_put(op: Any, values: Any, flags: Any, size: int) -> Any:
    target, indices, given, accumulate = values
    places = _Places(indices, flags[1], size)
    if not places.simple:
        return loop(op, values, flags, size)
    if not flags[0]:
        target = expanded(target, size)
    ndim = int(INDEX.apply((target, places.index)).array.ndim)
    if flags[2]:
        given = spread_out(given, ndim)
    order = places.order(ndim)
    if order is not None:
        while given.array.ndim < ndim:
            given = UNSQUEEZE.apply((given, 0))
        given = permute(given, _inverse(order))
    return INDEX_PUT.apply((target, places.index, given, accumulate))


@rule("index_zero")
def _index_zero(op: Any, values: Any, flags: Any, size: int) -> Any:
    target, indices = values
    places = _Places(indices, flags[1], size)
    return INDEX_ZERO.apply((target if flags[0] else expanded(target, size), places.index))


def _indices_along(index: Any, size: Any, dim: int) -> Any:
    """A batch of vectors of places as indices for `gather` along a dimension, counted in the batch."""
    found = index
    for d in range(len(size)):
        if d not in (0, dim):
            found = UNSQUEEZE.apply((found, d))
    return EXPAND.apply((found, tuple([shape_of(index)[1] if d == dim else n for d, n in enumerate(size)])))


@rule("index_select")
def _index_select(op: Any, values: Any, flags: Any, size: int) -> Any:
    tensor, dim, index = values
    if not flags[2]:
        return op.apply((tensor, dim + 1, index)) if tensor.array.ndim > 1 else loop(op, values, flags, size)
    if index.array.ndim != 2 or rank(tensor, flags[0]) == 0:
        return loop(op, values, flags, size)
    tensor = tensor if flags[0] else expanded(tensor, size)
    return GATHER.apply((tensor, dim + 1, _indices_along(index, shape_of(tensor), dim + 1)))


@rule("index_select_backward")
def _index_select_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, wanted, dim, index = values
    if not flags[3]:
        return op.apply((grad, (size, *wanted), dim + 1, index)) if len(wanted) else loop(op, values, flags, size)
    if index.array.ndim != 2 or not len(wanted):
        return loop(op, values, flags, size)
    grad = grad if flags[0] else expanded(grad, size)
    return GATHER_BACKWARD.apply((grad, (size, *wanted), dim + 1, _indices_along(index, shape_of(grad), dim + 1)))


@rule("embedding")
def _embedding(op: Any, values: Any, flags: Any, size: int) -> Any:
    weight, indices, padding, by_freq = values
    if not flags[0]:
        return op.apply(values)
    if padding >= 0 or by_freq:
        return loop(op, values, flags, size)
    count, wide = shape_of(weight)[1:]
    indices = indices if flags[1] else expanded(indices, size)
    return EMBEDDING.apply(
        (reshape(weight, (size * count, wide)), indices + numbers(size, int(indices.array.ndim), count), -1, False)
    )


@rule("embedding_backward")
def _embedding_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, indices, count, padding, by_freq = values
    if padding >= 0:
        grad = mul(grad, UNSQUEEZE.apply((indices != padding, indices.array.ndim)).to(grad.dtype))
    grad = grad if flags[0] or (flags[1] and padding >= 0) else expanded(grad, size)
    indices = indices if flags[1] else expanded(indices, size)
    places = indices + numbers(size, int(indices.array.ndim), count)
    found = EMBEDDING_BACKWARD.apply((grad, places, size * count, -1, by_freq))
    return reshape(found, (size, count, shape_of(found)[-1]))
