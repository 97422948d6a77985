"""Reductions over segments: consecutive pieces of a dimension, of lengths that are given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import FLOAT, INTEGER, SCALAR_TYPE
from livetape.ops.dims import wrap_dim
from livetape.ops.table import row

_UFUNC = {"sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
_ALIASES = {"amax": "max", "amin": "min"}


def _pieces(lengths: Any, offsets: Any) -> tuple[Any, Any]:
    """Where each segment begins and ends, [..., segments]."""
    if offsets is not None:
        return offsets[..., :-1], offsets[..., 1:]
    ends = np.cumsum(lengths, -1, dtype=np.int64)
    return ends - lengths, ends


def _owners(begins: Any, ends: Any, size: int) -> Any:
    """The segment of each of ``size`` elements in a row, -1 for none: [..., size]."""
    places = np.arange(size)
    inside = (places[:, None] >= begins[..., None, :]) & (places[:, None] < ends[..., None, :])
    return np.where(inside.any(-1), inside.argmax(-1), -1)


def _reduced(data: Any, reduce: str, lengths: Any, offsets: Any, initial: Any) -> Any:
    """The segments' reductions along the last dimension of lengths, which is ``data``'s axis."""
    axis = (lengths if offsets is None else offsets).ndim - 1
    begins, ends = _pieces(lengths, offsets)
    count = begins.shape[-1]
    start = _START[reduce] if initial is None else initial
    out = np.full((*data.shape[:axis], count, *data.shape[axis + 1 :]), start, data.dtype)
    ufunc: Any = _UFUNC[reduce]
    for where in np.ndindex(*begins.shape):
        lead, n = where[:-1], where[-1]
        piece = data[lead][begins[where] : ends[where]]
        found = ufunc.reduce(piece, axis=0, initial=None) if len(piece) else None
        if found is not None:
            out[lead][n] = ufunc(out[lead][n], found)
        if reduce == "mean":
            out[lead][n] = out[lead][n] / len(piece) if len(piece) else (math.nan if initial is None else initial)
    return out


def _spread(values: Any, owner: Any, axis: int) -> Any:
    """What each segment has, for each of its elements."""
    index = np.maximum(owner, 0).reshape(*owner.shape, *[1] * (values.ndim - axis - 1))
    index = np.broadcast_to(index, (*owner.shape, *values.shape[axis + 1 :]))
    return np.take_along_axis(values, index, axis)


def _slope(grad: Any, result: Any, data: Any, reduce: str, lengths: Any, offsets: Any, initial: Any) -> Any:
    """The gradient of the data. Ties share a maximum's; a product's is that of the other factors."""
    axis = (lengths if offsets is None else offsets).ndim - 1
    begins, ends = _pieces(lengths, offsets)
    owner = _owners(begins, ends, data.shape[axis])
    inside = (owner >= 0).reshape(*owner.shape, *[1] * (data.ndim - axis - 1))
    mine = np.where(inside, _spread(grad, owner, axis), 0)
    if reduce == "sum":
        return mine
    if reduce == "mean":
        sizes = (ends - begins).reshape(*begins.shape, *[1] * (data.ndim - axis - 1))
        return mine / np.where(inside, _spread(np.broadcast_to(sizes, grad.shape), owner, axis), 1).astype(data.dtype)
    if reduce == "prod":
        return mine * _others(data, begins, ends, axis, 1.0 if initial is None else initial)
    best = _spread(result, owner, axis)
    hit = inside & ((data == best) | np.isnan(data))
    counts = np.zeros(grad.shape, data.dtype)
    for where in np.ndindex(*begins.shape):
        lead, n = where[:-1], where[-1]
        counts[lead][n] = hit[lead][begins[where] : ends[where]].sum(0)
    return np.where(hit, mine / np.maximum(_spread(counts, owner, axis), 1), 0).astype(data.dtype)


def _others(data: Any, begins: Any, ends: Any, axis: int, initial: float) -> Any:
    """For each element the product of the others of its segment."""
    out = np.zeros_like(data)
    for where in np.ndindex(*begins.shape):
        lead = where[:-1]
        piece = data[lead][begins[where] : ends[where]]
        ones = np.full((1, *piece.shape[1:]), initial, data.dtype)
        before = np.cumprod(np.concatenate([ones, piece[:-1]]), 0) if len(piece) else piece
        after = np.cumprod(np.concatenate([np.ones_like(ones), piece[:0:-1]]), 0)[::-1] if len(piece) else piece
        out[lead][begins[where] : ends[where]] = before * after
    return out


def _no_second(grad: Any) -> Any:
    raise noted(RuntimeError("derivative for aten::_segment_reduce_backward is not implemented"))


SEGMENT = row(
    "segment_reduce",
    lambda data, reduce, lengths, offsets, axis, initial: _reduced(data, reduce, lengths, offsets, initial),
    tensors="data lengths offsets",
    data=lambda grad, result, data, reduce, lengths, offsets, initial: SLOPE.apply(
        (grad, result, data, reduce, lengths, offsets, initial)
    ),
)
SLOPE = row(
    "_segment_reduce_backward",
    _slope,
    params="grad result data reduce lengths offsets initial",
    tensors="grad result data lengths offsets",
    node="NotImplemented",
    grad=_no_second,
    data=_no_second,
)


def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    """Sums, means, products or extremes of consecutive pieces along ``axis`` (source: ``torch.segment_reduce``).

    reduce    "sum", "mean", "prod", "max" or "min"
    lengths   [..., segments]: how many elements each segment has; or ``offsets`` [..., segments + 1]: where they begin
    unsafe    do not check that the lengths add up
    initial   what each reduction begins with

    >>> import livetape as torch
    >>> torch.segment_reduce(torch.tensor([1., 2., 3.]), "sum", lengths=torch.tensor([1, 2]))
    tensor([1., 5.])
    """
    how = _ALIASES.get(reduce, reduce)
    axis = wrap_dim(axis, data.array.ndim)
    if indices is not None:
        raise noted(RuntimeError("segment_reduce(): indices based reduction is not supported yet."))
    if lengths is None and offsets is None:
        raise noted(RuntimeError("segment_reduce(): Either lengths or offsets must be defined."))
    name, given = ("offsets", offsets) if offsets is not None else ("lengths", lengths)
    if how not in _UFUNC:
        raise noted(RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"))
    if data.array.ndim < given.array.ndim or not data.array.ndim:
        raise noted(
            RuntimeError(
                f"Expected data.dim() >= {name}_value.dim() to be true, but got false.  (Could this error message be "
                "improved?  If so, please report an enhancement request to PyTorch.)"
            )
        )
    if given.dtype.category != INTEGER:
        label = f"_segment_reduce_{name}_cpu_kernel1"
        raise noted(NotImplementedError(f"\"{label}\" not implemented for '{SCALAR_TYPE[given.dtype]}'"))
    if offsets is None and not unsafe:
        if given.array.size and given.array.min() < 0:
            raise noted(RuntimeError("lengths contains negative value!"))
        if not (given.array.sum(-1) == shape_of(data)[axis]).all():
            raise noted(
                RuntimeError(
                    "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                    "when !unsafe."
                )
            )
    if data.dtype.category != FLOAT:
        raise noted(NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{SCALAR_TYPE[data.dtype]}'"))
    return SEGMENT.apply((data, how, None if offsets is not None else lengths, offsets, axis, initial))


_segment_reduce = segment_reduce
FUNCTIONS = ["_segment_reduce", "segment_reduce"]
METHODS: dict[str, Any] = {}
