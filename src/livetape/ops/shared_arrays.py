"""Tensors in the memory of what they are made of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted, type_name
from livetape._tape.tensor import NDARRAY, TensorBase, wrap
from livetape.device import require_cpu
from livetape.dtypes import SCALAR_TYPE, default, of_numpy
from livetape.ops.basics import cast, clone, detach
from livetape.ops.literals import READ_ONLY, accepted, array_of, warned
from livetape.ops.options import kind_of, require_gradient


def from_numpy(ndarray: Any) -> Any:
    """A tensor that shares the array's memory (source: ``torch.from_numpy``).

    >>> import livetape as torch, numpy as np
    >>> a = np.zeros(2)
    >>> t = torch.from_numpy(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise noted(TypeError(f"expected np.ndarray (got {type_name(ndarray)})"))
    return _shared(ndarray)


def _shared(array: Any) -> Any:
    array = accepted(array if type(array) is NDARRAY else np.asarray(array))
    if not array.flags.writeable:
        _warn_once("array", READ_ONLY)
    if isinstance(array.base, NDARRAY) and array.dtype.kind != "V":
        array = np.asarray(memoryview(array))  # its storage begins here, not where the array's own base does
    return wrap(array, of_numpy(array.dtype), None)


def _warn_once(key: str, text: str) -> None:
    if key not in warned:
        warned.add(key)
        warnings.warn(text, UserWarning, stacklevel=5)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of ``data``, copied only where that is needed (source: ``torch.as_tensor``)."""
    kind = None if dtype is None else kind_of("as_tensor", dtype)
    if device is not None:
        require_cpu(device, "as_tensor")
    if isinstance(data, np.ndarray):
        data = _shared(data)
    if isinstance(data, TensorBase):
        return data if kind is None or kind is data.dtype else cast(data, kind)
    array = array_of(data, kind)
    return wrap(array, of_numpy(array.dtype) if kind is None else kind, None)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Any:
    """A tensor that shares memory with tensors, arrays and buffers unless ``copy`` (source: ``torch.asarray``)."""
    kind = None if dtype is None else kind_of("asarray", dtype)
    if device is not None:
        require_cpu(device, "asarray")
    shares = isinstance(obj, (TensorBase, np.ndarray)) or isinstance(obj, np.generic)
    made = obj
    if isinstance(obj, TensorBase):
        if requires_grad is None:
            requires_grad = obj.recorded
            if requires_grad:
                _warn_once(
                    "asarray",
                    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
                    "instead of "
                    "False. Pass requires_grad=False explicitly to get the old behavior and silence this "
                    "warning.",
                )
    elif isinstance(obj, np.ndarray):
        made = _shared(obj)
    elif isinstance(obj, np.generic):
        made = wrap(np.array(obj), of_numpy(obj.dtype), None)
    elif isinstance(obj, (bytes, bytearray, memoryview)):
        made = frombuffer(obj, dtype=kind or default.dtype)
        shares = True
    if not shares:
        if copy is False:
            raise noted(ValueError("can't alias arbitrary sequence into a tensor."))
        array = array_of(obj, kind)
        made = wrap(array, of_numpy(array.dtype) if kind is None else kind, None)
    elif kind is not None and kind is not made.dtype:
        if copy is False:
            raise noted(
                ValueError(
                    f"can't alias tensor with dtype '{SCALAR_TYPE[made.dtype]}' into dtype '{SCALAR_TYPE[kind]}'."
                )
            )
        made = cast(made, kind)
    elif copy:
        made = clone(made)
    if not requires_grad:
        return detach(made) if made.recorded else made
    if made.node is None and not made.recorded:
        require_gradient("asarray", made, requires_grad)
    return made


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A 1-D tensor that shares the memory of a buffer (source: ``torch.frombuffer``)."""
    kind = kind_of("frombuffer", dtype)
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise noted(ValueError("object does not implement Python buffer protocol.")) from None
    length, wide = memory.nbytes, kind.itemsize
    if length == 0 or count == 0:
        raise noted(ValueError(f"both buffer length ({length}) and count ({count}) must not be 0"))
    if not 0 <= offset < length:
        raise noted(
            ValueError(
                f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
            )
        )
    if count < 0:
        if (length - offset) % wide:
            raise noted(
                ValueError(
                    f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
                    "multiple of "
                    f"element size ({wide})"
                )
            )
        count = (length - offset) // wide
    elif offset + count * wide > length:
        raise noted(
            ValueError(
                f"requested buffer length ({count} * {wide} bytes) after offset ({offset} bytes) must not be "
                "greater "
                f"than actual buffer length ({length} bytes)"
            )
        )
    if memory.readonly:
        _warn_once(
            "buffer",
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "This means "
            "you can write to the underlying (supposedly non-writable) buffer using the tensor. You may want "
            "to copy "
            "the buffer to protect its data or make it writable before converting it to a tensor. This type of "
            "warning "
            "will be suppressed for the rest of this program.",
        )
    made = wrap(np.frombuffer(buffer, kind.np, count, offset), kind, None)
    if requires_grad:
        require_gradient("frombuffer", made, requires_grad)
    return made


FUNCTIONS = [
    "as_tensor",
    "asarray",
    "from_numpy",
    "frombuffer",
]
