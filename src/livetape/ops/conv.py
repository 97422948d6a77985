"""Convolutions and transposed convolutions in one to three dimensions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.tensor import TensorBase
from livetape.dtypes import SCALAR_TYPE, boolean
from livetape.kernels import convolution as kernels
from livetape.kernels.select import refuse
from livetape.ops.dims import as_int, is_integer, no_overload
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
        found = kernels.convolve_transposed(input, weight, size, stride, padding, dilation, groups)
    else:
        found = kernels.convolve(input, weight, stride, padding, dilation, groups)
    if bias is not None:
        found += bias.reshape(-1, *[1] * (found.ndim - 2))
    return found


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
    "convolution", _convolution, tensors="input weight bias", input=_to_input, weight=_to_weight, bias=_to_bias
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
    grad_output=_back_to_output,
    input=_back_to_input,
)


# ---------------------------------------------------------------- arguments
_FORMS = (
    "(Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, tuple of ints padding = 0, "
    "tuple of ints dilation = 1, int groups = 1)",
    '(Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, str padding = "valid", '
    "tuple of ints dilation = 1, int groups = 1)",
)
_TRANSPOSED_FORM = (
    "(Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, tuple of ints padding "
    "= 0, tuple of ints output_padding = 0, int groups = 1, tuple of ints dilation = 1)"
)


def _tuple(value: Any) -> tuple[int, ...] | None:
    """An int or a sequence of ints as a tuple, or None for anything else."""
    if type(value) is int:
        return (value,)
    if is_integer(value):
        return (as_int(value),)
    if isinstance(value, (tuple, list)) and all(is_integer(v) for v in value):
        return tuple([as_int(v) for v in value])
    return None


def _expanded(value: tuple[int, ...], dims: int, name: str) -> tuple[int, ...]:
    if len(value) == 1:
        return value * dims
    if len(value) != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the "
            f"convolution dimensions, but got {name}={list(value)}"
        )
    return value


def _prepared(name: str, dims: int, input: Any, weight: Any, bias: Any, transposed: bool, **numbers: Any) -> Any:
    """Check the arguments as torch does: (batched input, whether it was not batched, the numbers as tuples)."""
    given = (input, weight) if bias is None else (input, weight, bias)
    if not all(isinstance(value, TensorBase) for value in given):
        raise _no_form(name, input, weight, bias, transposed, numbers)
    found: dict[str, Any] = {}
    for key, value in numbers.items():
        whole = value if isinstance(value, str) and key == "padding" and not transposed else _tuple(value)
        if whole is None:
            raise _no_form(name, input, weight, bias, transposed, numbers)
        found[key] = whole * dims if type(value) is int and key != "groups" else whole
    ndim = input.array.ndim
    if ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input "
            f"of size: {list(input.array.shape)}"
        )
    single = ndim == dims + 1
    return (input.unsqueeze(0) if single else input), single, found


def _no_form(name: str, input: Any, weight: Any, bias: Any, transposed: bool, numbers: Any) -> TypeError:
    defaults = {"stride": 1, "padding": 0, "dilation": 1, "output_padding": 0, "groups": 1}
    kinds = [type(v).__name__ for v in (input, weight)]
    if bias is not None:
        kinds.append(type(bias).__name__)
    kinds += [f"{key}={type(value).__name__}" for key, value in numbers.items() if value != defaults.get(key)]
    forms = (_TRANSPOSED_FORM,) if transposed else _FORMS
    lines = "".join([f" * {form}\n" for form in forms])
    return (
        TypeError(
            f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected "
            f"one of:\n{lines}"
        )
        if not transposed
        else no_overload(name, [input, weight], *forms)
    )


def _check_shapes(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> None:
    size, kernel = list(input.array.shape), list(weight.array.shape)
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(p < 0 for p in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if len(kernel) != len(size):
        raise _other_dims(size, kernel)
    if kernel[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
            f"weight of size {kernel} instead"
        )
    if kernel[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
            f"got weight of size [{kernel}] instead"
        )
    channels = kernel[0] if transposed else kernel[1] * groups
    outputs = kernel[1] * groups if transposed else kernel[0]
    if size[1] != channels:
        kind = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {kind}, weight of size {kernel}, expected input{size} to have {channels} channels, "
            f"but got {size[1]} channels instead"
        )
    if bias is not None and bias.array.shape != (outputs,):
        kind = "Given transposed=1, " if transposed else "Given "
        raise RuntimeError(
            f"{kind}weight of size {kernel}, expected bias to be 1-dimensional with {outputs} elements, "
            f"but got bias of size {list(bias.array.shape)} instead"
        )
    if any(d < 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    if not all(dilation):
        raise RuntimeError("non-positive dilation is not supported")
    if transposed:
        return
    have = [n + 2 * p for n, p in zip(size[2:], padding)]
    need = [d * (k - 1) + 1 for d, k in zip(dilation, kernel[2:])]
    if any(n < k for n, k in zip(have, need)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, have))}). Kernel size: "
            f"({' x '.join(map(str, need))}). Kernel size can't be greater than actual input size"
        )


def _other_dims(size: Any, kernel: Any) -> RuntimeError:
    return RuntimeError(
        f"Expected {len(kernel)}-dimensional input for {len(kernel)}-dimensional weight{list(kernel)}, "
        f"but got {len(size)}-dimensional input of size {list(size)} instead"
    )


def _type_name(tensor: Any) -> str:
    return f"torch.{SCALAR_TYPE[tensor.dtype]}Tensor"


_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def _check_types(input: Any, weight: Any, bias: Any) -> None:
    kind = input.dtype
    if kind is boolean:
        raise refuse("slow_conv2d_cpu", kind.np)
    if bias is not None:
        _refuse_bias(kind, bias)
    if weight.dtype is not kind:
        if not (kind.is_floating_point or kind.is_complex):
            raise RuntimeError(f"expected scalar type {SCALAR_TYPE[kind]} but found {SCALAR_TYPE[weight.dtype]}")
        raise RuntimeError(
            f"Input type ({_type_name(input)}) and weight type ({_type_name(weight)}) should be the "
            "same or input should be a MKLDNN tensor and weight is a dense tensor"
        )


def _refuse_bias(kind: Any, bias: Any) -> None:
    if bias.dtype is not kind:
        raise RuntimeError(
            f"Input type ({_C_NAMES.get(kind.name, kind.name)}) and bias type "
            f"({_C_NAMES.get(bias.dtype.name, bias.dtype.name)}) should be the same"
        )


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
        raise RuntimeError("weight should have at least three dimensions")
    stride, padding, dilation, output_padding = (
        _expanded(tuple(value), dims, name)
        for name, value in (
            ("stride", stride),
            ("padding", padding),
            ("dilation", dilation),
            ("output_padding", output_padding),
        )
    )
    _check_shapes(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    _check_types(input, weight, bias)
    return CONVOLUTION.apply((input, weight, bias, stride, padding, dilation, transposed, output_padding, groups))


# ---------------------------------------------------------------- the public functions
def _conv(
    name: str, dims: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    batch, single, found = _prepared(
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
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    if weight.array.ndim != input.array.ndim:
        raise _other_dims(input.array.shape, weight.array.shape)
    kernel = weight.array.shape[2:]
    dilation = _expanded(dilation, len(kernel), "dilation")
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
    batch, single, found = _prepared(
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
        _expanded(found[key], weight.array.ndim - 2, key) for key in ("output_padding", "stride", "dilation")
    )
    if any(o >= s and o >= d for o, s, d in zip(around, step, spread)):
        axes = ("depth", "height", "width")[-dims:] if dims > 1 else ("width",)
        words = [
            f"{what}_{axis}: {n}"
            for what, numbers in (("output_padding", around), ("stride", step), ("dilation", spread))
            for axis, n in zip(axes, numbers)
        ]
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(words))
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
    found = kernels.convolve(self.transpose(1, 2, 0), weight.transpose(2, 1, 0), (1,), (pad,), (1,), 1)
    return np.ascontiguousarray(found.transpose(2, 0, 1)) + bias


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
