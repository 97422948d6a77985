"""Picking elements along one dimension by index arrays: what gradients of maxima, sorts and medians are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.scatter import add_at
from livetape.ops.table import row


def _put(grad: Any, index: Any, size: Any, dim: int, keepdim: bool) -> Any:
    if not size:
        return grad.reshape(())
    if not keepdim:
        grad, index = np.expand_dims(grad, dim), np.expand_dims(index, dim)
    made = np.zeros(size, grad.dtype)
    np.put_along_axis(made, index, grad, dim)
    return made


def _take(self: Any, index: Any, dim: int, keepdim: bool) -> Any:
    if self.ndim == 0:
        return self.copy()
    if keepdim:
        return np.take_along_axis(self, index, dim)
    return np.take_along_axis(self, np.expand_dims(index, dim), dim).squeeze(dim)


def _add(grad: Any, index: Any, size: Any, dim: int) -> Any:
    if not size:
        return grad.copy()
    places = list(np.ogrid[tuple([slice(n) for n in index.shape])])
    places[dim] = index
    return add_at(np.zeros(size, grad.dtype), tuple(places), grad)


PUT = row(
    "value_selecting_reduction_backward",
    _put,
    tensors="grad index",
    key="reduce.put",
    linear=True,
    batch="size dim",
    grad=lambda grad, index, dim, keepdim: TAKE.apply((grad, index, dim, keepdim)),
)
TAKE = row(
    "gather",
    _take,
    tensors="self index",
    key="reduce.take",
    linear=True,
    batch="dim",
    self=lambda grad, index, self_size, dim, keepdim: PUT.apply((grad, index, self_size, dim, keepdim)),
    selects=True,
)
ADD_ALONG = row(
    "scatter_add",
    _add,
    tensors="grad index",
    key="reduce.add_along",
    linear=True,
    batch="size dim",
    grad=lambda grad, index, dim: TAKE_ANY.apply((grad, index, dim)),
)
TAKE_ANY = row(
    "gather",
    lambda self, index, dim: _take(self, index, dim, True),
    tensors="self index",
    key="reduce.take_any",
    linear=True,
    batch="dim",
    self=lambda grad, index, self_size, dim: ADD_ALONG.apply((grad, index, self_size, dim)),
    selects=True,
)


def put(grad: Any, index: Any, size: Any, dim: int, keepdim: bool) -> Any:
    """The gradient of what was picked at ``index`` along ``dim``, each place at most once.

    Without ``keepdim``, one element was picked along ``dim``, which the gradient and the index lack.
    """
    return PUT.apply((grad, index, size, dim, keepdim))


def add_along(grad: Any, index: Any, size: Any, dim: int) -> Any:
    """As `put`, where a place may have been picked several times: its gradients are added."""
    return ADD_ALONG.apply((grad, index, size, dim))
