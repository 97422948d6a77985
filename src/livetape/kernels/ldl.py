"""LDL decompositions of symmetric matrices (Bunch and Kaufman 1977), by SciPy's LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

_LETTER = {"f": "s", "d": "d", "F": "c", "D": "z"}


def _routine(name: str, array: Any, hermitian: bool) -> Any:
    from scipy.linalg import lapack

    kind = array.dtype.char
    return getattr(lapack, _LETTER[kind] + ("he" if hermitian and kind in "FD" else "sy") + name)


def factor(a: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """L and the diagonal blocks in a lower triangle, LAPACK's pivots, and where the diagonal is first 0."""
    packed = np.zeros(a.shape, a.dtype)
    pivots = np.zeros(a.shape[:-1], np.int32)
    info = np.zeros(a.shape[:-2], np.int32)
    if a.size:
        run = _routine("trf", a, hermitian)
        for at in np.ndindex(info.shape):
            found, pivots[at], info[at] = run(a[at], lower=1)
            packed[at] = np.tril(found)
    return packed, pivots, info


def solve(packed: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    """X with ``A @ X = b``."""
    batch = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    packed, pivots = (
        np.broadcast_to(packed, (*batch, *packed.shape[-2:])),
        np.broadcast_to(pivots, (*batch, pivots.shape[-1])),
    )
    x = np.zeros(b.shape, b.dtype)
    if x.size:
        run = _routine("trs", packed, hermitian)
        for at in np.ndindex(batch):
            x[at] = run(packed[at], pivots[at], b[at], lower=1)[0]
    return x
