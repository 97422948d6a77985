"""Functions of two arguments, element by element."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.compat import compat
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE, boolean
from livetape.kernels import pairs
from livetape.ops.basics import zeros_like
from livetape.ops.choose import dropped, where
from livetape.ops.pointwise import sigmoid
from livetape.ops.refuse import (
    check_result,
    must_be_tensors,
    no_overload,
    not_a_tensor,
    unsupported,
)
from livetape.ops.table import elementwise, into, named

_LN2 = math.log(2)


def _pair(
    name: str,
    kernel: Any,
    doc: str,
    *,
    promote: str = "same",
    node: str | None = None,
    second: str = "other",
    differs: str = "",
    **formulas: Any,
) -> Any:
    """A function of two tensors; neither may be a number."""
    op = elementwise(
        name,
        kernel,
        params="self other",
        tensors="self other",
        promote=promote,
        node=node,
        differs=differs,
        **formulas,
    )
    call, change = op.call2, op.inplace

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return into(out, function, input, other)
        if not (isinstance(input, TensorBase) and isinstance(other, TensorBase)):
            must_be_tensors(name, input=input, **{second: other})
        return call(input, other)

    def inplace(self: Any, other: Any) -> Any:
        if not isinstance(other, TensorBase):
            not_a_tensor(name + "_", second, 1, other)
        check_result(name, self, other)
        return change(self, other)

    return named(function, inplace, op, doc, name)


# ---------------------------------------------------------------- angles and lengths
def _atan2_self(grad: Any, self: Any, other: Any) -> Any:
    length = self * self + other * other
    return where(length == 0, 0, grad * other / length)


def _atan2_other(grad: Any, self: Any, other: Any) -> Any:
    length = self * self + other * other
    return where(length == 0, 0, grad * -self / length)


atan2 = _pair(
    "atan2",
    pairs.angle,
    "The angle of the point (other, input), from -pi to pi.",
    promote="float",
    self=_atan2_self,
    other=_atan2_other,
)
arctan2 = atan2


def _along(part: Any, length: Any) -> Any:
    """``part / length``: the derivative of a length, of which the shortest at the origin, as for `norm`, is 0."""
    if compat.torch:
        return part / length
    origin = length == 0
    return where(origin, 0, part / (length + origin))


hypot = _pair(
    "hypot",
    pairs.length,
    "sqrt(input**2 + other**2), without overflow.",
    self=lambda grad, self, result: grad * _along(self, result),
    other=lambda grad, other, result: grad * _along(other, result),
    differs="the gradient at (0, 0)",
)


# ---------------------------------------------------------------- logarithms
def _weight(self: Any, other: Any, scale: float) -> Any:
    """What the first of two arguments contributes to the sum of their powers."""
    gap = self - other
    if compat.torch or gap.dtype.category == COMPLEX:
        return sigmoid(gap * scale if scale != 1.0 else gap)
    alike = (gap != gap) & (self == other)  # both infinite: minus infinity contributes nothing, infinities share
    gap = where(alike, 0, gap)
    return where(alike, (self > 0) * 0.5, sigmoid(gap * scale if scale != 1.0 else gap))


logaddexp = _pair(
    "logaddexp",
    pairs.logaddexp,
    "log(exp(input) + exp(other)), without overflow.",
    self=lambda grad, self, other: grad * _weight(self, other, 1.0),
    other=lambda grad, self, other: grad * _weight(other, self, 1.0),
    differs="the gradient where both arguments are the same infinity",
)
logaddexp2 = _pair(
    "logaddexp2",
    pairs.real("logaddexp2", np.logaddexp2),
    "log2(2**input + 2**other), without overflow.",
    self=lambda grad, self, other: grad * _weight(self, other, _LN2),
    other=lambda grad, self, other: grad * _weight(other, self, _LN2),
    differs="the gradient where both arguments are the same infinity",
)


def _of_factor(grad: Any, self: Any, other: Any, log: Any, zero: float) -> Any:
    """grad * log(other), where ``zero`` is the zero of what the logarithm is taken of."""
    edge = other <= zero if compat.torch else other < zero  # 0 * log(other) has no slope left of the zero
    return where((self == 0) & edge, 0, log(grad, other))


def _of_factor_number(grad: Any, self: Any, other: Any, log: Any, zero: float) -> Any:
    if other > zero:
        return grad * log(other)
    slope = grad * (-math.inf if other == zero else math.nan)
    return slope if other == zero and not compat.torch else where(self == 0, 0, slope)


def _of_argument(grad: Any, self: Any, argument: Any) -> Any:
    """grad * self / argument, and 0 where ``self`` is 0 and with it the product, whatever the logarithm is."""
    if compat.torch:
        return grad * self / argument
    nothing = (self == 0) & (argument == 0)
    return where(nothing, 0, grad * self / (argument + nothing))


_AT_ZERO = "the gradients where the logarithm's argument is 0 and its factor is, too"


def _times_log(name: str, kernel: Any, doc: str, node: str, of_self: Any, of_self_number: Any, of_other: Any) -> Any:
    tensors = elementwise(
        name,
        kernel,
        params="self other",
        tensors="self other",
        promote="float",
        node=node + "0",
        differs=_AT_ZERO,
        self=of_self,
        other=of_other,
    )
    of_number = elementwise(
        name,
        kernel,
        params="self other",
        tensors="self other",
        promote="float",
        node=node + "1",
        key=name + ".self_number",
        differs=_AT_ZERO,
        other=of_other,
    )
    by_number = elementwise(
        name,
        kernel,
        params="self other",
        tensors="self other",
        promote="float",
        node=node + "2",
        key=name + ".other_number",
        differs=_AT_ZERO,
        self=of_self_number,
    )

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return into(out, function, input, other)
        if isinstance(other, TensorBase):
            return (tensors if isinstance(input, TensorBase) else of_number).call2(input, other)
        if not isinstance(input, TensorBase):
            raise noted(no_overload(name))
        return by_number.call2(input, other)

    def inplace(self: Any, other: Any) -> Any:
        return (tensors if isinstance(other, TensorBase) else by_number).inplace(self, other)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.row = tensors  # type: ignore[attr-defined]
    inplace.__name__ = inplace.__qualname__ = name + "_"
    inplace.__doc__ = f"In-place `{name}`."
    function.inplace = inplace  # type: ignore[attr-defined]
    return function


xlogy = _times_log(
    "xlogy",
    pairs.xlogy,
    "input * log(other), and 0 where input is 0 (source: ``torch.xlogy``).",
    "XlogyBackward",
    lambda grad, self, other: _of_factor(grad, self, other, xlogy, 0.0),
    lambda grad, self, other: _of_factor_number(grad, self, other, math.log, 0.0),
    lambda grad, self, other: _of_argument(grad, self, other),
)
xlog1py = _times_log(
    "special_xlog1py",
    pairs.xlog1py,
    "input * log1p(other), and 0 where input is 0 (source: ``torch.special.xlog1py``).",
    "SpecialXlog1PyBackward",
    lambda grad, self, other: _of_factor(grad, self, other, xlog1py, -1.0),
    lambda grad, self, other: _of_factor_number(grad, self, other, math.log1p, -1.0),
    lambda grad, self, other: _of_argument(grad, self, other + 1),
)


# ---------------------------------------------------------------- the bits of a float
def _copysign_self(grad: Any, self: Any, result: Any) -> Any:
    if compat.torch:
        return where(self == 0, 0, grad * (result / self))
    return grad * (self.sgn() * result.sgn())


_SIGNED = "the gradient of infinities, and the second derivative at 0"
COPYSIGN = elementwise(
    "copysign",
    pairs.real("copysign", np.copysign),
    params="self other",
    tensors="self other",
    promote="float",
    self=_copysign_self,
    other=lambda grad: zeros_like(grad),
    differs=_SIGNED,
)
COPYSIGN_NUMBER = elementwise(
    "copysign",
    COPYSIGN.kernel,
    params="self other",
    tensors="self other",
    promote="float",
    node="CopysignBackward1",
    key="copysign.number",
    self=_copysign_self,
    differs=_SIGNED,
)


def copysign(input: Any, other: Any, *, out: Any = None) -> Any:
    """The size of ``input`` with the sign of ``other``, a tensor or a number (source: ``torch.copysign``)."""
    if out is not None:
        return into(out, copysign, input, other)
    if not isinstance(input, TensorBase):
        raise noted(no_overload("copysign"))
    return (COPYSIGN if isinstance(other, TensorBase) else COPYSIGN_NUMBER).call2(input, other)


def copysign_(self: Any, other: Any) -> Any:
    """In-place `copysign`."""
    return (COPYSIGN if isinstance(other, TensorBase) else COPYSIGN_NUMBER).inplace(self, other)


nextafter = _pair(
    "nextafter",
    pairs.real("nextafter", np.nextafter),
    "The next number from input towards other.",
    self=lambda grad, self, other: dropped(grad, self == other),
    other=lambda grad: zeros_like(grad),
)
LDEXP = elementwise(
    "ldexp",
    pairs.ldexp,
    params="self other",
    tensors="self other",
    promote="float",
    self=lambda grad, other: ldexp(grad, other),
    other=lambda grad, result: grad * (result * _LN2),
)


def ldexp(input: Any, other: Any, *, out: Any = None) -> Any:
    """input * 2**other (source: ``torch.ldexp``)."""
    if out is not None:
        return into(out, ldexp, input, other)
    must_be_tensors("ldexp", input=input, other=other)
    if other.dtype is boolean and input.dtype.category == FLOAT:
        raise noted(unsupported("ldexp", other.array, "_cpu_exp"))
    return LDEXP.call2(input, other)


def ldexp_(self: Any, other: Any) -> Any:
    """In-place `ldexp`."""
    must_be_tensors("ldexp_", input=self, other=other)
    if self.dtype.category < FLOAT:
        raise noted(RuntimeError(f"ldexp can't be cast to the desired output type {SCALAR_TYPE[self.dtype]}"))
    if other.dtype is boolean and self.dtype.category == FLOAT:
        raise noted(unsupported("ldexp", other.array, "_cpu_exp"))
    return LDEXP.inplace(self, other)


# ---------------------------------------------------------------- integers
gcd = _pair("gcd", pairs.integers("gcd", np.gcd), "The greatest common divisor; 0 of two zeros.")
lcm = _pair("lcm", pairs.integers("lcm", np.lcm), "The least common multiple.")


# ---------------------------------------------------------------- steps
def _not_differentiable(grad: Any) -> NoReturn:
    raise noted(RuntimeError("derivative for aten::heaviside is not implemented"))


HEAVISIDE = elementwise(
    "heaviside",
    pairs.heaviside,
    params="self other",
    tensors="self other",
    node="NotImplemented",
    self=_not_differentiable,
    other=_not_differentiable,
)


def _check_heaviside(name: str, input: Any, values: Any) -> None:
    must_be_tensors(name, input=input, values=values)
    if input.dtype.category == COMPLEX or values.dtype.category == COMPLEX:
        raise noted(RuntimeError("heaviside is not yet implemented for complex tensors."))
    if input.dtype is not values.dtype:
        raise noted(RuntimeError("heaviside is not yet implemented for tensors with different dtypes."))


def heaviside(input: Any, values: Any, *, out: Any = None) -> Any:
    """0 left of 0, 1 right of 0, and ``values`` at 0 (source: ``torch.heaviside``)."""
    if out is not None:
        return into(out, heaviside, input, values)
    _check_heaviside("heaviside", input, values)
    return HEAVISIDE.call2(input, values)


def heaviside_(self: Any, values: Any) -> Any:
    """In-place `heaviside`."""
    _check_heaviside("heaviside_", self, values)
    return HEAVISIDE.inplace(self, values)


xlogy_, gcd_, lcm_ = xlogy.inplace, gcd.inplace, lcm.inplace

METHODS = {
    "atan2": atan2,
    "atan2_": atan2.inplace,
    "hypot": hypot,
    "hypot_": hypot.inplace,
    "xlogy": xlogy,
    "xlogy_": xlogy.inplace,
    "nextafter": nextafter,
    "nextafter_": nextafter.inplace,
    "gcd": gcd,
    "gcd_": gcd.inplace,
    "lcm": lcm,
    "lcm_": lcm.inplace,
    "logaddexp": logaddexp,
    "logaddexp2": logaddexp2,
    "arctan2": atan2,
    "arctan2_": atan2.inplace,
    "copysign": copysign,
    "copysign_": copysign_,
    "heaviside": heaviside,
    "heaviside_": heaviside_,
    "ldexp": ldexp,
    "ldexp_": ldexp_,
}
FUNCTIONS = [
    "atan2",
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "xlogy",
    "xlogy_",
    "copysign",
    "nextafter",
    "ldexp",
    "ldexp_",
    "gcd",
    "gcd_",
    "lcm",
    "lcm_",
    "heaviside",
]
