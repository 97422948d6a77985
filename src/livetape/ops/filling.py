"""Filling the memory that is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.dtypes import dtype, of_numpy
from livetape.ops.creation import zeros_like
from livetape.ops.options import number_of, scalar_array
from livetape.ops.table import row

FILL = row(
    "fill",
    lambda self, value: np.broadcast_to(scalar_array(value, _kind_like(self)), self.shape),
    inplace_node="FillBackward2",
    batch="any",
    self=lambda grad: zeros_like(grad),
)


FILL_TENSOR = row(
    "fill",
    lambda self, value: np.broadcast_to(value.astype(self.dtype), self.shape),
    tensors="self value",
    node="FillBackward1",
    inplace_node="FillBackward3",
    key="fill.tensor",
    linear=True,
    batch="fill",
    self=lambda grad: zeros_like(grad),
    value=lambda grad: grad.sum(),
)


def _kind_like(array: Any) -> dtype:
    return of_numpy(array.dtype)


def fill_(self: Any, value: Any) -> Any:
    """Set every element to a number or to a 0-d tensor (source: ``torch.Tensor.fill_``)."""
    if isinstance(value, TensorBase):
        _need_0d(value)
        return FILL_TENSOR.inplace(self, value)
    return FILL.inplace(self, number_of("fill_", value, "value", 1))


def fill(input: Any, value: Any) -> Any:
    """A tensor of this one's size and dtype filled with a number or a 0-d tensor (source: ``torch.fill``)."""
    if isinstance(value, TensorBase):
        _need_0d(value)
        return FILL_TENSOR.apply((input, value))
    return FILL.apply((input, number_of("fill", value, "value", 2)))


def _need_0d(value: Any) -> None:
    if value.array.ndim:
        raise noted(
            RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.array.ndim} dimensions."
            )
        )


ZERO = row("zero", lambda self: np.zeros_like(self), batch="any", self=lambda grad: zeros_like(grad))


FILL.uniform = ZERO.uniform = True


def zero_(self: Any) -> Any:
    """Set every element to 0 (source: ``torch.Tensor.zero_``)."""
    return ZERO.inplace(self)


FUNCTIONS = [
    "fill",
    "fill_",
    "zero_",
]

METHODS = {
    "fill_": fill_,
    "zero_": zero_,
}
