"""Inverses, solutions and factorisations of batches of matrices, by NumPy's LAPACK, with torch's errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.triangular import lu_factor, lu_solve, substitute


class _LinAlgError(RuntimeError):
    """A matrix that an operation cannot be done with (source: ``torch.linalg.LinAlgError``)."""

    def __reduce__(self) -> Any:
        return (_again, self.args)


_LinAlgError.__module__ = "torch._C"
LinAlgError = _LinAlgError


def _again(*args: Any) -> _LinAlgError:
    """Unpickle."""
    return _LinAlgError(*args)


def refuse(info: Any, label: str, words: str, error: type[RuntimeError] = LinAlgError) -> None:
    """Raise if ``info`` is not 0 for some matrix; ``words`` may name the number as ``{0}``."""
    bad = np.flatnonzero(info)
    if bad.size:
        which = f"(Batch element {bad[0]}): " if info.ndim else ""
        raise error(f"{label}: {which}{words.format(info.flat[bad[0]])}")


def _flawless(a: Any) -> Any:
    return np.zeros(a.shape[:-2], np.int32)


def _spoilt(a: Any, found: Any) -> Any:
    """What was found, nan for matrices with a nan in them: elimination may pass them over."""
    if np.isnan(a.sum()):
        bad = np.isnan(a).any((-2, -1))
        if bad.any():
            found = np.array(found)
            found[np.broadcast_to(bad, found.shape[:-2])] = np.nan
    return found


# ---------------------------------------------------------------- inverses and solutions
_NO_INVERSE = (
    "The diagonal element {0} is zero, the inversion could not be completed because the input matrix is singular."
)


def inverse(a: Any, label: str) -> tuple[Any, Any]:
    """The inverses, and where a matrix is singular the place of the first zero pivot; an error if a label is given."""
    try:
        found = np.linalg.inv(a)
        return _spoilt(a, found), _flawless(a)
    except np.linalg.LinAlgError:
        packed, pivots, info = lu_factor(a)
        if label:
            refuse(info, label, _NO_INVERSE)
        return lu_solve(packed, pivots, np.eye(a.shape[-1], dtype=a.dtype)), info


def solve(a: Any, b: Any, left: bool, label: str) -> tuple[Any, Any]:
    """X with ``a @ X = b`` (or ``X @ a = b``), and as for `inverse`."""
    try:
        if left:
            x = np.linalg.solve(a, b)
        else:
            x = np.ascontiguousarray(np.linalg.solve(a.swapaxes(-2, -1), b.swapaxes(-2, -1)).swapaxes(-2, -1))
        return _spoilt(a, x), _flawless(a)
    except np.linalg.LinAlgError:
        packed, pivots, info = lu_factor(a)
        if label:
            refuse(info, label, "The solver failed because the input matrix is singular.")
        return np.ascontiguousarray(lu_solve(packed, pivots, b, left)), info


def solve_vectors(a: Any, b: Any, label: str) -> tuple[Any, Any]:
    """`solve` for a batch of vectors."""
    x, info = solve(a, b[..., None], True, label)
    return x[..., 0], info


# ---------------------------------------------------------------- symmetric matrices
_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor "
    "of order {0} is not positive-definite)."
)


def cholesky(a: Any, upper: bool, label: str) -> tuple[Any, Any]:
    """Cholesky factors, and the order of the first leading minor that is not positive (0: none)."""
    if upper:
        factor, info = cholesky(a.conj().swapaxes(-2, -1), False, label)
        return np.ascontiguousarray(factor.conj().swapaxes(-2, -1)), info
    try:
        factor = np.linalg.cholesky(a)
        diagonal = np.diagonal(factor, 0, -2, -1)
        if not np.isnan(diagonal).any():
            return factor, _flawless(a)
    except np.linalg.LinAlgError:
        pass
    factor, info = _cholesky_by_columns(a)
    if label:
        refuse(info, label, _NOT_POSITIVE)
    return factor, info


def _cholesky_by_columns(a: Any) -> tuple[Any, Any]:
    """`cholesky` that stops where it fails and leaves the rest as it was."""
    factor = np.tril(a)
    info = _flawless(a)
    for at in np.ndindex(info.shape):
        one = factor[at]
        for j in range(one.shape[-1]):
            pivot = one[j, j].real - np.sum(np.abs(one[j, :j]) ** 2)
            one[j, j] = pivot
            if not pivot > 0:
                info[at] = j + 1
                break
            one[j, j] = np.sqrt(pivot)
            one[j + 1 :, j] = (one[j + 1 :, j] - one[j + 1 :, :j] @ one[j, :j].conj()) / one[j, j]
    return factor, info


def cholesky_solve(b: Any, factor: Any, upper: bool) -> Any:
    """X with ``L @ L^H @ X = b`` (``U^H @ U @ X = b``)."""
    turned = factor.conj().swapaxes(-2, -1)
    first, second = (turned, factor) if upper else (factor, turned)
    return substitute(second, substitute(first, b, False, False), True, False)


def cholesky_inverse(factor: Any, upper: bool) -> Any:
    """The inverse of the matrix whose Cholesky factor is given."""
    return cholesky_solve(np.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


_MANY_REPEATED = (
    "{0}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
    "repeated {1} (error code: {2})."
)


def eigh(a: Any, uplo: Any, vectors: bool) -> tuple[Any, Any]:
    """Eigenvalues in rising order, and eigenvectors as columns (an empty array unless asked for)."""
    try:
        if vectors:
            values, columns = np.linalg.eigh(a, uplo)
            return values, columns
        return np.linalg.eigvalsh(a, uplo), np.zeros(0, a.dtype)
    except np.linalg.LinAlgError:
        code = max(1, a.shape[-1] - 1) if vectors else 1
        raise LinAlgError(_MANY_REPEATED.format(_element("linalg.eigh", a), "eigenvalues", code)) from None


def eig(a: Any, vectors: bool) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors as complex numbers (no eigenvectors unless asked for)."""
    kind = np.result_type(a.dtype, np.complex64)
    finite = np.isfinite(a).all((-2, -1))
    if not vectors:
        values = np.linalg.eigvals(np.where(finite[..., None, None], a, a.dtype.type(0))).astype(kind)
        return np.where(finite[..., None], values, kind.type(complex(np.nan, np.nan))), np.zeros(0, kind)
    if not finite.all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    values, columns = np.linalg.eig(a)
    return values.astype(kind), columns.astype(kind)


# ---------------------------------------------------------------- singular values
def svd(a: Any, full_matrices: bool, vectors: bool) -> tuple[Any, Any, Any]:
    """U, the singular values and V^H; two empty arrays and the values unless vectors are asked for."""
    if not np.isfinite(a).all() and not np.isnan(a).any():  # LAPACK would go on for ever
        bad = ~np.isfinite(a).all((-2, -1))[..., None, None]
        u, s, vh = svd(np.where(bad, a.dtype.type(0), a), full_matrices, vectors)
        s = np.where(bad[..., 0], s.dtype.type(np.nan), s)
        if not vectors:
            return u, s, vh
        nan = a.dtype.type(np.nan)
        return np.where(bad, nan, u), s, np.where(bad, nan, vh)
    try:
        if vectors:
            u, s, vh = np.linalg.svd(a, full_matrices)
            return u, s, vh
        nothing = np.zeros(0, a.dtype)
        return nothing, np.linalg.svd(a, compute_uv=False), nothing
    except np.linalg.LinAlgError:
        label = _element("linalg.svd", a)
        if not np.isfinite(a).all():
            raise LinAlgError(
                f"{label}: The algorithm failed to converge because the input matrix contained non-finite values."
            ) from None
        raise LinAlgError(_MANY_REPEATED.format(label, "singular values", min(a.shape[-2:]))) from None


def _element(label: str, a: Any) -> str:
    """The label with the first matrix that is not finite."""
    if a.ndim == 2:
        return label
    bad = np.flatnonzero(~np.isfinite(a).all((-2, -1)))
    return f"{label}: (Batch element {bad[0] if bad.size else 0})"


def tolerance(largest: Any, size: Any, atol: Any, rtol: Any) -> Any:
    """What a singular value must exceed to count, given the largest one; None stands for torch's defaults."""
    if rtol is None:
        eps = np.finfo(largest.dtype).eps * max(size[-2:])
        rtol = eps if atol is None else np.where(np.asarray(atol) > 0, 0, eps)
    bound = np.asarray(rtol) * largest
    return (bound if atol is None else np.maximum(atol, bound)).astype(largest.dtype)


def pinv(a: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    """Pseudoinverses: singular values that do not exceed the tolerance count as 0."""
    if 0 in a.shape[-2:]:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if hermitian:
        values, u = eigh(a, "L", True)
        sizes, vh = np.abs(values), u.conj().swapaxes(-2, -1)
        largest = sizes.max(-1, keepdims=True)
    else:
        u, values, vh = svd(a, False, True)
        sizes, largest = values, values[..., :1]
    counts = sizes > _column(tolerance(largest, a.shape, _column(atol), _column(rtol)))
    scaled = np.where(counts, 1 / np.where(counts, values, 1), 0).astype(values.dtype)
    return (vh.conj().swapaxes(-2, -1) * scaled[..., None, :]) @ u.conj().swapaxes(-2, -1)


def _column(bound: Any) -> Any:
    """A tolerance for each matrix so that it broadcasts against rows of singular values."""
    return bound[..., None] if isinstance(bound, np.ndarray) and bound.ndim and bound.shape[-1] != 1 else bound


def matrix_rank(a: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    """How many singular values exceed the tolerance."""
    if 0 in a.shape[-2:]:
        return np.zeros(a.shape[:-2], np.int64)
    values = np.abs(eigh(a, "L", False)[0]) if hermitian else svd(a, False, False)[1]
    bound = tolerance(values.max(-1), a.shape, atol, rtol)
    return np.count_nonzero(values > bound[..., None], axis=-1)


def least_squares(a: Any, b: Any, rcond: float, driver: str) -> tuple[Any, Any, Any, Any]:
    """The solutions of least norm, the squared residuals, the ranks and the singular values; empty where not computed."""
    *batch, m, n = a.shape
    kind = a.real.dtype
    nothing = np.zeros(0, kind)
    if driver == "gels":  # full rank is taken for granted
        if m >= n:
            q, r = np.linalg.qr(a)
            x = substitute(r, q.conj().swapaxes(-2, -1) @ b, True, False)
        else:
            q, r = np.linalg.qr(a.conj().swapaxes(-2, -1))
            x = q @ substitute(r.conj().swapaxes(-2, -1), b, False, False)
        return x, _residuals(a, x, b) if m > n else nothing, np.zeros(0, np.int64), nothing
    if 0 in (m, n):
        x, values = np.zeros((*batch, n, b.shape[-1]), a.dtype), np.zeros((*batch, 0), kind)
        rank = np.zeros(batch, np.int64)
    else:
        u, values, vh = svd(a, False, True)
        counts = values > np.asarray(rcond, kind) * values[..., :1]
        rank = np.count_nonzero(counts, axis=-1)
        scaled = np.where(counts, 1 / np.where(counts, values, 1), 0).astype(kind)
        x = vh.conj().swapaxes(-2, -1) @ (scaled[..., None] * (u.conj().swapaxes(-2, -1) @ b))
    if driver == "gelsy":
        return x, nothing, rank, nothing
    tall = m > n and bool(np.all(rank == n))
    return x, _residuals(a, x, b) if tall else nothing, rank, values


def _residuals(a: Any, x: Any, b: Any) -> Any:
    return np.sum(np.abs(a @ x - b) ** 2, axis=-2)


# ---------------------------------------------------------------- exponentials
_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_REACH = 5.371920351148152  # the norm up to which the quotient is exact


def matrix_exp(a: Any) -> Any:
    """Exponentials by scaling, a Pade quotient of degree 13, and squaring (Higham 2005)."""
    if a.real.itemsize < 8:
        return matrix_exp(a.astype(np.result_type(a.dtype, np.float64))).astype(a.dtype)
    if a.size == 0:
        return a.copy()
    if a.shape[-1] == 1:
        return np.exp(a)
    size = np.abs(a).sum(-2).max(-1)
    steps = np.where(np.isfinite(size), np.ceil(np.log2(np.maximum(size, 1e-30) / _REACH)), 0)
    steps = np.maximum(steps, 0).astype(np.int64)
    x = a * np.exp2(-steps[..., None, None]).astype(a.real.dtype)
    c = [x.dtype.type(k / _PADE[0]) for k in _PADE]
    one = np.eye(a.shape[-1], dtype=a.dtype)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x @ (x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2) + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * one)
    even = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2) + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * one
    try:
        found = np.linalg.solve(even - odd, even + odd)
    except np.linalg.LinAlgError:  # only for what is not finite
        return np.full_like(a, np.nan)
    for step in range(int(steps.max())):
        found = np.where((steps > step)[..., None, None], found @ found, found)
    return found
