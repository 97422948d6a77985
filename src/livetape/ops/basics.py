"""What other rows are written with: fresh tensors, copies, casts, and the tape's own primitives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import broadcast_error, noted
from livetape._tape.lines import note_detached
from livetape._tape.modes import interpose, is_recording, state
from livetape._tape.tensor import TensorBase, counter_of, from_array, shape_of, wrap
from livetape._tape.views import check_apart, check_inplace, primitives, rebase_history, shares_elements
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE, bfloat16, boolean, dtype, uint16, uint32, uint64
from livetape.kernels.layouts import copied
from livetape.kernels.reductions import sum_rows, total
from livetape.kernels.views import expanded
from livetape.ops.nodes import node_class
from livetape.ops.table import elementwise, row
from livetape.size import Size, size_of


def zeros(size: Any, kind: dtype) -> Any:
    """A new tensor of zeros."""
    return wrap(np.zeros(size, kind.np), kind, None)


def zeros_like(grad: Any) -> Any:
    """Zeros of a gradient's shape and dtype."""
    return wrap(np.zeros(grad.array.shape, grad.array.dtype), grad.dtype, grad._size)


def ones_like(grad: Any) -> Any:
    """Ones of a tensor's shape and dtype."""
    return wrap(np.ones(grad.array.shape, grad.array.dtype), grad.dtype, grad._size)


# ---------------------------------------------------------------- copies and casts
CLONE = row("clone", copied, params="self", linear=True, batch="any", self=lambda grad: grad)
TO_COPY = row("to_copy", lambda self, dtype: _cast(self, dtype), linear=True, batch="any", self=lambda grad: grad)


def _cast(array: Any, kind: dtype) -> Any:
    if array.dtype.kind == "c" and kind.category != COMPLEX:
        array = array.real
    return copied(array, kind.np)


def clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy that gradients flow through (source: ``torch.clone``).

    >>> import livetape as torch
    >>> torch.clone(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """
    twin = CLONE.apply((input,))
    if input.inference:
        twin.bump_version()  # torch fills a normal tensor here
    return twin


def cast(input: Any, kind: dtype) -> Any:
    """A copy of another dtype; complex to real drops the imaginary part."""
    return TO_COPY.apply((input, kind))


def detach(input: Any) -> Any:
    """The same memory, not connected to the tape; changes of either are seen by both (source: ``torch.detach``)."""
    array = input.array
    if type(array) is not np.ndarray and hasattr(array, "detached"):  # of a transform, with a tensor of its own inside
        array = array.detached()
    twin = wrap(array, input.dtype, input._size)
    if not input.inference:
        twin.version = counter_of(input)
    twin.inference = input.inference
    if state.watching and (input.recorded or input.extras is not None):
        note_detached(input, twin, "detach")
    return twin


# ---------------------------------------------------------------- broadcasting undone
def _sum_to(array: Any, size: Any) -> Any:
    if array.ndim == 2 and len(size) == 1 and array.shape[1] == size[0]:
        return sum_rows(array)
    extra = array.ndim - len(size)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(size) if n == 1 and array.shape[i + extra] != 1)
    if axes:
        array = total(array, axes, True)
    return array.reshape(size)


SUM_TO = row(
    "sum",
    _sum_to,
    params="self size",
    node="SumToSizeBackward0",
    key="sum_to_size",
    linear=True,
    batch="sum_to",
    self=lambda grad, self_size: EXPAND.apply((grad, self_size)),
)
EXPAND = row(
    "expand",
    expanded,
    params="self size",
    view=True,
    batch="expand",
    self=lambda grad, self_size: sum_to(grad, self_size),
)


def sum_to(input: Any, size: Any) -> Any:
    """The sum over the dimensions in which ``size`` was broadcast to the input's shape."""
    have = shape_of(input)
    if have is size or have == tuple(size):
        return input
    return SUM_TO.apply((input, size if type(size) is Size else size_of(tuple(size))))


# ---------------------------------------------------------------- views by strides
def _strided(self: Any, size: Any, stride: Any, storage_offset: int) -> Any:
    itemsize = self.itemsize
    flat = self.reshape(-1) if self.flags.c_contiguous else None
    if flat is not None and all(s >= 0 for s in stride):
        last = storage_offset + sum((n - 1) * s for n, s in zip(size, stride) if n)
        if 0 <= storage_offset and last < flat.size:
            return np.ndarray(size, self.dtype, flat, storage_offset * itemsize, [s * itemsize for s in stride])
    # the memory beyond the array's own elements: the owner of the memory decides what is there
    owner = owner_of(self)
    # not as_strided of NumPy, whose result has no array as its base
    here = self.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    first = here + storage_offset * itemsize
    if not all(size):
        return np.ndarray(size, self.dtype, owner, 0, [s * itemsize for s in stride])
    check_reach(owner, size, stride, first // itemsize, itemsize)
    return np.ndarray(size, self.dtype, owner, first, [s * itemsize for s in stride])


def check_reach(owner: Any, size: Any, stride: Any, first: int, itemsize: int) -> None:
    """Raise torch's error for a view that reaches beyond the memory of ``owner``."""
    end = (first + sum((n - 1) * s for n, s in zip(size, stride)) + 1) * itemsize
    if end > owner.nbytes and min(stride, default=0) >= 0:
        raise noted(
            RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {first}, and itemsize "
                f"{itemsize} requiring a storage size of {end} are out of bounds for storage of size {owner.nbytes}"
            )
        )


def owner_of(array: Any) -> Any:
    """The array whose memory this one is a view of."""
    while array.base is not None:
        base = array.base if isinstance(array.base, np.ndarray) else getattr(array.base, "base", None)
        if not isinstance(base, np.ndarray):
            break
        array = base
    return array


def layout_of(array: Any) -> Any:
    """The strides of an array in elements, or None for the usual order."""
    return None if array.flags.c_contiguous else tuple([s // array.itemsize for s in array.strides])


def _laid_out(self: Any, layout: Any) -> Any:
    """A copy whose memory is laid out with the given strides."""
    if layout is None:
        return self.copy("C")
    extent = 1 + sum((n - 1) * s for n, s in zip(self.shape, layout) if n)
    made = np.ndarray(self.shape, self.dtype, np.zeros(extent, self.dtype), 0, [s * self.itemsize for s in layout])
    made[...] = self
    return made


LAID_OUT = row("clone", _laid_out, key="clone.layout", linear=True, batch="layout", self=lambda grad: grad)


def clone_as(input: Any, layout: Any) -> Any:
    """A copy laid out in memory as another tensor is, see `layout_of`."""
    return LAID_OUT.apply((input, layout))


def places_of(size: Any, stride: Any, storage_offset: int) -> Any:
    """Where in memory the elements of a view by strides lie, one after the other."""
    places: Any = np.full((), storage_offset, np.int64)
    for n, s in zip(size, stride):
        places = places[..., None] + np.arange(n) * s
    return places.reshape(-1)


def extent_of(size: Any, layout: Any) -> int:
    """How many elements a tensor of the given size and layout spans in memory, see `layout_of`."""
    if layout is None:
        return int(np.prod(size, dtype=np.int64))
    return int(1 + sum((n - 1) * s for n, s in zip(size, layout) if n))


def _scatter_strided(grad: Any, base: Any, layout: Any, size: Any, stride: Any, storage_offset: int) -> Any:
    """Add each element of ``grad`` at its place in a zero array of shape ``base`` and the given layout."""
    extent = extent_of(base, layout)
    places, grad = places_of(size, stride, storage_offset), grad.reshape(-1)
    inside = (places >= 0) & (places < extent)  # the view may reach beyond its base
    if not inside.all():
        places, grad = places[inside], grad[inside]
    total = np.zeros(extent, grad.dtype)
    np.add.at(total, places, grad)
    if layout is None:
        return total.reshape(base)
    if _overlaps(base, layout):  # the elements that share memory share its gradient
        owners = np.zeros(extent, np.int64)
        np.add.at(owners, np.lib.stride_tricks.as_strided(np.arange(extent), base, [s * 8 for s in layout]), 1)
        total /= np.maximum(owners, 1)
    return np.lib.stride_tricks.as_strided(total, base, [s * grad.itemsize for s in layout]).copy()


def _overlaps(size: Any, layout: Any) -> bool:
    """Whether elements of a tensor with the given strides share memory."""
    reach = 0
    for stride, extent in sorted(zip(layout, size)):
        if extent > 1:
            if stride <= reach:
                return True
            reach += stride * (extent - 1)
    return False


AS_STRIDED = row(
    "as_strided",
    lambda self, size, stride, storage_offset, layout: _strided(self, size, stride, storage_offset),
    view=True,
    batch="strided",
    self=lambda grad, self_size, layout, size, stride, storage_offset: AS_STRIDED_BACKWARD.apply(
        (grad, self_size, layout, size, stride, storage_offset)
    ),
    selects=True,
)
AS_STRIDED_BACKWARD = row(
    "as_strided_backward",
    _scatter_strided,
    tensors="grad",
    linear=True,
    batch="strided_backward",
    grad=lambda grad, layout, size, stride, storage_offset: gather_strided(grad, layout, size, stride, storage_offset),
)


def gather_strided(grad: Any, layout: Any, size: Any, stride: Any, storage_offset: int) -> Any:
    """What `_scatter_strided` undoes: the view of a tensor's memory, with zeros where it reaches beyond."""
    spans = [(n - 1) * s for n, s in zip(size, stride) if n]
    first = storage_offset + sum([s for s in spans if s < 0])
    last = storage_offset + sum([s for s in spans if s > 0])
    base = shape_of(grad)
    extent = extent_of(base, layout)
    before, after = max(0, -first), max(0, last + 1 - extent)
    whole = clone_as(grad, layout)
    if before or after:
        flat = AS_STRIDED.apply((whole, size_of((extent,)), (1,), 0, layout))
        room = size_of((before + extent + after,))
        whole = AS_STRIDED_BACKWARD.apply((flat, room, None, size_of((extent,)), (1,), before))
        layout = None
    return AS_STRIDED.apply((whole, size, stride, before + storage_offset, layout))


def strided_view(input: Any, size: Any, stride: Any, offset: int) -> Any:
    """A view with the given size and strides, in elements; ``offset`` counts from the tensor's first element."""
    return AS_STRIDED.apply((input, size_of(tuple(size)), tuple(stride), offset, layout_of(input.array)))


def check_strides(size: Any, stride: Any, storage_offset: int | None) -> None:
    """Raise torch's errors for what describes no view of any memory."""
    if len(size) != len(stride):
        raise noted(RuntimeError("mismatch in length of strides and shape"))
    if any(s < 0 for s in stride):
        raise noted(
            RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
        )
    if storage_offset is not None and storage_offset < 0:
        raise noted(RuntimeError(f"Tensor: invalid storage offset {storage_offset}"))
    if any(n < 0 for n in size):
        raise noted(
            RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
        )


def storage_offset(input: Any) -> int:
    """The place of a tensor's first element in the memory it shares with its base."""
    base = input.base
    if base is None:
        start = owner_of(input.array)
    else:
        start = base.array
    found = input.array.__array_interface__["data"][0] - start.__array_interface__["data"][0]
    return int(found // max(1, input.array.itemsize))


def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """A view of the tensor's memory with any size and strides, in elements (source: ``torch.as_strided``)."""
    here = _storage_offset(input)
    check_strides(size, stride, storage_offset)
    return strided_view(input, size, stride, 0 if storage_offset is None else storage_offset - here)


_storage_offset = storage_offset


# ---------------------------------------------------------------- copying into
COPY_NODE = node_class("CopyBackwards")
COPY_NODE.name = lambda self: "torch::autograd::CopyBackwards"  # type: ignore[method-assign]
COPY = row(
    "copy",
    lambda self, src: np.broadcast_to(src, self.shape),
    tensors="self src",
    node="CopyBackwards",
    batch="broadcast",
    self=lambda grad: zeros_like(grad),
    src=lambda grad: grad,
    selects=True,
)
COPY.aligned = True


def check_expands(input: Any, target: Any) -> None:
    """Raise torch's error for a tensor that does not expand to another's shape."""
    have, want = input.array.shape, target.array.shape
    extra = len(want) - len(have)
    if extra < 0 or any(n != 1 and n != want[extra + i] for i, n in enumerate(have)):
        raise noted(expand_error(have, want) if extra >= 0 else sizes_error(input, want))


def sizes_error(input: Any, want: Any) -> RuntimeError:
    """Torch's words for too few sizes to expand to."""
    name, kind = SCALAR_TYPE[input.dtype], input.dtype
    typed = f"torch.{name}Tensor" if kind.category < COMPLEX and kind not in _NAMED_OTHERWISE else f"CPU{name}Type"
    have, wanted = list(input.array.shape), list(want)
    return RuntimeError(
        f"expand({typed}{{{have}}}, size={wanted}): the number of sizes provided ({len(wanted)}) must be greater or equal to "
        f"the number of dimensions in the tensor ({len(have)})"
    )


_NAMED_OTHERWISE = (boolean, bfloat16, uint16, uint32, uint64)


def copy_error(have: Any, want: Any) -> RuntimeError:
    """Torch's words for a source that does not expand to what it is copied into."""
    found = broadcast_error(tuple(want), tuple(have))
    return found if "must match" in str(found) else expand_error(have, want)


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Copy the elements of ``src``, broadcast and cast, into this tensor (source: ``torch.Tensor.copy_``)."""
    if not isinstance(src, TensorBase):
        if not isinstance(src, (int, float, complex, np.number, np.bool_)):
            raise noted(TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}"))
        src = from_array(np.array(src))
    if state.interposed != 0:
        return interpose(COPY, (self, src), {"inplace": True}, _copy_plain)
    return _copy_plain(self, src)


def _copy_plain(self: Any, src: Any) -> Any:
    """`copy_` below the interposers."""
    recording = is_recording()
    check_inplace(self, recording, self is src, (src,))
    check_apart(self, src)
    source = src.array
    shape = self.array.shape
    if source.shape != shape:
        try:
            source = np.broadcast_to(source, shape)
        except ValueError:
            raise noted(copy_error(shape_of(src), shape)) from None
    if source.dtype.kind == "c" and self.array.dtype.kind != "c":
        source = source.real
    node = COPY.node_for((self, src), self.dtype) if recording else None
    np.copyto(self.array, source, casting="unsafe")
    counter_of(self).bump()
    if node is not None:
        if shape_of(src) != shape_of(self) or src.dtype is not self.dtype:
            node._metas = (None, (shape_of(src), src.dtype))
        rebase_history(self, node)
    return self


def is_expanded(target: Any, name: str, example: str) -> bool:
    """Whether elements of a tensor share memory, where torch warns and writes in the order of the elements."""
    if not shares_elements(target.array):
        return False
    warnings.warn(
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        f"This also applies to advanced indexing e.g. {example}",
        UserWarning,
        stacklevel=4,
    )
    return True


def expand_error(have: Any, want: Any) -> RuntimeError:
    """Torch's words for a shape that does not expand."""
    have, want = list(have), list(want)
    if len(have) > len(want):
        return RuntimeError(f"output with shape {want} doesn't match the broadcast shape {have}")
    for i in range(1, len(have) + 1):
        if have[-i] != want[-i] and have[-i] != 1:
            return RuntimeError(
                f"The expanded size of the tensor ({want[-i]}) must match the existing size ({have[-i]}) at non-singleton "
                f"dimension {len(want) - i}.  Target sizes: {want}.  Tensor sizes: {have}"
            )
    return RuntimeError(f"output with shape {want} doesn't match the broadcast shape {have}")


# ---------------------------------------------------------------- conjugation
CONJ = elementwise("conj", np.conjugate, params="self", tensors="self", analytic=False, self=lambda grad: conj(grad))


def conj(input: Any) -> Any:
    """The complex conjugate; a real tensor is returned as it is (source: ``torch.conj``)."""
    return CONJ.call1(input) if input.dtype.category == COMPLEX else input


def is_differentiable(tensor: Any) -> bool:
    """Whether a tensor's dtype can require gradients."""
    return bool(tensor.dtype.category >= FLOAT)


def sum_arrays(left: Any, right: Any) -> Any:
    """The sum of two gradients."""
    return left + right


primitives.add = sum_arrays
primitives.as_strided = strided_view
primitives.as_strided_op = AS_STRIDED
primitives.cast = cast
primitives.clone = clone
primitives.clone_as = clone_as
primitives.layout_of = layout_of
primitives.conj = conj
primitives.copy_ = copy_
primitives.sum_to = sum_to
primitives.zeros = zeros
