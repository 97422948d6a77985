"""The arguments of convolutions, checked in torch's order and with its words."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.dtypes import FLOAT, SCALAR_TYPE, bfloat16, boolean, float32, int64
from livetape.kernels.select import refuse
from livetape.ops.autocasting import brought_together
from livetape.ops.dims import as_int, is_integer
from livetape.ops.refuse import no_overload
from livetape.ops.signatures import refusal


def _tuple(value: Any) -> tuple[int, ...] | None:
    """An int or a sequence of ints as a tuple, or None for anything else."""
    if type(value) is int:
        return (value,)
    if is_integer(value):
        return (as_int(value),)
    if isinstance(value, (tuple, list)) and all(is_integer(v) for v in value):
        return tuple([as_int(v) for v in value])
    return None


def expanded(value: tuple[int, ...], dims: int, name: str) -> tuple[int, ...]:
    if len(value) == 1:
        return value * dims
    if len(value) != dims:
        raise noted(
            RuntimeError(
                f"expected {name} to be a single integer value or a list of {dims} values to match the "
                f"convolution dimensions, but got {name}={list(value)}"
            )
        )
    return value


def prepared(name: str, dims: int, input: Any, weight: Any, bias: Any, transposed: bool, **numbers: Any) -> Any:
    """Check the arguments as torch does: (batched input, whether it was not batched, the numbers as tuples)."""
    given = (input, weight) if bias is None else (input, weight, bias)
    if not all(isinstance(value, TensorBase) for value in given):
        raise noted(_no_form(name, input, weight, bias, transposed, numbers))
    found: dict[str, Any] = {}
    for key, value in numbers.items():
        whole = value if isinstance(value, str) and key == "padding" and not transposed else _tuple(value)
        if whole is None:
            raise noted(_no_form(name, input, weight, bias, transposed, numbers))
        found[key] = whole * dims if type(value) is int and key != "groups" else whole
    if bias is not None and not transposed and not isinstance(numbers["padding"], str):
        check_bias(input, bias)
    ndim = input.array.ndim
    if ndim not in (dims + 1, dims + 2):
        raise noted(
            RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input "
                f"of size: {list(input.array.shape)}"
            )
        )
    single = ndim == dims + 1
    return (input.unsqueeze(0) if single else input), single, found


def _no_form(name: str, input: Any, weight: Any, bias: Any, transposed: bool, numbers: Any) -> TypeError:
    """The error of a call with these arguments, given one after the other as modules give them."""
    order = ("stride", "padding", *(("output_padding", "groups", "dilation") if transposed else ("dilation", "groups")))
    return refusal(name, (input, weight, bias, *[numbers[key] for key in order]), {}) or no_overload(name)


def check_shapes(
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
        raise noted(RuntimeError("non-positive groups is not supported"))
    if any(p < 0 for p in padding):
        raise noted(RuntimeError("negative padding is not supported"))
    if any(s <= 0 for s in stride):
        raise noted(RuntimeError("non-positive stride is not supported"))
    if any(p < 0 for p in output_padding):
        raise noted(RuntimeError("negative output_padding is not supported"))
    if len(kernel) != len(size):
        raise noted(other_dims(size, kernel))
    if kernel[0] < groups:
        raise noted(
            RuntimeError(
                f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
                f"weight of size {kernel} instead"
            )
        )
    if kernel[0] % groups:
        raise noted(
            RuntimeError(
                f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
                f"got weight of size [{kernel}] instead"
            )
        )
    channels = kernel[0] if transposed else kernel[1] * groups
    outputs = kernel[1] * groups if transposed else kernel[0]
    if size[1] != channels:
        kind = "transposed=1" if transposed else f"groups={groups}"
        raise noted(
            RuntimeError(
                f"Given {kind}, weight of size {kernel}, expected input{size} to have {channels} channels, "
                f"but got {size[1]} channels instead"
            )
        )
    if bias is not None and bias.array.shape != (outputs,):
        kind = "Given transposed=1, " if transposed else "Given "
        raise noted(
            RuntimeError(
                f"{kind}weight of size {kernel}, expected bias to be 1-dimensional with {outputs} elements, "
                f"but got bias of size {list(bias.array.shape)} instead"
            )
        )
    if any(d < 0 for d in dilation):
        raise noted(RuntimeError("dilation should be greater than zero"))
    if not all(dilation):
        raise noted(RuntimeError("non-positive dilation is not supported"))
    if transposed:
        return
    have = [n + 2 * p for n, p in zip(size[2:], padding)]
    need = [d * (k - 1) + 1 for d, k in zip(dilation, kernel[2:])]
    if any(n < k for n, k in zip(have, need)):
        raise noted(
            RuntimeError(
                f"Calculated padded input size per channel: ({' x '.join(map(str, have))}). Kernel size: "
                f"({' x '.join(map(str, need))}). Kernel size can't be greater than actual input size"
            )
        )


def other_dims(size: Any, kernel: Any) -> RuntimeError:
    return RuntimeError(
        f"Expected {len(kernel)}-dimensional input for {len(kernel)}-dimensional weight{list(kernel)}, "
        f"but got {len(size)}-dimensional input of size {list(size)} instead"
    )


def _type_name(tensor: Any) -> str:
    name = SCALAR_TYPE[tensor.dtype]
    kind = tensor.dtype
    if kind is boolean or kind is bfloat16 or kind.is_complex:
        return f"CPU{name}Type"
    return f"torch.{name}Tensor"


_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int",
    "bool": "bool",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


_KERNELS = {
    (1, False): "slow_conv2d_cpu",
    (2, False): "slow_conv2d_cpu",
    (3, False): "compute_columns3d",
    (1, True): "slow_conv_transpose2d_out_cpu",
    (2, True): "slow_conv_transpose2d_out_cpu",
    (3, True): "slow_conv_transpose3d_out_cpu",
}


def check_types(input: Any, weight: Any, bias: Any, transposed: bool) -> None:
    """The types go to different libraries, and each has its own words."""
    kind = input.dtype
    if kind is boolean or (transposed and kind.category < FLOAT and kind is not int64):
        raise noted(refuse(_KERNELS[input.array.ndim - 2, transposed], kind.np))
    for what, other in (("weight", weight), ("bias", bias)):
        if other is None or other.dtype is kind or brought_together(input, other):
            continue
        if kind is float32 or kind.is_complex:
            text = f"Input type ({_type_name(input)}) and {what} type ({_type_name(other)}) should be the same"
            if kind is float32:
                text += f" or input should be a MKLDNN tensor and {what} is a dense tensor"
            raise noted(RuntimeError(text))
        if what == "weight":
            raise noted(RuntimeError(f"expected scalar type {SCALAR_TYPE[kind]} but found {SCALAR_TYPE[other.dtype]}"))
        if other.dtype.category > kind.category:
            raise noted(
                RuntimeError(
                    f"result type {SCALAR_TYPE[other.dtype]} can't be cast to the desired output type "
                    f"{SCALAR_TYPE[kind]}"
                )
            )


def check_bias(input: Any, bias: Any) -> None:
    """Looked at before all else, unless the padding is a word or the convolution transposed."""
    if bias.dtype is not input.dtype and not brought_together(input, bias):
        names = [_C_NAMES.get(kind.name, kind.name) for kind in (input.dtype, bias.dtype)]
        raise noted(RuntimeError(f"Input type ({names[0]}) and bias type ({names[1]}) should be the same"))
