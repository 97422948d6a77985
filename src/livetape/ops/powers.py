"""Powers, squares and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, from_array
from livetape.dtypes import INTEGER, SCALAR_TYPE, complex128, float64
from livetape.kernels.compiled import compiled
from livetape.kernels.select import refuse
from livetape.ops.basics import cast, zeros_like
from livetape.ops.refuse import no_overload
from livetape.ops.table import elementwise, into, unary


def _power(x: Any, y: Any) -> Any:
    if x.dtype.kind == "b":
        raise noted(refuse("pow", x.dtype))
    if x.dtype.kind == "c":
        return _complex_power(x, y)
    if x.dtype.kind in "iu" and np.any(np.less(y, 0)):
        below = np.where(np.equal(x, 1), 1, np.where(np.equal(x + 1, 0), 1 - 2 * (y & 1), 0))  # 0 as torch has it
        return np.where(np.less(y, 0), below, np.power(x, np.maximum(y, 0))).astype(x.dtype)
    if x.ndim and y.ndim == 0 and x.dtype.kind == "f":  # NumPy is quick at these only when asked directly
        if y == 2:
            return np.square(x)
        if y == 0.5:
            return np.sqrt(x)
        if y == 3:
            return x * x * x
        if y == 1:
            return x.copy()
    return np.power(x, y)


_COMPLEX_POWERS: dict[Any, Any] = {  # the numbers for which torch has another way
    0.5: np.sqrt,
    1: np.copy,
    2: np.square,
    3: lambda x: x * x * x,
    -1: np.reciprocal,
    -2: lambda x: np.reciprocal(x * x),
    -0.5: lambda x: np.reciprocal(np.sqrt(x)),
}


def _complex_power(x: Any, y: Any) -> Any:
    """By way of the logarithm, as in torch, whole exponents too."""
    with np.errstate(all="ignore"):
        found = np.exp(y * np.log(x))
    return np.where(x == 0, np.power(x, y), found)


def _pow_self(grad: Any, self: Any, exponent: Any) -> Any:
    if not isinstance(exponent, TensorBase):
        if exponent == 0:
            return zeros_like(grad)
        return grad * (exponent * pow(self, exponent - 1))
    other: Any = exponent
    return where_zero(other, grad * (other * pow(self, other - 1)))


def where_zero(exponent: Any, slope: Any) -> Any:
    """The slope of a power with respect to its base, which is 0 where the exponent is 0."""
    return WHERE_ZERO.apply((exponent, slope))


WHERE_ZERO = elementwise(
    "where",
    lambda self, other: np.where(self == 0, np.zeros((), other.dtype), other),
    key="pow.where",
    other=lambda grad, self: where_zero(self, grad),
)


def _pow_exponent(grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    """grad * result * log(self), and 0 where self is 0 and the exponent is not negative."""
    return POW_LOG.apply((grad * result, self, exponent))


def _log_or_zero(self: Any, other: Any, exponent: Any) -> Any:
    slope = self * np.log(other)
    return np.where((other == 0) & (exponent.real >= 0), np.zeros((), slope.dtype), slope)


POW_LOG = elementwise(
    "pow",
    _log_or_zero,
    tensors="self other exponent",
    node="PowLogBackward0",
    key="pow.log",
    self=lambda grad, other, exponent: POW_LOG.apply((grad, other, exponent)),
    other=lambda grad, self, other: grad * self / other,
)


def _power_number(x: Any, y: Any) -> Any:
    if x.dtype.kind == "b":  # and the number is a bool
        return x.copy() if y else np.ones_like(x)
    if x.dtype.kind == "c" and (direct := _COMPLEX_POWERS.get(y.item())) is not None:
        return direct(x)
    return _power(x, y)


POW_NUMBER = elementwise(
    "pow", lambda self, exponent: _power_number(self, exponent), tensors="self", key="pow.number", self=_pow_self
)
POW = elementwise(
    "pow",
    lambda self, exponent: _power(self, exponent),
    tensors="self exponent",
    node="PowBackward1",
    self=_pow_self,
    exponent=_pow_exponent,
)
POW_BASE = elementwise(
    "pow",
    lambda self, exponent: _power(self, exponent),
    tensors="self exponent",
    node="PowBackward2",
    key="pow.base",
    exponent=_pow_exponent,
)


def _pow_row(input: Any, exponent: Any) -> Any:
    if not isinstance(exponent, TensorBase):
        if type(exponent) is int and exponent < 0 and isinstance(input, TensorBase) and input.dtype.category <= INTEGER:
            raise noted(RuntimeError("Integers to negative integer powers are not allowed."))
        return POW_NUMBER
    return POW if isinstance(input, TensorBase) else POW_BASE


def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """``input`` to the power of ``exponent``; at most one of them may be a number (source: ``torch.pow``).

    >>> import livetape as torch
    >>> torch.pow(torch.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    if out is not None:
        return into(out, pow, input, exponent)
    if not (isinstance(input, TensorBase) or isinstance(exponent, TensorBase)):
        raise noted(no_overload("pow"))
    return _pow_row(input, exponent).apply((input, exponent))


def pow_(self: Any, exponent: Any) -> Any:
    """In-place `pow`."""
    return _pow_row(self, exponent).inplace(self, exponent)


def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """`pow` in double precision (source: ``torch.float_power``)."""
    if out is not None:
        return into(out, float_power, input, exponent)
    if not (isinstance(input, TensorBase) or isinstance(exponent, TensorBase)):
        raise noted(no_overload("float_power"))
    kind = np.complex128 if _is_complex(input) or _is_complex(exponent) else np.float64

    def widened(value: Any) -> Any:
        if isinstance(value, TensorBase):
            return cast(value, from_array(np.empty(0, kind)).dtype)
        return kind(value).item()

    return pow(widened(input), widened(exponent))


def float_power_(self: Any, exponent: Any) -> Any:
    """In-place `float_power`: for tensors of double precision."""
    kind = complex128 if self.dtype.is_complex or _is_complex(exponent) else float64
    if self.dtype is not kind:
        raise noted(
            RuntimeError(
                f"the base given to float_power_ has dtype {SCALAR_TYPE[self.dtype]} but the operation's result requires "
                f"dtype {SCALAR_TYPE[kind]}"
            )
        )
    return pow_(self, cast(exponent, kind) if isinstance(exponent, TensorBase) else exponent)


def _is_complex(value: Any) -> bool:
    return bool(value.dtype.is_complex) if isinstance(value, TensorBase) else isinstance(value, complex)


def _square(x: Any) -> Any:
    return np.square(x, dtype=np.int64) if x.dtype.kind == "b" else np.square(x)


square = unary(
    "square",
    compiled("square", _square),
    "The square of each element.",
    promote="same",
    node="PowBackward0",
    self=lambda grad, self: grad * (2 * self),
)


square_ = square.inplace

FUNCTIONS = [
    "pow",
    "float_power",
    "square",
    "square_",
]
METHODS = {
    "pow": pow,
    "pow_": pow_,
    "float_power": float_power,
    "float_power_": float_power_,
    "square": square,
    "square_": square.inplace,
}
