"""Elements placed by index tensors and masks: each function has an in-place variant."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import int32, int64, of_numpy
from livetape.kernels.scatter import add_along, along, reduce_along
from livetape.ops.dims import wrap_dim
from livetape.ops.gathering import GATHER, check_range
from livetape.ops.indexing import OVERWRITTEN, counters_like, surviving
from livetape.ops.options import need_tensor, scalar_array
from livetape.ops.refuse import no_overload
from livetape.ops.shape import reshape
from livetape.ops.slicing import SLICE_BACKWARD
from livetape.ops.table import into, row


def as_value(self: Any, value: Any) -> Any:
    """A number, or a 0-d array, as a 0-d array of the dtype of ``self``."""
    if isinstance(value, np.ndarray):
        return value.astype(self.dtype)
    return scalar_array(value, of_numpy(self.dtype))


# ---------------------------------------------------------------- scatter
def _scatter(self: Any, dim: int, index: Any, src: Any) -> Any:
    out = self.copy()
    if not out.ndim:
        if index.size:
            out[...] = src.reshape(-1)[0] if isinstance(src, np.ndarray) and src.ndim else src
        return out
    if isinstance(src, np.ndarray) and src.ndim:
        src = src[tuple([slice(n) for n in index.shape])]
    if index.ndim:
        out[along(out.shape, dim, index)] = src
    else:
        out[index] = src
    return out


SCATTER = row(
    "scatter",
    _scatter,
    tensors="self index src",
    apart=True,
    linear=True,
    batch="dim",
    self=lambda grad, dim, index: scatter(grad, dim, index, 0),
    src=lambda grad, dim, index, src_size: _scatter_src(grad, dim, index, src_size),
    differs=OVERWRITTEN,
    selects=True,
)
SCATTER_NUMBER = row(
    "scatter",
    lambda self, dim, index, value: _scatter(self, dim, index, as_value(self, value)),
    tensors="self index",
    node="ScatterBackward1",
    key="scatter.value",
    batch="dim",
    self=lambda grad, dim, index: scatter(grad, dim, index, 0),
    selects=True,
)


def _scatter_src(grad: Any, dim: int, index: Any, size: Any) -> Any:
    found = surviving(
        GATHER.apply((grad, dim, index)),
        lambda numbers: GATHER.apply((SCATTER.apply((counters_like(grad), dim, index, numbers)), dim, index)),
    )
    return _padded(found, size)


def gathered(grad: Any, dim: int, index: Any, size: Any) -> Any:
    """The gradient of the part of ``src`` that was read: ``index`` may be smaller."""
    return _padded(GATHER.apply((grad, dim, index)), size)


def _padded(found: Any, size: Any) -> Any:
    if shape_of(found) == size:
        return found
    if not size:
        return reshape(found, ())
    for d, (n, whole) in enumerate(zip(shape_of(found), size)):
        if n != whole:
            found = SLICE_BACKWARD.apply((found, (*size[: d + 1], *shape_of(found)[d + 1 :]), d, 0, n, 1))
    return found


def _scatter_reduced(self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    return reduce_along(self, dim, index, src, "sum" if reduce == "add" else "prod", True)


def no_derivative(name: str) -> Any:
    """A formula for what torch computes without a derivative: it raises torch's error when it is reached."""

    def raises(grad: Any) -> Any:
        raise noted(RuntimeError(f"derivative for aten::{name} is not implemented"))

    return raises


SCATTER_REDUCE_OLD = row(
    "scatter",
    _scatter_reduced,
    tensors="self index src",
    node="NotImplemented",
    key="scatter.reduce",
    apart=True,
    batch="dim",
    self=no_derivative("scatter"),
    src=no_derivative("scatter"),
)
SCATTER_REDUCE_NUMBER = row(
    "scatter",
    lambda self, dim, index, value, reduce: _scatter_reduced(
        self, dim, index, np.broadcast_to(as_value(self, value), index.shape), reduce
    ),
    tensors="self index",
    node="NotImplemented",
    key="scatter.value_reduce",
    batch="dim",
    self=no_derivative("scatter"),
)


def check_scatter(name: str, input: Any, dim: Any, index: Any, src: Any) -> int:
    """The dimension, once index and source are found fit."""
    need_tensor(name, index, "index", 2)
    size, places = shape_of(input), index.array
    at = wrap_dim(dim, len(size), name)
    if index.dtype is not int64 and index.dtype is not int32:
        raise noted(RuntimeError(f"{name.removesuffix('_add')}(): Expected dtype int32/int64 for index"))
    if isinstance(src, TensorBase):
        if src.dtype is not input.dtype:
            raise noted(RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype"))
    if not places.size:
        return at
    if max(places.ndim, 1) != max(len(size), 1):
        raise noted(RuntimeError("Index tensor must have the same number of dimensions as self tensor"))
    have = shape_of(src) if isinstance(src, TensorBase) else None
    if have is not None and max(places.ndim, 1) != max(len(have), 1):
        if 0 < len(have) < places.ndim:
            wrap_dim(len(have), len(have), name)  # torch asks for its size there
        raise noted(RuntimeError("Index tensor must have the same number of dimensions as src tensor"))
    for d in range(min(places.ndim, len(size))):
        large = have is not None and len(have) and places.shape[d] > have[d]
        if (d != at and places.shape[d] > size[d]) or large:
            more = "" if have is None else f" and to be no larger size than src {list(have)}"
            raise noted(
                RuntimeError(
                    f"Expected index {list(places.shape)} to be no larger than self {list(size)} apart from "
                    f"dimension {at}{more}"
                )
            )
    check_range(places, size[at] if size else 1, None, RuntimeError, at)
    return at


_warned: list[str] = []


def _scatter_call(name: str, input: Any, dim: Any, index: Any, src: Any, value: Any, reduce: Any) -> Any:
    """The row of a call to scatter, and its arguments."""
    given = src if value is None else value
    if not isinstance(given, (TensorBase, int, float, complex, np.generic)):
        raise noted(no_overload(name))
    if reduce is not None and reduce not in ("add", "multiply"):
        raise noted(RuntimeError("reduce argument must be either add or multiply."))
    at = check_scatter(name.rstrip("_"), input, dim, index, given)
    if isinstance(given, TensorBase):
        if reduce is None:
            return SCATTER, (input, at, index, given)
        if not _warned:
            _warned.append("reduce")
            warnings.warn(
                "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a "
                "future "
                "PyTorch release. Use torch.scatter_reduce instead for more reduction options.",
                UserWarning,
                stacklevel=3,
            )
        return SCATTER_REDUCE_OLD, (input, at, index, given, reduce)
    if reduce is None:
        return SCATTER_NUMBER, (input, at, index, given)
    return SCATTER_REDUCE_NUMBER, (input, at, index, given, reduce)


def scatter(
    input: Any, dim: Any, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None, out: Any = None
) -> Any:
    """A copy with ``src``, a tensor or number, at the places that ``index`` names along ``dim`` (``torch.scatter``).

    >>> import livetape as torch
    >>> torch.scatter(torch.zeros(1, 3), 1, torch.tensor([[2]]), 5.)
    tensor([[0., 0., 5.]])
    """
    if out is not None:
        return into(out, scatter, input, dim, index, src, value=value, reduce=reduce)
    op, values = _scatter_call("scatter", input, dim, index, src, value, reduce)
    return op.apply(values)


def scatter_(self: Any, dim: Any, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:
    """In-place `scatter`."""
    op, values = _scatter_call("scatter_", self, dim, index, src, value, reduce)
    return op.inplace(*values)


def _scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    out = self.copy("C")
    if out.ndim and not src.ndim:
        src = src.reshape(1)
    if not out.ndim:
        return out + src.sum(dtype=src.dtype) if index.size else out
    return add_along(out, dim, index, src[tuple([slice(n) for n in index.shape])])


SCATTER_ADD = row(
    "scatter_add",
    _scatter_add,
    tensors="self index src",
    apart=True,
    linear=True,
    batch="dim",
    self=lambda grad: grad,
    src=lambda grad, dim, index, src_size: gathered(grad, dim, index, src_size),
)


def scatter_add(input: Any, dim: Any, index: Any, src: Any, *, out: Any = None) -> Any:
    """A copy with ``src`` added at the places that ``index`` names along ``dim`` (source: ``torch.scatter_add``).

    >>> import livetape as torch
    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([0, 0, 1]), torch.tensor([1., 2., 3.]))
    tensor([3., 3.])
    """
    if out is not None:
        return into(out, scatter_add, input, dim, index, src)
    need_tensor("scatter_add", src, "src", 3)
    return SCATTER_ADD.apply((input, check_scatter("scatter_add", input, dim, index, src), index, src))


def scatter_add_(self: Any, dim: Any, index: Any, src: Any) -> Any:
    """In-place `scatter_add`."""
    need_tensor("scatter_add_", src, "src", 3)
    return SCATTER_ADD.inplace(self, check_scatter("scatter_add", self, dim, index, src), index, src)


FUNCTIONS = [
    "scatter",
    "scatter_add",
]
METHODS = {
    "scatter": scatter,
    "scatter_": scatter_,
    "scatter_add": scatter_add,
    "scatter_add_": scatter_add_,
}
