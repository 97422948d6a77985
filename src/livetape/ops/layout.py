"""What a tensor says of its layout in memory: dense always; the order of its dimensions; its elements one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.explain import noted, type_name
from livetape._tape.tensor import TensorBase, counter_of
from livetape._tape.views import needs_gradient
from livetape.dtypes import FLOAT, SCALAR_TYPE, of_numpy


# ---------------------------------------------------------------- dense, not sparse
def to_dense(self: Any, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    """The tensor itself, which is dense, or cast to ``dtype`` (source: ``torch.Tensor.to_dense``)."""
    return self if dtype is None else self.to(dtype)


def dequantize(input: Any) -> Any:
    """The tensor in float32: none is quantised (source: ``torch.dequantize``)."""
    return input.float()


def dense_dim(self: Any) -> int:
    """The number of dimensions: all are dense (source: ``torch.Tensor.dense_dim``)."""
    return int(self.array.ndim)


def sparse_dim(self: Any) -> int:
    """0: no dimension is sparse (source: ``torch.Tensor.sparse_dim``)."""
    return 0


def _only_sparse(name: str, layout: str) -> Callable[[Any], Any]:
    def refuse(self: Any) -> Any:
        raise noted(RuntimeError(f"{name} expected sparse {layout}tensor layout but got Strided"))

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"For sparse tensors, which livetape has not: raises torch's error (``torch.Tensor.{name}``)."
    return refuse


is_coalesced = _only_sparse("is_coalesced", "coordinate ")
coalesce = _only_sparse("coalesce", "coordinate ")
indices = _only_sparse("indices", "coordinate ")
values = _only_sparse("values", "")
crow_indices = _only_sparse("crow_indices", "row compressed ")
col_indices = _only_sparse("col_indices", "row compressed ")
ccol_indices = _only_sparse("ccol_indices", "column compressed ")
row_indices = _only_sparse("row_indices", "column compressed ")


def is_distributed(self: Any) -> bool:
    """False (source: ``torch.is_distributed``)."""
    return False


# ---------------------------------------------------------------- order in memory
def dim_order(self: Any, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one with the largest step in memory to the smallest (source: ``torch.Tensor.dim_order``).

    >>> import livetape as torch
    >>> torch.ones(2, 3).t().dim_order()
    (1, 0)
    """
    array = self.array
    if ambiguity_check and (0 in array.shape or any(n == 1 for n in array.shape)):
        raise noted(
            RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
        )
    strides = self.stride()
    return tuple(sorted(range(array.ndim), key=lambda i: -strides[i]))


def const_data_ptr(self: Any) -> int:
    """The address of the first element (source: ``torch.Tensor.const_data_ptr``)."""
    return int(self.data_ptr())


# ---------------------------------------------------------------- a Python function for each element
def _each(name: str, self: Any, others: tuple[Any, ...], function: Any) -> Any:
    for position, other in enumerate(others):
        if not isinstance(other, TensorBase):
            argument = "other" if len(others) == 1 else ("x", "y")[position]
            raise noted(
                TypeError(
                    f"{name}(): argument '{argument}' (position {position + 1}) must be Tensor, not {type_name(other)}"
                )
            )
    if any(needs_gradient(one) for one in (self, *others)):
        raise noted(
            RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
        )
    for other in others:
        if other.dtype is not self.dtype:
            raise noted(
                TypeError(
                    f"{name}: expected torch.{SCALAR_TYPE[self.dtype]}Tensor for 'other' (got "
                    f"torch.{SCALAR_TYPE[other.dtype]}Tensor)"
                )
            )
    if not callable(function):
        raise noted(TypeError(f"'{type_name(function)}' object is not callable"))
    given = [other.expand_as(self).array.ravel().tolist() for other in others]
    found = [function(*values) for values in zip(self.array.ravel().tolist(), *given)]
    for value in found:
        if not isinstance(value, (bool, int, float, complex)):
            raise noted(TypeError(f"must be real number, not {type_name(value)}"))
    if of_numpy(self.array.dtype).category < FLOAT:  # as C converts numbers
        found = [int(value) for value in found]  # type: ignore[arg-type]
    self.array[...] = np.array(found, self.array.dtype).reshape(self.array.shape)
    counter_of(self).bump()
    return self


def apply_(self: Any, callable: Any) -> Any:
    """Replace each element by what a Python function makes of it, slowly (source: ``torch.Tensor.apply_``).

    >>> import livetape as torch
    >>> torch.tensor([1., 2.]).apply_(lambda v: v + 1)
    tensor([2., 3.])
    """
    return _each("apply_", self, (), callable)


def map_(self: Any, other: Any, callable: Any) -> Any:
    """Replace each element by a Python function of it and another's element (source: ``torch.Tensor.map_``)."""
    return _each("map_", self, (other,), callable)


def map2_(self: Any, x: Any, y: Any, callable: Any) -> Any:
    """`map_` with the elements of two other tensors (source: ``torch.Tensor.map2_``)."""
    return _each("map2_", self, (x, y), callable)


FUNCTIONS = ["dequantize", "is_distributed"]
METHODS = {
    name: globals()[name]
    for name in """to_dense dequantize dense_dim sparse_dim is_coalesced coalesce indices values crow_indices col_indices
    ccol_indices row_indices is_distributed dim_order const_data_ptr apply_ map_ map2_""".split()
}
