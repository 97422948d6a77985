"""Normalisation: layer, RMS, group and local response norms, and vectors of length one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import FLOAT, SCALAR_TYPE, dtype, float32
from livetape.kernels import normalization as kernels
from livetape.kernels.select import refuse
from livetape.ops.joining import cat
from livetape.ops.matrices import plus
from livetape.ops.refuse import must_be_tensors, must_have
from livetape.ops.table import into, row


# ---------------------------------------------------------------- second derivatives
def second_derivatives(
    grads: Any, grad_out: Any, input: Any, weight: Any, eps: float, axes: Any, shape: Any, over: Any
) -> Any:
    """The gradients of grad_out, input and weight, from those of the three gradients of a normalisation.

    ``axes`` are those it averages over, ``shape`` makes weight broadcast to the input, and ``over`` are the axes that
    the gradients of weight and bias are sums over.
    """
    to_input, to_weight, to_bias = grads
    centred = input - input.mean(axes, keepdim=True)
    rstd = ((centred * centred).mean(axes, keepdim=True) + eps).rsqrt()
    normal = centred * rstd
    scale = None if weight is None else weight.view(shape)
    by_grad = by_input = by_weight = None
    if to_input is not None:
        h = grad_out if scale is None else grad_out * scale
        mean_to, mean_h = to_input.mean(axes, keepdim=True), h.mean(axes, keepdim=True)
        cross_to, cross_h = (to_input * normal).mean(axes, keepdim=True), (h * normal).mean(axes, keepdim=True)
        projected = rstd * (to_input - mean_to - normal * cross_to)
        by_grad = projected if scale is None else projected * scale
        if scale is not None:
            by_weight = projected * grad_out
            if over:  # a sum over no axes would be over all
                by_weight = by_weight.sum(over)
        spread = (to_input * h).mean(axes, keepdim=True) - mean_to * mean_h - cross_to * cross_h
        by_normal = rstd * (to_input * cross_h + h * cross_to)
        by_input = -(rstd * rstd) * normal * spread
        by_input = by_input - rstd * (
            by_normal - by_normal.mean(axes, keepdim=True) - normal * (by_normal * normal).mean(axes, keepdim=True)
        )
    if to_weight is not None:
        turned = to_weight.view(shape)
        by_grad = plus(by_grad, turned * normal)
        along = turned * grad_out
        by_input = plus(
            by_input,
            rstd * (along - along.mean(axes, keepdim=True) - normal * (along * normal).mean(axes, keepdim=True)),
        )
    if to_bias is not None:
        by_grad = plus(by_grad, to_bias.view(shape).expand(shape_of(grad_out)))
    return by_grad, by_input, None if by_weight is None else by_weight.view(shape_of(weight))


# ---------------------------------------------------------------- layer norm
def _layer_axes(input: Any, normalized_shape: Any) -> tuple[Any, Any]:
    ndim = input.array.ndim
    start = ndim - len(normalized_shape)
    return tuple(range(start, ndim)), tuple(range(start))


def _layer_second(grads: Any, grad_out: Any, input: Any, normalized_shape: Any, weight: Any, eps: float) -> Any:
    axes, over = _layer_axes(input, normalized_shape)
    return second_derivatives(
        grads, grad_out, input, weight, eps, axes, (1,) * len(over) + tuple(normalized_shape), over
    )


LAYER_NORM_BACKWARD = row(
    "native_layer_norm_backward",
    lambda grad_out, input, normalized_shape, mean, rstd, weight, eps, wanted_: kernels.layer_norm_backward(
        grad_out, input, normalized_shape, mean, rstd, weight, wanted_
    ),
    tensors="grad_out input mean rstd weight",
    outputs=3,
    batch="layer_norm_backward",
)
LAYER_NORM_BACKWARD.joint("grad_out input weight", _layer_second)
LAYER_NORM = row(
    "native_layer_norm",
    kernels.layer_norm,
    params="input normalized_shape weight bias eps",
    tensors="input weight bias",
    outputs=3,
    batch="layer_norm",
    dense=True,
)
LAYER_NORM.joint(
    "input weight bias",
    lambda grad, input, normalized_shape, result1, result2, weight, eps, wanted: LAYER_NORM_BACKWARD.apply(
        (grad, input, normalized_shape, result1, result2, weight, eps, list(wanted))
    ),
)


def _check_normalized(input: Any, shape: Any, star: str, **params: Any) -> None:
    size = input.array.shape
    if not shape:
        raise noted(
            RuntimeError(
                "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                "element, but got normalized_shape = []"
            )
        )
    for name, value in params.items():
        if value is not None and value.array.shape != shape:
            raise noted(
                RuntimeError(
                    f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                    f"{list(value.array.shape)} and normalized_shape = {list(shape)}"
                )
            )
    if len(size) < len(shape) or size[len(size) - len(shape) :] != shape:
        raise noted(
            RuntimeError(
                f"Given normalized_shape={list(shape)}, expected input with shape [*{star}"
                f"{', '.join(map(str, shape))}], but got input of size{list(size)}"
            )
        )


def _shape_argument(name: str, value: Any) -> tuple[int, ...]:
    if type(value) is tuple:
        return value
    if not isinstance(value, (list, tuple)):
        raise noted(
            TypeError(
                f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {type(value).__name__}"
            )
        )
    return tuple(value)


def check_params(kind: dtype, *params: Any) -> None:
    """Weights have the input's dtype, or float32 where that is a half precision. Torch goes by the first one."""
    given = [value.dtype for value in params if value is not None]
    if not given:
        return
    if given[0] is not kind:
        if any(other is not float32 for other in given):
            raise noted(RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float"))
        if kind.itemsize != 2 or kind.category != FLOAT:
            raise noted(RuntimeError("mixed dtype (CPU): all inputs must share same datatype."))
    elif kind.category == FLOAT:
        for other in given:
            if other is not kind:
                raise noted(RuntimeError(f"expected scalar type {SCALAR_TYPE[kind]} but found {SCALAR_TYPE[other]}"))


def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """``input`` with mean 0 and variance 1 over the last dimensions, then scaled and shifted.

    Source: ``torch.nn.functional.layer_norm``.

    >>> import livetape as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([1., 3.]), (2,))
    tensor([-1.0000,  1.0000])
    """
    return _layer_norm("layer_norm", input, normalized_shape, weight, bias, eps)[0]


def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """`layer_norm` with the means and the reciprocal deviations (source: ``torch.native_layer_norm``)."""
    found = _layer_norm("native_layer_norm", input, normalized_shape, weight, bias, eps)
    return found[0], found[1].detach(), found[2].detach()


def _layer_norm(name: str, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    must_be_tensors(name, input=input)
    normalized_shape = _shape_argument(name, normalized_shape)
    if normalized_shape:
        check_params(input.dtype, weight, bias)
    _check_normalized(input, normalized_shape, ", ", weight=weight, bias=bias)
    return LAYER_NORM.apply((input, normalized_shape, weight, bias, eps))


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """``input`` over its root mean square along the last dimensions (source: ``torch.nn.functional.rms_norm``)."""
    must_be_tensors("rms_norm", input=input)
    shape = _shape_argument("rms_norm", normalized_shape)
    _check_normalized(input, shape, "", weight=weight)
    kind = input.dtype
    if kind.category < FLOAT:
        raise noted(refuse("rms_norm", kind.np))
    x = input.to(float32) if kind.itemsize == 2 else input
    if eps is None:
        eps = float(np.finfo(kind.to_real().np if kind.itemsize != 2 else np.float32).eps)
    ndim = x.array.ndim
    axes = tuple(range(ndim - len(shape), ndim))
    found = x * ((x * x).mean(axes, keepdim=True) + eps).rsqrt()
    if weight is not None:
        found = found * weight
    return found.to(kind) if found.dtype is not kind and kind.itemsize == 2 else found


# ---------------------------------------------------------------- group norm
def _group_second(
    grads: Any, grad_out: Any, input: Any, weight: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    inner = (N, group, C // group, HxW)
    size = shape_of(input)
    to_input = None if grads[0] is None else grads[0].reshape(inner)
    shape = (1, group, C // group, 1)
    by_grad, by_input, by_weight = second_derivatives(
        (to_input, grads[1], grads[2]),
        grad_out.reshape(inner),
        input.reshape(inner),
        weight,
        eps,
        (2, 3),
        shape,
        (0, 3),
    )
    return (
        None if by_grad is None else by_grad.reshape(size),
        None if by_input is None else by_input.reshape(size),
        by_weight,
    )


GROUP_NORM_BACKWARD = row(
    "native_group_norm_backward",
    lambda grad_out, input, mean, rstd, weight, N, C, HxW, group, eps, wanted_: kernels.group_norm_backward(
        grad_out, input, mean, rstd, weight, N, C, HxW, group, wanted_
    ),
    tensors="grad_out input mean rstd weight",
    outputs=3,
    batch="group_norm_backward",
)
GROUP_NORM_BACKWARD.joint("grad_out input weight", _group_second)
GROUP_NORM = row(
    "native_group_norm",
    kernels.group_norm,
    params="input weight bias N C HxW group eps",
    tensors="input weight bias",
    outputs=3,
    batch="group_norm",
)


def _group_backward(
    grads: Any,
    input: Any,
    result1: Any,
    result2: Any,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
    wanted: Any,
) -> Any:
    grad, to_mean, to_rstd = grads
    found: Any = (None, None, None)
    if grad is not None:
        found = GROUP_NORM_BACKWARD.apply((grad, input, result1, result2, weight, N, C, HxW, group, eps, list(wanted)))
    if (to_mean is None and to_rstd is None) or not wanted[0]:
        return found
    x = input.reshape(N, group, C // group * HxW)  # the statistics are results too
    mean = x.mean(2, keepdim=True)
    spread = 0 if to_mean is None else to_mean.unsqueeze(2)
    if to_rstd is not None:
        rstd = (((x - mean) * (x - mean)).mean(2, keepdim=True) + eps).rsqrt()
        spread = spread - to_rstd.unsqueeze(2) * rstd * rstd * rstd * (x - mean)
    more = (spread / x.array.shape[2]).expand_as(x).reshape(shape_of(input))
    return plus(found[0], more), *found[1:]


GROUP_NORM.joint("input weight bias", _group_backward)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Any:
    """(N, C, d...) with mean 0 and variance 1 over each group of channels, then scaled and shifted.

    Source: ``torch.nn.functional.group_norm``.
    """
    must_be_tensors("group_norm", input=input)
    size = input.array.shape
    if len(size) < 2:
        raise noted(RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(size)}"))
    if num_groups <= 0:
        raise noted(RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}"))
    if size[1] % num_groups:
        raise noted(
            RuntimeError(
                "Expected number of channels in input to be divisible by num_groups, but got input of shape "
                f"{list(size)} and num_groups={num_groups}"
            )
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.array.shape != (size[1],):
            shown = value if weight is None else weight  # torch shows the weight's shape for both
            raise noted(
                RuntimeError(
                    f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                    f"got {name} of shape {list(shown.array.shape)} and input of shape {list(size)}"
                )
            )
    check_params(input.dtype, weight, bias)
    return GROUP_NORM.apply((input, weight, bias, size[0], size[1], math.prod(size[2:]), num_groups, eps))[0]


def functional_group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`group_norm`, which refuses single values (source: ``torch.nn.functional.group_norm``)."""
    must_have("dim", input)
    size = shape_of(input)
    if len(size) < 2:
        raise noted(RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(size)}"))
    _refuse_single([size[0] * size[1] // num_groups, num_groups, *size[2:]], list(size))
    return group_norm(input, num_groups, weight, bias, eps)


def _refuse_single(size: Any, shown: Any) -> None:
    if math.prod((size[0], *size[2:])) == 1:
        raise noted(ValueError(f"Expected more than 1 value per channel when training, got input size {shown}"))


# ---------------------------------------------------------------- made of other operations
def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """``input`` over a power of the mean square of ``size`` neighbouring channels.

    Source: ``torch.nn.functional.local_response_norm``.
    """
    must_have("dim", input)
    ndim = input.array.ndim
    if ndim < 3:
        raise noted(
            ValueError(f"Expected 3D or higher dimensionality                          input (got {ndim} dimensions)")
        )
    if not input.array.size:
        return input
    squares = input * input
    channels = input.array.shape[1]
    total: Any = None
    for shift in range(-(size // 2), (size - 1) // 2 + 1):
        first, last = max(0, shift), min(channels, channels + shift)
        if first < last:
            part = squares.narrow(1, first, last - first)
            part = _padded_channels(part, max(0, -shift), max(0, shift))
            total = part if total is None else total + part
    mean = total.div(size) if input.dtype.is_floating_point else total.div(size, rounding_mode="trunc")
    return input / ((mean * alpha + k) ** beta)


def _padded_channels(part: Any, before: int, after: int) -> Any:
    """Zero channels before and after."""
    for count, first in ((before, True), (after, False)):
        if count:
            size = shape_of(part)
            nothing = part.new_zeros((size[0], count, *size[2:]))
            part = cat((nothing, part) if first else (part, nothing), 1)
    return part


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """``input`` over its p-norm along ``dim``, which is held at ``eps`` (source: ``torch.nn.functional.normalize``)."""
    if out is not None:
        return into(out, normalize, input, p, dim, eps)
    return input / input.norm(p, dim, True).clamp_min(eps).expand_as(input)


FUNCTIONS = [
    "layer_norm",
    "native_layer_norm",
    "rms_norm",
    "group_norm",
]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "group_norm": functional_group_norm,
    "local_response_norm": local_response_norm,
    "normalize": normalize,
}
