"""What distributions share: broadcasting of parameters, probabilities and logits, triangular matrices as vectors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from numpy import count_nonzero, ndarray

from livetape import ops
from livetape._tape.modes import local, set_grad
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import get_default_dtype
from livetape.size import Size
from livetape.tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

NUMBER = (bool, int, float)
finfo = functools.lru_cache(ops.finfo)
Value: TypeAlias = Tensor | float  # a parameter as users give it

euler_constant = 0.57721566490153286060


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, TensorBase) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape (source: ``torch.distributions.utils``).

    Numbers take the dtype of the first tensor, or the default dtype. Raises ValueError for anything else.

    >>> broadcast_all(1, 2)
    (tensor(1.), tensor(2.))
    """
    like = None
    numbers = False
    for value in values:
        if isinstance(value, NUMBER):
            numbers = True
        elif not _is_tensor_like(value):
            raise ValueError(
                "Input arguments must all be instances of Number, "
                "torch.Tensor or objects implementing __torch_function__."
            )
        elif like is None and isinstance(value, TensorBase):
            like = value
    if not numbers and like is not None:
        shape = shape_of(like)
        if all(shape_of(value) == shape for value in values):
            return values
    if numbers:
        dtype = get_default_dtype() if like is None else like.dtype
        values = tuple([ops.tensor(v, dtype=dtype) if isinstance(v, NUMBER) else v for v in values])
    return ops.broadcast_tensors(*values)


def all_numbers(*values: Any) -> bool:
    """Whether no parameter is a tensor."""
    return all(isinstance(value, NUMBER) for value in values)


def exactly_one(probs: Any, logits: Any) -> str:
    """Which of two parameters that say the same was given: "probs" or "logits"."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "logits" if probs is None else "probs"


def all_true(valid: Any) -> bool:
    """Whether all elements of a boolean tensor hold; inside vmap, those of all samples."""
    if not isinstance(valid, TensorBase):
        raise TypeError(f"_is_all_true(): argument 'input' (position 1) must be Tensor, not {type(valid).__name__}")
    array = valid.array
    if type(array) is ndarray:
        return bool(count_nonzero(array) == array.size)
    return bool(array.size == 0 or array.min())


def _sum_rightmost(value: Any, dims: int) -> Any:
    """The sum over the last ``dims`` dimensions."""
    if not dims:
        return value
    if dims == 1:
        return value.sum(-1)
    return value.reshape((*shape_of(value)[:-dims], -1)).sum(-1)


def expanded(tensor: Tensor, shape: Size) -> Tensor:
    """A tensor for samples of a shape."""
    return tensor if shape_of(tensor) == shape else tensor.expand(shape)


def _standard_normal(shape: Any, dtype: Any, device: Any = None) -> Tensor:
    """Standard normals of a shape and dtype."""
    return ops.randn(shape, dtype=dtype, device=device)


def uniform(shape: Size, like: Any) -> Any:
    """Uniform numbers of a shape, of another tensor's dtype."""
    return ops.rand(shape, dtype=like.dtype)


# ---------------------------------------------------------------- probabilities
def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The probabilities of logits: of the last dimension's categories, or each of a coin (source: ``torch``).

    >>> import livetape as torch
    >>> logits_to_probs(torch.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """
    return ops.sigmoid(logits) if is_binary else ops.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept one machine epsilon away from 0 and 1 (source: ``torch.distributions.utils``)."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logits of probabilities, which are clamped first (source: ``torch.distributions.utils``)."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


# ---------------------------------------------------------------- properties computed once
class lazy_property:
    """A property computed when it is first asked for, with gradients recorded, and kept in the instance.

    As a non-data descriptor it gives way to an attribute of the same name. (Source: ``torch.distributions.utils``.)
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return _PropertyToo(self.wrapped)
        before = local.grad
        set_grad(True)
        try:
            value = self.wrapped(instance)
        finally:
            set_grad(before)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _PropertyToo(lazy_property, property):
    """What a class shows for a lazy property: a property to documentation tools, a lazy one to the argument checks."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


# ---------------------------------------------------------------- triangular matrices
def _below(n: int, diag: int) -> Any:
    """A mask of the elements on and below a diagonal of an n x n matrix."""
    return ops.ones(n, n, dtype=bool).tril(diag)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal of square matrices, row by row (source: ``torch.distributions.utils``).

    >>> import livetape as torch
    >>> tril_matrix_to_vec(torch.tensor([[1., 9.], [2., 3.]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below(n, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices with the elements on and below a diagonal, zero elsewhere: `tril_matrix_to_vec` undone.

    >>> import livetape as torch
    >>> vec_to_tril_matrix(torch.tensor([1., 2., 3.]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count, shift = vec.shape[-1], 1 + 2 * diag
    exact = (math.sqrt(shift**2 + 8 * count + 4 * abs(diag) * (diag + 1)) - shift) / 2
    n = round(exact)
    if n - exact > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _below(n, diag)] = vec
    return mat
