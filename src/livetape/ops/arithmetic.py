"""Arithmetic: sums, products, quotients and remainders."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase
from livetape.dtypes import BOOL, FLOAT, boolean
from livetape.kernels.compiled import compiled
from livetape.kernels.select import refuse
from livetape.ops.basics import zeros_like
from livetape.ops.refuse import no_overload
from livetape.ops.table import binary, elementwise, into, unary

# ---------------------------------------------------------------- sums and differences
ADD = elementwise("add", np.add, self=lambda grad: grad, other=lambda grad: grad)


def _add_multiple(self: Any, other: Any, alpha: Any) -> Any:
    if self.dtype.itemsize != 2 or self.dtype.kind in "iu":
        return self + alpha * other
    # as torch: in float32, rounded once for whole vectors of 32 and after each step for the rest
    kind, single = self.dtype, np.float32
    first, scaled = np.broadcast_arrays(self.astype(single), other.astype(single) * single(kind.type(alpha)))
    out = np.asarray(first + scaled.astype(kind).astype(single))
    if self.flags.c_contiguous and other.flags.c_contiguous and self.shape == other.shape:
        whole = out.size // 32 * 32
        out.reshape(-1)[:whole] = (first.reshape(-1) + scaled.reshape(-1))[:whole]
    return out.astype(kind)


_add_scaled = compiled("add_scaled", _add_multiple)
ADD_SCALED = elementwise(
    "add",
    _add_scaled,
    params="self other alpha",
    tensors="self other",
    key="add.alpha",
    self=lambda grad: grad,
    other=lambda grad, alpha: grad * alpha,
)
SUB = elementwise("sub", np.subtract, self=lambda grad: grad, other=lambda grad: -grad)
SUB_SCALED = elementwise(
    "sub",
    lambda self, other, alpha: self - alpha * other if self.dtype.kind in "biuc" else _add_scaled(self, other, -alpha),
    key="sub.alpha",
    self=lambda grad: grad,
    other=lambda grad, alpha: grad * -alpha,
)
RSUB = elementwise(
    "rsub",
    lambda self, other, alpha: other - alpha * self if self.dtype.itemsize != 2 else _add_scaled(other, self, -alpha),
    self=lambda grad, alpha: -grad if alpha == 1 else grad * -alpha,
    other=lambda grad: grad,
)
# torch's `3 - x`, a row of its own because its node has another name
RSUB_NUMBER = elementwise(
    "rsub",
    lambda self, other: other - self,
    tensors="self",
    node="RsubBackward1",
    key="rsub.number",
    self=lambda grad: -grad,
)


def _is_bool(value: Any) -> bool:
    return value.dtype is boolean if isinstance(value, TensorBase) else isinstance(value, bool)


def _refuse_bool(input: Any, other: Any) -> None:
    if _is_bool(input) and _is_bool(other):
        raise noted(
            RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                "`logical_xor()` operator instead."
            )
        )
    if _is_bool(input) or _is_bool(other):
        raise noted(
            RuntimeError(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
                "a mask, use the `~` or `logical_not()` operator instead."
            )
        )


def _check_alpha(name: str, input: Any, other: Any, alpha: Any) -> None:
    if not isinstance(alpha, (int, float, complex, np.number, np.bool_, TensorBase)):
        raise noted(TypeError(f"{name}(): argument 'alpha' must be Number, not {type(alpha).__name__}"))
    kind = promote(name, input, other)
    if isinstance(alpha, bool) and kind is not boolean:
        raise noted(RuntimeError("Boolean alpha only supported for Boolean results."))
    if kind.category < FLOAT and isinstance(alpha, (float, complex)):
        raise noted(RuntimeError("For integral input tensors, argument alpha must not be a floating point number."))


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """``input + alpha * other``, broadcast and promoted (source: ``torch.add``).

    >>> import livetape as torch
    >>> torch.add(torch.tensor([1., 2.]), 10)
    tensor([11., 12.])
    """
    if out is not None:
        return into(out, add, input, other, alpha=alpha)
    if alpha == 1:
        return ADD.call2(input, other)
    _check_alpha("add", input, other, alpha)
    return ADD_SCALED.apply((input, other, alpha))


def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """In-place `add`."""
    if alpha == 1:
        return ADD.inplace(self, other)
    _check_alpha("add", self, other, alpha)
    return ADD_SCALED.inplace(self, other, alpha)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """``input - alpha * other``, broadcast and promoted (source: ``torch.sub``)."""
    if out is not None:
        return into(out, sub, input, other, alpha=alpha)
    if alpha == 1:
        if (isinstance(input, TensorBase) and input.dtype.category == BOOL) or _is_bool(other):
            _refuse_bool(input, other)
        return SUB.call2(input, other)
    _check_alpha("sub", input, other, alpha)
    return SUB_SCALED.apply((input, other, alpha))


def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """In-place `sub`."""
    if alpha == 1:
        if self.dtype is boolean or _is_bool(other):
            _refuse_bool(self, other)
        return SUB.inplace(self, other)
    _check_alpha("sub", self, other, alpha)
    return SUB_SCALED.inplace(self, other, alpha)


subtract, subtract_ = sub, sub_


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``other - alpha * input`` (source: ``torch.rsub``)."""
    if not isinstance(input, TensorBase):
        raise noted(no_overload("rsub"))
    if _is_bool(input) or _is_bool(other):
        _refuse_bool(input, other)
    if alpha == 1 and not isinstance(other, TensorBase):
        return RSUB_NUMBER.apply((input, other))
    return RSUB.apply((input, other, alpha))


# ---------------------------------------------------------------- products and quotients
mul = binary(
    "mul",
    np.multiply,
    "The product of corresponding elements, broadcast and promoted.",
    self=lambda grad, other: grad * other,
    other=lambda grad, self: grad * self,
)
mul.row.exact = True
multiply, mul_ = mul, mul.inplace

DIV = elementwise(
    "div",
    np.true_divide,
    promote="float",
    self=lambda grad, other: grad / other,
    other=lambda grad, self, other: -grad * ((self / other) / other),
)
DIV.exact = True


def _floor_div(x: Any, y: Any) -> Any:
    if x.dtype.kind in "bc":
        raise noted(refuse("div_floor_cpu", x.dtype))
    if x.dtype.kind == "f":
        return np.where(y == 0, np.true_divide(x, y), np.floor_divide(x, y)).astype(x.dtype)
    if not np.all(y):
        raise noted(RuntimeError("ZeroDivisionError"))
    return np.floor_divide(x, y)


def _trunc_div(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return np.trunc(np.true_divide(x, y))
    if not np.all(y):
        raise noted(RuntimeError("ZeroDivisionError"))
    quotient = np.floor_divide(x, y)
    return quotient + ((quotient < 0) & (quotient * y != x))


def _rounded(self: Any, other: Any, rounding_mode: str) -> Any:
    return _floor_div(self, other) if rounding_mode == "floor" else _trunc_div(self, other)


DIV_ROUNDED = elementwise(
    "div",
    _rounded,
    node="DivBackward2",
    key="div.mode",
    self=lambda grad: zeros_like(grad),
    other=lambda grad: zeros_like(grad),
)


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """``input / other``; integers give floats unless ``rounding_mode`` is "trunc" or "floor" (source: ``torch.div``).

    >>> import livetape as torch
    >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="floor")
    tensor([ 3, -4])
    """
    if out is not None:
        return into(out, div, input, other, rounding_mode=rounding_mode)
    if rounding_mode is None:
        return DIV.call2(input, other)
    _check_rounding(rounding_mode)
    return DIV_ROUNDED.apply((input, other, rounding_mode))


def div_(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """In-place `div`."""
    if rounding_mode is None:
        return DIV.inplace(self, other)
    _check_rounding(rounding_mode)
    return DIV_ROUNDED.inplace(self, other, rounding_mode)


def _check_rounding(mode: Any) -> None:
    if mode not in ("floor", "trunc"):
        raise noted(
            RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
        )


def true_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """``input / other`` (source: ``torch.true_divide``)."""
    return div(input, other, out=out)


divide, divide_, true_divide_ = div, div_, div_


def _no_floor_derivative(grad: Any) -> NoReturn:
    raise noted(RuntimeError("derivative for aten::floor_divide is not implemented"))


FLOOR_DIVIDE = elementwise(
    "floor_divide",
    lambda self, other: _floor_div(self, other),
    node="NotImplemented",
    self=_no_floor_derivative,
    other=_no_floor_derivative,
)


def floor_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """The quotient rounded down; not differentiable (source: ``torch.floor_divide``)."""
    if out is not None:
        return into(out, floor_divide, input, other)
    return FLOOR_DIVIDE.apply((input, other))


def floor_divide_(self: Any, other: Any) -> Any:
    """In-place `floor_divide`."""
    return FLOOR_DIVIDE.inplace(self, other)


reciprocal = unary(
    "reciprocal", np.reciprocal, "One over each element.", self=lambda grad, result: -grad * (result * result)
)


def _negative(x: Any) -> Any:
    if x.dtype.kind == "b":
        raise noted(
            RuntimeError(
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
                "mask, use the `~` or `logical_not()` operator instead."
            )
        )
    return np.negative(x)


neg = unary("neg", _negative, "The negative of each element.", promote="same", self=lambda grad: -grad)
negative = neg


def positive(input: Any) -> Any:
    """The tensor itself (source: ``torch.positive``)."""
    if input.dtype is boolean:
        raise noted(RuntimeError("The `+` operator, on a bool tensor is not supported."))
    return input


# ---------------------------------------------------------------- remainders
def _remainder(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu" and not np.all(y):
        raise noted(RuntimeError("ZeroDivisionError"))
    if x.dtype.kind in "bc":
        raise noted(refuse("remainder_cpu", x.dtype))
    return np.remainder(x, y)


def _fmod(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu" and not np.all(y):
        raise noted(RuntimeError("ZeroDivisionError"))
    if x.dtype.kind in "bc":
        raise noted(refuse("fmod_cpu", x.dtype))
    return np.fmod(x, y)


_mod_down, _mod = compiled("remainder", _remainder), compiled("fmod", _fmod)


def _quotient(self: Any, other: Any, mode: str) -> Any:
    return div(self, other, rounding_mode=mode)


REMAINDER = elementwise(
    "remainder",
    _mod_down,
    params="self other",
    node="RemainderBackward1",
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * _quotient(self, other, "floor"),
)
REMAINDER_NUMBER = elementwise(
    "remainder",
    _mod_down,
    params="self other",
    tensors="self",
    key="remainder.number",
    self=lambda grad: grad,
)
FMOD = elementwise(
    "fmod",
    _mod,
    params="self other",
    node="FmodBackward1",
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * _quotient(self, other, "trunc"),
)
FMOD_NUMBER = elementwise("fmod", _mod, params="self other", tensors="self", key="fmod.number", self=lambda grad: grad)


def remainder(input: Any, other: Any, *, out: Any = None) -> Any:
    """The remainder with the sign of ``other`` (source: ``torch.remainder``)."""
    if out is not None:
        return into(out, remainder, input, other)
    if not (isinstance(input, TensorBase) or isinstance(other, TensorBase)):
        raise noted(no_overload("remainder"))
    op = REMAINDER if isinstance(other, TensorBase) else REMAINDER_NUMBER
    return op.apply((input, other))


def remainder_(self: Any, other: Any) -> Any:
    """In-place `remainder`."""
    return (REMAINDER if isinstance(other, TensorBase) else REMAINDER_NUMBER).inplace(self, other)


def fmod(input: Any, other: Any, *, out: Any = None) -> Any:
    """The remainder with the sign of ``input`` (source: ``torch.fmod``)."""
    if out is not None:
        return into(out, fmod, input, other)
    if not isinstance(input, TensorBase):
        raise noted(no_overload("fmod"))
    return (FMOD if isinstance(other, TensorBase) else FMOD_NUMBER).apply((input, other))


def fmod_(self: Any, other: Any) -> Any:
    """In-place `fmod`."""
    return (FMOD if isinstance(other, TensorBase) else FMOD_NUMBER).inplace(self, other)


neg_ = negative_ = neg.inplace
reciprocal_ = reciprocal.inplace

FUNCTIONS = [
    "neg_",
    "negative_",
    "reciprocal_",
    "add",
    "sub",
    "subtract",
    "rsub",
    "mul",
    "multiply",
    "div",
    "divide",
    "true_divide",
    "floor_divide",
    "reciprocal",
    "neg",
    "negative",
    "positive",
    "remainder",
    "fmod",
]


def rdiv(self: Any, other: Any) -> Any:
    """``other / self``, as an operator of older programs (source: ``torch.Tensor.__rdiv__``)."""
    return self.reciprocal() * other  # the method: what is no tensor has none, which torch's error says


METHODS = {
    "__rdiv__": rdiv,
    "add": add,
    "add_": add_,
    "sub": sub,
    "sub_": sub_,
    "subtract": sub,
    "subtract_": sub_,
    "mul": mul,
    "mul_": mul.inplace,
    "multiply": mul,
    "multiply_": mul.inplace,
    "div": div,
    "div_": div_,
    "divide": div,
    "divide_": div_,
    "true_divide": true_divide,
    "true_divide_": div_,
    "floor_divide": floor_divide,
    "floor_divide_": floor_divide_,
    "reciprocal": reciprocal,
    "reciprocal_": reciprocal.inplace,
    "neg": neg,
    "neg_": neg.inplace,
    "negative": neg,
    "negative_": neg.inplace,
    "positive": positive,
    "remainder": remainder,
    "remainder_": remainder_,
    "fmod": fmod,
    "fmod_": fmod_,
}
