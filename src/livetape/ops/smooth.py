"""Smooth activations: elu and its kin, gelu, silu, mish, softplus, logsigmoid and glu."""

from __future__ import annotations

import math
from typing import Any

from livetape._tape.explain import argument_error, noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.kernels import activation as kernels
from livetape.ops.dims import wrap_dim
from livetape.ops.joining import cat
from livetape.ops.table import elementwise, into, row


def _tensor(name: str, input: Any) -> Any:
    """``input``, or torch's TypeError if it is no tensor."""
    if isinstance(input, TensorBase):
        return input
    raise noted(argument_error(name, 0, input))


# ---------------------------------------------------------------- elu, selu, celu
def _elu_second(
    grad: Any, grad_output: Any, self: Any, alpha: float, scale: float, input_scale: float, is_result: bool
) -> Any:
    below = self < 0
    if is_result:
        return grad * grad_output * input_scale * below
    low = (self.clamp(max=0) * input_scale).exp()
    return grad * grad_output * (low * (alpha * scale * input_scale * input_scale) * below)


ELU_BACKWARD = elementwise(
    "elu_backward",
    kernels.elu_backward,
    tensors="grad_output self",
    params="grad_output self alpha scale input_scale is_result",
    grad_output=lambda grad, self, alpha, scale, input_scale, is_result: ELU_BACKWARD.apply(
        (grad, self, alpha, scale, input_scale, is_result)
    ),
    self=_elu_second,
)


def _elu_self(grad: Any, self: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return ELU_BACKWARD.apply((grad, self, alpha, scale, input_scale, False))


def _elu_result(grad: Any, result: Any, alpha: float, scale: float, input_scale: float) -> Any:
    if alpha < 0:
        raise noted(
            RuntimeError(
                "In-place elu backward calculation is triggered with a negative slope which is not supported. This is "
                "caused by calling in-place forward function with a negative slope, please call out-of-place version "
                "instead."
            )
        )
    return ELU_BACKWARD.apply((grad, result, alpha, scale, input_scale, True))


_ELU = "self alpha scale input_scale"
ELU = elementwise("elu", kernels.elu, params=_ELU, self=_elu_self)
ELU_ = elementwise("elu", kernels.elu, params=_ELU, node="EluBackward1", key="elu.inplace", self=_elu_result)
CELU = elementwise("celu", kernels.elu, params=_ELU, self=_elu_self)
CELU_ = elementwise("celu", kernels.elu, params=_ELU, node="CeluBackward1", key="celu.inplace", self=_elu_result)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """``input`` where positive, else ``alpha * (exp(input) - 1)`` (source: ``torch.nn.functional.elu``)."""
    if inplace:
        return elu_(input, alpha)
    return ELU.apply((_tensor("elu", input), float(alpha), 1.0, 1.0))


def elu_(input: Any, alpha: float = 1.0) -> Any:
    """In-place `elu`."""
    return ELU_.inplace(_tensor("elu_", input), float(alpha), 1.0, 1.0)


def selu(input: Any, inplace: bool = False) -> Any:
    """`elu` with the alpha and scale that keep mean 0 and variance 1 (source: ``torch.nn.functional.selu``)."""
    if inplace:
        return selu_(input)
    return ELU.apply((_tensor("selu", input), kernels.SELU_ALPHA, kernels.SELU_SCALE, 1.0))


def selu_(input: Any) -> Any:
    """In-place `selu`."""
    return ELU_.inplace(_tensor("selu_", input), kernels.SELU_ALPHA, kernels.SELU_SCALE, 1.0)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """``input`` where positive, else ``alpha * (exp(input / alpha) - 1)`` (source: ``torch.nn.functional.celu``)."""
    if inplace:
        return celu_(input, alpha)
    return CELU.apply((_tensor("celu", input), float(alpha), 1.0, _inverse(alpha)))


def celu_(input: Any, alpha: float = 1.0) -> Any:
    """In-place `celu`."""
    return CELU_.inplace(_tensor("celu_", input), float(alpha), 1.0, _inverse(alpha))


def _inverse(alpha: float) -> float:
    if alpha == 0:
        raise noted(RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU"))
    return 1.0 / alpha


# ---------------------------------------------------------------- gelu
_DENSITY = 1 / math.sqrt(2 * math.pi)
_SCALE, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _gelu_second(grad: Any, grad_output: Any, self: Any) -> Any:
    square = self * self
    return grad * grad_output * ((square * -0.5).exp() * (2.0 - square) * _DENSITY)


def _gelu_tanh_second(grad: Any, grad_output: Any, self: Any) -> Any:
    square = self * self
    t = (self * (square * _CUBE + 1.0) * _SCALE).tanh()
    inner = square * (3 * _CUBE * _SCALE) + _SCALE  # the slope of tanh's argument
    bend = self * (6 * _CUBE * _SCALE)
    slope = 1.0 - t * t
    return grad * grad_output * (slope * (inner + self * (bend * 0.5 - t * inner * inner)))


GELU_BACKWARD = elementwise(
    "gelu_backward",
    kernels.gelu_backward,
    tensors="grad_output self",
    params="grad_output self",
    grad_output=lambda grad, self: GELU_BACKWARD.apply((grad, self)),
    self=_gelu_second,
)
GELU_TANH_BACKWARD = elementwise(
    "gelu_backward",
    kernels.gelu_tanh_backward,
    tensors="grad_output self",
    params="grad_output self",
    key="gelu_backward.tanh",
    grad_output=lambda grad, self: GELU_TANH_BACKWARD.apply((grad, self)),
    self=_gelu_tanh_second,
)
GELU = elementwise("gelu", kernels.gelu, params="self", self=lambda grad, self: GELU_BACKWARD.apply((grad, self)))
GELU_TANH = elementwise(
    "gelu",
    kernels.gelu_tanh,
    params="self",
    key="gelu.tanh",
    self=lambda grad, self: GELU_TANH_BACKWARD.apply((grad, self)),
)


def gelu(input: Any, *, approximate: str = "none", out: Any = None) -> Any:
    """``input`` times the normal distribution function, or its tanh approximation (``approximate="tanh"``).

    Source: ``torch.nn.functional.gelu``.
    """
    if out is not None:
        return into(out, gelu, input, approximate=approximate)
    if approximate == "none":
        return GELU.call1(input)
    if approximate != "tanh":
        raise noted(RuntimeError("approximate argument must be either none or tanh."))
    return GELU_TANH.call1(input)


# ---------------------------------------------------------------- silu, mish
def _silu_second(grad: Any, grad_output: Any, self: Any) -> Any:
    s = self.sigmoid()
    return grad * grad_output * (s * (1.0 - s) * (self * (1.0 - 2.0 * s) + 2.0))


def _mish_second(grad: Any, grad_output: Any, self: Any) -> Any:
    s, t = self.sigmoid(), softplus(self).tanh()
    slope = s * (1.0 - t * t)
    return grad * grad_output * (slope * (self * (1.0 - s - 2.0 * t * s) + 2.0))


SILU_BACKWARD = elementwise(
    "silu_backward",
    kernels.silu_backward,
    tensors="grad_output self",
    params="grad_output self",
    grad_output=lambda grad, self: SILU_BACKWARD.apply((grad, self)),
    self=_silu_second,
)
SILU = elementwise("silu", kernels.silu, params="self", self=lambda grad, self: SILU_BACKWARD.apply((grad, self)))
MISH_BACKWARD = elementwise(
    "mish_backward",
    kernels.mish_backward,
    tensors="grad_output self",
    params="grad_output self",
    grad_output=lambda grad, self: MISH_BACKWARD.apply((grad, self)),
    self=_mish_second,
)
MISH = elementwise("mish", kernels.mish, params="self", self=lambda grad, self: MISH_BACKWARD.apply((grad, self)))


def silu(input: Any, inplace: bool = False) -> Any:
    """``input * sigmoid(input)``, also called swish (source: ``torch.nn.functional.silu``)."""
    return SILU.inplace(_tensor("silu_", input)) if inplace else SILU.call1(input)


def mish(input: Any, inplace: bool = False) -> Any:
    """``input * tanh(softplus(input))`` (source: ``torch.nn.functional.mish``)."""
    return MISH.inplace(_tensor("mish_", input)) if inplace else MISH.call1(input)


# ---------------------------------------------------------------- softplus, logsigmoid
def _softplus_second(grad: Any, grad_output: Any, self: Any, beta: float, threshold: float) -> Any:
    s = (self * beta).sigmoid()
    return grad * grad_output * (s * (1.0 - s) * ((self * beta <= threshold) * beta))


SOFTPLUS_BACKWARD = elementwise(
    "softplus_backward",
    kernels.softplus_backward,
    tensors="grad_output self",
    params="grad_output self beta threshold",
    grad_output=lambda grad, self, beta, threshold: SOFTPLUS_BACKWARD.apply((grad, self, beta, threshold)),
    self=_softplus_second,
)
SOFTPLUS = elementwise(
    "softplus",
    kernels.softplus,
    params="self beta threshold",
    self=lambda grad, self, beta, threshold: SOFTPLUS_BACKWARD.apply((grad, self, beta, threshold)),
)


def softplus(input: Any, beta: float = 1, threshold: float = 20, *, out: Any = None) -> Any:
    """``log(1 + exp(beta * input)) / beta``, and ``input`` where ``beta * input`` is above ``threshold``.

    Source: ``torch.nn.functional.softplus``.
    """
    if out is not None:
        return into(out, softplus, input, beta, threshold)
    return SOFTPLUS.apply((_tensor("softplus", input), beta, threshold))


def _log_sigmoid_second(grad: Any, grad_output: Any, self: Any) -> Any:
    s = self.sigmoid()
    return grad * grad_output * (s * (s - 1.0))


LOG_SIGMOID_BACKWARD = elementwise(
    "log_sigmoid_backward",
    kernels.log_sigmoid_backward,
    tensors="grad_output self",
    params="grad_output self",
    grad_output=lambda grad, self: LOG_SIGMOID_BACKWARD.apply((grad, self)),
    self=_log_sigmoid_second,
)
LOG_SIGMOID = elementwise(
    "log_sigmoid", kernels.log_sigmoid, params="self", self=lambda grad, self: LOG_SIGMOID_BACKWARD.apply((grad, self))
)


def logsigmoid(input: Any, *, out: Any = None) -> Any:
    """``log(sigmoid(input))`` without overflow (source: ``torch.nn.functional.logsigmoid``)."""
    if out is not None:
        return into(out, logsigmoid, input)
    return LOG_SIGMOID.call1(input)


# ---------------------------------------------------------------- made of other operations
def tanhshrink(input: Any) -> Any:
    """``input - tanh(input)`` (source: ``torch.nn.functional.tanhshrink``)."""
    return input - input.tanh()


def softsign(input: Any) -> Any:
    """``input / (1 + abs(input))`` (source: ``torch.nn.functional.softsign``)."""
    return input / (input.abs() + 1)


# ---------------------------------------------------------------- glu
def _glu_backward_grad(grad: Any, self: Any, dim: int) -> Any:
    left, right = self.chunk(2, dim)
    to_left, to_right = grad.chunk(2, dim)
    s = right.sigmoid()
    return s * (to_left + to_right * left * (1.0 - s))


def _glu_backward_self(grad: Any, grad_output: Any, self: Any, dim: int) -> Any:
    left, right = self.chunk(2, dim)
    to_left, to_right = grad.chunk(2, dim)
    s = right.sigmoid()
    slope = grad_output * s * (1.0 - s)
    return cat((slope * to_right, slope * (to_left + to_right * left * (1.0 - 2.0 * s))), dim)


GLU_BACKWARD = row(
    "glu_backward",
    lambda grad_output, self, dim: kernels.glu_backward(grad_output, self, dim),
    tensors="grad_output self",
    batch="dim",
    grad_output=_glu_backward_grad,
    self=_glu_backward_self,
)
GLU = row(
    "glu",
    lambda self, dim: kernels.glu(self, dim),
    batch="dim",
    self=lambda grad, self, dim: GLU_BACKWARD.apply((grad, self, dim)),
)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half along ``dim`` times the sigmoid of the second (source: ``torch.nn.functional.glu``)."""
    if not isinstance(input, TensorBase):
        raise AttributeError(f"'{type(input).__name__}' object has no attribute 'dim'")
    size = shape_of(input)
    if not size:
        raise noted(RuntimeError("glu does not support scalars because halving size must be even"))
    axis = wrap_dim(dim, len(size), "glu", position=2)
    if size[axis] % 2:
        raise noted(RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {size[axis]}"))
    return GLU.apply((input, axis))


FUNCTIONS = ["celu", "celu_", "selu", "selu_"]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {
    "elu": elu,
    "elu_": elu_,
    "selu": selu,
    "selu_": selu_,
    "celu": celu,
    "celu_": celu_,
    "gelu": gelu,
    "silu": silu,
    "mish": mish,
    "softplus": softplus,
    "logsigmoid": logsigmoid,
    "tanhshrink": tanhshrink,
    "softsign": softsign,
    "glu": glu,
}
