"""What functions that make tensors have in common: sizes as arguments, and options such as dtype and device."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted, with_note
from livetape._tape.modes import is_recording
from livetape._tape.tensor import TensorBase, counter_of, wrap
from livetape._tape.views import check_distinct, needs_gradient
from livetape.device import require_cpu
from livetape.dtypes import FLOAT, SCALAR_TYPE, boolean, complex128, default, dtype, float64, int64
from livetape.kernels.layouts import empty_alike
from livetape.layout import layout as layout_type
from livetape.layout import memory_format as format_type
from livetape.layout import preserve_format, strided
from livetape.ops.dims import as_int, is_integer

NOT_DIFFERENTIABLE = "Only Tensors of floating point and complex dtype can require gradients"
_PYTHON = {float: float64, int: int64, bool: boolean, complex: complex128}


def ints(name: str, args: tuple[Any, ...], given: Any = None, argument: str = "size") -> tuple[int, ...]:
    """Several integers, given as arguments of their own, as one sequence, or by the keyword ``argument``."""
    if given is not None:
        if args:
            raise noted(TypeError(f"{name}() got multiple values for argument '{argument}'"))
        if type(given) is int:
            given = (given,)
    elif len(args) == 1:
        given = args if type(args[0]) is int else args[0]
    elif not args:
        raise noted(TypeError(f'{name}() missing 1 required positional arguments: "{argument}"'))
    else:
        given = args
        if isinstance(args[0], (tuple, list)):
            raise noted(TypeError(f"{name}() takes 1 positional argument but {len(args)} were given"))
    if not isinstance(given, (tuple, list)):
        if isinstance(given, TensorBase) and given.array.dtype.kind in "iu" and given.array.size == 1:
            return (int(given.array.reshape(())),)
        if is_integer(given):
            return (as_int(given),)
        raise noted(
            TypeError(f"{name}(): argument '{argument}' (position 1) must be tuple of ints, not {type(given).__name__}")
        )
    for value in given:
        if type(value) is not int:
            break
    else:
        return tuple(given)
    found = []
    for at, value in enumerate(given):
        if is_integer(value) or (at and isinstance(value, bool)):
            found.append(as_int(value))
        elif at:
            raise noted(
                TypeError(
                    f"{name}(): argument '{argument}' failed to unpack the object at pos {at + 1} with error "
                    f'"type must be tuple of ints,but got {type(value).__name__}"'
                )
            )
        else:
            what = f"but found element of type {type(value).__name__} at pos 0"
            raise noted(TypeError(f"{name}(): argument '{argument}' (position 1) must be tuple of ints, {what}"))
    return tuple(found)


def sizes(name: str, args: tuple[Any, ...], size: Any = None, argument: str = "size") -> tuple[int, ...]:
    """The size of a new tensor: several integers, one sequence of them, or the keyword ``size``."""
    if size is None and args:
        given = args[0] if len(args) == 1 and type(args[0]) is not int else args
        if isinstance(given, (tuple, list)):
            for n in given:
                if type(n) is not int or n < 0:
                    break
            else:
                return tuple(given)
    found = ints(name, args, size, argument)
    for n in found:
        if n < 0:
            if name == "zeros":
                raise noted(RuntimeError("zeros: Dimension size must be non-negative."))
            raise noted(RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(found)}"))
    return found


def kind_of(name: str, kind: Any, unset: dtype | None = None) -> dtype:
    """The argument ``dtype``; Python's own types stand for torch's; ``unset`` (or the default dtype) for None."""
    if type(kind) is dtype:
        return kind
    if kind is None:
        return unset if unset is not None else default.dtype
    found = _PYTHON.get(kind) if isinstance(kind, type) else None
    if found is None:
        raise noted(TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(kind).__name__}"))
    return found


def finish(
    name: str,
    array: Any,
    kind: dtype,
    device: Any = None,
    requires_grad: Any = False,
    layout: Any = None,
    pin_memory: Any = False,
    out: Any = None,
) -> Any:
    """A tensor around a new array, once all options are found right."""
    if out is not None:
        return _into_out(name, array, kind, out)
    if device is not None:
        require_cpu(device, name)
    if layout is not None and layout is not strided:
        _check_layout(name, layout)
    if pin_memory is not False:
        check_pinned(name, pin_memory)
    made = wrap(array, kind, None)
    if requires_grad is not False:
        require_gradient(name, made, requires_grad)
    return made


def require_gradient(name: str, made: Any, requires_grad: Any) -> None:
    """Set requires_grad of a new tensor to an argument of that name."""
    if not isinstance(requires_grad, bool):
        raise noted(TypeError(f"{name}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"))
    if requires_grad and made.dtype.category < FLOAT:
        raise noted(RuntimeError(NOT_DIFFERENTIABLE))
    made.recorded = requires_grad


def _check_layout(name: str, layout: Any) -> None:
    if not isinstance(layout, layout_type):
        raise noted(TypeError(f"{name}(): argument 'layout' must be torch.layout, not {type(layout).__name__}"))
    hint = "livetape: tensors are dense; use layout=torch.strided, or leave the argument out."
    raise with_note(noted(NotImplementedError(f"{name}(): layout {layout!r} is not supported")), hint)


def check_pinned(name: str, pin_memory: Any) -> None:
    """Raise torch's error unless ``pin_memory`` is false: there is no other processor to pin memory for."""
    if pin_memory is None:
        return
    if not isinstance(pin_memory, bool):
        raise noted(TypeError(f"{name}(): argument 'pin_memory' must be bool, not {type(pin_memory).__name__}"))
    if pin_memory:
        raise noted(
            RuntimeError(
                "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator "
                "is available on this system."
            )
        )


_UNIFORM = ("empty", "ones", "zeros", "full", "eye", "randperm")  # what torch writes without a look at shared memory


def _into_out(name: str, array: Any, kind: dtype, out: Any) -> Any:
    if not isinstance(out, TensorBase):
        raise noted(TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}"))
    if needs_gradient(out) and is_recording():
        raise noted(
            RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but "
                "one of "
                "the arguments requires grad."
            )
        )
    if array.shape != out.array.shape:  # these functions resize their output without a word
        out.array = np.empty(array.shape, out.dtype.np)
        out._size = None
    elif name == "empty":
        return out
    if name not in _UNIFORM:
        check_distinct(out.array)
    np.copyto(out.array, array, casting="unsafe")
    counter_of(out).bump()
    return out


def kind_or_out(name: str, kind: Any, out: Any, unset: dtype | None = None) -> dtype:
    """The argument ``dtype``, or else the dtype of ``out``: both must agree."""
    if out is None or not isinstance(out, TensorBase):
        return kind_of(name, kind, unset)
    if kind is not None and kind_of(name, kind) is not out.dtype:
        raise noted(
            RuntimeError(
                f"dtype {SCALAR_TYPE[kind_of(name, kind)]} does not match dtype of out parameter ({SCALAR_TYPE[out.dtype]})"
            )
        )
    return out.dtype


def need_tensor(name: str, value: Any, argument: str = "input", position: int = 1) -> None:
    """Raise torch's TypeError unless an argument is a tensor."""
    if not isinstance(value, TensorBase):
        raise noted(
            TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
            )
        )


def empty_like(name: str, like: Any, kind: dtype, memory_format: Any = None) -> Any:
    """An array of another's shape, laid out in memory as it is unless a format says otherwise."""
    array = like.array
    if memory_format is not None and memory_format is not preserve_format:
        check_format(name, memory_format, array.ndim)
        return np.empty(array.shape, kind.np)
    return empty_alike(array, kind.np)


def check_format(name: str, memory_format: Any, ndim: int) -> None:
    """Raise torch's error for a memory format that a tensor of ``ndim`` dimensions cannot have."""
    if not isinstance(memory_format, format_type):
        raise noted(
            TypeError(
                f"{name}(): argument 'memory_format' must be torch.memory_format, not {type(memory_format).__name__}"
            )
        )
    need = {"channels_last": 4, "channels_last_3d": 5}.get(memory_format._name, ndim)
    if ndim != need:
        raise noted(RuntimeError(f"required rank {need} tensor to use {memory_format._name} format"))


def number_of(name: str, value: Any, argument: str, position: int) -> Any:
    """An argument that torch calls a Number, as a Python number."""
    if type(value) in (int, float, bool, complex):
        return value
    if isinstance(value, TensorBase):
        if value.array.ndim == 0:
            if value.recorded:
                raise noted(RuntimeError("Cannot convert a tensor that requires grad to a Number"))
            return value.array.item()
    elif isinstance(value, (np.generic, int, float, complex)):
        return value.item() if isinstance(value, np.generic) else value
    raise noted(
        TypeError(f"{name}(): argument '{argument}' (position {position}) must be Number, not {type(value).__name__}")
    )


_C_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "bool": "bool",
}


def fits(value: Any, kind: dtype, label: str | None = None) -> None:
    """Raise torch's error for a number that overflows the dtype."""
    label = label or _C_TYPES.get(kind.name, kind.name + "_t")
    if kind.category == FLOAT:
        if isinstance(value, complex) and value.imag != 0:
            raise noted(RuntimeError(f"value cannot be converted to type {label} without overflow"))
        return
    if kind.category > FLOAT or kind is boolean:
        return
    if isinstance(value, complex):
        if value.imag != 0:
            raise noted(RuntimeError(f"value cannot be converted to type {label} without overflow"))
        value = value.real
    bits = kind.itemsize * 8
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind.is_signed else (0, 2**bits - 1)
    if not kind.is_signed:
        low = -high  # negative numbers wrap around
    if value != value or not low <= int(value) <= high if not _infinite(value) else True:
        raise noted(RuntimeError(f"value cannot be converted to type {label} without overflow"))


def _infinite(value: Any) -> bool:
    return isinstance(value, float) and (value in (float("inf"), float("-inf")) or value != value)


def scalar_array(value: Any, kind: dtype, label: str | None = None) -> Any:
    """A number as a 0-d array of the dtype, converted as C converts."""
    fits(value, kind, label)
    if isinstance(value, complex) and kind.category <= FLOAT:
        value = value.real
    if kind.category < FLOAT:
        if kind is boolean:
            return np.array(bool(value))
        return np.array(int(value) & (2 ** (8 * kind.itemsize) - 1), f"u{kind.itemsize}").view(kind.np)
    return np.array(value, kind.np)
