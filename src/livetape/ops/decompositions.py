"""Decompositions: Cholesky, QR, and eigenvalues of symmetric and of general matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE
from livetape.kernels import matrices as kernels
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.complexes import real
from livetape.ops.joining import cat
from livetape.ops.matrices import (
    as_diagonal,
    diagonal_of,
    identity_like,
    mH,
    need,
    need_float,
    need_kernel,
    need_matrix,
    need_square,
    plus,
    product,
    tril,
    triu,
    watched,
)
from livetape.ops.refuse import unsupported
from livetape.ops.repeated import limits, pairs_of, quotient, vanishes, watch
from livetape.ops.solving import SOLVE, SOLVE_TRIANGULAR
from livetape.ops.table import into, row


# ---------------------------------------------------------------- Cholesky
def _cholesky_backward(grad: Any, L: Any, upper: bool) -> Any:
    """dL = L pi(L^-1 dA L^-H), where pi takes the lower triangle and half of the diagonal (Murray 2016)."""
    grad, L = (mH(grad), mH(L)) if upper else (grad, L)
    inner = tril(product(mH(L), grad))
    inner = 0.5 * (inner + mH(tril(inner, -1)))
    left = SOLVE_TRIANGULAR.apply((mH(L), inner, True, True, False))
    return SOLVE_TRIANGULAR.apply((L, left, False, False, False))


CHOLESKY = row(
    "linalg_cholesky_ex",
    lambda self, upper, label: kernels.cholesky(self, upper, label),
    batch="any",
    outputs=2,
    analytic=False,
    self=lambda grad, result0, upper: _cholesky_backward(grad, result0, upper),
)
CHOLESKY_OLD = row(
    "cholesky",
    lambda self, upper: kernels.cholesky(self, upper, "cholesky")[0],
    batch="any",
    analytic=False,
    self=lambda grad, result, upper: _cholesky_backward(grad, result, upper),
)


def _cholesky(A: Any, upper: bool, label: str, name: str) -> Any:
    need(name, "input", A)
    need_square("linalg.cholesky", A)
    need_float("linalg.cholesky", A, "cholesky_cpu")
    return CHOLESKY.apply((A, bool(upper), label))


@single_in_autocast
def cholesky(input: Any, *, upper: bool = False, out: Any = None) -> Any:
    """L with ``A = L @ L^H`` for positive definite matrices, of which one triangle is read; ``upper`` gives its adjoint.

    A matrix that is not positive definite is a _LinAlgError (source: ``torch.linalg.cholesky``).

    >>> import livetape as torch
    >>> torch.linalg.cholesky(torch.tensor([[4., 2.], [2., 2.]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    if out is not None:
        return into(out, cholesky, input, upper=upper)
    return _cholesky(input, upper, "linalg.cholesky", "linalg_cholesky")[0]


@single_in_autocast
def cholesky_ex(input: Any, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """As `cholesky`, and 0 or the order of the first leading minor that is not positive.

    Source: ``torch.linalg.cholesky_ex``.
    """
    if out is not None:
        return into(out, cholesky_ex, input, upper=upper, check_errors=check_errors)
    label = "linalg.cholesky_ex" if check_errors else ""
    return return_types.linalg_cholesky_ex(_cholesky(input, upper, label, "linalg_cholesky_ex"))


# ---------------------------------------------------------------- QR
def _qr(A: Any, mode: str) -> tuple[Any, Any]:
    if mode == "r":
        return np.zeros(0, A.dtype), np.linalg.qr(A, "r")
    return tuple(np.linalg.qr(A, mode))  # type: ignore[call-overload]


def _square_qr_backward(by_q: Any, by_r: Any, q: Any, r: Any) -> Any:
    """For R square: dQ and dR from the part of Q^H dA R^-1 that is skew, and the part that is upper triangular."""
    inner = plus(None if by_r is None else product(by_r, mH(r)), None if by_q is None else -product(mH(q), by_q))
    inner = triu(inner)
    both = inner + mH(inner)
    found = product(q, both - as_diagonal(0.5 * diagonal_of(both)))
    return SOLVE_TRIANGULAR.apply((mH(r), plus(found, by_q), False, False, False))


def _qr_backward(grads: Any, result0: Any, result1: Any, mode: str) -> Any:
    by_q, by_r = grads
    q, r = result0, result1
    if mode == "r":
        raise noted(
            RuntimeError(
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                "linalg.qr(A, mode='reduced') if you are going to require gradients."
            )
        )
    m, n = shape_of(q)[-2], shape_of(r)[-1]
    if mode == "complete" and m > n:
        raise noted(RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols."))
    if m >= n:
        return _square_qr_backward(by_q, by_r, q, r)
    # the columns beyond the m-th are Q times those of R
    by_rest = None
    if by_r is not None:
        rest, by_rest = r.narrow(-1, m, n - m), by_r.narrow(-1, m, n - m)
        by_q = plus(by_q, product(product(q, rest), mH(by_rest)))
        by_r, by_rest = by_r.narrow(-1, 0, m), product(q, by_rest)
    else:
        by_rest = r.new_zeros((*shape_of(q)[:-1], n - m))
    return cat([_square_qr_backward(by_q, by_r, q, r.narrow(-1, 0, m)), by_rest], -1)


QR = row("linalg_qr", _qr, batch="any", tensors="A", outputs=2, analytic=False, A=_qr_backward)


@single_in_autocast
def qr(A: Any, mode: str = "reduced", *, out: Any = None) -> Any:
    """Q and R with ``A = Q @ R``: Q has orthonormal columns and R is upper triangular (source: ``torch.linalg.qr``).

    With min(m, n) columns in Q, or all m in mode "complete"; mode "r" leaves Q out.

    >>> import livetape as torch
    >>> torch.linalg.qr(torch.tensor([[3., 1.], [4., 2.]])).R
    tensor([[-5.0000, -2.2000],
            [ 0.0000,  0.4000]])
    """
    if out is not None:
        return into(out, qr, A, mode)
    need("linalg_qr", "A", A)
    return return_types.linalg_qr(q_and_r(A, mode))


def q_and_r(A: Any, mode: str) -> Any:
    """`qr` as a plain tuple."""
    need_matrix("linalg.qr", A)
    need_float("linalg.qr", A, "geqrf_cpu")
    if mode not in ("reduced", "complete", "r"):
        raise noted(
            RuntimeError(
                f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
            )
        )
    return QR.apply((A, mode))


# ---------------------------------------------------------------- eigenvalues
_PHASES = (
    "{}: The eigenvectors in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss "
    "function depends on this quantity, so it is ill-defined."
)


def _check_phases(name: str, inner: Any) -> None:
    if inner.dtype.category == COMPLEX:
        phases = np.diagonal(inner.array, 0, -2, -1).imag
        if not np.allclose(phases, 0, rtol=1e-2, atol=1e-2):
            raise noted(RuntimeError(_PHASES.format(name)))


def _with_diagonal(x: Any, diagonal: Any) -> Any:
    cleared = x - as_diagonal(diagonal_of(x))
    return cleared if diagonal is None else cleared + as_diagonal(diagonal)


def _eigh_backward(grads: Any, result0: Any, result1: Any) -> Any:
    by_values, by_vectors = grads
    values, vectors = result0, result1
    if by_vectors is None:
        return product(vectors * by_values.unsqueeze(-2), mH(vectors))
    inner = product(mH(vectors), by_vectors)
    _check_phases("linalg_eigh_backward", inner)
    turn = (inner - mH(inner)) * 0.5
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1) + identity_like(values)
    return product(vectors, _with_diagonal(_quotient(turn, gaps, values, inner), by_values), mH(vectors))


def _quotient(divided: Any, gaps: Any, values: Any, inner: Any) -> Any:
    """``divided / gaps``, and its limits where eigenvalues repeat."""
    pairs = pairs_of(values, divided)
    if pairs is None:
        return divided / gaps
    pairs = vanishes(divided, pairs, inner)
    return quotient(divided, gaps, limits(divided, values, pairs), pairs)


_REPEATED = "repeated values, where the loss does not depend on the choice of the vectors"


EIGH = row(
    "linalg_eigh",
    lambda A, UPLO, vectors: kernels.eigh(A, UPLO, vectors),
    batch="any",
    tensors="A",
    outputs=2,
    analytic=False,
    A=_eigh_backward,
    differs=_REPEATED,
)


def _check_eigh(name: str, A: Any, UPLO: str) -> str:
    need(name, "input", A)
    need_square("linalg.eigh", A)
    letter = UPLO.upper()
    if letter not in ("L", "U"):
        raise noted(RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}"))
    need_kernel("linalg_eigh_cpu", A)
    return letter


@single_in_autocast
def eigh(input: Any, UPLO: str = "L", *, out: Any = None) -> Any:
    """The real eigenvalues in rising order, and orthonormal eigenvectors, of symmetric (Hermitian) matrices.

    Only the triangle that ``UPLO`` names is read (source: ``torch.linalg.eigh``). Eigenvectors are not unique: only what
    does not depend on the choice has a derivative.

    >>> import livetape as torch
    >>> torch.linalg.eigh(torch.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    if out is not None:
        return into(out, eigh, input, UPLO)
    found = EIGH.apply((input, _check_eigh("linalg_eigh", input, UPLO), True))
    watch(found[0])
    return return_types.linalg_eigh(found)


@single_in_autocast
def eigvalsh(input: Any, UPLO: str = "L", *, out: Any = None) -> Any:
    """The eigenvalues of symmetric (Hermitian) matrices, see `eigh` (source: ``torch.linalg.eigvalsh``)."""
    if out is not None:
        return into(out, eigvalsh, input, UPLO)
    letter = _check_eigh("linalg_eigvalsh", input, UPLO)
    return EIGH.apply((input, letter, watched(input)))[0]


def _eig_backward(grads: Any, result0: Any, result1: Any) -> Any:
    """For distinct eigenvalues and eigenvectors of length 1."""
    by_values, by_vectors = grads
    values, vectors = result0, result1
    if by_vectors is None:
        core = as_diagonal(by_values)
    else:
        inner = product(mH(vectors), by_vectors)
        _check_phases("linalg_eig_backward", inner)
        tangent = inner - product(mH(vectors), vectors) * real(diagonal_of(inner)).unsqueeze(-2)
        gaps = (values.unsqueeze(-2) - values.unsqueeze(-1)).conj() + identity_like(values)
        core = _with_diagonal(_quotient(tangent, gaps, values, inner), by_values)
    return SOLVE.apply((mH(vectors), product(core, mH(vectors)), True, ""))[0]


EIG = row(
    "linalg_eig",
    lambda self, vectors: kernels.eig(self, vectors),
    batch="any",
    outputs=2,
    analytic=False,
    self=_eig_backward,
    differs=_REPEATED,
)


def _check_eig(label: str, A: Any) -> None:
    need("linalg_eig" if label == "linalg.eig" else "linalg_eigvals", "input", A)
    need_square(label, A)
    if A.dtype.category < FLOAT:
        raise noted(RuntimeError(f"Unknown Complex ScalarType for {SCALAR_TYPE[A.dtype]}"))
    if A.dtype.itemsize == 2:
        raise noted(unsupported("linalg_eig_out_cpu", A.array, ""))


@single_in_autocast
def eig(input: Any, *, out: Any = None) -> Any:
    """The eigenvalues and the eigenvectors of length 1, complex, of square matrices (source: ``torch.linalg.eig``)."""
    if out is not None:
        return into(out, eig, input)
    _check_eig("linalg.eig", input)
    found = EIG.apply((input, True))
    watch(found[0])
    return return_types.linalg_eig(found)


@single_in_autocast
def eigvals(input: Any, *, out: Any = None) -> Any:
    """The complex eigenvalues of square matrices (source: ``torch.linalg.eigvals``)."""
    if out is not None:
        return into(out, eigvals, input)
    _check_eig("linalg.eigvals", input)
    return EIG.apply((input, watched(input)))[0]
