"""Products of Householder reflections, given as the columns below the diagonal of a matrix and their factors."""

from __future__ import annotations

from typing import Any

import numpy as np


def vector_of(packed: Any, at: int) -> Any:
    """The vector of a reflection: zeros, then a one, then what is packed below the diagonal."""
    vector = packed[..., at].copy()
    vector[..., :at] = 0
    vector[..., at] = 1
    return vector


def reflect(packed: Any, tau: Any, other: Any, adjoint: bool) -> Any:
    """``H_1 ... H_k @ other``, where ``H_i = I - tau_i v_i v_i^H``; with ``adjoint`` the adjoint of the product."""
    batch = np.broadcast_shapes(packed.shape[:-2], other.shape[:-2])
    found = np.array(np.broadcast_to(other, (*batch, *other.shape[-2:])))
    count = tau.shape[-1]
    for i in range(count) if adjoint else range(count - 1, -1, -1):
        vector = vector_of(packed, i)
        factor = tau[..., i].conj() if adjoint else tau[..., i]
        inner = vector.conj()[..., None, :] @ found
        found -= (factor[..., None] * vector)[..., None] * inner
    return found


def first_columns(packed: Any, tau: Any) -> Any:
    """The product's first columns, as many as the packed matrix has."""
    m, n = packed.shape[-2:]
    return reflect(packed, tau, np.eye(m, n, dtype=packed.dtype), False)


def apply(packed: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    """``Q @ other`` or ``other @ Q`` for the square product Q, or for its adjoint."""
    if left:
        return reflect(packed, tau, other, transpose)
    turned = reflect(packed, tau, other.conj().swapaxes(-2, -1), not transpose)
    return np.ascontiguousarray(turned.conj().swapaxes(-2, -1))


def geqrf(a: Any) -> tuple[Any, Any]:
    """The reflections whose product is Q, and R above them."""
    packed, tau = np.linalg.qr(a, "raw")
    return np.ascontiguousarray(packed.swapaxes(-2, -1)), tau
