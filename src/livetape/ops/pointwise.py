"""Functions of one argument, element by element: exponentials, logarithms, roots, circular and hyperbolic functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from livetape._tape.explain import noted
from livetape.compat import compat
from livetape.dtypes import BOOL, COMPLEX
from livetape.kernels import activation
from livetape.kernels.compiled import compiled
from livetape.kernels.steps import sign
from livetape.ops.basics import zeros_like
from livetape.ops.choose import where
from livetape.ops.memoryless import memoryless
from livetape.ops.nodes import node_class
from livetape.ops.refuse import unsupported
from livetape.ops.table import binary, elementwise, into, unary

_LN2, _LN10 = math.log(2), math.log(10)

# ---------------------------------------------------------------- exponentials
exp = unary("exp", np.exp, "e to the power of each element.", self=lambda grad, result: grad * result)
expm1 = unary("expm1", np.expm1, "exp(x) - 1, exact near 0.", self=lambda grad, result: grad * (result + 1))


def _scaled(z: Any, factor: float) -> Any:
    """Complex numbers times a real one, part by part: as a complex product, an infinite part would make NaN."""
    made = np.empty_like(z)
    np.multiply(z.real, factor, out=made.real)
    np.multiply(z.imag, factor, out=made.imag)
    return made


def _exp2(x: Any) -> Any:
    return np.exp(_scaled(x, _LN2)) if x.dtype.kind == "c" else np.exp2(x)


exp2 = unary(
    "exp2", compiled("exp2", _exp2), "2 to the power of each element.", self=lambda grad, result: grad * result * _LN2
)

# ---------------------------------------------------------------- logarithms


def _log2(x: Any) -> Any:
    return _scaled(np.log(x), 1 / _LN2) if x.dtype.kind == "c" else np.log2(x)


log = unary("log", np.log, "The natural logarithm of each element.", self=lambda grad, self: grad / self)
log2 = unary(
    "log2",
    compiled("log2", _log2),
    "The logarithm to base 2 of each element.",
    self=lambda grad, self: grad / (self * _LN2),
)
log10 = unary(
    "log10", np.log10, "The logarithm to base 10 of each element.", self=lambda grad, self: grad / (self * _LN10)
)
log1p = unary(
    "log1p", np.log1p, "log(1 + x), exact near 0.", node="Log1PBackward0", self=lambda grad, self: grad / (self + 1)
)


# ---------------------------------------------------------------- roots and absolute values
def _rsqrt(x: Any) -> Any:
    if x.itemsize == 2:
        root = np.sqrt(x.astype(np.float32), out=...)
        return np.reciprocal(root, out=root).astype(x.dtype)
    root = np.sqrt(x, out=...)
    if x.dtype.kind == "c":
        return np.true_divide(1, root, out=root)  # of 0 it is infinity, where reciprocal has NaN
    return np.reciprocal(root, out=root)


sqrt = unary("sqrt", np.sqrt, "The square root of each element.", self=lambda grad, result: grad / (2 * result))
rsqrt = unary(
    "rsqrt",
    compiled("rsqrt", _rsqrt),
    "One over the square root of each element.",
    self=lambda grad, result: -0.5 * grad * (result * result * result),
)

ABS = elementwise("abs", np.absolute, analytic=False, self=lambda grad, self: grad * sgn(self))


def abs(input: Any, *, out: Any = None) -> Any:
    """The absolute value of each element; real for complex ones (source: ``torch.abs``).

    >>> import livetape as torch
    >>> torch.abs(torch.tensor([-1., 2.]))
    tensor([1., 2.])
    """
    if out is not None:
        return into(out, abs, input)
    found = ABS.call1(input)
    if found.dtype.category == BOOL:
        raise noted(unsupported("abs", input.array))
    return found


def abs_(self: Any) -> Any:
    """In-place `abs`."""
    if self.dtype.category == COMPLEX:
        raise noted(RuntimeError("In-place abs is not supported for complex tensors."))
    if self.dtype.category == BOOL:
        raise noted(unsupported("abs", self.array))
    return ABS.inplace(self)


absolute, absolute_ = abs, abs_


def _sgn(x: Any) -> Any:
    if x.dtype.kind != "c":
        return sign(x)
    size = np.absolute(x)
    return np.where(size == 0, x.dtype.type(0), x / size)


def _sgn_backward(grad: Any, self: Any, result: Any) -> Any:
    if self.dtype.category != COMPLEX:
        return memoryless(grad) if compat.torch else zeros_like(grad)
    size = abs(self)
    along = (grad * result.conj()).real
    return where(size == 0, 0, (grad - along * result) / size)


sgn = unary(
    "sgn",
    _sgn,
    "Each element divided by its absolute value; 0 for 0.",
    promote="same",
    analytic=False,
    self=_sgn_backward,
    differs="the gradient of real numbers, which torch gives no memory",
)


# ---------------------------------------------------------------- circular functions
sin = unary("sin", np.sin, "The sine of each element, in radians.", self=lambda grad, self: grad * cos(self))
cos = unary("cos", np.cos, "The cosine of each element, in radians.", self=lambda grad, self: grad * -sin(self))
tan = unary(
    "tan", np.tan, "The tangent of each element, in radians.", self=lambda grad, result: grad * (result * result + 1)
)
asin = unary(
    "asin",
    np.arcsin,
    "The angle, in radians, whose sine is each element.",
    self=lambda grad, self: grad * rsqrt(1 - self * self),
)
acos = unary(
    "acos",
    np.arccos,
    "The angle, in radians, whose cosine is each element.",
    self=lambda grad, self: grad * -rsqrt(1 - self * self),
)
atan = unary(
    "atan",
    np.arctan,
    "The angle, in radians, whose tangent is each element.",
    self=lambda grad, self: grad / (self * self + 1),
)
arcsin, arccos, arctan = asin, acos, atan


# ---------------------------------------------------------------- hyperbolic functions
def _acosh_backward(grad: Any, self: Any) -> Any:
    if self.dtype.category == COMPLEX:  # the root of the product has other branches than the product of the roots
        return grad * (rsqrt(self + 1) * rsqrt(self - 1))
    return grad * rsqrt(self * self - 1)


sinh = unary("sinh", np.sinh, "The hyperbolic sine of each element.", self=lambda grad, self: grad * cosh(self))
cosh = unary("cosh", np.cosh, "The hyperbolic cosine of each element.", self=lambda grad, self: grad * sinh(self))
asinh = unary("asinh", np.arcsinh, "The inverse of `sinh`.", self=lambda grad, self: grad * rsqrt(self * self + 1))
acosh = unary("acosh", np.arccosh, "The inverse of `cosh`.", self=_acosh_backward)
atanh = unary("atanh", np.arctanh, "The inverse of `tanh`.", self=lambda grad, self: grad / (1 - self * self))
arcsinh, arccosh, arctanh = asinh, acosh, atanh
for _name, _function in (("Asinh", asinh), ("Acosh", acosh), ("Atanh", atanh)):  # so named in torch, in place
    _function.row.inplace_class = node_class(_name + "Backward1")


TANH_BACKWARD = binary(
    "tanh_backward",
    activation.tanh_backward,
    "The gradient of `tanh`, from its result.",
    node="TanhBackwardBackward0",
    self=lambda grad, other: TANH_BACKWARD(grad, other),
    other=lambda grad, self, other: grad * (-2 * other * self),
)
tanh = unary(
    "tanh", np.tanh, "The hyperbolic tangent of each element.", self=lambda grad, result: TANH_BACKWARD(grad, result)
)


# ---------------------------------------------------------------- sigmoid and logit
SIGMOID_BACKWARD = binary(
    "sigmoid_backward",
    activation.sigmoid_backward,
    "The gradient of `sigmoid`, from its result.",
    node="SigmoidBackwardBackward0",
    self=lambda grad, other: SIGMOID_BACKWARD(grad, other),
    other=lambda grad, self, other: grad * self * (1 - 2 * other),
)
sigmoid = unary(
    "sigmoid",
    activation.sigmoid,
    "1 / (1 + exp(-x)) for each element.",
    self=lambda grad, result: SIGMOID_BACKWARD(grad, result),
)


def _logit(self: Any, eps: float | None) -> Any:
    if self.dtype.kind == "c":
        raise noted(unsupported("logit", self))
    kind = self.dtype
    x = self.astype(np.float32) if kind.itemsize == 2 else self
    if eps is not None:
        low, high = x.dtype.type(eps), x.dtype.type(1 - eps)
        x = np.where(x < low, low, np.where(x > high, high, x))
    return np.log(x / (1 - x)).astype(kind, copy=False)


def _logit_backward(grad: Any, self: Any, eps: float | None) -> Any:
    slope = grad / (self * (1 - self)) if compat.torch else grad / self + grad / (1 - self)
    if eps is None:
        return where((self < 0) | (self > 1), math.nan, slope)
    return where((self < eps) | (self > 1 - eps), 0, slope)


_AT_ENDS = "the second derivative at 0 and 1"
LOGIT = elementwise(
    "logit",
    lambda self: _logit(self, None),
    promote="float",
    self=lambda grad, self: _logit_backward(grad, self, None),
    differs=_AT_ENDS,
)
LOGIT_EPS = elementwise(
    "logit",
    lambda self, eps: _logit(self, float(eps)),
    promote="float",
    key="logit.eps",
    self=_logit_backward,
    differs=_AT_ENDS,
)


def logit(input: Any, eps: float | None = None, *, out: Any = None) -> Any:
    """log(x / (1 - x)), with x brought into [eps, 1 - eps] first if ``eps`` is given (source: ``torch.logit``)."""
    if out is not None:
        return into(out, logit, input, eps)
    return LOGIT.call1(input) if eps is None else LOGIT_EPS.apply((input, eps))


def logit_(self: Any, eps: float | None = None) -> Any:
    """In-place `logit`."""
    return LOGIT.inplace(self) if eps is None else LOGIT_EPS.inplace(self, eps)


# ---------------------------------------------------------------- sin(pi x) / (pi x)
def _sinc(x: Any) -> Any:
    if x.itemsize == 2:
        return _sinc(x.astype(np.float32)).astype(x.dtype)
    angle = x * x.dtype.type(math.pi)
    return np.where(x == 0, x.dtype.type(1), np.sin(angle) / angle)


# the derivative's power series: near 0 its closed form loses all digits, and has no derivatives at 0
_SINC_SERIES = [(-1) ** k * math.pi ** (2 * k) * 2 * k / math.factorial(2 * k + 1) for k in range(1, 11)]


def _sinc_backward(grad: Any, self: Any) -> Any:
    if compat.torch:
        angle = self * math.pi
        slope = (angle * cos(angle) - sin(angle)) / (self * angle)
        return where(self == 0, 0, grad * slope)
    near = abs(self) < 0.25
    angle = where(near, 0.5, self) * math.pi
    far = (angle * cos(angle) - sin(angle)) / (angle * angle) * math.pi
    x = where(near, self, 0)
    square, slope = x * x, 0.0
    for factor in reversed(_SINC_SERIES):
        slope = slope * square + factor
    return grad * where(near, slope * x + 0.0, far)  # + 0.0: at 0 no minus 0


sinc = unary(
    "sinc",
    _sinc,
    "sin(pi x) / (pi x), and 1 at 0.",
    self=_sinc_backward,
    differs="second and higher derivatives at 0",
)


# ---------------------------------------------------------------- angles
def _angle_unit(name: str, factor: float, doc: str) -> Any:
    def kernel(x: Any) -> Any:
        if x.dtype.kind == "c":
            raise noted(RuntimeError(f"{name} is not supported for complex tensors."))
        return np.multiply(x, x.dtype.type(factor))

    return unary(
        name,
        kernel,
        doc,
        node="".join([name[:3].capitalize(), "2", name[4:].capitalize(), "Backward0"]),
        self=lambda grad: grad * factor,
    )


deg2rad = _angle_unit("deg2rad", math.pi / 180, "Degrees to radians.")
rad2deg = _angle_unit("rad2deg", 180 / math.pi, "Radians to degrees.")

_SIMPLE = [
    exp,
    expm1,
    exp2,
    log,
    log2,
    log10,
    log1p,
    sqrt,
    rsqrt,
    sgn,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    asinh,
    acosh,
    atanh,
    tanh,
    sigmoid,
    sinc,
    deg2rad,
    rad2deg,
]
_ALIASES = {"arcsin": asin, "arccos": acos, "arctan": atan, "arcsinh": asinh, "arccosh": acosh, "arctanh": atanh}
# torch has some of its in-place variants as functions, too
for _function in _SIMPLE:
    globals()[_function.__name__ + "_"] = _function.inplace
for _name, _function in _ALIASES.items():
    globals()[_name + "_"] = _function.inplace

METHODS = {f.__name__: f for f in _SIMPLE} | _ALIASES
METHODS |= {f.__name__ + "_": f.inplace for f in _SIMPLE} | {name + "_": f.inplace for name, f in _ALIASES.items()}
METHODS |= {"abs": abs, "abs_": abs_, "absolute": absolute, "absolute_": absolute_, "logit": logit, "logit_": logit_}
FUNCTIONS = [name for name in METHODS if name not in ("absolute_", "sgn_")]  # these are methods alone in torch
METHODS |= {"__abs__": abs}

if TYPE_CHECKING:  # names that a loop above gives

    def __getattr__(name: str) -> Any: ...
