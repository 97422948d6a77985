"""Singular values, and what is computed from them: pseudoinverses, ranks, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE
from livetape.kernels import matrices as kernels
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.basics import detach
from livetape.ops.matrices import (
    as_diagonal,
    diagonal_of,
    identity_like,
    mH,
    mT,
    need,
    need_broadcast,
    need_float,
    need_matrix,
    need_square,
    plus,
    product,
    watched,
)
from livetape.ops.refuse import no_overload
from livetape.ops.repeated import column_limits, is_watched, limits, pairs_of, quotient, vanishes, watch
from livetape.ops.table import into, row

# ---------------------------------------------------------------- the decomposition
_PHASES = (
    "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. The "
    "specified loss function depends on this phase term, making it ill-defined."
)


def _skew(x: Any) -> Any:
    return x - mH(x)


def _check_phases(by_u: Any, by_v: Any) -> None:
    nothing = np.zeros(())
    left = nothing if by_u is None else np.diagonal(by_u.array, 0, -2, -1).imag
    right = nothing if by_v is None else np.diagonal(by_v.array, 0, -2, -1).imag
    if not np.allclose(left, -right, rtol=1e-2, atol=1e-2):
        raise noted(RuntimeError(_PHASES))


def _svd_backward(grads: Any, result0: Any, result1: Any, result2: Any, full_matrices: bool) -> Any:
    u, s, vh = result0, result1, result2
    by_u, by_s, by_vh = grads
    count = shape_of(s)[-1]
    if full_matrices:  # what completes the bases is arbitrary and has no derivative
        u, vh = u.narrow(-1, 0, count), vh.narrow(-2, 0, count)
        by_u = None if by_u is None else by_u.narrow(-1, 0, count)
        by_vh = None if by_vh is None else by_vh.narrow(-2, 0, count)
    if by_u is None and by_vh is None:
        return product(u * by_s.unsqueeze(-2), vh)
    tall, wide = shape_of(u)[-2] > count, shape_of(vh)[-1] > count
    row_s, column_s = s.unsqueeze(-2), s.unsqueeze(-1)
    inner_u = None if by_u is None else product(mH(u), by_u)
    inner_v = None if by_vh is None else product(vh, mH(by_vh))
    skew_u = None if inner_u is None else _skew(inner_u)
    skew_v = None if inner_v is None else _skew(inner_v)
    if u.dtype.category == COMPLEX:
        _check_phases(skew_u, skew_v)
    gaps = row_s * row_s - column_s * column_s + identity_like(s)
    divided = plus(None if skew_u is None else skew_u * row_s, None if skew_v is None else column_s * skew_v)
    pairs = pairs_of(s, divided)
    if pairs is None:
        core = divided / gaps
    else:
        scale_u = None if inner_u is None else inner_u * row_s
        pairs = vanishes(divided, pairs, scale_u, None if inner_v is None else column_s * inner_v)
        core = quotient(divided, gaps, _limits(divided, skew_u, skew_v, s, pairs), pairs)
    if u.dtype.category == COMPLEX:
        core = core - as_diagonal(diagonal_of(core))
        if skew_u is not None and skew_v is not None:
            core = core + as_diagonal(diagonal_of(skew_u) / (2 * s))
    if by_s is not None:
        core = core + as_diagonal(by_s)
    left = product(u, core)
    if tall and by_u is not None:  # what leaves the space of U
        left = left + _over(by_u - product(u, inner_u), s)
    found = product(left, vh)
    if wide and by_vh is not None:
        found = found + product(u, mT(_over(mT(by_vh - product(mH(inner_v), vh)), s)))
    return found


def _over(columns: Any, s: Any) -> Any:
    """Columns divided by singular values, and the limits where these are 0."""
    if not is_watched(s, columns) or s.array.all():
        return columns / s.unsqueeze(-2)
    none = np.broadcast_to((s.array == 0)[..., None, :], columns.array.shape)
    return quotient(columns, s.unsqueeze(-2), column_limits(columns, s), none)


def _limits(divided: Any, skew_u: Any, skew_v: Any, s: Any, pairs: Any) -> Any:
    """The limits of `divided` over the difference of the squares, where singular values repeat."""
    sizes = s.array
    none = sizes == 0
    both_none = none[..., None, :] & none[..., :, None] & pairs
    sums = sizes[..., None, :] + sizes[..., :, None]
    found = limits(divided, s, pairs & ~both_none) / np.where(both_none | (sums == 0), 1, sums)
    if both_none.any():  # U and V turn apart, and what one of them says suffices
        part = skew_u if skew_u is not None else mH(skew_v)
        found = np.where(both_none, limits(part, s, both_none), found)
    return found.astype(divided.array.dtype, copy=False)


SVD = row(
    "linalg_svd",
    lambda A, full_matrices, vectors: kernels.svd(A, full_matrices, vectors),
    batch="any",
    tensors="A",
    outputs=3,
    analytic=False,
    A=_svd_backward,
    differs="repeated values, where the loss does not depend on the choice of the vectors",
)


def check_svd(A: Any) -> None:
    """Torch's checks."""
    need_matrix("linalg.svd", A)
    need_float("linalg.svd", A, "linalg_svd_cpu")


@single_in_autocast
def svd(A: Any, full_matrices: bool = True, *, driver: Any = None, out: Any = None) -> Any:
    """U, S and V^H with ``A = U @ diag(S) @ V^H``, the singular values S in falling order (source: ``torch.linalg.svd``).

    For A of shape [..., m, n], U is [..., m, m] and V^H [..., n, n], or with the inner dimension min(m, n) if not
    ``full_matrices``. Singular vectors are not unique: only what does not depend on the choice has a derivative.

    >>> import livetape as torch
    >>> torch.linalg.svd(torch.tensor([[0., 2.], [1., 0.]])).S
    tensor([2., 1.])
    """
    if out is not None:
        return into(out, svd, A, full_matrices)
    need("linalg_svd", "A", A)
    check_svd(A)
    _check_driver("svd", driver)
    return return_types.linalg_svd(decomposed(A, bool(full_matrices)))


def decomposed(A: Any, full_matrices: bool) -> Any:
    """`svd` as a plain tuple, without checks."""
    found = SVD.apply((A, full_matrices, True))
    rows, columns = shape_of(A)[-2:]
    watch(found[1], rows != columns and not found[1].array.all())
    return found


def _check_driver(name: str, driver: Any) -> None:
    if driver is not None:
        raise noted(
            RuntimeError(
                f"torch.linalg.{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
            )
        )


@single_in_autocast
def svdvals(A: Any, *, driver: Any = None, out: Any = None) -> Any:
    """The singular values of matrices in falling order (source: ``torch.linalg.svdvals``)."""
    if out is not None:
        return into(out, svdvals, A)
    need("linalg_svdvals", "A", A)
    check_svd(A)
    _check_driver("svd", driver)
    return singular_values(A)


def singular_values(A: Any) -> Any:
    """`svdvals` without checks."""
    return SVD.apply((A, False, watched(A)))[1]


# ---------------------------------------------------------------- pseudoinverses and ranks
def _pinv_backward(grad: Any, self: Any, result: Any) -> Any:
    """From Golub and Pereyra (1973): dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P."""
    by_h, p_h = mH(grad), mH(result)
    m, n = shape_of(self)[-2:]
    if m <= n:
        k = product(by_h, result)
        step = product(k, p_h)
        first = step - product(self, product(result, step))
        second = product(p_h, result, by_h - product(k, self))
    else:
        k = product(result, by_h)
        step = product(p_h, k)
        first = product(by_h - product(self, k), result, p_h)
        second = step - product(product(step, result), self)
        return first + second - mH(product(k, result))
    return first + second - mH(product(result, k))


PINV = row(
    "linalg_pinv",
    lambda self, atol, rtol, hermitian: kernels.pinv(self, atol, rtol, hermitian),
    batch="any",
    analytic=False,
    self=_pinv_backward,
)


def _bound(name: str, argument: str, value: Any) -> Any:
    """A tolerance as a number or an array."""
    if not isinstance(value, TensorBase):
        return value
    if value.dtype.category == COMPLEX:
        raise noted(
            RuntimeError(
                f"torch.linalg.{name}: {argument} tensor of complex type is not supported. Got {SCALAR_TYPE[value.dtype]}"
            )
        )
    return value.array


def pinv(
    A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Any:
    """The pseudoinverses of matrices (source: ``torch.linalg.pinv``).

    Singular values count as 0 where they do not exceed ``atol`` or ``rtol`` times the largest one; by default ``rtol`` is
    the larger dimension times the precision of the dtype. ``hermitian``: only the lower triangles are read.
    """
    if out is not None:
        return into(out, pinv, A, rcond, hermitian, atol=atol, rtol=rtol)
    if not isinstance(A, TensorBase):
        raise noted(no_overload("linalg_pinv"))
    return pseudoinverse(A, atol, rcond if rtol is None else rtol, hermitian)


def pseudoinverse(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    """`pinv` with torch's checks."""
    size = shape_of(A)
    if len(size) < 2 or A.dtype.category < FLOAT or A.dtype.itemsize == 2:
        raise noted(
            RuntimeError(
                f"linalg.pinv({SCALAR_TYPE[A.dtype]}{{{list(size)}}}): expected a tensor with 2 or more "
                "dimensions of float, double, cfloat or cdouble types"
            )
        )
    if hermitian and 0 not in size[-2:]:
        need_square("linalg.eigh", A)
    return PINV.apply((A, _bound("pinv", "atol", atol), _bound("pinv", "rtol", rtol), bool(hermitian)))


RANK = row(
    "linalg_matrix_rank",
    lambda A, atol, rtol, hermitian: kernels.matrix_rank(A, atol, rtol, hermitian),
    batch="any",
    tensors="A",
)


@single_in_autocast
def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Any:
    """How many singular values exceed the tolerances, see `pinv` (source: ``torch.linalg.matrix_rank``).

    >>> import livetape as torch
    >>> torch.linalg.matrix_rank(torch.ones(2, 2))
    tensor(1)
    """
    if out is not None:
        return into(out, matrix_rank, A, tol, hermitian, atol=atol, rtol=rtol)
    if not isinstance(A, TensorBase):
        raise noted(no_overload("linalg_matrix_rank"))
    if A.dtype.category < FLOAT or A.dtype.itemsize == 2:
        raise noted(RuntimeError("This function doesn't handle types other than float and double"))
    need_matrix("torch.linalg.matrix_rank", A, "input")
    if hermitian and 0 not in shape_of(A)[-2:]:
        need_square("linalg.eigh", A)
    if tol is not None and atol is None:
        atol, rtol = tol, 0.0
    return RANK.apply((A, _bound("matrix_rank", "atol", atol), _bound("matrix_rank", "rtol", rtol), bool(hermitian)))


# ---------------------------------------------------------------- least squares
def _lstsq_backward(grads: Any, self: Any, b: Any, result0: Any, vector: bool, wanted: list[bool]) -> Any:
    by_x, by_residuals = grads[0], grads[1]
    b, x = (b.unsqueeze(-1), result0.unsqueeze(-1)) if vector else (b, result0)
    by_a = by_b = None
    if by_x is not None:
        by_x = by_x.unsqueeze(-1) if vector else by_x
        inverse = PINV.apply((self, None, None, False))
        if wanted[0]:
            by_a = _pinv_backward(product(by_x, mH(b)), self, inverse)
        by_b = product(mH(inverse), by_x)
    if by_residuals is not None and by_residuals.array.size:
        steps = 2 * by_residuals.unsqueeze(-2) * (product(self, x) - b)
        by_a = plus(by_a, product(steps, mH(x)))
        by_b = plus(by_b, -steps)
    if by_b is not None and vector:
        by_b = by_b.squeeze(-1)
    return by_a, by_b


def _lstsq(self: Any, b: Any, rcond: float, driver: str, vector: bool) -> tuple[Any, ...]:
    x, residuals, rank, values = kernels.least_squares(self, b[..., None] if vector else b, rcond, driver)
    return x[..., 0] if vector else x, residuals, np.asarray(rank), values


LSTSQ = row("linalg_lstsq", _lstsq, tensors="self b", outputs=4, batch="lstsq", analytic=False)
LSTSQ.joint("self b", _lstsq_backward)


@single_in_autocast
def lstsq(input: Any, B: Any, rcond: Any = None, *, driver: Any = None, out: Any = None) -> Any:
    """X of least norm with the least ``|input @ X - B|`` (source: ``torch.linalg.lstsq``).

    Returns the solutions, the squared residuals, the ranks and the singular values, as far as the ``driver`` computes
    them: "gelsy" (the default), "gelsd", "gelss", or "gels", which takes full rank for granted.
    """
    if out is not None:
        return into(out, lstsq, input, B, rcond, driver=driver)
    need("linalg_lstsq", "input", input)
    need("linalg_lstsq", "b", B, 2)
    label = "torch.linalg.lstsq"
    a, b = shape_of(input), shape_of(B)
    if len(a) < 2:
        raise noted(RuntimeError(f"{label}: input must have at least 2 dimensions."))
    if len(b) < 1:
        raise noted(RuntimeError(f"{label}: other must have at least 1 dimension."))
    if input.dtype is not B.dtype:
        raise noted(
            RuntimeError(
                f"{label}: Expected input and other to have the same dtype, but got input's dtype "
                f"{SCALAR_TYPE[input.dtype]} and other's dtype {SCALAR_TYPE[B.dtype]}"
            )
        )
    if not 0 <= len(a) - len(b) <= 1:
        raise noted(
            RuntimeError(
                f"{label}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
            )
        )
    vector = len(a) - 1 == len(b)
    if a[-2] != b[-1 if vector else -2]:
        raise noted(RuntimeError(f"{label}: input.size(-2) should match other.size({'-1' if vector else '-2'})"))
    need_float(label, input, "linalg_lstsq_cpu")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise noted(RuntimeError(f"{label}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"))
    need_broadcast(a[:-2], b[:-1] if vector else b[:-2])
    limit = float(np.finfo(input.array.dtype).eps * max(a[-2:])) if rcond is None else float(rcond)
    *found, values = LSTSQ.apply((input, B, limit, driver or "gelsy", vector))
    return return_types.linalg_lstsq((*found, detach(values)))
