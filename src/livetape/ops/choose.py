"""Choosing between elements: where, the larger, the smaller, and bounds."""

from __future__ import annotations

import warnings
from math import inf
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase, from_array
from livetape.dtypes import BOOL, COMPLEX, FLOAT, SCALAR_TYPE, dtype, of_numpy, uint8
from livetape.kernels.activation import hardtanh
from livetape.kernels.compiled import compiled
from livetape.kernels.select import choose, number, zero_where
from livetape.ops.basics import cast, sum_to
from livetape.ops.refuse import CXX_NAME, check_fits, invalid, must_be_tensors, unsupported
from livetape.ops.table import elementwise, into, row

# ---------------------------------------------------------------- gradients that reach some elements only
DROP = row(
    "masked_fill",
    lambda self, mask: zero_where(mask, self),
    tensors="self mask",
    key="masked_fill.drop",
    linear=True,
    batch="broadcast",
    self=lambda grad, mask: dropped(grad, mask),
    selects="masked",
)


def dropped(grad: Any, mask: Any) -> Any:
    """``grad`` with 0 where the bool tensor ``mask``, of the same shape, holds."""
    return DROP.apply((grad, mask))


# ---------------------------------------------------------------- where
def _where(condition: Any, self: Any, other: Any) -> Any:
    if condition.dtype.kind != "b":
        condition = condition.astype(np.bool_)
    try:
        return choose(condition, self, other)
    except ValueError:
        raise noted(_shapes_error(condition, self, other)) from None


def _shapes_error(*arrays: Any) -> RuntimeError:
    """Torch's error for the first pair of shapes that does not broadcast."""
    from_left: tuple[int, ...] = arrays[0].shape
    for array in arrays[1:]:
        n = max(len(from_left), array.ndim)
        left = (1,) * (n - len(from_left)) + from_left
        right = (1,) * (n - array.ndim) + array.shape
        for i in range(n - 1, -1, -1):
            if left[i] != right[i] and left[i] != 1 and right[i] != 1:
                return RuntimeError(
                    f"The size of tensor a ({left[i]}) must match the size of tensor b ({right[i]}) "
                    f"at non-singleton dimension {i}"
                )
        from_left = np.broadcast_shapes(from_left, array.shape)
    raise AssertionError(from_left)


WHERE = row(
    "where",
    _where,
    tensors="condition self other",
    linear=True,
    batch="broadcast",
    self=lambda grad, condition, self_size: sum_to(where(condition, grad, 0), self_size),
    other=lambda grad, condition, other_size: sum_to(where(condition, 0, grad), other_size),
    selects="masked",
)


WHERE.chooses = True


_WHERE = (
    "(Tensor condition)",
    "(Tensor condition, Tensor input, Tensor other, *, Tensor out = None)",
    "(Tensor condition, Number self, Tensor other)",
    "(Tensor condition, Tensor input, Number other)",
    "(Tensor condition, Number self, Number other)",
)


def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None, self: Any = None) -> Any:
    """``input`` where ``condition`` holds, ``other`` elsewhere (source: ``torch.where``).

    A condition alone gives the indices where it holds, a tensor for each dimension.

    >>> import livetape as torch
    >>> x = torch.tensor([-1., 2.])
    >>> torch.where(x > 0, x, 0)
    tensor([0., 2.])
    >>> torch.where(x > 0)
    (tensor([1]),)
    """
    if self is not None:
        input = self
    if input is None and other is None and isinstance(condition, TensorBase):
        return tuple(from_array(found) for found in np.nonzero(np.atleast_1d(condition.array)))
    if out is not None:
        return into(out, where, condition, input, other)
    if not isinstance(condition, TensorBase) or input is None or other is None:
        raise noted(invalid("where", [v for v in (condition, input, other) if v is not None], *_WHERE))
    if condition.dtype.category != BOOL:
        if condition.dtype is not uint8:
            raise noted(
                RuntimeError(
                    "where expected condition to be a boolean tensor, but got a tensor with dtype "
                    f"{SCALAR_TYPE[condition.dtype]}"
                )
            )
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
            "future version of PyTorch. Use a boolean condition instead.",
            UserWarning,
            stacklevel=2,
        )
    if isinstance(input, TensorBase) and isinstance(other, TensorBase) and input.dtype is other.dtype:
        return WHERE.apply((condition, input, other))
    if isinstance(input, TensorBase) and input.dtype.category >= FLOAT and (type(other) is float or type(other) is int):
        return WHERE.apply((condition, input, input.dtype.scalar(other)))
    kind = promote("where", input, other)
    return WHERE.apply((condition, _of_kind(input, kind), _of_kind(other, kind)))


def _of_kind(value: Any, kind: dtype) -> Any:
    """A tensor cast, a number as an array."""
    if isinstance(value, TensorBase):
        return value if value.dtype is kind else cast(value, kind)
    return kind.scalar(value)


def where_method(self: Any, condition: Any, other: Any) -> Any:
    """This tensor where ``condition`` holds, ``other`` elsewhere (source: ``torch.Tensor.where``)."""
    return where(condition, self, other)


# ---------------------------------------------------------------- the larger and the smaller
def _share(grad: Any, self: Any, other: Any, rule: str) -> Any:
    """What the first argument gets of the gradient; at a tie, half of it."""
    if rule == "larger":
        lost, tie = self < other, self == other
    else:
        lost, tie = self > other, self == other
    found = zero_where(lost, grad)
    if tie.any():
        found = np.where(tie, grad / grad.dtype.type(2), found)
    return found


def _all_or_none(grad: Any, self: Any, other: Any, rule: str) -> Any:
    """What fmax (rule "larger") or fmin gives its first argument; "not larger", "not smaller": its second."""
    wins = self >= other if rule.endswith("larger") else self <= other
    wins |= np.isnan(other)
    return zero_where(wins if rule.startswith("not") else ~wins, grad)


SHARE = elementwise(
    "maximum_backward",
    lambda grad, self, other, rule: _share(grad, self, other, rule),
    tensors="grad self other",
    grad=lambda grad, self, other, rule: SHARE.apply((grad, self, other, rule)),
)
FSHARE = elementwise(
    "fmax_backward",
    lambda grad, self, other, rule: _all_or_none(grad, self, other, rule),
    tensors="grad self other",
    grad=lambda grad, self, other, rule: FSHARE.apply((grad, self, other, rule)),
)


def _extreme(name: str, ufunc: Any, doc: str, **formulas: Any) -> Any:
    op = elementwise(name, ufunc, params="self other", tensors="self other", **formulas)
    call = op.call2

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return into(out, function, input, other)
        if not (isinstance(input, TensorBase) and isinstance(other, TensorBase)):
            must_be_tensors(name, input=input, other=other)
        if input.dtype.category == COMPLEX or other.dtype.category == COMPLEX:
            raise noted(RuntimeError(f"{name} not implemented for complex tensors."))
        return call(input, other)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\nSource: ``torch.{name}``."
    function.row = op  # type: ignore[attr-defined]
    return function


maximum = _extreme(
    "maximum",
    np.maximum,
    "The larger of corresponding elements; NaN if either is NaN.",
    self=lambda grad, self, other: SHARE.apply((grad, self, other, "larger")),
    other=lambda grad, self, other: SHARE.apply((grad, other, self, "larger")),
    selects=True,
)
minimum = _extreme(
    "minimum",
    np.minimum,
    "The smaller of corresponding elements; NaN if either is NaN.",
    self=lambda grad, self, other: SHARE.apply((grad, self, other, "smaller")),
    other=lambda grad, self, other: SHARE.apply((grad, other, self, "smaller")),
    selects=True,
)
fmax = _extreme(
    "fmax",
    np.fmax,
    "The larger of corresponding elements; NaN only if both are NaN.",
    self=lambda grad, self, other: FSHARE.apply((grad, self, other, "larger")),
    other=lambda grad, self, other: FSHARE.apply((grad, self, other, "not larger")),
    selects=True,
)
fmin = _extreme(
    "fmin",
    np.fmin,
    "The smaller of corresponding elements; NaN only if both are NaN.",
    self=lambda grad, self, other: FSHARE.apply((grad, self, other, "smaller")),
    other=lambda grad, self, other: FSHARE.apply((grad, self, other, "not smaller")),
    selects=True,
)


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
            raise noted(invalid(name, (self, min, max), *_CLAMP))
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
    raise noted(invalid(name, [v for v in (input, *bounds) if v is not None], *_CLAMP))


_CLAMP = (
    "(Tensor input, Tensor min = None, Tensor max = None, *, Tensor out = None)",
    "(Tensor input, Number min = None, Number max = None, *, Tensor out = None)",
)


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
    "where",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
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
    "where": where_method,
    "maximum": maximum,
    "minimum": minimum,
    "fmax": fmax,
    "fmin": fmin,
    "clamp": clamp,
    "clamp_": clamp_,
    "clip": clip,
    "clip_": clip_,
    "clamp_min": clamp_min,
    "clamp_min_": clamp_min_,
    "clamp_max": clamp_max,
    "clamp_max_": clamp_max_,
}
