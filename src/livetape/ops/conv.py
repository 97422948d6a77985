"""Convolutions and transposed convolutions in one to three dimensions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape.kernels import convolution as kernels
from livetape.ops.conv_options import check_shapes, check_types, expanded, other_dims, prepared
from livetape.ops.padding import constant_pad_nd
from livetape.ops.table import row


# ---------------------------------------------------------------- the rows
def _convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    if transposed:
        size = tuple(
            [
                (n - 1) * s - 2 * p + d * (k - 1) + o + 1
                for n, s, p, d, k, o in zip(
                    input.shape[2:], stride, padding, dilation, weight.shape[2:], output_padding
                )
            ]
        )
        return kernels.convolve_transposed(input, weight, bias, size, stride, padding, dilation, groups)
    return kernels.convolve(input, weight, bias, stride, padding, dilation, groups)


def _to_input(
    grad: Any, input_size: Any, weight: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int
) -> Any:
    """The gradient of the input is the other kind of convolution of the output's."""
    if transposed:
        return _fitted(_apply(grad, weight, stride, padding, dilation, groups), input_size)
    extra = tuple(
        [
            n - ((o - 1) * s - 2 * p + d * (k - 1) + 1)
            for n, o, s, p, d, k in zip(
                input_size[2:], grad.array.shape[2:], stride, padding, dilation, weight.array.shape[2:]
            )
        ]
    )
    return CONVOLUTION.apply((grad, weight, None, stride, padding, dilation, True, extra, groups))


def _apply(input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """A convolution that is not transposed, without bias."""
    return CONVOLUTION.apply((input, weight, None, stride, padding, dilation, False, (0,) * len(stride), groups))


def _fitted(tensor: Any, size: Any) -> Any:
    """The first places of a convolution's output: large output padding leaves room for more windows than there were."""
    for axis in range(2, len(size)):
        if tensor.array.shape[axis] != size[axis]:
            tensor = tensor.narrow(axis, 0, size[axis])
    return tensor


def _to_weight(
    grad: Any, input: Any, weight_size: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int
) -> Any:
    small, large = (input, grad) if transposed else (grad, input)
    return WEIGHT_GRADIENT.apply((small, large, tuple(weight_size[2:]), stride, padding, dilation, groups))


def _to_bias(grad: Any) -> Any:
    return grad.sum((0, *range(2, grad.array.ndim)))


CONVOLUTION = row(
    "convolution",
    _convolution,
    tensors="input weight bias",
    batch="convolution",
    input=_to_input,
    weight=_to_weight,
    bias=_to_bias,
    mixes=True,
)


def _back_to_output(
    grad: Any, grad_output_size: Any, input: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    return _fitted(_apply(input, grad, stride, padding, dilation, groups), grad_output_size)


def _back_to_input(
    grad: Any, grad_output: Any, input_size: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    return _to_input(grad_output, input_size, grad, stride, padding, dilation, False, groups)


# The gradient of a weight is linear in the output's gradient and in the input: its own gradients are convolutions.
WEIGHT_GRADIENT = row(
    "convolution_backward",
    lambda grad_output, input, kernel, stride, padding, dilation, groups: kernels.weight_gradient(
        grad_output, input, kernel, stride, padding, dilation, groups
    ),
    tensors="grad_output input",
    linear="each",
    batch="convolution_backward",
    grad_output=_back_to_output,
    input=_back_to_input,
)


# ---------------------------------------------------------------- the public functions
def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """Any convolution of a batch (source: ``torch.convolution``)."""
    dims = weight.array.ndim - 2
    if dims < 1:
        raise noted(RuntimeError("weight should have at least three dimensions"))
    stride, padding, dilation, output_padding = (
        expanded(tuple(value), dims, name)
        for name, value in (
            ("stride", stride),
            ("padding", padding),
            ("dilation", dilation),
            ("output_padding", output_padding),
        )
    )
    check_shapes(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    check_types(input, weight, bias, transposed)
    if bias is not None and bias.dtype is not input.dtype:
        bias = bias.to(input.dtype)
    return CONVOLUTION.apply((input, weight, bias, stride, padding, dilation, transposed, output_padding, groups))


def _conv(
    name: str, dims: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    batch, single, found = prepared(
        name, dims, input, weight, bias, False, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    around = found["padding"]
    if isinstance(around, str):
        batch, around = _named_padding(around, batch, weight, found["stride"], found["dilation"])
    result = convolution(
        batch, weight, bias, found["stride"], around, found["dilation"], False, (0,), found["groups"][0]
    )
    return result.squeeze(0) if single else result


def _named_padding(padding: str, input: Any, weight: Any, stride: Any, dilation: Any) -> tuple[Any, Any]:
    """The input and the padding on both sides that "same" and "valid" stand for."""
    if padding == "valid":
        return input, (0,)
    if padding != "same":
        raise noted(RuntimeError(f"Invalid padding string: '{padding}'"))
    if any(s != 1 for s in stride):
        raise noted(RuntimeError("padding='same' is not supported for strided convolutions"))
    if weight.array.ndim != input.array.ndim:
        raise noted(other_dims(input.array.shape, weight.array.shape))
    kernel = weight.array.shape[2:]
    dilation = expanded(dilation, len(kernel), "dilation")
    total = [d * (k - 1) for d, k in zip(dilation, kernel)]
    if all(t % 2 == 0 for t in total):
        return input, tuple([t // 2 for t in total])
    warnings.warn(
        "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of "
        "the input be created",
        UserWarning,
        stacklevel=4,
    )
    extra: list[int] = []
    for t in reversed(total):
        extra += [0, t % 2]
    return constant_pad_nd(input, extra), tuple([t // 2 for t in total])


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """(N, C, L) and weight (O, C / groups, K) give (N, O, l) (source: ``torch.nn.functional.conv1d``)."""
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """(N, C, H, W) and weight (O, C / groups, kH, kW) give (N, O, h, w) (source: ``torch.nn.functional.conv2d``).

    >>> import livetape as torch
    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """(N, C, D, H, W) and weight (O, C / groups, kD, kH, kW) (source: ``torch.nn.functional.conv3d``)."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _transposed(
    name: str,
    dims: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    batch, single, found = prepared(
        name,
        dims,
        input,
        weight,
        bias,
        True,
        stride=stride,
        padding=padding,
        output_padding=output_padding,
        groups=groups,
        dilation=dilation,
    )
    around, step, spread = (
        expanded(found[key], weight.array.ndim - 2, key) for key in ("output_padding", "stride", "dilation")
    )
    if any(o >= s and o >= d for o, s, d in zip(around, step, spread)):
        axes = ("depth", "height", "width")[-dims:] if dims > 1 else ("width",)
        words = [
            f"{what}_{axis}: {n}"
            for what, numbers in (("output_padding", around), ("stride", step), ("dilation", spread))
            for axis, n in zip(axes, numbers)
        ]
        raise noted(
            RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(words))
        )
    result = convolution(
        batch,
        weight,
        bias,
        found["stride"],
        found["padding"],
        found["dilation"],
        True,
        found["output_padding"],
        found["groups"][0],
    )
    return result.squeeze(0) if single else result


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The gradient of `conv1d` with respect to its input, as a layer.

    Source: ``torch.nn.functional.conv_transpose1d``.
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The gradient of `conv2d` with respect to its input, as a layer.

    Source: ``torch.nn.functional.conv_transpose2d``.
    """
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The gradient of `conv3d` with respect to its input, as a layer.

    Source: ``torch.nn.functional.conv_transpose3d``.
    """
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _conv_tbc(self: Any, weight: Any, bias: Any, pad: int) -> Any:
    found = kernels.convolve(self.transpose(1, 2, 0), weight.transpose(2, 1, 0), bias, (1,), (pad,), (1,), 1)
    return np.ascontiguousarray(found.transpose(2, 0, 1))


def _tbc_to_self(grad: Any, self_size: Any, weight: Any, pad: int) -> Any:
    size = (self_size[1], self_size[2], self_size[0])
    found = _to_input(grad.permute(1, 2, 0), size, weight.permute(2, 1, 0), (1,), (pad,), (1,), False, 1)
    return found.permute(2, 0, 1)


def _tbc_to_weight(grad: Any, self: Any, weight_size: Any, pad: int) -> Any:
    found = WEIGHT_GRADIENT.apply(
        (grad.permute(1, 2, 0), self.permute(1, 2, 0), (weight_size[0],), (1,), (pad,), (1,), 1)
    )
    return found.permute(2, 1, 0)


CONV_TBC = row(
    "conv_tbc",
    _conv_tbc,
    tensors="self weight bias",
    self=_tbc_to_self,
    weight=_tbc_to_weight,
    bias=lambda grad: grad.sum((0, 1)),
)


def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """A convolution of (time, batch, channels) with weight (K, C, O) (source: ``torch.nn.functional.conv_tbc``)."""
    return CONV_TBC.apply((input, weight, bias, pad))


FUNCTIONS = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "conv_tbc",
    "convolution",
]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {
    "conv1d": conv1d,
    "conv2d": conv2d,
    "conv3d": conv3d,
    "conv_transpose1d": conv_transpose1d,
    "conv_transpose2d": conv_transpose2d,
    "conv_transpose3d": conv_transpose3d,
    "conv_tbc": conv_tbc,
}
