"""Triangular systems and LU factorisations of batches of matrices, by blocks so that matrix products do the work."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_SMALL = 16  # rows that are solved one by one
_PANEL = 32  # columns that are eliminated one by one


# ---------------------------------------------------------------- triangular systems
def solve_triangular(a: Any, b: Any, upper: bool, left: bool = True, unit: bool = False) -> Any:
    """X with ``a @ X = b`` (or ``X @ a = b``), reading one triangle of ``a``; inf and nan where it is singular."""
    if not left:
        return substitute(a.swapaxes(-2, -1), b.swapaxes(-2, -1), not upper, unit).swapaxes(-2, -1)
    return substitute(a, b, upper, unit)


def substitute(a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """`solve_triangular` from the left."""
    n = a.shape[-1]
    if n > _SMALL:
        half = n // 2
        first, second = (slice(half, n), slice(0, half)) if upper else (slice(0, half), slice(half, n))
        x = substitute(a[..., first, first], b[..., first, :], upper, unit)
        rest = b[..., second, :] - a[..., second, first] @ x
        y = substitute(a[..., second, second], rest, upper, unit)
        return np.concatenate((y, x) if upper else (x, y), axis=-2)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.empty((*batch, n, b.shape[-1]), np.result_type(a, b))
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        row = b[..., i : i + 1, :] - a[..., i : i + 1, known] @ x[..., known, :]
        x[..., i : i + 1, :] = row if unit else row / a[..., i : i + 1, i : i + 1]
    return x


# ---------------------------------------------------------------- LU
def lu_factor(a: Any) -> tuple[Any, Any, Any]:
    """L and U packed into one matrix, the row exchanges (counted from 1), and where U's diagonal is first 0 (0: nowhere).

    Partial pivoting: the pivot is the first of the largest in its column, as in LAPACK's getrf.
    """
    *batch, m, n = a.shape
    count = min(m, n)
    packed = np.array(a, order="C")
    lu = packed.reshape(math.prod(batch), m, n)
    pivots = np.zeros((len(lu), count), np.int32)
    info = np.zeros(len(lu), np.int32)
    every = np.arange(len(lu))
    for start in range(0, count, _PANEL):
        stop = min(start + _PANEL, count)
        for j in range(start, stop):
            column = lu[:, j:, j]
            sizes = np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)
            at = j + sizes.argmax(axis=1)
            pivots[:, j] = at + 1
            row = lu[every, at]
            lu[every, at] = lu[:, j]
            lu[:, j] = row
            pivot = lu[:, j, j]
            zero = pivot == 0
            info[zero & (info == 0)] = j + 1
            lu[:, j + 1 :, j] /= np.where(zero, pivot.dtype.type(1), pivot)[:, None]
            lu[:, j + 1 :, j + 1 : stop] -= lu[:, j + 1 :, j, None] * lu[:, None, j, j + 1 : stop]
        if stop < n:
            right = substitute(lu[:, start:stop, start:stop], lu[:, start:stop, stop:], False, True)
            lu[:, start:stop, stop:] = right
            lu[:, stop:, stop:] -= lu[:, stop:, start:stop] @ right
    return packed, pivots.reshape(*batch, count), info.reshape(batch)


def row_order(pivots: Any, m: int) -> Any:
    """The order of the rows that exchanges lead to: row i of L @ U is row ``order[i]`` of the matrix."""
    *batch, count = pivots.shape
    swaps = pivots.reshape(math.prod(batch), count)
    order = np.broadcast_to(np.arange(m), (len(swaps), m)).copy()
    every = np.arange(len(swaps))
    for j in range(count):
        at = swaps[:, j] - 1
        here = order[:, j].copy()
        order[:, j] = order[every, at]
        order[every, at] = here
    return order.reshape(*batch, m)


def permutation(pivots: Any, m: int, dtype: Any) -> Any:
    """The matrix P with ``P @ L @ U`` equal to the matrix factored."""
    order = row_order(pivots, m)
    return (np.arange(m)[:, None] == order[..., None, :]).astype(dtype)


def lower_of(packed: Any) -> Any:
    """L of a packed factorisation, [m, k] with ones on its diagonal."""
    m, n = packed.shape[-2:]
    lower = np.tril(packed[..., : min(m, n)], -1)
    at = np.arange(min(m, n))
    lower[..., at, at] = 1
    return lower


def upper_of(packed: Any) -> Any:
    """U of a packed factorisation, [k, n]."""
    return np.triu(packed[..., : min(packed.shape[-2:]), :])


def lu_solve(packed: Any, pivots: Any, b: Any, left: bool = True, adjoint: bool = False) -> Any:
    """X with ``A @ X = b`` or ``X @ A = b``, from A's factors; with ``adjoint`` A's conjugate transpose stands for A."""
    if not left:
        if adjoint:
            return lu_solve(packed, pivots, b.conj().swapaxes(-2, -1)).conj().swapaxes(-2, -1)
        return _solve_flipped(packed, pivots, b.swapaxes(-2, -1), False).swapaxes(-2, -1)
    if adjoint:
        return _solve_flipped(packed, pivots, b, True)
    order = row_order(pivots, packed.shape[-1])
    return substitute(packed, substitute(packed, _rows(b, order), False, True), True, False)


def _solve_flipped(packed: Any, pivots: Any, b: Any, conjugate: bool) -> Any:
    flipped = packed.swapaxes(-2, -1)
    if conjugate:
        flipped = flipped.conj()
    found = substitute(flipped, substitute(flipped, b, False, False), True, True)
    return _rows(found, row_order(pivots, packed.shape[-1]).argsort(-1))


def _rows(b: Any, order: Any) -> Any:
    batch = np.broadcast_shapes(b.shape[:-2], order.shape[:-1])
    return np.take_along_axis(
        np.broadcast_to(b, (*batch, *b.shape[-2:])), np.broadcast_to(order, (*batch, order.shape[-1]))[..., None], -2
    )
