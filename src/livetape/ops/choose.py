"""Choosing between elements: where, the larger and the smaller."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase, from_array
from livetape.dtypes import BOOL, COMPLEX, FLOAT, SCALAR_TYPE, dtype, uint8
from livetape.kernels.select import choose, zero_where
from livetape.ops.basics import cast, sum_to
from livetape.ops.refuse import must_be_tensors, no_overload
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
        raise noted(no_overload("where"))
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


FUNCTIONS = [
    "where",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
]
METHODS = {
    "where": where_method,
    "maximum": maximum,
    "minimum": minimum,
    "fmax": fmax,
    "fmin": fmin,
}
