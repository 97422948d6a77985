"""The largest singular values of large matrices, from products with few random vectors (Halko, Martinsson, Tropp 2011)."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.ops.decompositions import qr
from livetape.ops.matrices import mH
from livetape.ops.products import matmul
from livetape.ops.sampling import randn
from livetape.ops.singular import svd


def _less(product: Any, M: Any, x: Any, adjoint: bool) -> Any:
    return product if M is None else product - matmul(mH(M) if adjoint else M, x)


def _range_of(A: Any, q: int, niter: int, M: Any) -> Any:
    """Orthonormal columns that nearly span the columns of ``A - M``."""
    draws = randn(shape_of(A)[-1], q, dtype=A.dtype)
    found = qr(_less(matmul(A, draws), M, draws, False)).Q
    for _ in range(niter):
        found = qr(_less(matmul(mH(A), found), M, found, True)).Q
        found = qr(_less(matmul(A, found), M, found, False)).Q
    return found


def svd_lowrank(A: Any, q: Any = 6, niter: Any = 2, M: Any = None) -> Any:
    """Nearly the ``q`` largest singular values of ``A - M``, and their vectors: U, S and V (source: ``torch.svd_lowrank``).

    niter    how often the subspace is refined
    """
    if M is not None:
        M = M.expand(shape_of(A))
    basis = _range_of(A, 6 if q is None else q, 2 if niter is None else niter, M)
    small = matmul(mH(basis), A)
    if M is not None:
        small = small - matmul(mH(basis), M)
    U, S, Vh = svd(small, full_matrices=False)
    return matmul(basis, U), S, mH(Vh)


def pca_lowrank(A: Any, q: Any = None, center: bool = True, niter: int = 2) -> Any:
    """Nearly the ``q`` principal components of the rows of a matrix: U, S and V (source: ``torch.pca_lowrank``)."""
    m, n = shape_of(A)[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise noted(ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"))
    if not niter >= 0:
        raise noted(ValueError(f"niter(={niter}) must be non-negative integer"))
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


FUNCTIONS = ["svd_lowrank", "pca_lowrank"]
