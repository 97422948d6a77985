"""Square brackets: ``x[index]`` and ``x[index] = value``.

Integers, slices, ``...`` and None are views, one operation each, as in torch; index tensors, lists and masks gather.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from operator import index as as_int
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import is_recording, state
from livetape._tape.tensor import (
    DEFAULT,
    NDARRAY,
    NO_GRAD,
    TensorBase,
    counter_of,
    from_array,
    make_view,
    shape_of,
    wrap,
)
from livetape._tape.views import check_apart, check_inplace, has_base_of, needs_gradient
from livetape.compat import compat
from livetape.dtypes import BOOL, COMPLEX, FLOAT, SCALAR_TYPE, boolean, int32, int64, uint8
from livetape.kernels.scatter import add_at
from livetape.ops.basics import EXPAND, check_expands, copy_, is_expanded, sum_to, zeros
from livetape.ops.choose import dropped
from livetape.ops.filling import FILL_TENSOR
from livetape.ops.slicing import ALIAS, FULL, SELECT, SLICE, UNSQUEEZE, with_ones
from livetape.ops.table import row

# ---------------------------------------------------------------- what survives where places repeat
OVERWRITTEN = "the gradients of values that others overwrote, at places given twice"


def counters_like(grad: Any) -> Any:
    """Zeros of a gradient's size, to hold the numbers of elements."""
    return zeros(shape_of(grad), int64)


def surviving(found: Any, written: Callable[[Any], Any]) -> Any:
    """Gradients of values that were written at places which may repeat: 0 for those that others overwrote.

    ``written`` writes the numbers of the values at the same places, and reads them back.
    """
    if compat.torch or found.array.size < 2:
        return found
    size = shape_of(found)
    numbers = wrap(np.arange(size.numel()).reshape(size), int64, size)
    return dropped(found, written(numbers) != numbers)


# ---------------------------------------------------------------- gathering
INDEX = row(
    "index",
    lambda self, indices: _gather(self, indices),
    tensors="self indices",
    linear=True,
    batch="index",
    self=lambda grad, self_size, indices: INDEX_BACKWARD.apply((grad, self_size, indices)),
    selects="masked",
)
INDEX_BACKWARD = row(
    "index_backward",
    lambda grad, size, indices: _put_back(grad, size, indices),
    tensors="grad indices",
    node="IndexPutBackward0",
    linear=True,
    batch="index_backward",
    grad=lambda grad, indices: INDEX.apply((grad, indices)),
)
INDEX_PUT = row(
    "index_put",
    lambda self, indices, values, accumulate: _index_put(self, indices, values, accumulate),
    tensors="self indices values",
    linear=True,
    batch="index_put",
    self=lambda grad, indices, accumulate: grad if accumulate else INDEX_ZERO.apply((grad, indices)),
    values=lambda grad, indices, values_size, accumulate: sum_to(
        _index_put_values(grad, indices, accumulate), values_size
    ),
    differs=OVERWRITTEN,
    selects="masked",
)


def _index_put_values(grad: Any, indices: Any, accumulate: bool) -> Any:
    found = INDEX.apply((grad, indices))
    if accumulate or all(i is None or i.dtype.category == BOOL for i in indices):  # masks name each place once
        return found
    return surviving(
        found, lambda numbers: INDEX.apply((INDEX_PUT.apply((counters_like(grad), indices, numbers, False)), indices))
    )


INDEX_ZERO = row(
    "index_put",
    lambda self, indices: _index_zero(self, indices),
    tensors="self indices",
    key="index_put.zero",
    linear=True,
    batch="index_zero",
    self=lambda grad, indices: INDEX_ZERO.apply((grad, indices)),
)


def places(shape: Any, indices: Any) -> tuple[Any, ...]:
    """``indices`` (None for a whole dimension) as NumPy takes them: masks become positions, and bounds are checked."""
    found: list[Any] = []
    at = 0
    for index in indices:
        if index is None:
            found.append(FULL)
            at += 1
            continue
        if isinstance(index, TensorBase):
            index = index.array
        kind = index.dtype.kind
        if kind == "b" or (kind == "u" and index.dtype.itemsize == 1):
            for j, extent in enumerate(index.shape):
                if extent != shape[at + j]:
                    raise noted(
                        IndexError(
                            f"The shape of the mask {list(index.shape)} at index {j} does not match the "
                            f"shape of the indexed tensor {list(shape)} at index {at + j}"
                        )
                    )
            found.extend(index.nonzero() if index.ndim else (np.zeros(int(bool(index)), np.int64),))
            at += index.ndim
        else:
            found.append(index)
            at += 1
    return tuple(found)


def _gather(self: Any, indices: Any) -> Any:
    key = places(self.shape, indices)
    try:
        if len(key) == 1 or (type(key[-1]) is NDARRAY and all(k is FULL for k in key[:-1])):
            return self.take(key[-1], len(key) - 1)  # quicker, and in the usual memory order
        out = self[key]
    except IndexError:
        raise noted(index_error(self.shape, key)) from None
    return out if out.flags.c_contiguous else np.ascontiguousarray(out)


def index_error(shape: Any, key: tuple[Any, ...]) -> IndexError:
    """Torch's words for index arrays that do not fit the shape, or each other."""
    arrays = [k for k in key if type(k) is NDARRAY]
    try:
        np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        shown = ", ".join(str(list(a.shape)) for a in arrays)
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shown}")
    if len(key) > len(shape):
        return IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(key)})")
    number = 0  # torch counts the dimensions that are indexed
    for dim, k in enumerate(key):
        if type(k) is NDARRAY:
            number += 1
            outside = k[(k < -shape[dim]) | (k >= shape[dim])] if k.size else k
            if outside.size:
                return IndexError(
                    f"index {int(outside.flat[0])} is out of bounds for dimension {number - 1} with size {shape[dim]}"
                )
    return IndexError("index is out of bounds")


def _put_back(grad: Any, size: Any, indices: Any) -> Any:
    return add_at(np.zeros(size, grad.dtype), places(size, indices), grad)


def _index_put(self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    total = self.copy("K")
    write(total, indices, values, accumulate)
    return total


def write(target: Any, indices: Any, values: Any, accumulate: bool) -> None:
    """Write, or add, ``values`` at ``indices`` of the array ``target``."""
    key = places(target.shape, indices)
    try:
        if accumulate:
            add_at(target, key, values)
        else:
            target[key] = values
    except IndexError:
        raise noted(index_error(target.shape, key)) from None
    except ValueError:
        want = target[key].shape
        raise noted(
            RuntimeError(
                f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
                "indexing "
                f"result of shape {list(want)}"
            )
        ) from None


def _index_zero(self: Any, indices: Any) -> Any:
    total = self.copy()
    total[places(self.shape, indices)] = 0
    return total


# ---------------------------------------------------------------- what stands between the brackets
_DEPRECATED = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], "
    "which "
    "will result either in an error or a different result"
)
_BYTE = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."


def _is_index(value: Any) -> bool:
    """Whether a value is an integer for indexing: ints and NumPy's integers, but no bools."""
    return type(value) is int or (isinstance(value, (int, np.integer)) and not isinstance(value, bool))


def _as_tuple(index: Any) -> tuple[Any, ...]:
    """The items of an index: a tuple's own, or those of a list that stands for a tuple, as NumPy once had it."""
    if type(index) is tuple:
        return index
    if isinstance(index, TensorBase):
        return (index,)
    if isinstance(index, tuple):
        return tuple(index)
    if isinstance(index, list) and len(index) < 32:
        for item in index:
            if item is None or item is Ellipsis or isinstance(item, (slice, list, tuple, range, TensorBase, NDARRAY)):
                warnings.warn(_DEPRECATED, UserWarning, stacklevel=4)
                return tuple(index)
    return (index,)


def _sequence(value: Any) -> Any:
    """The index tensor that a list, range or array stands for."""
    if type(value) is NDARRAY:
        found = from_array(value)
    else:
        items = list(value)
        if _has_text(items):
            raise noted(TypeError("new(): invalid data type 'str'"))
        try:
            array = np.array([_plain(v) for v in items])
        except ValueError:
            raise noted(ValueError(_ragged(items))) from None
        if array.dtype.kind in "fc" or not array.size:
            array = array.astype(np.int64)
        found = from_array(array)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value.array
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _has_text(items: Any) -> bool:
    return any(isinstance(v, str) or (isinstance(v, (list, tuple)) and _has_text(v)) for v in items)


def _ragged(items: Any) -> str:
    first = len(items[0]) if hasattr(items[0], "__len__") else 0
    for item in items:
        if hasattr(item, "__len__") and len(item) != first:
            return f"expected sequence of length {first} at dim 1 (got {len(item)})"
    return "too many dimensions"


def _dimensions_of(item: Any) -> int:
    """How many dimensions of the tensor an item uses."""
    if item is None or item is Ellipsis or item is True or item is False:
        return 0
    if isinstance(item, TensorBase):
        return item.array.ndim if item.dtype is boolean or item.dtype is uint8 else 1
    return 1


def _select_error(index: int, dim: int, shape: Any, place: int = 0) -> IndexError:
    """The error for an integer that is out of bounds; torch calls the dimension by the item's place in the index."""
    if not shape:
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
            "C++ to "
            "convert a 0-dim tensor to a number"
        )
    return IndexError(f"index {index} is out of bounds for dimension {place} with size {shape[dim]}")


def _bounds(item: slice, extent: int) -> tuple[int, int, int]:
    """Start, end and step of a slice of a dimension of the given extent."""
    step = item.step
    if step is not None and hasattr(step, "__index__") and as_int(step) < 0:
        raise noted(ValueError("step must be greater than zero"))
    return item.indices(extent)


class Reading:
    """An index read item by item: NumPy's basic index, the views that torch makes of it, and the index tensors."""

    __slots__ = ("basic", "indices", "steps")

    def __init__(self) -> None:
        self.basic: list[Any] = []
        self.steps: list[tuple[Any, ...]] = []  # (row, *its arguments after the tensor)
        self.indices: list[Any] = []  # per dimension of the sliced tensor, None where there is no index


def read(shape: Any, items: tuple[Any, ...]) -> Reading:
    """Read the items of an index into a tensor of the given shape; all errors but the index tensors' come here."""
    used = 0
    for item in items:
        used += _dimensions_of(item)
    if used > len(shape):
        raise noted(IndexError(f"too many indices for tensor of dimension {len(shape)}"))
    reading = Reading()
    basic, steps, indices = reading.basic, reading.steps, reading.indices
    source = 0  # dimension of the tensor
    dim = 0  # dimension of the result so far
    for place, item in enumerate(items):
        if type(item) is not int:
            if isinstance(item, slice):
                extent = shape[source]
                start, end, step = _bounds(item, extent)
                basic.append(slice(start, end, step))
                if start != 0 or end != extent or step != 1 or (item.start is not None and as_int(item.start) < 0):
                    steps.append((SLICE, dim, start, end, step))
                source += 1
                dim += 1
                continue
            if item is None:
                basic.append(None)
                steps.append((UNSQUEEZE, dim))
                dim += 1
                continue
            if item is Ellipsis:
                skipped = len(shape) - used
                used = len(shape)  # a second ellipsis stands for nothing
                basic.extend([FULL] * skipped)
                source += skipped
                dim += skipped
                continue
            if item is True or item is False:
                dim = _note_bool(reading, dim, item)
                continue
            if not _is_index(item):
                tensor = item if isinstance(item, TensorBase) else _to_index(item)
                kind = tensor.dtype
                if kind is boolean or kind is uint8:
                    if not tensor.array.ndim:
                        dim = _note_bool(reading, dim, bool(tensor.array))
                        continue
                    if kind is uint8:
                        warnings.warn(_BYTE, UserWarning, stacklevel=4)
                elif not tensor.array.ndim and kind.category < FLOAT and type(tensor.array) is NDARRAY:
                    item = int(tensor.array)
                if tensor.array.ndim or kind.category >= FLOAT or type(tensor.array) is not NDARRAY:
                    if kind is not int64 and kind is not int32 and kind is not boolean and kind is not uint8:
                        raise noted(IndexError("tensors used as indices must be long, int, byte or bool tensors"))
                    while len(indices) < dim:
                        indices.append(None)
                    indices.append(tensor)
                    wide = tensor.array.ndim if kind is boolean or kind is uint8 else 1
                    basic.extend([FULL] * wide)
                    source += wide
                    dim += wide
                    if wide != 1:  # a mask over several dimensions fills their places
                        reading.indices.extend([_COVERED] * (wide - 1))
                    continue
            item = as_int(item)
        extent = shape[source]
        if not -extent <= item < extent:
            raise noted(_select_error(item, source, shape, place))
        basic.append(item)
        steps.append((SELECT, dim, item))
        source += 1
    return reading


_COVERED = object()


def _note_bool(reading: Reading, dim: int, value: bool) -> int:
    """True adds a dimension of one element, False an empty one."""
    reading.basic.append(None)
    reading.steps.append((UNSQUEEZE, dim))
    while len(reading.indices) < dim:
        reading.indices.append(None)
    reading.indices.append(wrap(np.zeros(int(value), np.int64), int64, None))
    return dim + 1


def _to_index(item: Any) -> Any:
    if type(item) is NDARRAY or isinstance(item, (list, tuple, range)):
        return _sequence(item)
    if isinstance(item, str):
        raise noted(TypeError("new(): invalid data type 'str'"))
    if hasattr(item, "__index__"):
        return wrap(np.array(as_int(item)), int64, None)
    kind = type(item).__module__ + "." if type(item).__module__ == "numpy" else ""
    raise noted(
        IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {kind}{type(item).__name__})"
        )
    )


def sliced_by(self: Any, reading: Reading, alias: bool) -> Any:
    """The view that the basic part of an index makes; without any the tensor itself, or its alias if asked for."""
    if not reading.steps and not alias:
        return self
    recording = is_recording()
    if state.interposed == 0 and not (recording and needs_gradient(self)):
        array = self.array[(*[i for i in reading.basic if i is not None], ...)]
        ones = [step[1] for step in reading.steps if step[0] is UNSQUEEZE]
        if ones:
            array = with_ones(array, ones)
        return make_view(self, array, DEFAULT if recording else NO_GRAD)
    if not reading.steps:
        return ALIAS.apply((self,))
    view = self
    if state.interposed != 0:
        for step in reading.steps:
            view = step[0].apply((view, *step[1:]))
        return view
    for step in reading.steps:
        op = step[0]
        rest = step[1:]
        view = op.finish_view((view, *rest), op.kernel(view.array, *rest))
    return view


def _is_plain(index: Any) -> bool:
    """Whether NumPy reads an index as torch does: an integer, or a tuple of integers and rising slices."""
    if type(index) is int:
        return True
    if type(index) is slice:
        return type(index.step) is not int or index.step > 0
    if type(index) is not tuple:
        return False
    for item in index:
        if type(item) is not int and (type(item) is not slice or (type(item.step) is int and item.step <= 0)):
            return False
    return True


# ---------------------------------------------------------------- x[index]
_NO_SLICE = "slice() cannot be applied to a 0-dim tensor."


def getitem(self: Any, index: Any) -> Any:
    """``self[index]`` (source: ``torch.Tensor.__getitem__``)."""
    if type(index) is int:
        try:
            array = self.array
            array = array[index] if array.ndim > 1 else array[index, ...]
        except IndexError:
            raise noted(_select_error(index, 0, shape_of(self))) from None
        if state.interposed == 0:
            return SELECT.finish_view((self, 0, index), array)
        return SELECT.apply((self, 0, index))
    if type(index) is slice:
        shape = self.array.shape
        if not shape:
            raise noted(IndexError(_NO_SLICE))
        start, end, step = _bounds(index, shape[0])
        if state.interposed == 0:
            return SLICE.finish_view((self, 0, start, end, step), self.array[start:end:step])
        return SLICE.apply((self, 0, start, end, step))
    if index is None:
        return UNSQUEEZE.apply((self, 0))
    if index is Ellipsis:
        return ALIAS.apply((self,))
    recording = is_recording()
    if type(index) is tuple and state.interposed == 0 and _is_plain(index) and not (recording and needs_gradient(self)):
        try:
            return make_view(self, self.array[(*index, ...)], DEFAULT if recording else NO_GRAD)
        except (IndexError, TypeError, ValueError):
            pass  # the long way finds torch's words
    reading = read(shape_of(self), _as_tuple(index))
    indices = reading.indices
    if not indices:
        return sliced_by(self, reading, True)
    return INDEX.apply((sliced_by(self, reading, False), tuple([i for i in indices if i is not _COVERED])))


# ---------------------------------------------------------------- x[index] = value
def _as_value(self: Any, value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value
    if isinstance(value, (bool, int, float, complex, np.generic)):
        if self.dtype.category < COMPLEX and isinstance(value, (complex, np.complexfloating)):
            raise noted(RuntimeError(f"value cannot be converted to type {_c_type(self)} without overflow"))
        return wrap(self.dtype.scalar(value), self.dtype, None)
    raise noted(TypeError(f"can't assign a {_full_name(value)} to a torch.{SCALAR_TYPE[self.dtype]}Tensor"))


def _c_type(self: Any) -> str:
    return {
        "float64": "double",
        "float32": "float",
        "int64": "int64_t",
        "int32": "int",
        "int16": "int16_t",
        "int8": "int8_t",
        "uint8": "uint8_t",
    }.get(self.dtype.name, self.dtype.name)


def _full_name(value: Any) -> str:
    module = type(value).__module__
    return type(value).__name__ if module == "builtins" else f"{module}.{type(value).__name__}"


def _without_leading_ones(value: Any) -> Any:
    """A view of the value without the dimensions of one element that come first."""
    for n in value.array.shape:
        if n != 1:
            break
        value = SELECT.apply((value, 0, 0))
    return value


def setitem(self: Any, index: Any, value: Any) -> None:
    """``self[index] = value`` (source: ``torch.Tensor.__setitem__``)."""
    recording = is_recording()
    if (
        _is_plain(index)
        and state.interposed == 0
        and not (recording and needs_gradient(self))
        and 0 not in self.array.strides
    ):
        kind = type(value)
        given: Any = None
        if kind is float or kind is int or kind is bool:
            given = value
        elif (
            isinstance(value, TensorBase)
            and value.dtype is self.dtype
            and not (recording and needs_gradient(value))
            and (value.base is None or not has_base_of(value, self))
        ):
            given = value.array
        if given is not None:
            check_inplace(self, recording, True)
            try:
                self.array[index] = given
            except (IndexError, ValueError, TypeError, OverflowError):
                pass  # the long way finds torch's words, or a way
            else:
                counter_of(self).bump()
                return
    value = _as_value(self, value)
    if index is Ellipsis:
        _assign(self, value)
        return
    if index is False:
        return
    shape = shape_of(self)
    if not shape and type(index) is int:
        raise noted(_select_error(0, 0, shape))
    if not shape and type(index) is slice:
        raise noted(IndexError(_NO_SLICE))
    reading = read(shape, _as_tuple(index))
    target = sliced_by(self, reading, False)
    if not reading.indices or index is True:
        _assign(target, value)
        return
    indices = tuple([i for i in reading.indices if i is not _COVERED])
    if value.dtype is not self.dtype:
        raise noted(
            RuntimeError(
                "Index put requires the source and destination dtypes match, got "
                f"{SCALAR_TYPE[self.dtype]} for the destination and {SCALAR_TYPE[value.dtype]} for the "
                "source."
            )
        )
    value = _without_leading_ones(value)
    masks = [i for i in indices if i is not None]
    if len(masks) == 1 and masks[0].dtype is uint8 and not value.array.ndim:
        raise noted(RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"))
    put_(target, indices, value)


def _assign(target: Any, value: Any) -> None:
    if not value.array.ndim and target.array.ndim:
        FILL_TENSOR.inplace(target, value)
    else:
        if value.array.shape != target.array.shape:
            value = _without_leading_ones(value)
            check_expands(value, target)
            value = EXPAND.apply((value, shape_of(target)))
        copy_(target, value)


def put_(target: Any, indices: Any, value: Any, accumulate: bool = False) -> Any:
    """Write (or add) a value at index tensors, in place and without a copy where nothing is recorded."""
    recording = is_recording()
    for other in (value, *indices):
        if other is not None and other.dtype is not boolean and other.dtype is not uint8:  # masks are read before
            check_apart(target, other, True)
    if value.dtype is not target.dtype:
        value = value.to(target.dtype)
    if state.interposed == 0 and not (recording and (needs_gradient(target) or needs_gradient(value))):
        shared = is_expanded(target, "index_put_", "tensor[indices] = tensor")
        check_inplace(target, recording, shared)
        write(target.array, [None if i is None else i.array for i in indices], value.array, accumulate)
        counter_of(target).bump()
        return target
    return INDEX_PUT.inplace(target, indices, value, accumulate)


def write_shared(target: Any, key: Any, value: Any) -> Any:
    """Write a number into a tensor whose elements share memory, if that need not be recorded."""
    recording = is_recording()
    check_inplace(target, recording, not (recording and needs_gradient(target)))
    target.array[key] = value
    counter_of(target).bump()
    return target


FUNCTIONS: list[str] = []
METHODS: dict[str, Any] = {}
