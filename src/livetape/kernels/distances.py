"""Distances between rows, and their slopes, in chunks so that not all differences are held at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape.compat import compat
from livetape.kernels.reductions import vector_norm

_CHUNK = 1 << 21  # differences held at a time
_CANCELLED = 1000  # roundings of the sizes below which a square has too few digits left


def _batched(x1: Any, x2: Any) -> tuple[Any, Any, int]:
    """Both with the same batch dimensions, and how many rows of the first to take at a time."""
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1, x2 = np.broadcast_to(x1, (*batch, *x1.shape[-2:])), np.broadcast_to(x2, (*batch, *x2.shape[-2:]))
    row = math.prod(batch) * x2.shape[-2] * x2.shape[-1]
    return x1, x2, max(1, _CHUNK // max(1, row))


def distances(x1: Any, x2: Any, p: float) -> Any:
    """The p-norms of the differences of all rows of x1, [..., n, d], and of x2, [..., m, d]: [..., n, m]."""
    x1, x2, step = _batched(x1, x2)
    found = np.zeros((*x1.shape[:-1], x2.shape[-2]), x1.dtype)
    if found.size and x1.shape[-1]:
        for at in range(0, x1.shape[-2], step):
            apart = x1[..., at : at + step, None, :] - x2[..., None, :, :]
            found[..., at : at + step, :] = vector_norm(apart, p, (apart.ndim - 1,), False)
    return found


def backward(grad: Any, x1: Any, x2: Any, result: Any, p: float) -> Any:
    """The gradient of x1, before it is summed over what was broadcast."""
    x1, x2, step = _batched(x1, x2)
    found = np.zeros(x1.shape, x1.dtype)
    if result.size and p != 0:
        for at in range(0, x1.shape[-2], step):
            part = (Ellipsis, slice(at, at + step), slice(None))
            apart = x1[..., at : at + step, None, :] - x2[..., None, :, :]
            found[part] = (grad[part][..., None] * _slopes(apart, result[part][..., None], p)).sum(-2)
    return found


def _slopes(apart: Any, length: Any, p: float) -> Any:
    """The derivatives of norms; 0 where a norm, or for p < 2 an element, is 0. In the greatest norm all ties count."""
    if p == 1:
        return np.sign(apart)
    if p == math.inf:
        return np.sign(apart) * (np.abs(apart) == length)
    nothing = length == 0
    safe = np.where(nothing, length.dtype.type(1), length)
    if p == 2:
        return np.where(nothing, length.dtype.type(0), apart / safe)
    size = np.abs(apart)
    zero = size == 0
    return np.where(
        zero, size.dtype.type(0), np.sign(apart) * (np.where(zero, size.dtype.type(1), size) / safe) ** (p - 1)
    )


def euclidean(x1: Any, x2: Any) -> Any:
    """`distances` for p = 2 by a matrix product; what that cancels out is computed anew from the differences."""
    if x2.shape[-2] and not compat.torch:  # closer to the origin less is cancelled out
        middle = x2.mean(-2, keepdims=True)
        x1, x2 = x1 - middle, x2 - middle
    sizes = np.square(x1).sum(-1)[..., :, None] + np.square(x2).sum(-1)[..., None, :]
    squares = sizes - 2 * (x1 @ x2.swapaxes(-2, -1))
    if compat.torch:
        return np.sqrt(np.maximum(squares, 0))
    lost = squares < _CANCELLED * np.finfo(squares.dtype).eps * sizes
    if lost.any():
        *batch, i, j = np.nonzero(lost)
        for at in range(0, len(i), 1 + _CHUNK // max(1, x1.shape[-1])):
            part = slice(at, at + 1 + _CHUNK // max(1, x1.shape[-1]))
            where = [b[part] for b in batch]
            apart = x1[(*where, i[part])] - x2[(*where, j[part])]
            squares[(*where, i[part], j[part])] = np.square(apart).sum(-1)
    return np.sqrt(squares)


def pairs(x: Any, p: float) -> Any:
    """The distances of all rows i < j of one matrix, in the order (0, 1), (0, 2), ..."""
    n = x.shape[0]
    found = np.zeros(n * (n - 1) // 2, x.dtype)
    at = 0
    for i in range(n - 1 if x.shape[1] else 0):
        found[at : at + n - 1 - i] = vector_norm(x[i + 1 :] - x[i], p, (1,), False)
        at += n - 1 - i
    return found


def square(values: Any, n: int) -> Any:
    """What belongs to the pairs i < j as a symmetric matrix."""
    found = np.zeros((n, n), values.dtype)
    first, second = np.triu_indices(n, 1)
    found[first, second] = found[second, first] = values
    return found


def above(matrix: Any) -> Any:
    """The sums of a matrix's entries for i, j and for j, i: `square` transposed."""
    first, second = np.triu_indices(len(matrix), 1)
    return matrix[first, second] + matrix[second, first]


def renorm(x: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Slices along ``dim`` with a norm above ``maxnorm`` brought down to it."""
    axes = tuple([i for i in range(x.ndim) if i != dim])
    length = vector_norm(x, p, axes, True)
    scale = np.where(length > maxnorm, maxnorm / (length + 1e-7), 1)
    return x * scale.astype(x.real.dtype)


def weight_norm(v: Any, g: Any, dim: int) -> tuple[Any, Any]:
    """v with lengths g along ``dim``, and the lengths it had."""
    axes = tuple([i for i in range(v.ndim) if i != dim])
    length = np.asarray(vector_norm(v, 2, axes, True)).astype(v.dtype, copy=False)
    return v * (g.reshape(length.shape) / length), length
