"""Activations made of straight pieces: relu and its kin, shrinking, prelu and rrelu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from livetape._tape.explain import argument_error, noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import SCALAR_TYPE
from livetape.kernels import activation as kernels
from livetape.kernels.select import refuse
from livetape.ops import smooth
from livetape.ops.autocasting import brought_together
from livetape.ops.basics import sum_to, zeros_like
from livetape.ops.nodes import node_class
from livetape.ops.table import elementwise, into, row

# ---------------------------------------------------------------- relu and threshold
THRESHOLD_BACKWARD = elementwise(
    "threshold_backward",
    kernels.threshold_backward,
    tensors="grad_output self",
    params="grad_output self threshold",
    grad_output=lambda grad, self, threshold: THRESHOLD_BACKWARD.apply((grad, self, threshold)),
    self=lambda grad: zeros_like(grad),
)
RELU = elementwise(
    "relu",
    kernels.relu,
    params="self",
    self=lambda grad, result: THRESHOLD_BACKWARD.apply((grad, result, 0)),
    selects=True,
)
THRESHOLD = elementwise(
    "threshold",
    kernels.threshold,
    params="self threshold value",
    self=lambda grad, self, threshold: THRESHOLD_BACKWARD.apply((grad, self, threshold)),
    selects=True,
)
THRESHOLD.inplace_class = node_class("ThresholdBackward1")


def relu(input: Any, inplace: bool = False) -> Any:
    """max(input, 0) (source: ``torch.nn.functional.relu``).

    >>> import livetape as torch
    >>> torch.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return RELU.inplace(input) if inplace else RELU.call1(input)


def relu_(input: Any) -> Any:
    """In-place `relu`."""
    return RELU.inplace(_tensor("relu_", input))


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """``input`` where it is above ``threshold``, else ``value`` (source: ``torch.nn.functional.threshold``)."""
    if inplace:
        return THRESHOLD.inplace(_tensor("threshold_", input), threshold, value)
    return THRESHOLD.apply((_tensor("threshold", input), threshold, value))


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """In-place `threshold`."""
    return THRESHOLD.inplace(_tensor("threshold_", input), threshold, value)


def _tensor(name: str, input: Any) -> Any:
    """``input``, or torch's TypeError if it is no tensor."""
    if isinstance(input, TensorBase):
        return input
    raise noted(argument_error(name, 0, input))


# ---------------------------------------------------------------- leaky_relu
LEAKY_RELU_BACKWARD = elementwise(
    "leaky_relu_backward",
    kernels.leaky_relu_backward,
    tensors="grad_output self",
    params="grad_output self negative_slope",
    grad_output=lambda grad, self, negative_slope: LEAKY_RELU_BACKWARD.apply((grad, self, negative_slope)),
    self=lambda grad: zeros_like(grad),
)
LEAKY_RELU = elementwise(
    "leaky_relu",
    kernels.leaky_relu,
    params="self negative_slope",
    self=lambda grad, self, negative_slope: LEAKY_RELU_BACKWARD.apply((grad, self, negative_slope)),
)


def _leaky_relu_from_result(grad: Any, result: Any, negative_slope: float) -> Any:
    if negative_slope < 0:
        raise noted(
            RuntimeError(
                "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This "
                "is caused by calling in-place forward function with a negative slope, please call out-of-place version "
                "instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
                "leakRelu backward calculation with negative slope"
            )
        )
    return LEAKY_RELU_BACKWARD.apply((grad, result, negative_slope))


LEAKY_RELU_ = elementwise(
    "leaky_relu",
    kernels.leaky_relu,
    params="self negative_slope",
    node="LeakyReluBackward1",
    key="leaky_relu.inplace",
    self=_leaky_relu_from_result,
)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """``input`` where positive, else ``negative_slope * input`` (source: ``torch.nn.functional.leaky_relu``)."""
    if inplace:
        return leaky_relu_(input, negative_slope)
    return LEAKY_RELU.apply((_tensor("leaky_relu", input), float(negative_slope)))


def leaky_relu_(input: Any, negative_slope: float = 0.01) -> Any:
    """In-place `leaky_relu`."""
    return LEAKY_RELU_.inplace(_tensor("leaky_relu_", input), float(negative_slope))


# ---------------------------------------------------------------- hard sigmoids
HARDTANH_BACKWARD = elementwise(
    "hardtanh_backward",
    kernels.hardtanh_backward,
    tensors="grad_output self",
    params="grad_output self min_val max_val",
    grad_output=lambda grad, self, min_val, max_val: HARDTANH_BACKWARD.apply((grad, self, min_val, max_val)),
    self=lambda grad: zeros_like(grad),
)
HARDTANH = elementwise(
    "hardtanh",
    kernels.hardtanh,
    params="self min_val max_val",
    self=lambda grad, self, min_val, max_val: HARDTANH_BACKWARD.apply((grad, self, min_val, max_val)),
    selects=True,
)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """``input`` held between two values (source: ``torch.nn.functional.hardtanh``)."""
    if min_val > max_val:
        raise noted(ValueError("min_val cannot be greater than max_val"))
    if inplace:
        return hardtanh_(input, min_val, max_val)
    return HARDTANH.apply((_tensor("hardtanh", input), min_val, max_val))


def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """In-place `hardtanh`."""
    return HARDTANH.inplace(_tensor("hardtanh_", input), min_val, max_val)


def relu6(input: Any, inplace: bool = False) -> Any:
    """``input`` held between 0 and 6 (source: ``torch.nn.functional.relu6``)."""
    if inplace:
        return HARDTANH.inplace(_tensor("relu6_", input), 0, 6)
    return HARDTANH.apply((_tensor("relu6", input), 0, 6))


HARDSIGMOID_BACKWARD = elementwise(
    "hardsigmoid_backward",
    kernels.hardsigmoid_backward,
    tensors="grad_output self",
    params="grad_output self",
    grad_output=lambda grad, self: HARDSIGMOID_BACKWARD.apply((grad, self)),
    self=lambda grad: zeros_like(grad),
)
HARDSIGMOID = elementwise(
    "hardsigmoid", kernels.hardsigmoid, params="self", self=lambda grad, self: HARDSIGMOID_BACKWARD.apply((grad, self))
)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """``input / 6 + 1 / 2`` held between 0 and 1 (source: ``torch.nn.functional.hardsigmoid``)."""
    return HARDSIGMOID.inplace(_tensor("hardsigmoid_", input)) if inplace else HARDSIGMOID.call1(input)


HARDSWISH_BACKWARD = elementwise(
    "hardswish_backward",
    kernels.hardswish_backward,
    tensors="grad_output self",
    params="grad_output self",
    grad_output=lambda grad, self: HARDSWISH_BACKWARD.apply((grad, self)),
    self=lambda grad, grad_output, self: grad * grad_output * (((self > -3) & (self < 3)) / 3.0),
)
HARDSWISH = elementwise(
    "hardswish", kernels.hardswish, params="self", self=lambda grad, self: HARDSWISH_BACKWARD.apply((grad, self))
)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """``input * hardsigmoid(input)`` (source: ``torch.nn.functional.hardswish``)."""
    return HARDSWISH.inplace(_tensor("hardswish_", input)) if inplace else HARDSWISH.call1(input)


# ---------------------------------------------------------------- shrinking
SHRINK_BACKWARD = elementwise(
    "hardshrink_backward",
    kernels.shrink_backward,
    tensors="grad_out self",
    params="grad_out self lambd",
    grad_out=lambda grad, self, lambd: SHRINK_BACKWARD.apply((grad, self, lambd)),
    self=lambda grad: zeros_like(grad),
)
HARDSHRINK = elementwise(
    "hardshrink",
    kernels.hardshrink,
    params="self lambd",
    self=lambda grad, self, lambd: SHRINK_BACKWARD.apply((grad, self, lambd)),
    selects=True,
)
SOFTSHRINK_BACKWARD = elementwise(
    "softshrink_backward",
    kernels.shrink_backward,
    tensors="grad_output self",
    params="grad_output self lambd",
    grad_output=lambda grad, self, lambd: SOFTSHRINK_BACKWARD.apply((grad, self, lambd)),
    self=lambda grad: zeros_like(grad),
)
SOFTSHRINK = elementwise(
    "softshrink",
    kernels.softshrink,
    params="self lambd",
    self=lambda grad, self, lambd: SOFTSHRINK_BACKWARD.apply((grad, self, lambd)),
    selects=True,
)


def hardshrink(input: Any, lambd: float = 0.5, *, out: Any = None) -> Any:
    """``input`` with the values of at most ``lambd`` replaced by 0 (source: ``torch.nn.functional.hardshrink``)."""
    if out is not None:
        return into(out, hardshrink, input, lambd)
    return HARDSHRINK.apply((_tensor("hardshrink", input), float(lambd)))


def softshrink(input: Any, lambd: float = 0.5, *, out: Any = None) -> Any:
    """``input`` moved towards 0 by ``lambd``, and not beyond (source: ``torch.nn.functional.softshrink``)."""
    if out is not None:
        return into(out, softshrink, input, lambd)
    kind = _tensor("softshrink", input).dtype
    if not kind.is_floating_point:
        raise noted(refuse("softshrink_check", kind.np))
    if not lambd >= 0:
        largest = {"float16": "65504", "float32": "3.40282e+38", "float64": "1.79769e+308"}.get(
            kind.name, "3.38953e+38"
        )
        raise noted(
            RuntimeError(
                f"lambda must be in range [0, {largest}] for input dtype {SCALAR_TYPE[kind]}, but found {lambd:g}"
            )
        )
    return SOFTSHRINK.apply((input, float(lambd)))


# ---------------------------------------------------------------- prelu
def _prelu_backward_grads(grads: Any, grad_output: Any, self: Any, weight: Any, wanted: Any) -> Any:
    """The gradients of grad_output, self and weight, from those of prelu_backward's two results."""
    to_self, to_weight = grads
    positive = self > 0
    negative = ~positive
    by_grad = by_self = by_weight = None
    if to_self is not None:
        by_grad = to_self * (positive + negative * weight)
        by_weight = to_self * (negative * grad_output)
    if to_weight is not None:
        part = to_weight * (negative * self)
        by_grad = part if by_grad is None else by_grad + part
        by_self = to_weight * (negative * grad_output)
    elif wanted[1]:
        by_self = zeros_like(self)
    return by_grad, by_self, None if by_weight is None else sum_to(by_weight, shape_of(weight))


PRELU_BACKWARD = row(
    "prelu_kernel_backward",
    lambda grad_output, self, weight: kernels.prelu_backward(grad_output, self, weight),
    tensors="grad_output self weight",
    outputs=2,
    batch="broadcast",
)
PRELU_BACKWARD.joint("grad_output self weight", _prelu_backward_grads)
PRELU = elementwise("prelu_kernel", kernels.prelu, params="self weight", tensors="self weight")
PRELU.joint("self weight", lambda grad, self, weight: PRELU_BACKWARD.apply((grad, self, weight)))


def prelu(input: Any, weight: Any) -> Any:
    """``input`` where positive, else ``weight * input`` with a weight for each channel, dimension 1, or a single one.

    Source: ``torch.nn.functional.prelu``.
    """
    if not isinstance(weight, TensorBase):
        raise noted(TypeError(f"prelu(): argument 'weight' (position 2) must be Tensor, not {type(weight).__name__}"))
    weights: Any = weight
    kind, other = _tensor("prelu", input).dtype, weights.dtype
    if kind is not other and not brought_together(input, weight):
        raise noted(
            RuntimeError(f"prelu: Type promoting not supported. Got {SCALAR_TYPE[kind]} and {SCALAR_TYPE[other]}")
        )
    size, count = shape_of(input), weight.array.size
    if count != 1:
        if not size:
            raise noted(RuntimeError("Not allow zero-dim input tensor."))
        channels = size[1] if len(size) > 1 else 1
        if channels != count:
            raise noted(
                RuntimeError(
                    "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                    f"{count} and channel size = {channels}."
                )
            )
    if weight.array.ndim > 1:
        raise noted(
            RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.array.ndim}")
        )
    if len(size) > 1:
        weights = weights.view(1, count, *[1] * (len(size) - 2))
    elif not size and weights.array.ndim:
        weights = weights.view(())
    return PRELU.apply((input, weights))


FUNCTIONS = ["relu", "relu_", "threshold", "threshold_", "hardshrink", "prelu", *smooth.FUNCTIONS]
METHODS = {"relu": relu, "relu_": relu_, "hardshrink": hardshrink, "prelu": prelu}
FUNCTIONAL = {
    "relu": relu,
    "relu_": relu_,
    "threshold": threshold,
    "threshold_": threshold_,
    "leaky_relu": leaky_relu,
    "leaky_relu_": leaky_relu_,
    "hardtanh": hardtanh,
    "hardtanh_": hardtanh_,
    "relu6": relu6,
    "hardsigmoid": hardsigmoid,
    "hardswish": hardswish,
    "hardshrink": hardshrink,
    "softshrink": softshrink,
    "prelu": prelu,
    **smooth.FUNCTIONAL,
}
globals().update(FUNCTIONAL)

if TYPE_CHECKING:  # names that a loop above gives

    def __getattr__(name: str) -> Any: ...
