"""The arguments of convolutions, checked in torch's order and with its words."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.dtypes import SCALAR_TYPE, boolean
from livetape.kernels.select import refuse
from livetape.ops.autocasting import brought_together
from livetape.ops.dims import as_int, is_integer, no_overload

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


def check_types(input: Any, weight: Any, bias: Any) -> None:
    kind = input.dtype
    if kind is boolean:
        raise noted(refuse("slow_conv2d_cpu", kind.np))
    if bias is not None and not brought_together(input, bias):
        _refuse_bias(kind, bias)
    if weight.dtype is not kind and not brought_together(input, weight):
        if not (kind.is_floating_point or kind.is_complex):
            raise noted(RuntimeError(f"expected scalar type {SCALAR_TYPE[kind]} but found {SCALAR_TYPE[weight.dtype]}"))
        raise noted(
            RuntimeError(
                f"Input type ({_type_name(input)}) and weight type ({_type_name(weight)}) should be the "
                "same or input should be a MKLDNN tensor and weight is a dense tensor"
            )
        )


def _refuse_bias(kind: Any, bias: Any) -> None:
    if bias.dtype is not kind:
        raise noted(
            RuntimeError(
                f"Input type ({_C_NAMES.get(kind.name, kind.name)}) and bias type "
                f"({_C_NAMES.get(bias.dtype.name, bias.dtype.name)}) should be the same"
            )
        )
