"""LU decompositions, and the LDL decomposition of symmetric matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of, wrap
from livetape.dtypes import SCALAR_TYPE, int32
from livetape.kernels import ldl as ldl_kernels
from livetape.kernels import triangular as kernels
from livetape.kernels.matrices import refuse
from livetape.ops.basics import detach, sum_to
from livetape.ops.dims import wrap_dim
from livetape.ops.joining import cat
from livetape.ops.matrices import (
    constant,
    mH,
    mT,
    need,
    need_broadcast,
    need_float,
    need_kernel,
    need_square,
    plus,
    product,
    same_dtype,
    tril,
    triu,
)
from livetape.ops.solving import SOLVE_TRIANGULAR, check_system, need_pair
from livetape.ops.table import into, row

_SINGULAR = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform "
    "the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


# ---------------------------------------------------------------- factors, packed or apart
def _permutation_of(pivots: Any, like: Any) -> Any:
    """P as a tensor."""
    return wrap(kernels.permutation(pivots.array, shape_of(like)[-2], like.array.dtype), like.dtype, None)


def _factors_backward(by_l: Any, by_u: Any, P: Any, L: Any, U: Any) -> Any:
    """From the gradients of L and U to that of P @ L @ U."""
    m, n = shape_of(L)[-2], shape_of(U)[-1]
    count = min(m, n)
    square_l, square_u = L.narrow(-2, 0, count), U.narrow(-1, 0, count)
    below = None if by_l is None else tril(product(mT(square_l), by_l.narrow(-2, 0, count)), -1)
    above = None if by_u is None else triu(product(by_u.narrow(-1, 0, count), mT(square_u)))
    rest = None
    if m < n and by_u is not None:  # the columns beyond the m-th of U are L^-1 P^T times those of A
        by_rest = by_u.narrow(-1, m, n - m)
        below = plus(below, -tril(product(by_rest, mT(U.narrow(-1, m, n - m))), -1))
        rest = SOLVE_TRIANGULAR.apply((mT(square_l), by_rest, True, True, True))
    if m > n and by_l is not None:  # the rows beyond the n-th of L are those of P^T A times U^-1
        by_rest = by_l.narrow(-2, n, m - n)
        above = plus(above, -triu(product(mT(L.narrow(-2, n, m - n)), by_rest)))
        rest = SOLVE_TRIANGULAR.apply((mT(square_u), by_rest, False, False, False))
    inner = SOLVE_TRIANGULAR.apply((mT(square_u), plus(below, above), False, False, False))
    found = SOLVE_TRIANGULAR.apply((mT(square_l), inner, True, True, True))
    if m < n:
        found = cat([found, found.new_zeros((*shape_of(found)[:-1], n - m)) if rest is None else rest], -1)
    elif m > n:
        empty = (*shape_of(found)[:-2], m - n, n)
        found = cat([found, found.new_zeros(empty) if rest is None else rest], -2)
    return product(P, found)


def _split(packed: Any) -> tuple[Any, Any]:
    """L and U of packed factors."""
    m, n = shape_of(packed)[-2:]
    count = min(m, n)
    return (
        tril(packed.narrow(-1, 0, count), -1) + constant(np.eye(m, count), packed.dtype),
        triu(packed.narrow(-2, 0, count)),
    )


def _lu_factor_backward(grad: Any, result0: Any, result1: Any) -> Any:
    count = min(shape_of(grad)[-2:])
    return _factors_backward(
        tril(grad.narrow(-1, 0, count), -1),
        triu(grad.narrow(-2, 0, count)),
        _permutation_of(result1, grad),
        *_split(result0),
    )


def _lu_factor(A: Any, label: str) -> Any:
    packed, pivots, info = kernels.lu_factor(A)
    if label:
        refuse(info, label, _SINGULAR, RuntimeError)
    return packed, pivots, info


LU_FACTOR = row("linalg_lu_factor_ex", _lu_factor, batch="any", tensors="A", outputs=3, A=_lu_factor_backward)


def _factor(A: Any, pivot: bool, label: str, name: str, argument: str = "A") -> Any:
    need(name, argument, A)
    if A.array.ndim < 2:
        raise noted(
            RuntimeError(
                f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(shape_of(A))} instead"
            )
        )
    _check_lu(A, pivot)
    return LU_FACTOR.apply((A, label))


def _check_lu(A: Any, pivot: bool) -> None:
    if not pivot:
        raise noted(RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU"))
    need_kernel("lu_cpu", A)


def lu_factor(A: Any, *, pivot: bool = True, out: Any = None) -> Any:
    """L and U packed into one matrix, and the row exchanges, counted from 1 (source: ``torch.linalg.lu_factor``)."""
    if out is not None:
        return into(out, lu_factor, A, pivot=pivot)
    return return_types.linalg_lu_factor(_factor(A, pivot, "torch.linalg.lu_factor", "linalg_lu_factor")[:2])


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """As `lu_factor`, and 0 or where U's diagonal is first 0 (source: ``torch.linalg.lu_factor_ex``)."""
    if out is not None:
        return into(out, lu_factor_ex, A, pivot=pivot, check_errors=check_errors)
    label = "torch.linalg.lu_factor_ex" if check_errors else ""
    return return_types.linalg_lu_factor_ex(_factor(A, pivot, label, "linalg_lu_factor_ex"))


def packed(A: Any, pivot: bool = True) -> Any:
    """What `lu_factor_ex` returns, as a plain tuple."""
    return _factor(A, pivot, "", "_lu_with_info", "input")


def _lu(A: Any) -> tuple[Any, Any, Any]:
    packed, pivots, _ = kernels.lu_factor(A)
    return kernels.permutation(pivots, A.shape[-2], A.dtype), kernels.lower_of(packed), kernels.upper_of(packed)


LU = row(
    "linalg_lu",
    _lu,
    batch="any",
    tensors="A",
    outputs=3,
    A=lambda grads, result0, result1, result2: _factors_backward(grads[1], grads[2], detach(result0), result1, result2),
)


def lu(A: Any, *, pivot: bool = True, out: Any = None) -> Any:
    """P, L and U with ``A = P @ L @ U``: a permutation, and lower and upper triangles (source: ``torch.linalg.lu``).

    >>> import livetape as torch
    >>> torch.linalg.lu(torch.tensor([[0., 2.], [4., 1.]])).U
    tensor([[4., 1.],
            [0., 2.]])
    """
    if out is not None:
        return into(out, lu, A, pivot=pivot)
    need("linalg_lu", "A", A)
    if A.array.ndim < 2:
        raise noted(
            RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(shape_of(A))} instead")
        )
    _check_lu(A, pivot)
    P, L, U = LU.apply((A,))
    return return_types.linalg_lu((detach(P), L, U))


def _lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool, unpack_pivots: bool) -> tuple[Any, Any, Any]:
    nothing = np.zeros(0, LU_data.dtype)
    P = kernels.permutation(LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else nothing
    if not unpack_data:
        return P, nothing, nothing
    return P, kernels.lower_of(LU_data), kernels.upper_of(LU_data)


def _lu_unpack_backward(grads: Any, LU_data_size: Any) -> Any:
    m, n = LU_data_size[-2:]
    below = None if grads[1] is None else tril(grads[1], -1)
    above = None if grads[2] is None else triu(grads[2])
    if m < n and below is not None:
        below = cat([below, below.new_zeros((*LU_data_size[:-1], n - m))], -1)
    if m > n and above is not None:
        above = cat([above, above.new_zeros((*LU_data_size[:-2], m - n, n))], -2)
    return plus(below, above)


LU_UNPACK = row(
    "lu_unpack", _lu_unpack, batch="any", tensors="LU_data LU_pivots", outputs=3, LU_data=_lu_unpack_backward
)


def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None
) -> Any:
    """P, L and U from what `lu_factor` returns (source: ``torch.lu_unpack``)."""
    if out is not None:
        return into(out, lu_unpack, LU_data, LU_pivots, unpack_data, unpack_pivots)
    need("lu_unpack", "LU_data", LU_data)
    need("lu_unpack", "LU_pivots", LU_pivots, 2)
    if unpack_pivots and LU_pivots.dtype is not int32:
        raise noted(
            RuntimeError(
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this "
                "function is intended to be used with the output produced by torch.linalg.lu_factor"
            )
        )
    size, count = shape_of(LU_data), shape_of(LU_pivots)[-1]
    at = LU_pivots.array
    if unpack_pivots and (count != min(size[-2:]) or (at.size and (at.min() < 1 or at.max() > size[-2]))):
        raise noted(
            RuntimeError(
                "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the "
                "result of lu_factor?"
            )
        )
    P, L, U = LU_UNPACK.apply((LU_data, LU_pivots, unpack_data, unpack_pivots))
    if not unpack_data:
        L, U = detach(L), detach(U)
    return return_types.lu_unpack((detach(P), L, U))


# ---------------------------------------------------------------- systems with factors
def _lu_solve_backward(
    grad: Any,
    LU: Any,
    pivots: Any,
    result: Any,
    LU_size: Any,
    B_size: Any,
    left: bool,
    adjoint: bool,
    wanted: list[bool],
) -> Any:
    by_b = LU_SOLVE.apply((LU, pivots, grad, left, not adjoint))
    by_lu = None
    if wanted[0]:
        # with G = -p q^H the gradient of A: L's is the lower triangle of P^T G U^H, U's the upper one of L^H P^T G
        p, q = (by_b, result) if left != adjoint else (result, by_b)
        if not left:
            p, q = (mH(result), mH(by_b)) if not adjoint else (mH(by_b), mH(result))
        L, U = _split(LU)
        turned = product(mT(_permutation_of(pivots, LU)), p)
        below = tril(product(turned, mH(product(U, q))), -1)
        above = triu(product(mH(L), turned, mH(q)))
        by_lu = sum_to(-(below + above), LU_size)
    return by_lu, None, sum_to(by_b, B_size) if wanted[2] else None


LU_SOLVE = row(
    "linalg_lu_solve",
    lambda LU, pivots, B, left, adjoint: np.ascontiguousarray(kernels.lu_solve(LU, pivots, B, left, adjoint)),
    tensors="LU pivots B",
    batch="factors_solve",
    analytic=False,
)
LU_SOLVE.joint(
    "LU B",
    lambda grad, LU, pivots, result, LU_size, B_size, left, adjoint, wanted: _lu_solve_backward(
        grad, LU, pivots, result, LU_size, B_size, left, adjoint, wanted
    )[::2],
)


def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False, out: Any = None) -> Any:
    """X with ``A @ X = B`` from what `lu_factor` returns for A (source: ``torch.linalg.lu_solve``).

    ``X @ A = B`` if not ``left``; the adjoint of A in its place with ``adjoint``.
    """
    if out is not None:
        return into(out, lu_solve, LU, pivots, B, left=left, adjoint=adjoint)
    for at, (argument, value) in enumerate((("LU", LU), ("pivots", pivots), ("B", B))):
        need("linalg_lu_solve", argument, value, at + 1)
    need_float("linalg.lu_solve", LU)
    if pivots.dtype is not int32:
        raise noted(RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"))
    same_dtype("linalg.lu_solve", "LU", LU, "B", B)
    need_square("torch.linalg.lu_solve", LU)
    need_pair("linalg.lu_solve", shape_of(LU), shape_of(B), left)
    if shape_of(pivots)[-1:] != shape_of(LU)[-1:]:
        raise noted(
            RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
        )
    return LU_SOLVE.apply((LU, pivots, B, bool(left), bool(adjoint)))


# ---------------------------------------------------------------- LDL
def _no_derivative(grad: Any) -> Any:
    raise noted(RuntimeError("derivative for aten::linalg_ldl_factor_ex is not implemented"))


def _ldl_factored(array: Any, hermitian: bool, label: str) -> Any:
    found = ldl_kernels.factor(array, hermitian)
    if label:
        refuse(
            found[2],
            label,
            "The diagonal element {0} of D is zero: it is singular and cannot be solved with.",
            RuntimeError,
        )
    return found


LDL_FACTOR = row(
    "linalg_ldl_factor_ex",
    lambda self, hermitian, label: _ldl_factored(self, hermitian, label),
    batch="any",
    outputs=3,
    node="NotImplemented",
    self=_no_derivative,
)


def _ldl(name: str, A: Any, hermitian: bool, label: str) -> Any:
    need(name, "input", A)
    need_square("torch.linalg.ldl_factor_ex", A)
    need_float("torch.linalg.ldl_factor_ex", A, "ldl_factor_kernel_cpu")
    return LDL_FACTOR.apply((A, bool(hermitian), label))


def ldl_factor(input: Any, *, hermitian: bool = False, out: Any = None) -> Any:
    """L and D of symmetric (Hermitian) matrices, packed, and the exchanges (source: ``torch.linalg.ldl_factor``)."""
    if out is not None:
        return into(out, ldl_factor, input, hermitian=hermitian)
    return return_types.linalg_ldl_factor(_ldl("linalg_ldl_factor", input, hermitian, "torch.linalg.ldl_factor")[:2])


def ldl_factor_ex(input: Any, *, hermitian: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """As `ldl_factor`, and 0 or where D's diagonal is first 0 (source: ``torch.linalg.ldl_factor_ex``)."""
    if out is not None:
        return into(out, ldl_factor_ex, input, hermitian=hermitian, check_errors=check_errors)
    label = "torch.linalg.ldl_factor_ex" if check_errors else ""
    return return_types.linalg_ldl_factor_ex(_ldl("linalg_ldl_factor_ex", input, hermitian, label))


def _ldl_solve_no_derivative(grad: Any) -> Any:
    raise noted(RuntimeError("derivative for aten::linalg_ldl_solve is not implemented"))


LDL_SOLVE = row(
    "linalg_ldl_solve",
    lambda LD, pivots, B, hermitian: ldl_kernels.solve(LD, pivots, B, hermitian),
    tensors="LD pivots B",
    batch="factors_solve",
    node="NotImplemented",
    LD=_ldl_solve_no_derivative,
    B=_ldl_solve_no_derivative,
)


def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False, out: Any = None) -> Any:
    """X with ``A @ X = B`` from what `ldl_factor` returns for A (source: ``torch.linalg.ldl_solve``)."""
    if out is not None:
        return into(out, ldl_solve, LD, pivots, B, hermitian=hermitian)
    label = "torch.linalg.ldl_solve"
    wrap_dim(-2, B.array.ndim)
    need_square(label, LD)
    if LD.dtype is not B.dtype or shape_of(LD)[-1] != shape_of(B)[-2]:
        check_system(label, B, LD)
    if shape_of(pivots) != shape_of(LD)[:-1]:
        raise noted(
            RuntimeError(
                f"{label}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                f"{list(shape_of(pivots))} instead"
            )
        )
    if pivots.array.dtype.kind not in "iu":
        raise noted(RuntimeError(f"{label}: Expected pivots to be integers. Got {SCALAR_TYPE[pivots.dtype]}"))
    need_broadcast(shape_of(B)[:-2], shape_of(LD)[:-2])
    return LDL_SOLVE.apply((LD, pivots, B, bool(hermitian)))


FUNCTIONS = ["lu_unpack"]
