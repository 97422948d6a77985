"""Determinants, and their signs and logarithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.modes import is_recording, is_transformed
from livetape._tape.tensor import shape_of
from livetape.compat import compat
from livetape.dtypes import COMPLEX, boolean
from livetape.ops.basics import conj, detach, ones_like, zeros_like
from livetape.ops.choose import where
from livetape.ops.complexes import complex, imag
from livetape.ops.matrices import constant, diagonal_of, identity_like, mH, mT, need, need_float, need_square, product
from livetape.ops.placing import masked_fill
from livetape.ops.pointwise import log
from livetape.ops.reduce import prod
from livetape.ops.shape import expand
from livetape.ops.singular import SVD
from livetape.ops.solving import INVERSE
from livetape.ops.table import into, row


def _as_matrix(number: Any) -> Any:
    return number.unsqueeze(-1).unsqueeze(-1)


# ---------------------------------------------------------------- determinants
def _cofactors(A: Any, result: Any) -> Any:
    """The derivative of the determinant, which is its inverse transpose times itself where it is not 0."""
    if compat.torch and is_transformed():
        return _cofactors_by_svd(A)
    singular = np.abs(result.array) < 100 * np.finfo(A.array.dtype).eps
    if compat.torch and not is_recording() and (result.array == 0).any():  # torch takes 0 times a large inverse for 0
        flat = constant((result.array == 0)[..., None, None], boolean)
        return where(flat, 0, _as_matrix(result) * mT(INVERSE.apply((where(flat, identity_like(A), A), ""))[0]))
    if not singular.any():
        return _as_matrix(result) * mT(INVERSE.apply((A, ""))[0])
    if singular.all():
        return _cofactors_by_svd(A)
    mask, flat = constant(singular[..., None, None], boolean), constant(singular, boolean)
    spaced = constant(np.diag(np.arange(1.0, A.array.shape[-1] + 1)), A.dtype)  # where the other way is taken
    inverse = INVERSE.apply((where(mask, identity_like(A), A), ""))[0]
    scale = _as_matrix(where(flat, ones_like(result), result))
    return where(mask, _cofactors_by_svd(where(mask, A, spaced)), scale * mT(inverse))


def _cofactors_by_svd(A: Any) -> Any:
    """Of U S V^H: each singular value gives way to the product of the others (Higham, What Is the Adjugate, 2020)."""
    u, s, vh = SVD.apply((A, True, True))
    n = shape_of(s)[-1]
    others = masked_fill(s.unsqueeze(-2).expand(*shape_of(s), n), constant(np.eye(n), boolean), 1)
    weights = DET.apply((u,)) * DET.apply((vh,))
    return _as_matrix(weights) * product(conj(u) * prod(others, -1).unsqueeze(-2), conj(vh))


DET = row(
    "linalg_det",
    lambda A: np.linalg.det(A),
    batch="any",
    tensors="A",
    A=lambda grad, A, result: (
        expand(_as_matrix(grad), shape_of(A)) if shape_of(A)[-1] == 1 else _as_matrix(grad) * _cofactors(A, result)
    ),
    tangent=lambda A_t, A, result: _det_tangent(A_t, A, result),
    differs="the gradient of singular matrices, and second derivatives by forward mode",
)


def _det_tangent(A_t: Any, A: Any, result: Any) -> Any:
    if compat.torch:  # whose factors of A have no tangent of their own
        return result * diagonal_of(product(INVERSE.apply((detach(A), ""))[0], A_t)).sum(-1)
    return (_cofactors(A, result) * A_t).sum((-2, -1))


def det(A: Any, *, out: Any = None) -> Any:
    """The determinants of square matrices (source: ``torch.linalg.det``).

    >>> import livetape as torch
    >>> torch.linalg.det(torch.tensor([[2., 0.], [1., 4.]]))
    tensor(8.)
    """
    if out is not None:
        return into(out, det, A)
    need("linalg_det", "A", A)
    need_square("linalg.det", A)
    need_float("linalg.det", A, "lu_cpu")
    return DET.apply((A,))


# ---------------------------------------------------------------- signs and logarithms
def _slogdet_backward(grads: Any, A: Any, result0: Any) -> Any:
    by_sign, by_log = grads
    if A.dtype.category == COMPLEX:
        turn = zeros_like(by_log) if by_sign is None else -imag(conj(by_sign) * result0)
        by_log = complex(zeros_like(turn) if by_log is None else by_log, turn)
    elif by_log is None:  # real signs do not change
        return None
    return _as_matrix(by_log) * mH(INVERSE.apply((A, ""))[0])


SLOGDET = row(
    "linalg_slogdet",
    lambda A: tuple(np.linalg.slogdet(A)),
    batch="any",
    tensors="A",
    outputs=2,
    analytic=False,
    A=_slogdet_backward,
)


def slogdet(A: Any, *, out: Any = None) -> Any:
    """The signs of determinants and the logarithms of their sizes (source: ``torch.linalg.slogdet``)."""
    if out is not None:
        return into(out, slogdet, A)
    need("linalg_slogdet", "A", A)
    return return_types.linalg_slogdet(sign_and_log("linalg.slogdet", A))


def sign_and_log(label: str, A: Any) -> Any:
    """`slogdet` as a plain tuple."""
    need_square(label, A)
    need_float(label, A)
    return SLOGDET.apply((A,))


def logdet(input: Any) -> Any:
    """The logarithms of determinants, nan where negative (source: ``torch.logdet``)."""
    need("logdet", "input", input)
    sign, size = sign_and_log("logdet", input)
    if input.dtype.category == COMPLEX:
        return log(sign) + size
    return where(constant(sign.array == -1, boolean), math.nan, size)


FUNCTIONS = ["logdet"]
METHODS = {"logdet": logdet}
