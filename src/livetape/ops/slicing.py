"""Views of a part: one slice, a range of slices, and dimensions of one element put in or taken out."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.ops.table import row

FULL = slice(None)


def _select(self: Any, dim: int, index: int) -> Any:
    return self[(*(FULL,) * dim, index, ...)]


def _select_backward(grad: Any, size: Any, dim: int, index: int) -> Any:
    total: Any = np.zeros(size, grad.dtype)
    total[(*(FULL,) * dim, index)] = grad
    return total


SELECT = row(
    "select",
    _select,
    view=True,
    batch="dim",
    self=lambda grad, self_size, dim, index: SELECT_BACKWARD.apply((grad, self_size, dim, index)),
    selects=True,
)
SELECT_BACKWARD = row(
    "select_backward",
    _select_backward,
    tensors="grad",
    linear=True,
    batch="size dim",
    grad=lambda grad, dim, index: SELECT.apply((grad, dim, index)),
)


def with_ones(array: Any, dims: Any) -> Any:
    """A view with dimensions of one element more, inserted one after the other.

    By reshape: an index of None would give them strides of 0.
    """
    shape = list(array.shape)
    for dim in dims:
        shape.insert(dim, 1)
    return array.reshape(shape, copy=False)


def _slice(self: Any, dim: int, start: int, end: int, step: int) -> Any:
    return self[(*(FULL,) * dim, slice(start, end, step))]


def _slice_backward(grad: Any, size: Any, dim: int, start: int, end: int, step: int) -> Any:
    total: Any = np.zeros(size, grad.dtype)
    total[(*(FULL,) * dim, slice(start, end, step))] = grad
    return total


SLICE = row(
    "slice",
    _slice,
    view=True,
    batch="dim",
    self=lambda grad, self_size, dim, start, end, step: SLICE_BACKWARD.apply((grad, self_size, dim, start, end, step)),
    selects=True,
)
SLICE_BACKWARD = row(
    "slice_backward",
    _slice_backward,
    tensors="grad",
    linear=True,
    batch="size dim",
    grad=lambda grad, dim, start, end, step: SLICE.apply((grad, dim, start, end, step)),
)

UNSQUEEZE = row(
    "unsqueeze",
    lambda self, dim: with_ones(self, (dim,)),
    view=True,
    inplace_node="UnsqueezeBackward1",
    batch="dim",
    self=lambda grad, dim: SQUEEZE_DIM.apply((grad, dim)),
)
SQUEEZE_DIM = row(
    "squeeze",
    lambda self, dim: self.squeeze(dim) if self.ndim and self.shape[dim] == 1 else self[...],
    view=True,
    node="SqueezeBackward1",
    inplace_node="SqueezeBackward4",
    key="squeeze.dim",
    batch="dim",
    self=lambda grad, self_size, dim: UNSQUEEZE.apply((grad, dim)) if self_size and self_size[dim] == 1 else grad,
)
ALIAS = row("alias", lambda self: self[...], view=True, batch="any", self=lambda grad: grad)
