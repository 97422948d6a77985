"""softmax and log_softmax on plain arrays, forward and backward: stable, and large ones a few rows at a time.

A block of rows goes through all steps while it is in cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled
from livetape.kernels.select import real_kernel

Array = Any
BLOCK = 1 << 16  # elements worked on at a time

_largest, _sum, _exp, _log = np.maximum.reduce, np.add.reduce, np.exp, np.log


def _row_blocks(dim: int, *arrays: Array) -> Any:
    """The last dimension's rows of arrays of one shape, a block at a time, or None where whole arrays serve as well."""
    first = arrays[0]
    if first.size <= 2 * BLOCK or dim != first.ndim - 1:
        return None
    width = first.shape[-1]
    rows = [a.reshape(-1, width) for a in arrays]
    step = max(1, BLOCK // width)
    return [[a[start : start + step] for a in rows] for start in range(0, len(rows[0]), step)]


def _softmax(x: Array, dim: int) -> Array:
    if x.ndim == 0 or x.size == 0:
        return x - x + 1
    blocks = None
    if x.size > 2 * BLOCK:
        out = np.empty(x.shape, x.dtype)
        blocks = _row_blocks(dim, x, out)
    if blocks is None:
        y = x - _largest(x, axis=dim, keepdims=True)
        _exp(y, out=y)
        y /= _sum(y, axis=dim, keepdims=True)
        return y
    for part, y in blocks:
        np.subtract(part, _largest(part, axis=1, keepdims=True), out=y)
        _exp(y, out=y)
        y /= _sum(y, axis=1, keepdims=True)
    return out


def _softmax_backward(grad: Array, result: Array, dim: int) -> Array:
    if result.ndim == 0 or result.size == 0:
        return (grad - grad * result) * result
    y = np.empty(result.shape, result.dtype)
    blocks = _row_blocks(dim, grad, result, y)
    if blocks is None:
        np.multiply(grad, result, out=y)
        np.subtract(grad, _sum(y, axis=dim, keepdims=True), out=y)
        y *= result
        return y
    for g, r, part in blocks:
        np.multiply(g, r, out=part)
        np.subtract(g, _sum(part, axis=1, keepdims=True), out=part)
        part *= r
    return y


def _log_softmax(x: Array, dim: int) -> Array:
    if x.ndim == 0 or x.size == 0:
        return x - x
    blocks = None
    if x.size > 2 * BLOCK:
        out = np.empty(x.shape, x.dtype)
        blocks = _row_blocks(dim, x, out)
    if blocks is None:
        y = x - _largest(x, axis=dim, keepdims=True)
        y -= _log(_sum(_exp(y), axis=dim, keepdims=True))
        return y
    scratch = np.empty(blocks[0][0].shape, x.dtype)
    for part, y in blocks:
        np.subtract(part, _largest(part, axis=1, keepdims=True), out=y)
        powers = _exp(y, out=scratch[: len(y)])
        y -= _log(_sum(powers, axis=1, keepdims=True))
    return out


def _log_softmax_backward(grad: Array, result: Array, dim: int) -> Array:
    if result.ndim == 0 or result.size == 0:
        return grad - grad * np.exp(result)
    y = np.empty(result.shape, result.dtype)
    blocks = _row_blocks(dim, grad, result, y)
    if blocks is None:
        _exp(result, out=y)
        y *= _sum(grad, axis=dim, keepdims=True)
        return np.subtract(grad, y, out=y)
    for g, r, part in blocks:
        _exp(r, out=part)
        part *= _sum(g, axis=1, keepdims=True)
        np.subtract(g, part, out=part)
    return y


_KERNELS = {
    name: (real_kernel(name + "_lastdim_kernel_impl", body), real_kernel(name + "_kernel_impl", body))
    for name, body in (("softmax", _softmax), ("log_softmax", _log_softmax))
}


def _choose_softmax(self: Array, dim: int) -> Array:
    kind = self.dtype.char
    if kind == "f" or kind == "d":
        return _softmax(self, dim)
    return _KERNELS["softmax"][dim < self.ndim - 1](self, dim)


def _choose_log_softmax(self: Array, dim: int) -> Array:
    kind = self.dtype.char
    if kind == "f" or kind == "d":
        return _log_softmax(self, dim)
    return _KERNELS["log_softmax"][dim < self.ndim - 1](self, dim)


# (self, dim) with 0 <= dim: exp(self) over its sum along the dimension, and the logarithm of that
softmax = compiled("softmax", _choose_softmax)
log_softmax = compiled("log_softmax", _choose_log_softmax)
# (grad, result, dim)
softmax_backward = compiled("softmax_backward", real_kernel("softmax_backward", _softmax_backward))
log_softmax_backward = compiled("log_softmax_backward", real_kernel("log_softmax_backward", _log_softmax_backward))
