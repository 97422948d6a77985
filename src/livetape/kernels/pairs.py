"""Functions of two and three arrays of one dtype, and torch's errors for dtypes that they do not take."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled
from livetape.kernels.select import refuse


def real(name: str, ufunc: Any) -> Callable[[Any, Any], Any]:
    """A ufunc for real floating point arrays; integers and complex numbers are refused."""

    def kernel(x: Any, y: Any) -> Any:
        if x.dtype.kind in "biuc":
            np.broadcast_shapes(x.shape, y.shape)  # torch looks at the shapes first
            raise refuse(name + "_cpu", x.dtype)
        return ufunc(x, y)

    return kernel


angle = compiled("arctan2", real("atan2", np.arctan2))
length = compiled("hypot", real("hypot", np.hypot))


def integers(name: str, ufunc: Any) -> Callable[[Any, Any], Any]:
    """A ufunc for integers alone."""

    def kernel(x: Any, y: Any) -> Any:
        if x.dtype.kind not in "iu":
            np.broadcast_shapes(x.shape, y.shape)  # torch looks at the shapes first
            raise refuse(name + "_cpu", x.dtype)
        return ufunc(x, y)

    return kernel


def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)), also of complex numbers."""
    if x.dtype.kind in "biu":
        raise refuse("logaddexp_cpu", x.dtype)
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    swap = x.real < y.real
    high, low = np.where(swap, y, x), np.where(swap, x, y)
    found = np.log1p(np.exp(low - high)) + high
    same = ~np.isfinite(low.real) & (low.real == high.real)
    if same.any():
        direct = np.where(low.real < 0, low, np.log(np.exp(low) + np.exp(high)))
        found = np.where(same, direct, found)
    return np.where(np.isnan(high) | np.isnan(low), x.dtype.type(complex(math.nan, math.nan)), found)


def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), and 0 where x is 0 and y is no NaN."""
    if x.dtype.kind == "c":
        raise refuse("xlogy_cpu", x.dtype)
    return _times_log(x, np.log(y), y)


def xlog1py(x: Any, y: Any) -> Any:
    """x * log1p(y), and 0 where x is 0 and y is no NaN."""
    if x.dtype.kind == "c":
        raise refuse("xlog1py_cpu", x.dtype)
    return _times_log(x, np.log1p(y), y)


def _times_log(x: Any, logarithm: Any, y: Any) -> Any:
    found = np.multiply(x, logarithm, out=...)
    np.copyto(found, x.dtype.type(0), where=(x == 0) & ~np.isnan(y))
    return found


def ldexp(x: Any, y: Any) -> Any:
    """x * 2**y."""
    if x.dtype.kind == "c":
        return x * np.exp(y * x.dtype.type(math.log(2)))
    return np.multiply(x, np.exp2(y))


def heaviside(x: Any, y: Any) -> Any:
    """0, y or 1, as x is negative (or NaN), 0 or positive."""
    return np.where(x == 0, y, np.greater(x, 0).astype(x.dtype))


def _lerp(x: Any, end: Any, weight: Any) -> Any:
    """x + weight * (end - x), from the nearer end."""
    kind = x.dtype
    if kind.itemsize == 2:
        weight = weight.astype(np.float32) if isinstance(weight, np.ndarray) else weight
        return _lerp(x.astype(np.float32), end.astype(np.float32), weight).astype(kind)
    span = np.subtract(end, x, out=...)
    if isinstance(weight, np.ndarray):
        return np.where(np.abs(weight) < 0.5, x + weight * span, end - span * (1 - weight))
    if abs(weight) < 0.5:
        np.multiply(span, kind.type(weight), out=span)
        return np.add(x, span, out=span)
    np.multiply(span, kind.type(1 - weight), out=span)
    return np.subtract(end, span, out=span)


def _addcmul(x: Any, y: Any, z: Any, value: Any) -> Any:
    """x + value * y * z."""
    kind = x.dtype
    if kind.kind == "b":
        raise refuse("addcmul_cpu_out", kind)
    if kind.itemsize == 2 and kind.kind not in "iu":
        return _addcmul(x.astype(np.float32), y.astype(np.float32), z.astype(np.float32), value).astype(kind)
    product = np.multiply(y if value == 1 else y * _number(kind, value), z, out=...)
    return np.add(x, product, out=product if product.shape == x.shape else None)


def _addcdiv(x: Any, y: Any, z: Any, value: Any) -> Any:
    """x + value * y / z."""
    kind = x.dtype
    if kind.itemsize == 2:
        return _addcdiv(x.astype(np.float32), y.astype(np.float32), z.astype(np.float32), value).astype(kind)
    quotient = np.true_divide(y if value == 1 else y * _number(kind, value), z, out=...)
    if quotient.shape == x.shape and quotient.dtype == x.dtype:
        return np.add(x, quotient, out=quotient)
    return x + quotient


lerp = compiled("lerp", _lerp)
addcmul, addcdiv = compiled("addcmul", _addcmul), compiled("addcdiv", _addcdiv)
_C_TYPE = {
    "f": "float",
    "d": "double",
    "q": "int64_t",
    "l": "int64_t",
    "i": "int",
    "h": "int16_t",
    "b": "int8_t",
    "B": "uint8_t",
}


def _number(kind: Any, value: Any) -> Any:
    """``value`` as a scalar of a dtype; what does not fit is torch's error."""
    if isinstance(value, complex) and kind.kind != "c":
        if value.imag:
            name = _C_TYPE.get(kind.char, kind.name)
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
        value = value.real
    return kind.type(value)
