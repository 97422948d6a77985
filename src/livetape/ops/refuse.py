"""Torch's words for arguments that an operation does not take."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from livetape._tape.explain import noted, type_name
from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase
from livetape.dtypes import FLOAT, SCALAR_TYPE, can_cast, dtype, of_numpy

# What C++ calls the types, in messages that come from templates ...
CXX_NAME = {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
# ... and in those about conversions.
_CONVERTED = {"int64": "int64_t", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t"}


def does_not_fit(kind: dtype) -> RuntimeError:
    """A number that a dtype cannot hold."""
    name = _CONVERTED.get(kind.name) or CXX_NAME.get(kind.name, kind.name)
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def check_fits(kind: dtype, value: Any) -> None:
    """Raise torch's error for a number that a dtype cannot hold."""
    if isinstance(value, complex):
        raise noted(RuntimeError("value cannot be converted to type double without overflow"))
    if kind.category == FLOAT:
        if -3e4 < value < 3e4 or value != value or value in (float("inf"), float("-inf")):
            return
        limit = 3.3895313892515355e38 if kind.name == "bfloat16" else float(np.finfo(kind.np).max)
        if not -limit <= value <= limit:
            raise noted(does_not_fit(kind))
        return
    if not -(2**63) <= value < 2**63:
        raise noted(OverflowError("int too big to convert"))
    info = np.iinfo(kind.np)
    if not (info.min if kind.is_signed else -int(info.max)) <= value <= info.max:
        raise noted(does_not_fit(kind))


def unsupported(label: str, array: Any, suffix: str = "_cpu") -> NotImplementedError:
    """A dtype that has no such kernel: ``label`` and ``suffix`` are the kernel's name in torch."""
    return NotImplementedError(f"\"{label}{suffix}\" not implemented for '{SCALAR_TYPE[of_numpy(array.dtype)]}'")


def no_overload(name: str) -> TypeError:
    """Arguments that fit none of a function's signatures; where the call came in, the error is worded (`signatures`)."""
    return TypeError(f"{name}() received an invalid combination of arguments")


def check_flags(name: str, *flags: Any) -> None:
    """Raise a TypeError for one that is no bool; where the call came in, it is worded."""
    for flag in flags:
        if type(flag) is not bool:
            raise noted(TypeError(f"{name}(): a flag must be bool, not {type_name(flag)}"))


def check_numbers(name: str, *values: Any) -> None:
    """The same for one that is neither a real number nor None."""
    for value in values:
        if value is not None and not isinstance(value, (int, float, np.integer, np.floating, TensorBase)):
            raise noted(TypeError(f"{name}(): an argument must be float, not {type_name(value)}"))


def check_result(name: str, target: TensorBase, *others: Any) -> None:
    """Raise torch's error if what the arguments promote to cannot be written into ``target``."""
    kind = promote(name, target, *others)
    if not can_cast(kind, target.dtype):
        raise noted(
            RuntimeError(
                f"result type {SCALAR_TYPE[kind]} can't be cast to the desired output type {SCALAR_TYPE[target.dtype]}"
            )
        )


def must_have(attribute: str, *values: Any) -> None:
    """Raise Python's AttributeError for what is no tensor: torch's code in Python asks for this attribute first."""
    for value in values:
        if not isinstance(value, TensorBase):
            raise noted(AttributeError(f"'{type(value).__name__}' object has no attribute '{attribute}'"))


def must_be_tensors(name: str, **arguments: Any) -> None:
    """Raise torch's TypeError for the first argument that is no tensor; a method does not count its own tensor."""
    for position, (argument, value) in enumerate(arguments.items(), not name.endswith("_")):
        if not isinstance(value, TensorBase):
            not_a_tensor(name, argument, position, value)


def not_a_tensor(name: str, argument: str, position: int, value: Any) -> NoReturn:
    """Raise torch's TypeError for an argument that must be a tensor."""
    raise noted(
        TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}")
    )
