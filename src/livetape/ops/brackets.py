"""What stands between the brackets of x[...], as torch reads it."""

from __future__ import annotations

import warnings
from operator import index as as_int
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import is_recording, state
from livetape._tape.tensor import DEFAULT, NDARRAY, NO_GRAD, TensorBase, from_array, make_view, wrap
from livetape._tape.views import needs_gradient
from livetape.dtypes import FLOAT, boolean, int32, int64, uint8
from livetape.ops.slicing import ALIAS, FULL, SELECT, SLICE, UNSQUEEZE, with_ones

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


def warn_of_sequence() -> None:
    """Torch's warning for a sequence that is read as a tuple of indices."""
    warnings.warn(_DEPRECATED, UserWarning, stacklevel=5)


def index_tuple(index: Any) -> tuple[Any, ...]:
    """The items of an index: a tuple's own, or those of a list that stands for a tuple, as NumPy once had it."""
    if type(index) is tuple:
        return index
    if isinstance(index, TensorBase):
        return (index,)
    if isinstance(index, tuple):
        return tuple(index)
    if isinstance(index, list) and len(index) < 32:
        for item in index:
            if (
                item is None
                or item is Ellipsis
                or isinstance(item, (slice, list, tuple, range, str, TensorBase, NDARRAY))
            ):
                warn_of_sequence()
                return tuple(index)
    if isinstance(index, str) and 0 < len(index) < 32:  # a sequence of sequences for torch
        warn_of_sequence()
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


def select_error(index: int, dim: int, shape: Any, place: int = 0) -> IndexError:
    """The error for an integer that is out of bounds; torch calls the dimension by the item's place in the index."""
    if not shape:
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
            "C++ to "
            "convert a 0-dim tensor to a number"
        )
    return IndexError(f"index {index} is out of bounds for dimension {place} with size {shape[dim]}")


def slice_bounds(item: slice, extent: int) -> tuple[int, int, int]:
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
                start, end, step = slice_bounds(item, extent)
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
                        reading.indices.extend([COVERED] * (wide - 1))
                    continue
            item = as_int(item)
        extent = shape[source]
        if not -extent <= item < extent:
            raise noted(select_error(item, source, shape, place))
        basic.append(item)
        steps.append((SELECT, dim, item))
        source += 1
    return reading


COVERED = object()


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


def is_plain_index(index: Any) -> bool:
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
