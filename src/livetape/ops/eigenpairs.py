"""Some of the eigenpairs of a large symmetric matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape._tape.views import needs_gradient
from livetape.dtypes import SCALAR_TYPE, float32, float64
from livetape.kernels import lobpcg as kernels
from livetape.ops.matrices import (
    as_diagonal,
    constant,
    diagonal_of,
    identity_like,
    mT,
    need,
    plus,
    product,
)
from livetape.ops.sampling import randn
from livetape.ops.solving import SOLVE
from livetape.ops.table import row

PRECISION = {float32: 1.2e-07, float64: 2.23e-16}


class Progress:
    """What ``lobpcg`` shows its ``tracker`` after every step: the pairs, their residuals and the counts so far.

    ``ivars`` has ``istep``, ``iterations_left`` and ``converged_count``, ``tvars`` the relative residuals ``rerr``.
    """

    def __init__(self, A: Any, B: Any, iK: Any, params: dict[str, Any]) -> None:
        self.A, self.B, self.iK = A, B, iK
        self.iparams = {k: v for k, v in params.items() if type(v) is int}
        self.fparams = {k: v for k, v in params.items() if type(v) is float}
        self.bparams = {k: v for k, v in params.items() if type(v) is bool}
        self.ivars: dict[str, int] = {}
        self.fvars: dict[str, float] = {}
        self.bvars: dict[str, bool] = {}
        self.tvars: dict[str, Any] = {}
        self.E = self.X = self.R = self.S = None

    def update(self, step: int, left: int, count: int, *arrays: Any) -> None:
        """Take over the state after a step."""
        self.ivars = {"istep": step, "iterations_left": left, "converged_count": count}
        self.E, self.X, self.R, errors, self.S = (constant(a, self.A.dtype) for a in arrays)
        self.tvars = {"rerr": errors}


def _forward(A: Any, B: Any, X: Any, iK: Any, k: int, niter: int, tol: float, largest: bool, tracker: Any) -> Any:
    batch = A.shape[:-2]
    a, x = (m.reshape(-1, *m.shape[-2:]) for m in (A, X))
    b = None if B is None else B.reshape(a.shape)
    found = []
    for i in range(len(a)):
        report = None if tracker is None else tracker(i)
        found.append(kernels.lobpcg(a[i], None if b is None else b[i], x[i], iK, k, niter, tol, largest, report))
    values, vectors = (np.stack(part).astype(A.dtype, copy=False) for part in zip(*found))
    return values.reshape(*batch, k), vectors.reshape(*batch, -1, k)


def _backward(grads: Any, A: Any, B: Any, result0: Any, result1: Any) -> Any:
    """The part of the change of the vectors within those found by the gaps of the values; the rest by a system each."""
    if B is not None:
        raise noted(ValueError("lobpcg.backward does not support backward with B != I yet."))
    by_values, by_vectors = grads
    values, vectors = result0, result1
    if by_vectors is None:
        return product(vectors, as_diagonal(by_values), mT(vectors))
    inner = product(mT(vectors), by_vectors)
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    core = (inner - as_diagonal(diagonal_of(inner))) / (gaps + identity_like(inner))
    core = plus(core, None if by_values is None else as_diagonal(by_values))
    # A with the values found replaced by 1 + e: of full rank when e is taken off, and the same on the rest of the space
    own = product(vectors, mT(vectors)).unsqueeze(-3)
    e = values.unsqueeze(-1).unsqueeze(-1)
    rest = A - product(vectors, as_diagonal(values), mT(vectors))
    system = rest.unsqueeze(-3) - e * identity_like(A).unsqueeze(-3) + (e + 1) * own
    outside = mT(by_vectors - product(vectors, inner)).unsqueeze(-1)
    solved = mT(SOLVE.apply((system, outside, True, ""))[0].squeeze(-1))
    return product(vectors, core, mT(vectors)) - product(solved, mT(vectors))


LOBPCG = row(
    "lobpcg",
    _forward,
    batch=None,
    tensors="A B X iK",
    outputs=2,
    analytic=False,
    A=_backward,
)


def lobpcg(
    A: Any,
    k: int | None = None,
    B: Any = None,
    X: Any = None,
    n: int | None = None,
    iK: Any = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Progress], None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Any, Any]:
    """The ``k`` largest (or smallest) eigenvalues of symmetric ``A``, or of ``A x = e B x``, and their vectors.

    The search starts at ``X``, or at ``n`` random vectors, uses ``iK`` as the inverse of a preconditioner, and ends after
    ``niter`` steps or at relative residuals below ``tol``; ``tracker`` is called with its state after every step. Needs
    three times as many rows as vectors sought. ``method`` and the ``ortho_`` parameters are read and change nothing:
    one method, with a basis made orthonormal in every step, serves for both of torch's (source: ``torch.lobpcg``).

    >>> import livetape as torch
    >>> torch.lobpcg(torch.diag(torch.arange(1., 7.)), k=2)[0]
    tensor([6.0000, 5.0000])
    """
    need("lobpcg", "A", A)
    shape = shape_of(A)
    if shape[-2] != shape[-1]:
        raise noted(AssertionError(f"A must be square, got shape {A.shape}"))
    if B is not None and shape_of(B) != shape:
        raise noted(AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}"))
    if A.dtype not in PRECISION:
        kind = SCALAR_TYPE[A.dtype].lower() if A.dtype.itemsize > 2 else f"c10::{SCALAR_TYPE[A.dtype]}"
        raise noted(RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {kind} != float"))
    if k is None:
        k = 1 if X is None else shape_of(X)[-1]
    width = shape_of(X)[-1] if X is not None else k if n is None else n
    rows = shape[-1]
    if rows < 3 * width:
        raise noted(
            ValueError(
                f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number "
                f"of requested eigenpairs (={width})"
            )
        )
    if X is None:
        X = randn((*shape[:-2], rows, width), dtype=A.dtype)
    elif shape_of(X) != (*shape[:-2], rows, width):
        raise noted(AssertionError(f"X shape mismatch: got {X.shape}, expected {(rows, width)}"))
    k = min(k, width)
    tol = math.sqrt(PRECISION[A.dtype]) if tol is None else float(tol)
    niter = 1000 if niter is None else int(niter)
    largest = True if largest is None else bool(largest)
    params = {"m": rows, "n": width, "k": k, "niter": niter, "tol": tol, "largest": largest}

    def reporter(index: int) -> Callable[..., None]:
        assert tracker is not None
        at = Progress(A, B, iK, {**params, "batch_index": index} if len(shape) > 2 else params)

        def report(*state: Any) -> None:
            at.update(*state)
            tracker(at)

        return report

    if needs_gradient(A) or (B is not None and needs_gradient(B)):
        A = (A + mT(A)) / 2  # so that its gradient is symmetric
    return tuple(LOBPCG.apply((A, B, X, iK, k, niter, tol, largest, None if tracker is None else reporter)))


FUNCTIONS = ["lobpcg"]
