"""Powers, exponentials and products of matrices, products of vectors, and systems of higher dimension."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import BOOL, FLOAT, SCALAR_TYPE
from livetape.kernels import matrices as kernels
from livetape.ops import shape as shapes
from livetape.ops.autocasting import brought_together, lower_in_autocast, single_in_autocast
from livetape.ops.basics import clone, conj, copy_, sum_to
from livetape.ops.diagonal import diagonal as _diagonal
from livetape.ops.dims import as_int, is_integer, wrap_dim
from livetape.ops.joining import cat
from livetape.ops.matrices import identity_like, mT, need, need_broadcast, need_square, same_dtype
from livetape.ops.products import VDOT, check_vectors, matmul, mm
from livetape.ops.refuse import CXX_NAME, unsupported
from livetape.ops.scan import cumprod
from livetape.ops.solving import INVERSE, inv, solve
from livetape.ops.table import into, row


# ---------------------------------------------------------------- powers and exponentials
def matrix_power(A: Any, n: Any, *, out: Any = None) -> Any:
    """The n-th powers of square matrices by repeated squaring; of their inverses for negative n.

    Source: ``torch.linalg.matrix_power``.
    """
    if out is not None:
        return into(out, matrix_power, A, n)
    need("linalg_matrix_power", "input", A)
    if not is_integer(n):
        raise noted(TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}"))
    need_square("linalg.matrix_power", A)
    return power(A, as_int(n))


def power(A: Any, n: int) -> Any:
    """`matrix_power` without checks."""
    if n == 0:
        one = clone(A)
        return copy_(one, identity_like(A))
    if n < 0:
        inverse = inv(A)
        return inverse if n == -1 else power(inverse, -n)
    if n == 1:
        return clone(A)
    if n == 3:
        return matmul(matmul(A, A), A)
    result = None
    square = A
    while n > 0:
        n, bit = divmod(n, 2)
        if bit:
            result = square if result is None else matmul(result, square)
        if n:
            square = matmul(square, square)
    return result


def _matrix_exp_backward(grad: Any, self: Any) -> Any:
    """The upper right block of the exponential of [[A, G], [0, A]] is the derivative towards G (Mathias 1996)."""
    a = mT(self)
    top, bottom = cat([a, grad], -1), cat([a.new_zeros(shape_of(a)), a], -1)
    n = shape_of(a)[-1]
    return MATRIX_EXP.apply((cat([top, bottom], -2),)).narrow(-2, 0, n).narrow(-1, n, n)


MATRIX_EXP = row("linalg_matrix_exp", lambda self: kernels.matrix_exp(self), batch="any", self=_matrix_exp_backward)


def matrix_exp(input: Any) -> Any:
    """The exponentials of square matrices (source: ``torch.linalg.matrix_exp``).

    >>> import livetape as torch
    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    need("linalg_matrix_exp", "input", input)
    need_square("linalg.matrix_exp", input)
    if input.dtype.category < FLOAT:
        raise noted(
            RuntimeError(
                f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE[input.dtype]}"
            )
        )
    return MATRIX_EXP.apply((input,))


# ---------------------------------------------------------------- products of several matrices
def multi_dot(tensors: Any, *, out: Any = None) -> Any:
    """The product of several matrices in the order that takes the fewest multiplications.

    The first and the last may be vectors (source: ``torch.linalg.multi_dot``).
    """
    if out is not None:
        return into(out, multi_dot, tensors)
    if not isinstance(tensors, (tuple, list)):
        raise noted(
            TypeError(
                "linalg_multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, not "
                f"{type(tensors).__name__}"
            )
        )
    chain = list(tensors)
    count = len(chain)
    if count < 2:
        raise noted(RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}"))
    for at, side in ((0, "first"), (-1, "last")):
        ndim = chain[at].array.ndim
        if not 1 <= ndim <= 2:
            raise noted(RuntimeError(f"multi_dot(): the {side} tensor must be 1D or 2D but got {ndim}D"))
    first, last = shape_of(chain[0]), shape_of(chain[-1])
    size = (*first[:-1], *last[1:])
    if len(first) == 1:
        chain[0] = chain[0].unsqueeze(0)
    if len(last) == 1:
        chain[-1] = chain[-1].unsqueeze(-1)
    _check_chain(chain)
    return shapes.view(_product(chain, *_best_order(chain)), size)


def _check_chain(chain: list[Any]) -> None:
    for i, one in enumerate(chain[1:-1], 1):
        if one.array.ndim != 2:
            raise noted(RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {one.array.ndim}D"))
    kind = chain[0].dtype
    for i, one in enumerate(chain[1:], 1):
        if one.dtype is not kind and not brought_together(chain[0], one):
            shown = [CXX_NAME.get(k.name, k.name) for k in (kind, one.dtype)]
            raise noted(
                RuntimeError(
                    f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {shown[0]} and tensor "
                    f"{i} {shown[1]}"
                )
            )
    for i, (left, right) in enumerate(itertools.pairwise(chain)):
        a, b = shape_of(left), shape_of(right)
        if a[-1] != b[0]:
            raise noted(
                RuntimeError(
                    f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a)} and {list(b)} cannot be multiplied"
                )
            )


def _best_order(chain: list[Any]) -> tuple[list[list[int]], int, int]:
    """Where to split each stretch of the chain (Cormen et al., Introduction to Algorithms, 15.2)."""
    count = len(chain)
    sizes = [*(shape_of(t)[0] for t in chain), shape_of(chain[-1])[1]]
    cost = [[0] * count for _ in range(count)]
    splits = [[0] * count for _ in range(count)]
    if count == 3:  # as torch: from the left where both cost the same
        a, b, c, d = sizes
        splits[0][2] = 1 if a * c * (b + d) <= b * d * (a + c) else 0
        splits[1][2] = 1
        return splits, 0, 2
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], splits[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return splits, 0, count - 1


def _product(chain: list[Any], splits: list[list[int]], i: int, j: int) -> Any:
    if i == j:
        return chain[i]
    k = splits[i][j]
    return mm(_product(chain, splits, i, k), _product(chain, splits, k + 1, j))


# ---------------------------------------------------------------- products of vectors
def _cross(self: Any, other: Any, dim: int) -> Any:
    a, b = np.moveaxis(self, dim, 0), np.moveaxis(other, dim, 0)
    made = np.stack((a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]), dim)
    return made


CROSS = row(
    "linalg_cross",
    _cross,
    linear="each",
    batch="dim",
    tensors="self other",
    self=lambda grad, other, self_size, dim: sum_to(CROSS.apply((other, grad, dim)), self_size),
    other=lambda grad, self, other_size, dim: sum_to(CROSS.apply((grad, self, dim)), other_size),
)


def cross(input: Any, other: Any, *, dim: int = -1, out: Any = None) -> Any:
    """The vectors orthogonal to two vectors of length 3 along ``dim`` (source: ``torch.linalg.cross``).

    >>> import livetape as torch
    >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    if out is not None:
        return into(out, cross, input, other, dim=dim)
    need("linalg_cross", "input", input)
    need("linalg_cross", "other", other, 2)
    a, b = shape_of(input), shape_of(other)
    if len(a) != len(b):
        raise noted(RuntimeError("linalg.cross: inputs must have the same number of dimensions."))
    axis = wrap_dim(dim, len(a), "linalg_cross")
    if a[axis] != 3 or b[axis] != 3:
        raise noted(
            RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a[axis]} and {b[axis]}")
        )
    need_broadcast(a, b)
    if input.dtype is not other.dtype:
        raise noted(
            RuntimeError(f"expected scalar type {SCALAR_TYPE[input.dtype]} but found {SCALAR_TYPE[other.dtype]}")
        )
    if input.dtype.category == BOOL:
        raise noted(unsupported("cross", input.array, ""))
    return CROSS.apply((input, other, axis))


@lower_in_autocast
def vecdot(x: Any, y: Any, *, dim: int = -1, out: Any = None) -> Any:
    """The inner products of vectors along ``dim``, those of x conjugated (source: ``torch.linalg.vecdot``)."""
    if out is not None:
        return into(out, vecdot, x, y, dim=dim)
    need("linalg_vecdot", "x", x)
    need("linalg_vecdot", "y", y, 2)
    if x.dtype.category < FLOAT:
        raise noted(
            RuntimeError(
                f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE[x.dtype]}"
            )
        )
    same_dtype("linalg.vecdot", "x", x, "y", y)
    if x.array.ndim == 1 and y.array.ndim == 1:
        check_vectors(x, y)
        return VDOT.apply((x, y))
    return (conj(x) * y).sum(dim)


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices, as a view (source: ``torch.linalg.diagonal``)."""
    need("linalg_diagonal", "A", A)
    return _diagonal(A, offset, dim1, dim2)


def vander(x: Any, *, N: Any = None) -> Any:
    """The powers 0 to N - 1 of the elements along a new last dimension (source: ``torch.linalg.vander``)."""
    need("linalg_vander", "x", x)
    if x.dtype.category == BOOL or (x.dtype.itemsize == 2 and x.dtype.category == FLOAT):
        raise noted(
            RuntimeError(
                f"linalg.vander supports floating point, complex, and integer tensors, but got {SCALAR_TYPE[x.dtype]}"
            )
        )
    size = shape_of(x)
    base = x.unsqueeze(-1) if not size else x
    count = shape_of(base)[-1] if N is None else as_int(N)
    if count <= 1:
        raise noted(RuntimeError("N must be greater than 1."))
    powers = cumprod(base.unsqueeze(-1).expand(*shape_of(base), count - 1), -1)
    ones = powers.new_ones((*shape_of(base), 1))
    return cat([ones, powers], -1)


# ---------------------------------------------------------------- systems of higher dimension
@single_in_autocast
def tensorinv(input: Any, ind: int = 2, *, out: Any = None) -> Any:
    """The inverse with respect to ``tensordot`` over the first ``ind`` dimensions (source: ``torch.linalg.tensorinv``)."""
    if out is not None:
        return into(out, tensorinv, input, ind)
    need("linalg_tensorinv", "input", input)
    if ind <= 0:
        raise noted(RuntimeError("Expected a strictly positive integer for 'ind', but got " + str(ind)))
    size = shape_of(input)
    if ind > len(size):
        raise noted(RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {len(size)}"))
    rows, columns = math.prod(size[:ind]), math.prod(size[ind:])
    if rows != columns:
        raise noted(
            RuntimeError(
                "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                f"{columns} != {rows}"
            )
        )
    found = INVERSE.apply((shapes.reshape(input, rows, columns), "inv"))[0]
    return shapes.reshape(found, *size[ind:], *size[:ind])


@single_in_autocast
def tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Any = None) -> Any:
    """X with ``tensordot(A, X, X.ndim) = B`` (source: ``torch.linalg.tensorsolve``)."""
    if out is not None:
        return into(out, tensorsolve, A, B, dims)
    need("linalg_tensorsolve", "input", A)
    need("linalg_tensorsolve", "other", B, 2)
    if dims is not None:
        moved = [dims] if is_integer(dims) else list(dims)
        ndim = A.array.ndim
        A = A.movedim(moved, list(range(ndim - len(moved), ndim)))
    split = B.array.ndim
    size = shape_of(A)
    rows, columns = B.array.size, math.prod(size[split:])
    if rows != columns:
        raise noted(
            RuntimeError(
                "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                f"prod(self.shape[:other.ndim]), but got {columns} != {rows}"
            )
        )
    found = solve(shapes.reshape(A, columns, rows), shapes.reshape(B, -1))
    return shapes.reshape(found, *size[split:])
