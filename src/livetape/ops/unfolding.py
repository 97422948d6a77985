"""Windows that slide along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape.ops.dims import wrap_dim
from livetape.ops.table import row


def _windows(self: Any, dimension: int, size: int, step: int) -> Any:
    if not self.ndim:
        return self.reshape(1) if size == 1 else self.reshape(1)[:size]
    count = (self.shape[dimension] - size) // step + 1
    shape, strides = list(self.shape), list(self.strides)
    along = strides[dimension]
    shape[dimension], strides[dimension] = count, along * step
    return np.lib.stride_tricks.as_strided(self, (*shape, size), (*strides, along))


def _windows_backward(grad: Any, self_size: Any, dimension: int, size: int, step: int) -> Any:
    total = np.zeros(self_size, grad.dtype)
    if not total.ndim:
        return grad.reshape(-1).sum().reshape(()).astype(grad.dtype)
    count = grad.shape[dimension]
    whole = (slice(None),) * dimension
    for i in range(size):
        total[(*whole, slice(i, i + step * count, step))] += grad[..., i]
    return total


UNFOLD = row(
    "unfold",
    _windows,
    view=True,
    batch="dimension",
    self=lambda grad, self_size, dimension, size, step: UNFOLD_BACKWARD.apply((grad, self_size, dimension, size, step)),
    selects=True,
)
UNFOLD_BACKWARD = row(
    "unfold_backward",
    _windows_backward,
    tensors="grad",
    linear=True,
    batch="self_size dimension",
    grad=lambda grad, dimension, size, step: UNFOLD.apply((grad, dimension, size, step)),
)


def unfold(input: Any, dimension: Any, size: Any, step: Any) -> Any:
    """Windows of ``size`` along a dimension, ``step`` apart, as a new last dimension (source: ``torch.Tensor.unfold``).

    >>> import livetape as torch
    >>> torch.arange(5).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3],
            [3, 4]])
    """
    ndim = input.array.ndim
    at = wrap_dim(dimension, ndim, "unfold", "dimension")
    extent = input.array.shape[at] if ndim else 1
    if size < 0:
        raise noted(RuntimeError(f"size is {size} but must be >= 0"))
    if size > extent:
        raise noted(RuntimeError(f"maximum size for tensor at dimension {at} is {extent} but size is {size}"))
    if step <= 0:
        raise noted(RuntimeError(f"step is {step} but must be > 0"))
    return UNFOLD.apply((input, at, size, step))


METHODS = {
    "unfold": unfold,
}
