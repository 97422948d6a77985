"""What operations on matrices have in common: torch's checks, and the short words that their formulas are written in."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from livetape._tape.explain import broadcast_error, noted
from livetape._tape.modes import is_recording, state
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape._tape.views import needs_gradient
from livetape.dtypes import FLOAT, SCALAR_TYPE, dtype
from livetape.ops.basics import conj
from livetape.ops.diagonal import DIAG_EMBED, DIAGONAL, TRIL, TRIU
from livetape.ops.permuting import TRANSPOSE
from livetape.ops.products import matmul
from livetape.ops.refuse import unsupported


# ---------------------------------------------------------------- arguments
def need(name: str, argument: str, value: Any, position: int = 1) -> None:
    """Raise torch's TypeError unless an argument is a tensor."""
    if not isinstance(value, TensorBase):
        raise noted(
            TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
            )
        )


def need_matrix(label: str, value: Any, argument: str = "A") -> None:
    """Raise torch's error unless a tensor has two dimensions or more."""
    if value.array.ndim < 2:
        raise noted(RuntimeError(f"{label}: The input tensor {argument} must have at least 2 dimensions."))


def need_square(label: str, value: Any, argument: str = "A") -> None:
    """Raise torch's error unless a tensor holds square matrices."""
    need_matrix(label, value, argument)
    rows, columns = value.array.shape[-2:]
    if rows != columns:
        colon = f"{label}: " if label else ""
        raise noted(
            RuntimeError(
                f"{colon}{argument} must be batches of square matrices, but they are {rows} by {columns} matrices"
            )
        )


def need_float(label: str, value: Any, kernel: str | None = None) -> None:
    """Raise torch's error unless a dtype is one that LAPACK takes; ``kernel`` names what does not take half precision."""
    kind = value.dtype
    if kind.category < FLOAT:
        raise noted(
            RuntimeError(f"{label}: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE[kind]}")
        )
    if kind.name in ("float16", "bfloat16", "complex32"):
        if kernel is not None:
            raise noted(unsupported(kernel, value.array, ""))
        raise noted(RuntimeError(f"{label}: Low precision dtypes not supported. Got {SCALAR_TYPE[kind]}"))


def need_kernel(kernel: str, value: Any) -> None:
    """Raise torch's error for a dtype that the kernel does not take."""
    if value.dtype.category < FLOAT or value.dtype.name in ("float16", "bfloat16", "complex32"):
        raise noted(unsupported(kernel, value.array, ""))


def same_dtype(label: str, first: str, a: Any, second: str, b: Any) -> None:
    """Raise torch's error unless two tensors have one dtype."""
    if a.dtype is not b.dtype:
        raise noted(
            RuntimeError(
                f"{label}: Expected {first} and {second} to have the same dtype, but found {first} of type "
                f"{SCALAR_TYPE[a.dtype]} and {second} of type {SCALAR_TYPE[b.dtype]} instead"
            )
        )


def need_broadcast(a: Any, b: Any, first: str = "a") -> tuple[int, ...]:
    """The shape that two batch shapes broadcast to; torch's error if they do not."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise noted(broadcast_error(tuple(a), tuple(b))) from None


def watched(value: Any) -> bool:
    """Whether derivatives may be asked of what is computed from a tensor, so that all parts of it are needed."""
    return (is_recording() and needs_gradient(value)) or state.interposed != 0


# ---------------------------------------------------------------- words of formulas
def mT(x: Any) -> Any:
    """Matrices transposed."""
    n = x.array.ndim
    return TRANSPOSE.apply((x, n - 2, n - 1))


def mH(x: Any) -> Any:
    """Matrices transposed and conjugated."""
    return mT(conj(x))


def product(*matrices: Any) -> Any:
    """A product of matrices, from the left."""
    return reduce(matmul, matrices)


def diagonal_of(x: Any) -> Any:
    """The diagonals of matrices, a view."""
    n = x.array.ndim
    return DIAGONAL.apply((x, 0, n - 2, n - 1))


def as_diagonal(x: Any) -> Any:
    """Square matrices with the given diagonals."""
    n = x.array.ndim
    return DIAG_EMBED.apply((x, 0, n - 1, n))


def triu(x: Any, offset: int = 0) -> Any:
    """Upper triangles."""
    return TRIU.apply((x, offset))


def tril(x: Any, offset: int = 0) -> Any:
    """Lower triangles."""
    return TRIL.apply((x, offset))


def constant(array: Any, kind: dtype) -> Any:
    """A tensor without history."""
    return wrap(np.asarray(array, kind.np), kind, None)


def identity_like(x: Any) -> Any:
    """The identity matrix of a tensor's last dimension and dtype."""
    return constant(np.eye(shape_of(x)[-1]), x.dtype)


def plus(left: Any, right: Any) -> Any:
    """The sum of two gradients, either of which may be None."""
    return right if left is None else left if right is None else left + right
