"""Conversions: to other dtypes and devices, to NumPy and Python, and back."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape import dtypes
from livetape._tape.explain import noted
from livetape._tape.lines import note_detached
from livetape._tape.modes import is_recording, is_wrapped, local, state
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape._tape.views import needs_gradient
from livetape.device import device as device_type
from livetape.dtypes import dtype
from livetape.ops.basics import cast, clone, clone_as, copy_, detach
from livetape.ops.dims import is_integer
from livetape.ops.options import kind_of
from livetape.ops.refuse import check_flags, no_overload

NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


def to(
    input: Any,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
    tensor: Any = None,
) -> Any:
    """The tensor with another dtype; itself if nothing changes and ``copy`` is false (source: ``torch.Tensor.to``).

    >>> import livetape as torch
    >>> torch.tensor([1.5, 2.5]).to(torch.int64)
    tensor([1, 2])
    """
    rest = list(args)
    if rest:
        first = rest.pop(0)
        if isinstance(first, dtypes.dtype):
            dtype = first
        elif isinstance(first, TensorBase):
            dtype = first.dtype
        elif isinstance(first, (str, device_type)) or first is None:
            device = first
            if rest and (isinstance(rest[0], (dtypes.dtype, type)) or rest[0] is None):
                dtype = rest.pop(0)
        elif isinstance(first, type):
            dtype = first
        elif isinstance(first, (bool, float, complex, np.bool_, np.inexact)):  # a number passes for a tensor
            kind = complex if isinstance(first, (complex, np.complexfloating)) else float
            dtype = bool if isinstance(first, bool) else kind
        elif is_integer(first):  # the index of a device
            raise noted(RuntimeError("Cannot access accelerator device when none is available."))
        else:
            raise noted(no_overload("to"))
        if rest and (len(rest) > 2 or any(type(flag) is not bool for flag in rest)):
            raise noted(no_overload("to"))
        if len(rest) > 1:
            copy = rest[1]
    if copy is not False or non_blocking is not False:
        check_flags("to", copy, non_blocking)
    if tensor is not None:
        dtype = tensor.dtype
    if device is not None:
        device_type.require_cpu(device)
    if type(dtype) is type:
        dtype = kind_of("to", dtype)
    if dtype is None or dtype is input.dtype:
        return cast(input, input.dtype) if copy else input
    return _converted(input, dtype)


def _converted(input: Any, kind: dtype) -> Any:
    if kind is input.dtype:
        return input
    if input.dtype.is_complex and not kind.is_complex:
        warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=3)
    return cast(input, kind)


def _method(kind: dtype, name: str) -> Any:
    def convert(input: Any, *, memory_format: Any = None) -> Any:
        return _converted(input, kind)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The tensor as {kind!r} (source: ``torch.Tensor.{name}``)."
    return convert


double, half, bfloat16 = (
    _method(k, n) for k, n in ((dtypes.float64, "double"), (dtypes.float16, "half"), (dtypes.bfloat16, "bfloat16"))
)
float_, int_, long, short, char, byte, bool_, chalf, cfloat, cdouble = (
    _method(k, n)
    for k, n in (
        (dtypes.float32, "float"),
        (dtypes.int32, "int"),
        (dtypes.int64, "long"),
        (dtypes.int16, "short"),
        (dtypes.int8, "char"),
        (dtypes.uint8, "byte"),
        (dtypes.boolean, "bool"),
        (dtypes.complex32, "chalf"),
        (dtypes.complex64, "cfloat"),
        (dtypes.complex128, "cdouble"),
    )
)


def type_name(input: Any) -> str:
    """The name of a tensor's type, such as "torch.FloatTensor"."""
    return f"torch.{dtypes.SCALAR_TYPE[input.dtype]}Tensor"


_BY_TYPE = {f"torch.{name}Tensor": kind for kind, name in dtypes.SCALAR_TYPE.items()}


def type_(input: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """Without argument the name of the type, else the tensor as that type (source: ``torch.Tensor.type``)."""
    if dtype is None:
        return type_name(input)
    if isinstance(dtype, str):
        if dtype not in _BY_TYPE:
            raise noted(ValueError(f"invalid type: '{dtype}'"))
        dtype = _BY_TYPE[dtype]
    elif not isinstance(dtype, dtypes.dtype):
        dtype = dtype.dtype  # a legacy tensor class, such as torch.FloatTensor
    return _converted(input, dtype)


def type_as(input: Any, other: Any) -> Any:
    """The tensor with the dtype of ``other`` (source: ``torch.Tensor.type_as``)."""
    return _converted(input, other.dtype)


def cpu(input: Any, memory_format: Any = None) -> Any:
    """The tensor itself: all memory is the CPU's (source: ``torch.Tensor.cpu``)."""
    return input


def cuda(input: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """Refused with the error of a torch built without CUDA (source: ``torch.Tensor.cuda``)."""
    device_type.require_cpu("cuda")


def contiguous(input: Any, memory_format: Any = None) -> Any:
    """The tensor in the usual memory order; itself if it is already (source: ``torch.Tensor.contiguous``)."""
    return input if input.array.flags.c_contiguous else clone_as(input, None)


def is_contiguous(input: Any, memory_format: Any = None) -> bool:
    """Whether the elements lie in memory in the usual order (source: ``torch.Tensor.is_contiguous``)."""
    return bool(input.array.flags.c_contiguous)


def numpy(input: Any, *, force: bool = False) -> Any:
    """The tensor's memory as an ndarray (source: ``torch.Tensor.numpy``)."""
    if not force and needs_gradient(input) and is_recording():
        raise noted(
            RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        )
    if input.dtype is dtypes.bfloat16:
        raise noted(TypeError("Got unsupported ScalarType BFloat16"))
    if local.levels and is_wrapped(input):
        raise noted(RuntimeError(NO_STORAGE))
    return input.array


def item(input: Any) -> Any:
    """The only element as a Python number (source: ``torch.Tensor.item``)."""
    array = input.array
    if array.size != 1:
        raise noted(RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar"))
    return float(array.reshape(())) if array.dtype.kind == "V" else array.item()


def tolist(input: Any) -> Any:
    """The elements as nested lists of Python numbers (source: ``torch.Tensor.tolist``)."""
    if input.dtype is dtypes.bfloat16:
        return input.array.astype(np.float32).tolist()
    return input.array.tolist()


def data_ptr(input: Any) -> int:
    """The address of the first element (source: ``torch.Tensor.data_ptr``)."""
    if local.levels and is_wrapped(input):
        raise noted(RuntimeError(NO_STORAGE))
    return int(input.array.__array_interface__["data"][0]) if input.array.size else 0


def set_data(input: Any, new: Any) -> None:
    """Give a tensor the memory of another (the setter of ``Tensor.data``)."""
    if not isinstance(new, TensorBase):
        raise noted(TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}"))
    if input.recorded and new.dtype.category < dtypes.FLOAT:
        raise noted(
            RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        )
    if local.levels and is_wrapped(input):
        where = "under vmap" if hasattr(input.array, "alike") else "inside functorch"
        raise noted(RuntimeError(f"mutating directly with `.data` {where} transform is not allowed."))
    input.array = new.array
    input.dtype = new.dtype
    input._size = shape_of(new)


def data_of(input: Any) -> Any:
    """The same memory with a version counter of its own (the getter of ``Tensor.data``)."""
    if hasattr(input.array, "alike"):
        raise noted(RuntimeError("accessing `data` under vmap transform is not allowed"))
    twin = wrap(input.array, input.dtype, input._size)
    twin.inference = input.inference
    if state.watching:
        note_detached(input, twin, "data")
    return twin


FUNCTIONS = ["clone"]
METHODS = {
    "to": to,
    "float": float_,
    "double": double,
    "half": half,
    "bfloat16": bfloat16,
    "int": int_,
    "long": long,
    "short": short,
    "char": char,
    "byte": byte,
    "bool": bool_,
    "chalf": chalf,
    "cfloat": cfloat,
    "cdouble": cdouble,
    "type": type_,
    "type_as": type_as,
    "cpu": cpu,
    "cuda": cuda,
    "contiguous": contiguous,
    "is_contiguous": is_contiguous,
    "numpy": numpy,
    "item": item,
    "tolist": tolist,
    "data_ptr": data_ptr,
    "clone": clone,
    "copy_": copy_,
    "detach": detach,
}
