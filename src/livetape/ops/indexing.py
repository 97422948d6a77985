"""Square brackets: ``x[index]`` and ``x[index] = value``.

Integers, slices, ``...`` and None are views, one operation each, as in torch; index tensors, lists and masks gather.
"""

from __future__ import annotations

from collections.abc import Callable
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
    make_view,
    shape_of,
    wrap,
)
from livetape._tape.views import check_apart, check_inplace, has_base_of, needs_gradient
from livetape.compat import compat
from livetape.dtypes import BOOL, COMPLEX, SCALAR_TYPE, boolean, int64, uint8
from livetape.kernels.layouts import copied
from livetape.kernels.scatter import add_at
from livetape.ops.basics import EXPAND, check_expands, copy_, is_expanded, sum_to, zeros
from livetape.ops.brackets import COVERED, index_tuple, is_plain_index, read, select_error, slice_bounds, sliced_by
from livetape.ops.choose import dropped
from livetape.ops.filling import FILL_TENSOR
from livetape.ops.slicing import ALIAS, FULL, SELECT, SLICE, UNSQUEEZE
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
    total = copied(self)
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


# ---------------------------------------------------------------- x[index]
_NO_SLICE = "slice() cannot be applied to a 0-dim tensor."


def getitem(self: Any, index: Any) -> Any:
    """``self[index]`` (source: ``torch.Tensor.__getitem__``)."""
    if type(index) is int:
        try:
            array = self.array
            array = array[index] if array.ndim > 1 else array[index, ...]
        except IndexError:
            raise noted(select_error(index, 0, shape_of(self))) from None
        if state.interposed == 0:
            return SELECT.finish_view((self, 0, index), array)
        return SELECT.apply((self, 0, index))
    if type(index) is slice:
        shape = self.array.shape
        if not shape:
            raise noted(IndexError(_NO_SLICE))
        start, end, step = slice_bounds(index, shape[0])
        if state.interposed == 0:
            return SLICE.finish_view((self, 0, start, end, step), self.array[start:end:step])
        return SLICE.apply((self, 0, start, end, step))
    if index is None:
        return UNSQUEEZE.apply((self, 0))
    if index is Ellipsis:
        return ALIAS.apply((self,))
    recording = is_recording()
    if (
        type(index) is tuple
        and state.interposed == 0
        and is_plain_index(index)
        and not (recording and needs_gradient(self))
    ):
        try:
            return make_view(self, self.array[(*index, ...)], DEFAULT if recording else NO_GRAD)
        except (IndexError, TypeError, ValueError):
            pass  # the long way finds torch's words
    reading = read(shape_of(self), index_tuple(index))
    indices = reading.indices
    if not indices:
        return sliced_by(self, reading, True)
    return INDEX.apply((sliced_by(self, reading, False), tuple([i for i in indices if i is not COVERED])))


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
        is_plain_index(index)
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
        raise noted(select_error(0, 0, shape))
    if not shape and type(index) is slice:
        raise noted(IndexError(_NO_SLICE))
    reading = read(shape, index_tuple(index))
    target = sliced_by(self, reading, False)
    if not reading.indices or index is True:
        _assign(target, value)
        return
    indices = tuple([i for i in reading.indices if i is not COVERED])
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
        if shared and not accumulate and value.array.size == 1:  # torch fills where a single mask says
            given = [i for i in indices if i is not None]
            if len(given) == 1 and given[0].dtype in (boolean, uint8):
                is_expanded(target, "masked_fill_", "tensor[mask] = scalar")
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
