"""Variable: what tensors with gradients were called before torch 0.4 (source: ``torch.autograd.Variable``)."""

from __future__ import annotations

import warnings
from typing import Any

from livetape._tape.tensor import TensorBase, factory
from livetape.dtypes import FLOAT
from livetape.ops.basics import detach

__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase)


class Variable(metaclass=_VariableMeta):
    """``Variable(tensor, requires_grad=False)`` is a tensor on the same memory; kept for old code.

    >>> import livetape as torch
    >>> torch.autograd.Variable(torch.ones(1), requires_grad=True)
    tensor([1.], requires_grad=True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if volatile is not None:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2
            )
        if data is None:
            return factory.tensor()
        if not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and data.dtype.category < FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made = detach(data)
        made.recorded = bool(requires_grad)
        return made
