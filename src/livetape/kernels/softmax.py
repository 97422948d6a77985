"""softmax and log_softmax on plain arrays, forward and backward: stable, in place wherever they can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.select import real_kernel

Array = Any
BLOCK = 1 << 16  # elements worked on at a time, so that scratch stays in cache

_largest, _sum, _exp, _log = np.maximum.reduce, np.add.reduce, np.exp, np.log


def _softmax(x: Array, dim: int) -> Array:
    if x.ndim == 0 or x.size == 0:
        return x - x + 1
    y = x - _largest(x, axis=dim, keepdims=True)
    _exp(y, out=y)
    y /= _sum(y, axis=dim, keepdims=True)
    return y


def _softmax_backward(grad: Array, result: Array, dim: int) -> Array:
    y = np.multiply(grad, result, out=...)
    if y.ndim and y.size:
        np.subtract(grad, _sum(y, axis=dim, keepdims=True), out=y)
        y *= result
        return y
    return (grad - y) * result


def _log_softmax(x: Array, dim: int) -> Array:
    if x.ndim == 0 or x.size == 0:
        return x - x
    y = x - _largest(x, axis=dim, keepdims=True)
    if y.size <= 2 * BLOCK or dim != y.ndim - 1:
        y -= _log(_sum(_exp(y), axis=dim, keepdims=True))
        return y
    rows = y.reshape(-1, y.shape[-1])
    step = max(1, BLOCK // rows.shape[1])
    scratch = np.empty((step, rows.shape[1]), y.dtype)
    for start in range(0, len(rows), step):
        part = rows[start:start + step]
        powers = _exp(part, out=scratch[:len(part)])
        part -= _log(_sum(powers, axis=1, keepdims=True))
    return y


def _log_softmax_backward(grad: Array, result: Array, dim: int) -> Array:
    y = _exp(result, out=...)
    if y.ndim == 0 or y.size == 0:
        return grad - grad * y
    y *= _sum(grad, axis=dim, keepdims=True)
    return np.subtract(grad, y, out=y)


_KERNELS = {
    name: (real_kernel(name + "_lastdim_kernel_impl", body), real_kernel(name + "_kernel_impl", body))
    for name, body in (("softmax", _softmax), ("log_softmax", _log_softmax))}


def softmax(self: Array, dim: int) -> Array:
    """exp(self) over its sum along ``dim`` (0 <= dim)."""
    kind = self.dtype.char
    if kind == "f" or kind == "d":
        return _softmax(self, dim)
    return _KERNELS["softmax"][dim < self.ndim - 1](self, dim)


def log_softmax(self: Array, dim: int) -> Array:
    """self less the logarithm of the sum of exp(self) along ``dim``."""
    kind = self.dtype.char
    if kind == "f" or kind == "d":
        return _log_softmax(self, dim)
    return _KERNELS["log_softmax"][dim < self.ndim - 1](self, dim)


softmax_backward = real_kernel("softmax_backward", _softmax_backward)
log_softmax_backward = real_kernel("log_softmax_backward", _log_softmax_backward)
