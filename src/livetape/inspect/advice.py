"""What to do about an operation that stops a gradient or breaks it, by the name of its row."""

from __future__ import annotations

from typing import Any

_STEP_FUNCTION = "its derivative is 0 everywhere; a straight-through estimator is x + (f(x) - x).detach()"
_SATURATED = "it is saturated: scale its input down, or use a loss that takes logits"
_BOUNDED = "all inputs are outside of its bounds: widen them, or keep the input inside"
_OVERWRITTEN = "it overwrites its input: write into another tensor"

_STOPS = {
    "relu": "dead ReLU: no input is positive; lower the learning rate, change the initialisation, or use leaky_relu",
    "threshold": "no input is above the threshold",
    "hardtanh": _BOUNDED,
    "clamp": _BOUNDED,
    "clamp_min": _BOUNDED,
    "clamp_max": _BOUNDED,
    "hardshrink": "all inputs are inside of its dead zone",
    "softshrink": "all inputs are inside of its dead zone",
    "hardsigmoid": _SATURATED,
    "sigmoid": _SATURATED,
    "tanh": _SATURATED,
    "softmax": _SATURATED,
    "where": "the condition picks the other branch everywhere",
    "masked_fill": "the mask covers every element",
    "abs": "its derivative at 0 is taken as 0",
    "round": _STEP_FUNCTION,
    "floor": _STEP_FUNCTION,
    "ceil": _STEP_FUNCTION,
    "trunc": _STEP_FUNCTION,
    "sign": _STEP_FUNCTION,
    "sgn": _STEP_FUNCTION,
    "heaviside": _STEP_FUNCTION,
    "fill": _OVERWRITTEN,
    "zero": _OVERWRITTEN,
    "copy": _OVERWRITTEN,
    "dropout": "every element was dropped",
    "linalg_vector_norm": "the gradient of a norm at 0 is taken as 0",
}


_PRODUCT = "the other factor is 0: look at what made it (weights that start as 0, a dead layer below)"
_PRODUCTS = frozenset(("mul", "mul.number", "mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "convolution"))


def is_gate(node: Any) -> bool:
    """Whether this operation often stops gradients."""
    return node._op is not None and node._op.name in _STOPS


def of_zero(node: Any) -> str:
    """Why the gradient of this operation may be 0, and what to do; empty if there is nothing to say."""
    row = node._op
    if row is None:
        return ""
    return _PRODUCT if row.name in _PRODUCTS else _STOPS.get(row.name, "")


BEHIND_MASK = (
    "its gradient is 0 wherever it made nan: 0 times an infinite slope, as behind a mask (where, or a factor of 0)"
)
MASKED = "mask the input of that operation, not its result: f(where(mask, x, safe))"
BREAKS = "keep its input away from the points where it has no finite slope: clamp(min=eps), or where() on the input"
OVERFLOW = "keep its input in the range where the result is finite (clamp, a smaller step, log-space, float64)"
