"""Elements kept within bounds."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase
from livetape.dtypes import BOOL, COMPLEX, FLOAT, SCALAR_TYPE, dtype, of_numpy
from livetape.kernels.activation import hardtanh
from livetape.kernels.compiled import compiled
from livetape.kernels.select import number, zero_where
from livetape.ops.basics import cast
from livetape.ops.choose import dropped
from livetape.ops.refuse import CXX_NAME, check_fits, no_overload, unsupported
from livetape.ops.table import elementwise, into


# ---------------------------------------------------------------- bounds that are numbers
def _bounded(self: Any, min: Any, max: Any) -> Any:
    kind = of_numpy(self.dtype)
    if kind.category == FLOAT and min == min and max == max and not isinstance(min, np.ndarray):
        return hardtanh(self, -inf if min is None else min, inf if max is None else max)
    if min is not None:
        raised = np.maximum(self, _bound(kind, min), out=...)
        return raised if max is None else np.minimum(raised, _bound(kind, max), out=raised)
    return np.minimum(self, _bound(kind, max))


def _bound(kind: dtype, value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else kind.scalar(value)


def _kept(grad: Any, self: Any, low: float, high: float) -> Any:
    inside = self >= number(self, low)
    inside &= self <= number(self, high)
    return zero_where(~inside, grad)


_clamp_backward = compiled("clamp_backward", _kept)


def _within(grad: Any, self: Any, min: Any, max: Any) -> Any:
    kind = of_numpy(self.dtype)
    if kind.category == FLOAT and grad.dtype is self.dtype:
        return _clamp_backward(grad, self, -inf if min is None else min, inf if max is None else max)
    if min is None:
        return zero_where(~(self <= kind.scalar(max)), grad)
    inside = self >= kind.scalar(min)
    if max is not None:
        inside &= self <= kind.scalar(max)
    return zero_where(~inside, grad)


WITHIN = elementwise(
    "clamp_backward",
    lambda grad, self, min, max: _within(grad, self, min, max),
    tensors="grad self",
    grad=lambda grad, self, min, max: WITHIN.apply((grad, self, min, max)),
)
CLAMP = elementwise(
    "clamp",
    lambda self, min, max: _bounded(self, min, max),
    node="ClampBackward1",
    self=lambda grad, self, min, max: WITHIN.apply((grad, self, min, max)),
    selects=True,
)
CLAMP_MIN = elementwise(
    "clamp_min",
    lambda self, min: _bounded(self, min, None),
    self=lambda grad, self, min: WITHIN.apply((grad, self, min, None)),
    selects=True,
)
CLAMP_MAX = elementwise(
    "clamp_max",
    lambda self, max: _bounded(self, None, max),
    self=lambda grad, self, max: WITHIN.apply((grad, self, None, max)),
    selects=True,
)

# ---------------------------------------------------------------- bounds that are tensors
CLAMP_TENSORS = elementwise(
    "clamp",
    lambda self, min, max: np.minimum(np.maximum(self, min), max),
    tensors="self min max",
    key="clamp.tensors",
    self=lambda grad, self, min, max: dropped(grad, ~((self >= min) & (self <= max))),
    min=lambda grad, self, min, max: dropped(grad, ~((self < min) & (min < max))),
    max=lambda grad, self, min, max: dropped(grad, ~((self > max) | (max < min))),
    selects=True,
)
CLAMP_LOW = elementwise(
    "clamp",
    np.maximum,
    params="self min",
    tensors="self min",
    key="clamp.min_tensor",
    self=lambda grad, self, min: dropped(grad, ~(self >= min)),
    min=lambda grad, self, min: dropped(grad, ~(self < min)),
    selects=True,
)
CLAMP_HIGH = elementwise(
    "clamp",
    np.minimum,
    params="self max",
    tensors="self max",
    key="clamp.max_tensor",
    self=lambda grad, self, max: dropped(grad, ~(self <= max)),
    max=lambda grad, self, max: dropped(grad, ~(self > max)),
    selects=True,
)
CLAMP_MIN_TENSOR = elementwise(
    "clamp_min",
    np.maximum,
    params="self min",
    tensors="self min",
    node="ClampMinBackward1",
    key="clamp_min.tensor",
    self=lambda grad, self, min: dropped(grad, ~(self >= min)),
    min=lambda grad, self, min: dropped(grad, ~(self < min)),
    selects=True,
)
CLAMP_MAX_TENSOR = elementwise(
    "clamp_max",
    np.minimum,
    params="self max",
    tensors="self max",
    node="ClampMaxBackward1",
    key="clamp_max.tensor",
    self=lambda grad, self, max: dropped(grad, ~(self <= max)),
    max=lambda grad, self, max: dropped(grad, ~(self > max)),
    selects=True,
)


def _numbers(name: str, label: str, self: Any, *bounds: Any) -> Any:
    """The dtype of the result for bounds that are numbers, checked."""
    kind = self.dtype
    if kind.category == COMPLEX:
        raise noted(NotImplementedError("clamp is not supported for complex types"))
    if kind.category != FLOAT:
        kind = promote(name, self, *[b for b in bounds if b is not None])
        if kind.category == BOOL:
            raise noted(unsupported(label, self.array))
    for bound in bounds:
        if bound is not None:
            check_fits(kind, bound)
    return kind


def _tensors(name: str, label: str, self: Any, *bounds: Any) -> None:
    if self.dtype.category == COMPLEX:
        raise noted(NotImplementedError("clamp is not supported for complex types"))
    for bound in bounds:
        if isinstance(bound, TensorBase) and bound.dtype.category == COMPLEX:
            raise noted(NotImplementedError(f"\"{label}_cpu\" not implemented for '{SCALAR_TYPE[bound.dtype]}'"))


def _planned(name: str, self: Any, min: Any, max: Any) -> tuple[Any, tuple[Any, ...]]:
    """The row for these bounds and its arguments after the first."""
    values: tuple[Any, ...]
    if isinstance(min, TensorBase) or isinstance(max, TensorBase):
        if max is None:
            row_, values = CLAMP_LOW, (min,)
        elif min is None:
            row_, values = CLAMP_HIGH, (max,)
        elif isinstance(min, TensorBase) and isinstance(max, TensorBase):
            row_, values = CLAMP_TENSORS, (min, max)
            if self.dtype.category == min.dtype.category == max.dtype.category == BOOL:
                raise noted(unsupported("clamp", self.array))
        else:
            raise noted(no_overload(name))
        _tensors("clamp", "minimum" if min is None else "maximum", self, *values)
        return row_, values
    if min is None and max is None:
        raise noted(RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None"))
    return CLAMP, (min, max)


def _is_plain(bound: Any) -> bool:
    """Whether a bound is None or a number that every floating point type holds."""
    return bound is None or ((type(bound) is float or type(bound) is int) and -3e4 < bound < 3e4)


def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """Each element brought into ``[min, max]``, numbers or tensors (source: ``torch.clamp``).

    At a bound the gradient passes. Where ``min > max`` the result is ``max``.

    >>> import livetape as torch
    >>> torch.clamp(torch.tensor([-1., 0.5, 3.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if out is not None:
        return into(out, clamp, input, min, max)
    if (
        _is_plain(min)
        and _is_plain(max)
        and isinstance(input, TensorBase)
        and input.dtype.category == FLOAT
        and not min is max is None
    ):
        return CLAMP.apply((input, min, max))
    _check_clamp("clamp", input, min, max)
    op, values = _planned("clamp", input, min, max)
    if op is CLAMP:
        kind = _numbers("clamp", _label(min, max), input, min, max)
        if kind is not input.dtype:
            input = cast(input, kind)
    return op.apply((input, *values))


def _label(min: Any, max: Any) -> str:
    return "clamp_scalar" if min is not None and max is not None else f"clamp_{'max' if min is None else 'min'}_scalar"


def _check_clamp(name: str, input: Any, *bounds: Any) -> None:
    if isinstance(input, TensorBase):
        for bound in bounds:
            if bound is not None and not isinstance(bound, (TensorBase, int, float, complex, np.number, np.bool_)):
                break
        else:
            return
    raise noted(no_overload(name))


def clamp_(self: Any, min: Any = None, max: Any = None) -> Any:
    """In-place `clamp`."""
    _check_clamp("clamp_", self, min, max)
    op, values = _planned("clamp_", self, min, max)
    if op is CLAMP:
        _same_kind(self, _numbers("clamp", _label(min, max), self, min, max))
    return op.inplace(self, *values)


def _same_kind(self: Any, kind: dtype) -> None:
    if kind is not self.dtype:
        raise noted(
            RuntimeError(
                f"result type {SCALAR_TYPE[kind]} can't be cast to the desired output type "
                f"{CXX_NAME.get(self.dtype.name, SCALAR_TYPE[self.dtype])}"
            )
        )


def _one_sided(name: str, number: Any, tensor: Any, self: Any, bound: Any, inplace: bool) -> Any:
    _check_clamp(name, self, bound)
    if isinstance(bound, TensorBase):
        _tensors(name, "maximum" if name == "clamp_min" else "minimum", self, bound)
        return tensor.inplace(self, bound) if inplace else tensor.apply((self, bound))
    if isinstance(bound, complex):
        raise noted(NotImplementedError("clamp is not supported for complex types"))
    kind = _numbers(name, name + "_scalar", self, bound)
    if inplace:
        _same_kind(self, kind)
        return number.inplace(self, bound)
    return number.apply((self if kind is self.dtype else cast(self, kind), bound))


def clamp_min(input: Any, min: Any, *, out: Any = None) -> Any:
    """Each element, but at least ``min`` (source: ``torch.clamp_min``)."""
    if out is not None:
        return into(out, clamp_min, input, min)
    return _one_sided("clamp_min", CLAMP_MIN, CLAMP_MIN_TENSOR, input, min, False)


def clamp_min_(self: Any, min: Any) -> Any:
    """In-place `clamp_min`."""
    return _one_sided("clamp_min", CLAMP_MIN, CLAMP_MIN_TENSOR, self, min, True)


def clamp_max(input: Any, max: Any, *, out: Any = None) -> Any:
    """Each element, but at most ``max`` (source: ``torch.clamp_max``)."""
    if out is not None:
        return into(out, clamp_max, input, max)
    return _one_sided("clamp_max", CLAMP_MAX, CLAMP_MAX_TENSOR, input, max, False)


def clamp_max_(self: Any, max: Any) -> Any:
    """In-place `clamp_max`."""
    return _one_sided("clamp_max", CLAMP_MAX, CLAMP_MAX_TENSOR, self, max, True)


clip, clip_ = clamp, clamp_


FUNCTIONS = [
    "clamp",
    "clamp_",
    "clip",
    "clip_",
    "clamp_min",
    "clamp_min_",
    "clamp_max",
    "clamp_max_",
]
METHODS = {
    "clamp": clamp,
    "clamp_": clamp_,
    "clip": clip,
    "clip_": clip_,
    "clamp_min": clamp_min,
    "clamp_min_": clamp_min_,
    "clamp_max": clamp_max,
    "clamp_max_": clamp_max_,
}
