"""Tensors from data: numbers, nested lists, arrays, buffers and other tensors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import NDARRAY, TensorBase, wrap
from livetape.device import require_cpu
from livetape.dtypes import (
    COMPLEX,
    FLOAT,
    INTEGER,
    boolean,
    default,
    dtype,
    int64,
    of_numpy,
    promote_types,
)
from livetape.ops.basics import detach
from livetape.ops.dims import is_integer
from livetape.ops.options import check_pinned, kind_of, require_gradient, scalar_array, sizes
from livetape.ops.refuse import no_overload
from livetape.ops.signatures import refusal

_PYTHON_KINDS = {float, int, bool, complex}
_COPY = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)
_NEGATIVE = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
    "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
)
READ_ONLY = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
    "this "
    "tensor will result in undefined behavior. You may want to copy the array to protect its data or make it writable "
    "before "
    "converting it to a tensor. This type of warning will be suppressed for the rest of this program."
)
warned: set[str] = set()


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False, pin_memory: Any = False
) -> Any:
    """A new tensor with a copy of ``data``: a number, nested sequences of numbers, an array or a tensor.

    Unless given, the dtype is inferred: Python floats give the default dtype, ints int64, arrays their own
    (source: ``torch.tensor``).

    >>> import livetape as torch
    >>> torch.tensor([[1., 2.], [3., 4.]])
    tensor([[1., 2.],
            [3., 4.]])
    """
    kind = None if dtype is None else kind_of("tensor", dtype)
    if device is not None:
        require_cpu(device, "tensor")
    if pin_memory is not False:
        check_pinned("tensor", pin_memory)
    if isinstance(data, TensorBase):
        warnings.warn(_COPY.format("torch.tensor"), UserWarning, stacklevel=2)
    array = array_of(data, kind)
    made = wrap(array, of_numpy(array.dtype) if kind is None else kind, None)
    if requires_grad is not False:
        require_gradient("tensor", made, requires_grad)
    return made


def array_of(data: Any, kind: dtype | None) -> Any:
    """A new array with a copy of the data, of the given dtype or the one that torch infers."""
    given = type(data)
    if given is float:
        if kind is None or kind.category == FLOAT:
            return np.array(data, default.dtype.np if kind is None else kind.np)
        return scalar_array(data, kind, kind.name)
    if given is NDARRAY:
        return _converted(accepted(data), kind, True)
    if given is list or given is tuple:
        return _from_sequence(data, kind)
    if isinstance(data, TensorBase):
        return _converted(data.array, kind, True)
    if isinstance(data, np.generic):
        found = np.asarray(data)
        of_numpy(found.dtype)
        return _converted(found, kind, True)
    if isinstance(data, (bool, int, float, complex)):
        return _from_number(data, kind)
    if isinstance(data, np.ndarray):
        return _converted(accepted(np.asarray(data)), kind, True)
    if isinstance(data, (str, bytes)):
        raise noted(TypeError(f"new(): invalid data type '{given.__name__}'"))
    if _is_sequence(data):
        return _from_sequence(data, kind)
    if kind is not None:
        raise noted(TypeError(f"must be real number, not {given.__name__}"))
    raise noted(RuntimeError(f"Could not infer dtype of {given.__name__}"))


def accepted(array: Any) -> Any:
    """An array of a dtype and layout that torch takes."""
    of_numpy(array.dtype)
    for stride in array.strides:
        if stride < 0:
            raise noted(ValueError(_NEGATIVE))
    return array


def _converted(array: Any, kind: dtype | None, copy: bool) -> Any:
    wanted = array.dtype if kind is None else kind.np
    if array.dtype.kind == "c" and kind is not None and kind.category != COMPLEX:
        array = array.real
    return array.astype(wanted, order="K" if 0 not in array.strides else "C", copy=copy)


def _from_number(data: Any, kind: dtype | None) -> Any:
    if isinstance(data, bool):
        return np.array(data, np.bool_ if kind is None else kind.np)
    if isinstance(data, int):
        if kind is None or kind is int64:
            if not -(2**63) <= data < 2**63:
                raise noted(ValueError("Overflow when unpacking long long"))
            return np.array(data, np.int64)
        return scalar_array(data, kind, kind.name)
    if kind is None:
        kind = default.dtype.to_complex() if isinstance(data, complex) else default.dtype
    if isinstance(data, complex) and kind.category == FLOAT:
        raise noted(TypeError("must be real number, not complex"))
    return scalar_array(data, kind, kind.name)


# ---------------------------------------------------------------- nested sequences
def _is_sequence(value: Any) -> bool:
    """Whether torch looks inside this value: lists, tuples, ranges, arrays and what behaves like them."""
    given = type(value)
    if given is list or given is tuple:
        return True
    if isinstance(value, (TensorBase, dict, set, frozenset)):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return hasattr(given, "__getitem__") and hasattr(given, "__len__") and not isinstance(value, np.generic)


def _shape_of(data: Any) -> tuple[int, ...]:
    """The shape that the first elements promise."""
    found = []
    while _is_sequence(data):
        n = len(data)
        found.append(n)
        if len(found) > 128:
            raise noted(ValueError(f"too many dimensions '{type(data).__name__}'"))
        if not n:
            break
        data = data[0]
    return tuple(found)


def _note_kinds(data: Any, kinds: set[Any], depth: int) -> None:
    """Collect the types of all elements of nested sequences."""
    if depth <= 1 and type(data) in (list, tuple):
        kinds.update(map(type, data))
        return
    for item in data:
        if type(item) in (list, tuple):
            _note_kinds(item, kinds, depth - 1)
        else:
            kinds.add(type(item))


def _from_sequence(data: Any, kind: dtype | None) -> Any:
    shape = _shape_of(data)
    kinds: set[Any] = set()
    if type(data) is list or type(data) is tuple:
        _note_kinds(data, kinds, len(shape))
    else:
        kinds.add(object)
    if not kinds <= _PYTHON_KINDS:
        return _from_mixed(data, shape, kind)
    if complex in kinds:
        natural: Any = np.complex128
        found = default.dtype.to_complex()
    elif float in kinds or not kinds:
        natural = np.float64
        found = default.dtype
    elif int in kinds:
        natural = np.int64
        found = int64
    else:
        natural = np.bool_
        found = boolean
    if 0 in shape:  # torch looks no further
        return np.empty(shape, (_kind_of_value(data) if kind is None else kind).np)
    try:
        array = np.array(data, natural)
    except OverflowError:
        return _from_mixed(data, shape, kind)
    except (ValueError, TypeError):
        raise _shape_error(data, shape, 0) or ValueError("expected nested sequences of one shape") from None
    if array.shape != shape:
        raise _shape_error(data, shape, 0) or ValueError("expected nested sequences of one shape")
    return _narrowed(array, found if kind is None else kind)


def _narrowed(array: Any, kind: dtype) -> Any:
    """Python's numbers, in their widest type, as the dtype that is wanted; what does not fit is torch's error."""
    have = array.dtype.kind
    if array.dtype is kind.np:
        return array
    if have == "c" and kind.category < COMPLEX:
        raise noted(TypeError("must be real number, not complex"))
    if kind.category == INTEGER and have in "if" and array.size:
        bits = 8 * kind.itemsize
        high = 2 ** (bits - 1) - 1 if kind.is_signed else 2**bits - 1
        low = -high - 1 if kind.is_signed else -high
        whole = np.trunc(array) if have == "f" else array
        if not (whole.min() >= low and whole.max() <= high):
            raise noted(RuntimeError(f"value cannot be converted to type {kind.name} without overflow"))
    if have == "i" and kind.category >= FLOAT:
        array = array.astype(np.float64)
    elif have == "f" and kind.category == INTEGER:
        array = array.astype(np.int64)
    return array.astype(kind.np)


def _shape_error(data: Any, shape: tuple[int, ...], dim: int) -> Exception | None:
    """What torch says of the first place where nested sequences are not of one shape."""
    if dim == len(shape):
        if _is_sequence(data):
            return TypeError(f"'{type(data).__name__}' object cannot be interpreted as an integer")
        return None
    if not _is_sequence(data):
        return TypeError("not a sequence")
    if len(data) != shape[dim]:
        return ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        found = _shape_error(item, shape, dim + 1)
        if found is not None:
            return found
    return None


def _kind_of_value(value: Any) -> dtype:
    """The dtype that torch infers for a value, promoted over a sequence's elements."""
    if isinstance(value, np.generic):
        return of_numpy(value.dtype)
    if isinstance(value, bool):
        return boolean
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return default.dtype
    if isinstance(value, complex):
        return default.dtype.to_complex()
    if isinstance(value, TensorBase):
        return value.dtype
    if isinstance(value, np.ndarray):
        return of_numpy(value.dtype)
    if isinstance(value, (str, bytes)):
        raise noted(TypeError(f"new(): invalid data type '{type(value).__name__}'"))
    if not _is_sequence(value):
        raise noted(RuntimeError(f"Could not infer dtype of {type(value).__name__}"))
    found: dtype | None = None
    for i in range(len(value)):
        one = _kind_of_value(value[i])
        found = one if found is None else promote_types(found, one)
    return default.dtype if found is None else found


def _from_mixed(data: Any, shape: tuple[int, ...], kind: dtype | None) -> Any:
    """As `_from_sequence` where some elements are tensors, arrays, NumPy's numbers or wrong."""
    first = data
    for _ in shape:
        if not len(first):
            break
        first = first[0]
    if isinstance(first, (str, bytes)):
        raise noted(ValueError(f"too many dimensions '{type(first).__name__}'"))
    if kind is None:
        kind = _kind_of_value(data)
    if len(data) and isinstance(data[0], np.ndarray) and "arrays" not in warned:
        warned.add("arrays")
        warnings.warn(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting "
            "the list "
            "to a single numpy.ndarray with numpy.array() before converting to a tensor.",
            UserWarning,
            stacklevel=4,
        )
    array = np.empty(shape, kind.np)
    _store(array, data, shape, 0, kind)
    return array


def _store(target: Any, data: Any, shape: tuple[int, ...], dim: int, kind: dtype) -> None:
    if dim == len(shape):
        target[...] = _number(data, kind)
        return
    if isinstance(data, np.ndarray) and data.shape == shape[dim:] and data.dtype.kind != "O":
        np.copyto(target, data, casting="unsafe")
        return
    if not _is_sequence(data):
        raise noted(TypeError("not a sequence"))
    if len(data) != shape[dim]:
        raise noted(ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})"))
    for i in range(shape[dim]):
        _store(target[i, ...], data[i], shape, dim + 1, kind)


def _number(value: Any, kind: dtype) -> Any:
    """One element as a 0-d array of the dtype."""
    if isinstance(value, TensorBase):
        if value.array.size != 1:
            if kind.category < FLOAT:
                raise noted(TypeError("only integer tensors of a single element can be converted to an index"))
            raise noted(ValueError("only one element tensors can be converted to Python scalars"))
        value = value.array.item()
    elif isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        name = type(value).__name__
        if kind.category == INTEGER:
            raise noted(TypeError(f"'{name}' object cannot be interpreted as an integer"))
        raise noted(TypeError(f"must be real number, not {name}"))
    if isinstance(value, complex) and kind.category < COMPLEX:
        raise noted(TypeError("must be real number, not complex"))
    if kind is int64 and isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise noted(ValueError("Overflow when unpacking long long"))
    return scalar_array(value, kind, kind.name)


# ---------------------------------------------------------------- the old constructors
def legacy(kind: dtype, *args: Any, name: str = "new") -> Any:
    """``torch.FloatTensor(2, 3)`` or ``torch.FloatTensor([1, 2])``: a size to leave unfilled, or data to copy."""
    if not args:
        return wrap(np.empty(0, kind.np), kind, None)
    first = args[0]
    if len(args) == 1:
        if isinstance(first, TensorBase):
            return detach(first)
        if isinstance(first, tuple) and type(first).__name__ == "Size":
            return wrap(np.empty(first, kind.np), kind, None)
        if isinstance(first, np.ndarray):
            array = accepted(np.asarray(first))
            return wrap(array.astype(kind.np, copy=False), kind, None)
        if isinstance(first, (list, tuple, str, bytes, range)):
            return wrap(array_of(first, kind), kind, None)
        if isinstance(first, (bool, float, complex)):
            raise noted(TypeError(f"new(): data must be a sequence (got {type(first).__name__})"))
    elif not is_integer(first):
        raise noted(refusal(".new", args, {}) or no_overload(name))
    return wrap(np.empty(sizes(name, args), kind.np), kind, None)


def legacy_tensor(*args: Any) -> Any:
    """``torch.Tensor(2, 3)`` or ``torch.Tensor([1, 2])``, of the default dtype."""
    return legacy(default.dtype, *args)


def new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A new tensor with a copy of ``data`` and this tensor's dtype (source: ``torch.Tensor.new_tensor``)."""
    kind = kind_of("new_tensor", dtype, self.dtype)
    if device is not None:
        require_cpu(device, "new_tensor")
    if isinstance(data, TensorBase):
        warnings.warn(_COPY.format("tensor.new_tensor"), UserWarning, stacklevel=2)
    made = wrap(array_of(data, kind), kind, None)
    if requires_grad is not False:
        require_gradient("new_tensor", made, requires_grad)
    return made


def new(self: Any, *args: Any) -> Any:
    """A tensor of this one's dtype, by size or from data (source: ``torch.Tensor.new``)."""
    return legacy(self.dtype, *args)


FUNCTIONS = ["legacy_tensor", "tensor"]
METHODS = {"new": new, "new_tensor": new_tensor}
