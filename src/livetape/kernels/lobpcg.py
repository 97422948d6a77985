"""A few eigenpairs of a large symmetric matrix, by locally optimal block preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _orthonormal(S: Any, B: Any) -> Any:
    """A basis of the columns of ``S``, orthonormal under ``B``, without the directions that rounding made (SVQB)."""
    for _ in range(2):
        gram = S.T @ (S if B is None else B @ S)
        scale = 1 / np.sqrt(np.maximum(np.diag(gram), np.finfo(S.dtype).tiny))
        values, vectors = np.linalg.eigh(gram * scale * scale[:, None])
        kept = values > values[-1] * len(values) * np.finfo(S.dtype).eps
        S = S @ (scale[:, None] * vectors[:, kept] / np.sqrt(values[kept]))
    return S


def lobpcg(
    A: Any,
    B: Any,
    X: Any,
    iK: Any,
    k: int,
    niter: int,
    tol: float,
    largest: bool,
    report: Callable[..., None] | None = None,
) -> tuple[Any, Any]:
    """The first ``k`` eigenvalues and vectors of ``A x = e B x``, both symmetric.

    They are sought in blocks as wide as the first guess ``X``.

    Every step takes the best vectors of the space of the last ones, of their last change and of their preconditioned
    residuals (Knyazev 2001), in a basis made orthonormal anew (Duersch and others 2018).
    """
    n = X.shape[1]
    guess = np.linalg.norm(X)
    size_a = np.linalg.norm(A @ X) / guess
    size_b = 1.0 if B is None else np.linalg.norm(B @ X) / guess
    S = X
    step = 0
    while True:
        S = _orthonormal(S, B)
        values, vectors = np.linalg.eigh(S.T @ (A @ S))
        if largest:
            values, vectors = values[::-1], vectors[:, ::-1]
        E, C = values[:n].copy(), vectors[:, :n]
        last, X = X, S @ C
        R = A @ X - (X if B is None else B @ X) * E
        errors = np.linalg.norm(R, axis=0) / (np.linalg.norm(X, axis=0) * (size_a + np.abs(E) * size_b))
        good = errors < tol
        count = n if good.all() else int(good.argmin())
        if report is not None and step:
            report(step, niter - step, count, E, X, R, errors, S)
        if count >= k or step >= niter:
            return E[:k], X[:, :k]
        step += 1
        W = R if iK is None else iK @ R
        change = X - last @ (last.T @ (X if B is None else B @ X)) if step > 1 else X[:, :0]
        S = np.concatenate([X, change, W[:, count:]], 1)
