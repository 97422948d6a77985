"""Norms of matrices, and condition numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE, boolean, dtype, of_numpy, promote_types
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.basics import cast
from livetape.ops.dims import is_integer, wrap_dim
from livetape.ops.extremes import amax, amin
from livetape.ops.matrices import constant, need, need_float, need_matrix, need_square
from livetape.ops.norms import vector_norm
from livetape.ops.permuting import permute
from livetape.ops.placing import masked_fill
from livetape.ops.rounding import nan_to_num
from livetape.ops.singular import check_svd, singular_values
from livetape.ops.solving import INVERSE
from livetape.ops.table import into

_LABEL = "linalg.matrix_norm"


def _check_dtype(A: Any, kind: dtype) -> None:
    """Torch's checks of a norm's ``dtype``."""
    if kind.category < FLOAT:
        raise noted(RuntimeError(f"{_LABEL}: dtype should be floating point or complex, but got {SCALAR_TYPE[kind]}"))
    if (A.dtype.category == COMPLEX) != (kind.category == COMPLEX):
        which = "complex" if A.dtype.category == COMPLEX else "real"
        raise noted(RuntimeError(f"{_LABEL}: dtype should be {which} for {which} inputs, but got {SCALAR_TYPE[kind]}"))
    if promote_types(A.dtype, kind) is not kind:
        raise noted(
            RuntimeError(
                f"{_LABEL}: the dtype of the input ({SCALAR_TYPE[A.dtype]}) should be convertible without "
                f"narrowing to the specified dtype ({SCALAR_TYPE[kind]})"
            )
        )


def _order(ord: Any) -> str:
    return f"{ord:g}" if isinstance(ord, float) else str(int(ord))


def _two_dims(A: Any, dim: Any) -> tuple[int, int]:
    given = (dim,) if is_integer(dim) else tuple(dim)
    if len(given) != 2:
        raise noted(RuntimeError(f"{_LABEL}: dim must be a 2-tuple. Got {' '.join(map(str, given))}"))
    first, second = (wrap_dim(d, A.array.ndim, "linalg_matrix_norm") for d in given)
    if first == second:
        raise noted(RuntimeError(f"{_LABEL}: dims must be different. Got ({given[0]}, {given[1]})"))
    return first, second


def _by_singular_values(A: Any, dims: tuple[int, int], keepdim: bool, reduce: Any) -> Any:
    rest = [i for i in range(A.array.ndim) if i not in dims]
    found = reduce(singular_values(permute(A, (*rest, *dims))), -1, keepdim)
    if not keepdim:
        return found
    order = [*rest, *dims]
    return permute(found.unsqueeze(-1), tuple([order.index(i) for i in range(A.array.ndim)]))


def matrix_norm(
    input: Any,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Any = None,
) -> Any:
    """The norms of matrices in the dimensions ``dim`` (source: ``torch.linalg.matrix_norm``).

    ord: "fro" (Frobenius) or "nuc" (the sum of the singular values); 2 or -2 (the largest or smallest singular value);
    1 or -1, inf or -inf (the largest or smallest sum of the absolute values of a column, of a row).
    """
    if out is not None:
        return into(out, matrix_norm, input, ord, dim, keepdim, dtype=dtype)
    need("linalg_matrix_norm", "input", input)
    A = input
    size = abs(ord) if not isinstance(ord, str) else None
    singular = ord == "nuc" or size == 2
    if ord not in ("fro", "nuc") if size is None else size not in (1, 2, math.inf):
        raise noted(RuntimeError(f"{_LABEL}: Order {ord if size is None else _order(ord)} not supported."))
    need_matrix(_LABEL, A)
    if A.dtype.category < FLOAT:
        raise noted(
            RuntimeError(f"{_LABEL}: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE[A.dtype]}")
        )
    if singular and dtype is None:
        need_float(_LABEL, A)
    dims = _two_dims(A, dim)
    if dtype is not None:
        _check_dtype(A, dtype)
    if ord == "fro":
        return vector_norm(A, 2, dims, keepdim, dtype=dtype)
    shape = shape_of(A)
    if 0 in (shape[dims[0]], shape[dims[1]]):
        return vector_norm(A, 2, dims, keepdim, dtype=dtype)  # zeros
    if dtype is not None:
        A = A if A.dtype is dtype else cast(A, dtype)
    if ord == "nuc":
        return _by_singular_values(A, dims, keepdim, lambda s, d, k: s.sum(d, k))
    best = amax if ord > 0 else amin
    if size == 2:
        return _by_singular_values(A, dims, keepdim, best)
    first, second = dims if size == 1 else dims[::-1]
    if not keepdim and first < second:
        second -= 1
    return best(vector_norm(A, 1, first, keepdim), second, keepdim)


def _order_needs_dims(ndim: int) -> RuntimeError:
    return RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D.")


def norm(
    input: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None
) -> Any:
    """A vector or a matrix norm, by the number of dimensions (source: ``torch.linalg.norm``).

    Without ``ord`` the square root of the sum of squares, over all elements or over ``dim``.

    >>> import livetape as torch
    >>> torch.linalg.norm(torch.tensor([[3., 0.], [0., 4.]]))
    tensor(5.)
    """
    if out is not None:
        return into(out, norm, input, ord, dim, keepdim, dtype=dtype)
    need("linalg_norm", "input", input)
    dims = None if dim is None else (dim,) if is_integer(dim) else tuple(dim)
    ndim = input.array.ndim
    if dims is not None and len(dims) not in (1, 2):
        raise noted(RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"))
    if isinstance(ord, str):
        if dims is None and ndim > 2:
            raise noted(_order_needs_dims(ndim))
        return matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    if ord is not None and dims is None:
        if ndim not in (1, 2):
            raise noted(_order_needs_dims(ndim))
        dims = tuple(range(ndim))
    if ord is not None and dims is not None and len(dims) == 2:
        return matrix_norm(input, ord, dims, keepdim, dtype=dtype)
    return vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


# ---------------------------------------------------------------- condition numbers
@single_in_autocast
def cond(input: Any, p: Any = None, *, out: Any = None) -> Any:
    """The condition numbers of matrices with respect to a matrix norm (source: ``torch.linalg.cond``).

    For None, 2 and -2 from the singular values, of matrices of any shape; inf where a matrix is singular.
    """
    if out is not None:
        return into(out, cond, input, p)
    need("linalg_cond", "input", input)
    if input.array.ndim < 2:
        raise noted(RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions."))
    _check_cond_order(p)
    if input.array.size == 0 and p != "nuc":
        return _cond_of_nothing(input)
    if p is None or p in (2, -2):
        check_svd(input)
        s = singular_values(input)
        first, last = s.narrow(-1, 0, 1), s.narrow(-1, shape_of(s)[-1] - 1, 1)
        return (last / first if p == -2 else first / last).squeeze(-1)
    need_square(f"linalg.cond(ord={p if isinstance(p, str) else _order(p)})", input)
    if p == "nuc":
        check_svd(input)
        s = singular_values(input)
        return s.sum(-1) * s.reciprocal().sum(-1)
    need_float("linalg.inv", input)
    inverse, info = INVERSE.apply((input, ""))
    singular = info.array[..., None, None] > 0
    inverse = masked_fill(inverse, constant(singular, boolean), math.inf)
    found = matrix_norm(input, p) * matrix_norm(inverse, p)
    return nan_to_num(found, math.inf, math.inf, -math.inf)


def _check_cond_order(p: Any) -> None:
    fine = p in ("fro", "nuc") if isinstance(p, str) else p is None or abs(p) in (1, 2, math.inf)
    if not fine:
        raise noted(RuntimeError(f"linalg.cond got an invalid norm type: {p if isinstance(p, str) else _order(p)}"))


def _cond_of_nothing(input: Any) -> Any:
    kind = input.array.real.dtype
    return constant(np.zeros(shape_of(input)[:-2], kind), of_numpy(kind))
