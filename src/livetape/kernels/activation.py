"""Activations on plain arrays of float32 or float64: forward and backward, in few calls and few temporaries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled
from livetape.kernels.select import choose, log1p, number, real_kernel, refuse, zero, zero_where

Array = Any
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946
_SQRT_HALF = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)  # the normal density's factor
_TANH_SCALE, _TANH_CUBE = math.sqrt(2 / math.pi), 0.044715


# ---------------------------------------------------------------- piecewise linear
def _relu(x: Array) -> Array:
    """max(x, 0), also for integers; NaN stays."""
    kind = x.dtype.kind
    if kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    return np.maximum(x, zero(x))


def _threshold(x: Array, limit: float, value: float) -> Array:
    """x where it is above ``limit``, else ``value``; integers too."""
    if x.dtype.kind in "bc":
        raise refuse("threshold_cpu", x.dtype)
    if x.dtype.kind in "iu":
        limit, value = int(limit), int(value)
    return choose(~(x <= number(x, limit)), x, number(x, value))  # NaN stays


def _threshold_backward(grad: Array, x: Array, limit: float) -> Array:
    return zero_where(x <= number(x, limit), grad)


def _leaky_relu(x: Array, slope: float) -> Array:
    slope = float(slope)
    scaled = x * number(x, slope)
    if 0 < slope <= 1:  # infinity times 0 is nan
        return np.maximum(x, scaled, out=scaled) if scaled.ndim else np.maximum(x, scaled)
    return choose(x > zero(x), x, scaled)


def _leaky_relu_backward(grad: Array, x: Array, slope: float) -> Array:
    return choose(x > zero(x), grad, grad * number(grad, slope))


def _hardtanh(x: Array, low: float, high: float) -> Array:
    """x held between two bounds; integers too."""
    kind = x.dtype.kind
    if kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if kind in "iu":
        low, high = int(low), int(high)
        if kind == "u" and (low < 0 or high < 0):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return np.minimum(np.maximum(x, number(x, low)), number(x, high))


def _hardtanh_backward(grad: Array, x: Array, low: float, high: float) -> Array:
    drop = x <= number(x, low)
    drop |= x >= number(x, high)
    return zero_where(drop, grad)


def _hardsigmoid(x: Array) -> Array:
    y = np.add(x, number(x, 3.0), out=...)
    np.maximum(y, zero(x), out=y)
    np.minimum(y, number(x, 6.0), out=y)
    y /= number(x, 6.0)
    return y


def _hardsigmoid_backward(grad: Array, x: Array) -> Array:
    keep = x > number(x, -3.0)
    keep &= x < number(x, 3.0)
    return zero_where(~keep, np.divide(grad, number(x, 6.0), out=...))


def _hardswish(x: Array) -> Array:
    y = np.add(x, number(x, 3.0), out=...)
    np.maximum(y, zero(x), out=y)
    np.minimum(y, number(x, 6.0), out=y)
    y *= x
    y /= number(x, 6.0)
    return y


def _hardswish_backward(grad: Array, x: Array) -> Array:
    slope = np.divide(x, number(x, 3.0), out=...)
    slope += number(x, 0.5)
    slope *= grad
    return choose(~(x < number(x, 3.0)), grad, zero_where(x <= number(x, -3.0), slope))


def _within(x: Array, bound: float) -> Array:
    return (x >= number(x, -bound)) & (x <= number(x, bound))


def _hardshrink(x: Array, bound: float) -> Array:
    return zero_where(_within(x, float(bound)), x)


def _softshrink(x: Array, bound: float) -> Array:
    bound = float(bound)
    return x - np.minimum(np.maximum(x, number(x, -bound)), number(x, bound))


def _shrink_backward(grad: Array, x: Array, bound: float) -> Array:
    return zero_where(_within(x, bound), grad)


def _prelu(x: Array, weight: Array) -> Array:
    return choose(x > zero(x), x, weight * x)


def _prelu_backward(grad: Array, x: Array, weight: Array) -> tuple[Array, Array]:
    positive = x > zero(x)
    return choose(positive, grad, weight * grad), zero_where(positive, np.multiply(x, grad, out=...))


# ---------------------------------------------------------------- exponential
def _elu(x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    low = np.minimum(x, zero(x), out=...)
    if input_scale != 1:
        low *= number(x, input_scale)
    np.expm1(low, out=low)
    if alpha * scale != 1:
        low *= number(x, alpha * scale)
    return choose(x < zero(x), low, x if scale == 1 else x * number(x, scale))


def _elu_backward(grad: Array, x: Array, alpha: float, scale: float, input_scale: float, is_result: bool) -> Array:
    factor = alpha * scale
    if is_result:
        low = np.add(x, number(x, factor), out=...)
        low *= number(x, input_scale)
    else:
        low = np.minimum(x, zero(x), out=...)
        if input_scale != 1:
            low *= number(x, input_scale)
        np.exp(low, out=low)
        low *= number(x, factor * input_scale)
    low *= grad
    return choose(x <= zero(x), low, grad if scale == 1 else grad * number(x, scale))


def _sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) as a fresh array: where exp overflows to infinity, the result is 0, as it should be."""
    if x.itemsize == 2:  # float16 and bfloat16: computed in float32, rounded once
        return _sigmoid(x.astype(np.float32)).astype(x.dtype)
    y = np.negative(x, out=...)
    np.exp(y, out=y)
    np.add(y, 1, out=y)
    return np.reciprocal(y, out=y)


def _sigmoid_backward(grad: Array, output: Array) -> Array:
    slope = np.subtract(1, output, out=...)
    np.multiply(slope, output, out=slope)
    return np.multiply(grad, slope, out=slope)


def _tanh_backward(grad: Array, output: Array) -> Array:
    slope = np.multiply(output, output, out=...)
    np.subtract(1, slope, out=slope)
    return np.multiply(grad, slope, out=slope)


sigmoid = compiled("sigmoid", _sigmoid)
sigmoid_backward = compiled("sigmoid_backward", _sigmoid_backward)
tanh_backward = compiled("tanh_backward", _tanh_backward)


def _silu_of_any(x: Array) -> Array:
    """x * sigmoid(x), also complex."""
    if x.dtype.kind == "c":
        return x / (1 + np.exp(-x))
    return _silu_real(x)


def _silu(x: Array) -> Array:
    y = np.negative(x, out=...)
    np.exp(y, out=y)
    y += number(y, 1.0)
    return np.divide(x, y, out=y)


_silu_real = real_kernel("silu_cpu", _silu)


def _silu_backward_of_any(grad: Array, x: Array) -> Array:
    if x.dtype.kind == "c":
        s = 1 / (1 + np.exp(-x))
        return grad * (s * (1 + x * (1 - s)))
    return _silu_backward_real(grad, x)


def _silu_backward(grad: Array, x: Array) -> Array:
    s = sigmoid(x)
    slope = np.subtract(number(x, 1.0), s, out=...)
    slope *= x
    slope += number(x, 1.0)
    slope *= s
    slope *= grad
    return slope


_silu_backward_real = real_kernel("silu_backward_cpu", _silu_backward)
silu, silu_backward = compiled("silu", _silu_of_any), compiled("silu_backward", _silu_backward_of_any)


def _tanh_of_softplus(x: Array) -> tuple[Array, Array]:
    """n and exp(x) such that tanh(log(1 + exp(x))) = n / (n + 2); x is cut where that is 1."""
    w = np.exp(np.minimum(x, number(x, 20.0)), out=...)
    n = np.add(w, number(x, 2.0), out=...)
    n *= w
    return n, w


def _mish(x: Array) -> Array:
    n, _ = _tanh_of_softplus(x)
    two = np.add(n, number(x, 2.0), out=...)
    n /= two
    n *= x
    return n


def _mish_backward(grad: Array, x: Array) -> Array:
    n, w = _tanh_of_softplus(x)
    two = np.add(n, number(x, 2.0), out=...)
    slope = np.add(w, number(x, 1.0), out=...)  # 4 w (1 + w) x / (n + 2)**2, the slope of the tanh times x
    slope *= w
    slope *= number(x, 4.0)
    slope /= two
    slope *= x
    slope += n
    slope /= two
    slope *= grad
    return slope


def _softplus(x: Array, beta: float, threshold: float) -> Array:
    z = x if beta == 1 else x * number(x, beta)
    y = np.abs(z, out=...)
    np.negative(y, out=y)
    np.exp(y, out=y)
    y = log1p(y)
    y += np.maximum(z, zero(z))
    if beta != 1:
        y /= number(x, beta)
    return choose(z > number(x, threshold), x, y)


def _softplus_backward(grad: Array, x: Array, beta: float, threshold: float) -> Array:
    z = x if beta == 1 else x * number(x, beta)
    y = sigmoid(z)
    y *= grad
    return choose(z > number(x, threshold), grad, y)


def _log_sigmoid(x: Array) -> Array:
    y = np.abs(x, out=...)
    np.negative(y, out=y)
    np.exp(y, out=y)
    y = log1p(y)
    return np.subtract(np.minimum(x, zero(x)), y, out=y)


def _log_sigmoid_backward(grad: Array, x: Array) -> Array:
    y = np.exp(x, out=...)
    y += number(x, 1.0)
    return np.divide(grad, y, out=y)


# ---------------------------------------------------------------- gelu
# erf(x) for |x| <= 4 is x P(x x) / Q(x x) within one float32 ulp: the coefficients of Eigen's fast erf, highest first.
_ERF_P = [
    np.array(c)
    for c in (
        -2.72614225801306e-10,
        2.77068142495902e-08,
        -2.10102402082508e-06,
        -5.69250639462346e-05,
        -7.34990630326855e-04,
        -2.95459980854025e-03,
        -1.60960333262415e-02,
    )
]
_ERF_Q = [
    np.array(c)
    for c in (
        -1.45660718464996e-05,
        -2.13374055278905e-04,
        -1.68282697438203e-03,
        -7.37332916720468e-03,
        -1.42647390514189e-02,
    )
]
_BLOCK = 1 << 12


def _horner(coefficients: list[Array], x: Array, out: Array) -> Array:
    np.multiply(x, coefficients[0], out=out)
    out += coefficients[1]
    for coefficient in coefficients[2:]:
        out *= x
        out += coefficient
    return out


def _erf(x: Array) -> Array:
    """erf in place, for a fresh array."""
    if x.size < 1024 or x.dtype.char != "f" or not x.flags.c_contiguous:
        from scipy.special import erf  # loaded when first needed: it takes longer than all of livetape

        return erf(x, out=x)
    flat = x.reshape(-1)
    wide, square, quotient = np.empty((3, _BLOCK))
    for start in range(0, flat.size, _BLOCK):
        part = flat[start : start + _BLOCK]
        y, s, q = wide[: part.size], square[: part.size], quotient[: part.size]
        y[...] = part
        np.minimum(np.maximum(y, -4.0, out=y), 4.0, out=y)
        np.square(y, out=s)
        y *= _horner(_ERF_P, s, q)
        y /= _horner(_ERF_Q, s, q)
        part[...] = y
    return x


def _gelu(x: Array) -> Array:
    y = np.multiply(x, number(x, _SQRT_HALF), out=...)
    y = _erf(y)
    y += number(x, 1.0)
    y *= x
    y *= number(x, 0.5)
    return y


def _gelu_backward(grad: Array, x: Array) -> Array:
    slope = np.square(x, out=...)
    slope *= number(x, -0.5)
    np.exp(slope, out=slope)
    slope *= x
    slope *= number(x, _DENSITY)
    y = np.multiply(x, number(x, _SQRT_HALF), out=...)
    y = _erf(y)
    y += number(x, 1.0)
    y *= number(x, 0.5)
    slope += y
    slope *= grad
    return slope


def _gelu_tanh(x: Array) -> Array:
    y = np.square(x, out=...)
    y *= number(x, _TANH_CUBE)
    y += number(x, 1.0)
    y *= x
    y *= number(x, _TANH_SCALE)
    np.tanh(y, out=y)
    y += number(x, 1.0)
    y *= x
    y *= number(x, 0.5)
    return y


def _gelu_tanh_backward(grad: Array, x: Array) -> Array:
    square = np.square(x, out=...)
    t = np.multiply(square, number(x, _TANH_CUBE), out=...)
    t += number(x, 1.0)
    t *= x
    t *= number(x, _TANH_SCALE)
    np.tanh(t, out=t)
    square *= number(x, 3 * _TANH_CUBE * _TANH_SCALE)
    square += number(x, _TANH_SCALE)
    square *= x  # x times the slope of tanh's argument
    slope = np.square(t, out=...)
    np.subtract(number(x, 1.0), slope, out=slope)
    slope *= square
    slope += t
    slope += number(x, 1.0)
    slope *= grad
    slope *= number(x, 0.5)
    return slope


# ---------------------------------------------------------------- gates
def _halves(x: Array, dim: int) -> tuple[Array, Array]:
    half = x.shape[dim] // 2
    before = (slice(None),) * dim
    return x[(*before, slice(None, half))], x[(*before, slice(half, None))]


def _glu(x: Array, dim: int) -> Array:
    left, right = _halves(x, dim)
    y = sigmoid(right)
    y *= left
    return y


def _glu_backward(grad: Array, x: Array, dim: int) -> Array:
    left, right = _halves(x, dim)
    s = sigmoid(right)
    found = np.empty(x.shape, x.dtype)
    first, second = _halves(found, dim)
    np.multiply(s, grad, out=first)  # grad s
    np.subtract(number(x, 1.0), s, out=second)
    second *= first
    second *= left
    return found


relu, threshold = compiled("relu", _relu), compiled("threshold", _threshold)
threshold_backward = compiled("threshold_backward", _threshold_backward)
hardtanh, hardtanh_backward = compiled("hardtanh", _hardtanh), compiled("hardtanh_backward", _hardtanh_backward)


def _real(name: str, label: str, body: Any) -> Any:
    return compiled(name, real_kernel(label, body))


leaky_relu = _real("leaky_relu", "leaky_relu_cpu", _leaky_relu)
leaky_relu_backward = _real("leaky_relu_backward", "leaky_relu_backward_cpu", _leaky_relu_backward)
hardsigmoid = _real("hardsigmoid", "hardsigmoid_cpu", _hardsigmoid)
hardsigmoid_backward = _real("hardsigmoid_backward", "hardsigmoid_backward", _hardsigmoid_backward)
hardswish = _real("hardswish", "hardswish_cpu", _hardswish)
hardswish_backward = _real("hardswish_backward", "hardswish_backward_cpu", _hardswish_backward)
hardshrink = _real("hardshrink", "hardshrink_cpu", _hardshrink)
softshrink = _real("softshrink", "softshrink_cpu", _softshrink)
shrink_backward = _real("shrink_backward", "shrink_backward_cpu", _shrink_backward)
prelu = real_kernel("prelu_cpu", _prelu)
prelu_backward = real_kernel("prelu_backward_cpu", _prelu_backward)
elu, elu_backward = _real("elu", "elu_cpu", _elu), _real("elu_backward", "elu_backward_cpu", _elu_backward)
mish, mish_backward = _real("mish", "mish_cpu", _mish), _real("mish_backward", "mish_backward_cpu", _mish_backward)
softplus = _real("softplus", "softplus_cpu", _softplus)
softplus_backward = _real("softplus_backward", "softplus_backward_cpu", _softplus_backward)
log_sigmoid = _real("log_sigmoid", "log_sigmoid_cpu", _log_sigmoid)
log_sigmoid_backward = _real("log_sigmoid_backward", "log_sigmoid_backward_cpu", _log_sigmoid_backward)
gelu = _real("gelu", "GeluKernelImpl", _gelu)
gelu_backward = _real("gelu_backward", "GeluBackwardKernelImpl", _gelu_backward)
gelu_tanh = _real("gelu_tanh", "GeluKernelImpl", _gelu_tanh)
gelu_tanh_backward = _real("gelu_tanh_backward", "GeluBackwardKernelImpl", _gelu_tanh_backward)
glu = real_kernel("glu_cpu", _glu)
glu_backward = real_kernel("glu_backward_cpu", _glu_backward)
