"""Questions about tensors and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import dtypes
from livetape._tape.explain import noted, type_name
from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase


def is_tensor(obj: Any, /) -> bool:
    """Whether ``obj`` is a tensor (source: ``torch.is_tensor``)."""
    return isinstance(obj, TensorBase)


def is_floating_point(input: Any) -> bool:
    """Whether the dtype is a floating point one (source: ``torch.is_floating_point``)."""
    return bool(_tensor("is_floating_point", input).dtype.is_floating_point)


def is_complex(input: Any) -> bool:
    """Whether the dtype is complex (source: ``torch.is_complex``)."""
    return bool(_tensor("is_complex", input).dtype.is_complex)


def is_signed(input: Any) -> bool:
    """Whether the dtype is signed (source: ``torch.is_signed``)."""
    return bool(_tensor("is_signed", input).dtype.is_signed)


def is_inference(input: Any) -> bool:
    """Whether the tensor was made in inference mode (source: ``torch.is_inference``)."""
    return bool(_tensor("is_inference", input).inference)


def is_nonzero(input: Any) -> bool:
    """Whether the only element is not zero (source: ``torch.is_nonzero``)."""
    array = _tensor("is_nonzero", input).array
    if array.size != 1:
        if array.size == 0:
            raise noted(RuntimeError("Boolean value of Tensor with no values is ambiguous"))
        raise noted(RuntimeError("Boolean value of Tensor with more than one value is ambiguous"))
    return bool(array.reshape(()))


def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape (source: ``torch.Tensor.is_same_size``)."""
    return bool(input.array.shape == other.array.shape)


def is_set_to(input: Any, tensor: Any) -> bool:
    """Whether two tensors are the same piece of memory (source: ``torch.Tensor.is_set_to``)."""
    a, b = input.array, tensor.array
    return bool(
        a.__array_interface__["data"] == b.__array_interface__["data"] and a.shape == b.shape and a.strides == b.strides
    )


def numel(input: Any) -> int:
    """The number of elements (source: ``torch.numel``)."""
    return int(_tensor("numel", input).array.size)


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype of an arithmetic result of the two (source: ``torch.result_type``).

    >>> import livetape as torch
    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    return promote("result_type", tensor1, tensor2)


def _tensor(name: str, value: Any) -> Any:
    if not isinstance(value, TensorBase):
        raise noted(TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(value)}"))
    return value


def _dtype(name: str, value: Any) -> Any:
    if not isinstance(value, dtypes.dtype):
        raise noted(TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type_name(value)}"))
    return value


class _Limits:
    """Limits of one dtype are equal."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.dtype == getattr(other, "dtype", None)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.dtype))


class finfo(_Limits):
    """The limits of a floating point dtype: bits, eps, max, min, tiny ... (source: ``torch.finfo``)."""

    def __init__(self, type: Any = None) -> None:
        kind = dtypes.get_default_dtype() if type is None else _dtype("finfo", type)
        if kind.category < dtypes.FLOAT:
            raise noted(
                TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
            )
        real = kind.to_real()
        self.dtype = real.name
        self.bits = real.itemsize * 8
        if real is dtypes.bfloat16:
            self.eps, self.max, self.tiny = 2.0**-7, 3.3895313892515355e38, 2.0**-126
            self.smallest_subnormal, self.resolution = 2.0**-133, 0.01
        else:
            info = np.finfo(real.np)
            self.eps, self.max, self.tiny = float(info.eps), float(info.max), float(info.tiny)
            self.smallest_subnormal, self.resolution = float(info.smallest_subnormal), 10.0**-info.precision
        self.min = -self.max
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(_Limits):
    """The limits of an integer dtype: bits, max, min (source: ``torch.iinfo``)."""

    def __init__(self, type: Any) -> None:
        if _dtype("iinfo", type) is dtypes.boolean:
            raise noted(TypeError("torch.bool is not supported by torch.iinfo"))
        if type.category != dtypes.INTEGER:
            raise noted(
                TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
            )
        info = np.iinfo(type.np)
        self.bits, self.max, self.min, self.dtype = int(info.bits), int(info.max), int(info.min), type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def get_device(input: Any) -> int:
    """-1, as for every CPU tensor (source: ``torch.get_device``)."""
    _tensor("get_device", input)
    return -1


FUNCTIONS = [
    "get_device",
    "is_tensor",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "is_inference",
    "is_nonzero",
    "is_same_size",
    "numel",
    "result_type",
    "finfo",
    "iinfo",
]
METHODS = {"get_device": get_device, "is_nonzero": is_nonzero, "is_same_size": is_same_size, "is_set_to": is_set_to}
