"""The sizes that pooling functions are given, and torch's words for those that do not fit."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import argument_error, noted
from livetape._tape.tensor import TensorBase
from livetape.kernels import pooling as kernels
from livetape.ops.dims import as_int, is_integer

_TENSOR_DIMS = {2: "3D or 4D", 3: "4D or 5D"}
_COUNT = {2: "two", 3: "three"}
_AXES = {2: ("H", "W"), 3: ("T", "H", "W")}


def need_tensor(name: str, input: Any) -> Any:
    if isinstance(input, TensorBase):
        return input
    raise noted(argument_error(name, 0, input))


def per_dim(name: str, what: str, value: Any, dims: int, words: str = "must either be") -> tuple[int, ...]:
    """An int, or a sequence of one or ``dims`` ints, as ``dims`` ints."""
    if type(value) is int:
        return (value,) * dims
    if is_integer(value):
        return (as_int(value),) * dims
    if not isinstance(value, (tuple, list)):
        raise noted(TypeError(f"{name}(): argument '{what}' must be tuple of ints, not {type(value).__name__}"))
    if any(not is_integer(v) for v in value):
        kind = next(type(v).__name__ for v in value if not is_integer(v))
        raise noted(
            TypeError(f"{name}(): argument '{what}' must be tuple of ints, but found element of type {kind} at pos 0")
        )
    if len(value) == 1:
        return (as_int(value[0]),) * dims
    if len(value) != dims:
        raise noted(RuntimeError(f"{name}: {what} {words} a single int, or a tuple of {_COUNT[dims]} ints"))
    return tuple([as_int(v) for v in value])


def one_int(name: str, what: str, value: Any) -> int:
    if is_integer(value):
        return as_int(value)
    if isinstance(value, (tuple, list)) and len(value) == 1 and is_integer(value[0]):
        return as_int(value[0])
    if isinstance(value, (tuple, list)):
        raise noted(RuntimeError(f"{name}() argument '{what}' should contain one int (got {len(value)})"))
    raise noted(TypeError(f"{name}(): argument '{what}' must be tuple of ints, not {type(value).__name__}"))


def window_sizes(
    name: str, input: Any, dims: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[int, ...]:
    """The spatial size of the output, after torch's checks."""
    size = input.array.shape
    if not all(stride):
        raise noted(RuntimeError("stride should not be zero"))
    axes = _AXES[dims]
    for what, numbers in (("kernel size", kernel), ("stride", stride)):
        if any(n <= 0 for n in numbers):
            letter = "k" if what == "kernel size" else "d"
            raise noted(
                RuntimeError(
                    f"{what} should be greater than zero, but got "
                    + " ".join(f"{letter}{axis}: {n}" for axis, n in zip(axes, numbers))
                )
            )
    if any(d <= 0 for d in dilation):
        raise noted(
            RuntimeError(
                "dilation should be greater than zero, but got "
                + " ".join(f"dilation{axis}: {n}" for axis, n in zip(axes, dilation))
            )
        )
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise noted(RuntimeError(f"pad must be non-negative, but got pad: {p}"))
        if p > (d * (k - 1) + 1) // 2:
            raise noted(
                RuntimeError(
                    "pad should be at most half of effective kernel size, but got "
                    f"pad={p}, kernel_size={k} and dilation={d}"
                )
            )
    if len(size) not in (dims + 1, dims + 2):
        raise noted(RuntimeError(f"non-empty {_TENSOR_DIMS[dims]} (batch mode) tensor expected for input"))
    inner = size[-dims - 1 :]
    if not all(inner):
        if dims == 2:
            raise noted(
                RuntimeError(
                    f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(size)}"
                )
            )
        label = "max_pool3d_with_indices_out_cpu_template" if name == "max_pool3d" else name
        raise noted(
            RuntimeError(
                f"{label}(): Expected input's non-batch dimensions to have positive length, but input has a "
                f"shape of {list(size)} and non-batch dimension {inner.index(0)} has length zero!"
            )
        )
    if name == "avg_pool3d" and any(n + 2 * p < k for n, p, k in zip(inner[1:], padding, kernel)):
        have, want = (
            " ".join(f"{prefix}{axis}: {n}" for axis, n in zip(axes, numbers))
            for prefix, numbers in (("", inner[1:]), ("k", kernel))
        )
        raise noted(RuntimeError(f"input image ({have}) smaller than kernel size ({want})"))
    out = tuple([kernels.pooled_size(*args, ceil_mode) for args in zip(inner[1:], kernel, stride, padding, dilation)])
    if any(o < 1 for o in out):
        shown = ["x".join(map(str, (inner[0], *numbers))) for numbers in (inner[1:], out)]
        raise noted(
            RuntimeError(
                f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small"
            )
        )
    return out


def expect_2_to_3(name: str, input: Any) -> None:
    ndim = need_tensor(name, input).array.ndim
    if ndim not in (2, 3):
        raise noted(
            RuntimeError(
                f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 'self' "
                f"(while checking arguments for {name})"
            )
        )
