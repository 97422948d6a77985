"""Signs, rounding, and numbers in the place of NaN and infinities."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import noted
from livetape.dtypes import COMPLEX, boolean
from livetape.kernels import steps
from livetape.ops.basics import zeros_like
from livetape.ops.choose import dropped
from livetape.ops.compare import isfinite
from livetape.ops.refuse import check_numbers, must_be_tensors
from livetape.ops.table import elementwise, into, unary


def _zero(grad: Any) -> Any:
    return zeros_like(grad)


SIGN = elementwise("sign", steps.sign, params="self", tensors="self", self=lambda grad: zeros_like(grad))


def sign(input: Any, *, out: Any = None) -> Any:
    """-1, 0 or 1, as each element is negative, zero or positive (source: ``torch.sign``)."""
    if out is not None:
        return into(out, sign, input)
    _check_sign(input)
    return SIGN.call1(input)


def sign_(self: Any) -> Any:
    """In-place `sign`."""
    _check_sign(self)
    return SIGN.inplace(self)


def _check_sign(input: Any) -> None:
    if getattr(input, "dtype", boolean).category == COMPLEX:
        raise noted(
            NotImplementedError(
                "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
            )
        )


ceil = unary("ceil", steps.ceil, "Each element rounded up.", promote="same", self=_zero)
floor = unary("floor", steps.floor, "Each element rounded down.", promote="same", self=_zero)
trunc = unary("trunc", steps.trunc, "Each element rounded towards 0.", promote="same", self=_zero)
frac = unary(
    "frac", steps.frac, "What `trunc` cuts off, with the sign of the element.", promote="same", self=lambda grad: grad
)
signbit = unary("signbit", steps.signbit, "Whether each element's sign is negative, also of -0.0.", promote="bool")
fix = trunc

ROUND = elementwise("round", steps.nearest, params="self", tensors="self", self=_zero)
ROUND_TO = elementwise(
    "round",
    lambda self, decimals: steps.round_to(self, int(decimals)),
    node="RoundBackward1",
    key="round.decimals",
    self=_zero,
)


def round(input: Any, *, decimals: int | None = None, out: Any = None) -> Any:
    """To the nearest integer, halves to the even one; or to so many decimals (source: ``torch.round``).

    >>> import livetape as torch
    >>> torch.round(torch.tensor([0.5, 1.5, -1.2]))
    tensor([ 0.,  2., -1.])
    """
    if out is not None:
        return into(out, round, input, decimals=decimals)
    return ROUND.call1(input) if decimals is None else ROUND_TO.apply((input, decimals))


def round_(self: Any, *, decimals: int | None = None) -> Any:
    """In-place `round`."""
    return ROUND.inplace(self) if decimals is None else ROUND_TO.inplace(self, decimals)


NAN_TO_NUM = elementwise(
    "nan_to_num",
    lambda self, nan, posinf, neginf: steps.finite(self, nan, posinf, neginf),
    self=lambda grad, self: dropped(grad, ~isfinite(self)),
    selects=True,
)


def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None, *, out: Any = None
) -> Any:
    """Numbers in the place of NaN (0) and the infinities (the largest, the lowest) (source: ``torch.nan_to_num``)."""
    if out is not None:
        return into(out, nan_to_num, input, nan, posinf, neginf)
    must_be_tensors("nan_to_num", input=input)
    check_numbers("nan_to_num", nan, posinf, neginf)
    return NAN_TO_NUM.apply((input, nan or 0.0, posinf, neginf))


def nan_to_num_(self: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    """In-place `nan_to_num`."""
    check_numbers("nan_to_num_", nan, posinf, neginf)
    return NAN_TO_NUM.inplace(self, nan or 0.0, posinf, neginf)


ceil_, floor_, trunc_, frac_, fix_ = ceil.inplace, floor.inplace, trunc.inplace, frac.inplace, trunc.inplace

FUNCTIONS = [
    "sign",
    "ceil",
    "ceil_",
    "floor",
    "floor_",
    "trunc",
    "trunc_",
    "fix",
    "fix_",
    "frac",
    "frac_",
    "signbit",
    "round",
    "round_",
    "nan_to_num",
    "nan_to_num_",
]
METHODS = {name: globals()[name] for name in [*FUNCTIONS, "sign_"]}
