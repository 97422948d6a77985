"""Tensor.set_: give a tensor the memory of another, or of a storage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import is_recording
from livetape._tape.tensor import TensorBase, counter_of
from livetape._tape.views import check_inplace, edge_of, needs_gradient, rebase_history
from livetape.dtypes import C_NAME
from livetape.ops.boundary import as_method
from livetape.ops.nodes import node_class
from livetape.ops.refuse import no_overload
from livetape.storage import TypedStorage, UntypedStorage, memory_of, owner_of


class _NotImplemented(node_class("NotImplemented")):  # type: ignore[misc]
    """The history of a tensor with the memory of another: there is no derivative."""

    __slots__ = ()

    def _run(self, grads: Any, wanted: Any) -> Any:
        raise RuntimeError("derivative for set_ is not implemented")

    def _release(self) -> None:
        pass


_NotImplemented.__name__ = _NotImplemented.__qualname__ = "NotImplemented"
_NotImplemented.__module__ = "builtins"


def _strides(size: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([math.prod([max(n, 1) for n in size[i + 1 :]]) for i in range(len(size))])


def _placed(memory: Any, kind: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Any:
    """An array of the given size and strides, in elements, in bytes of memory, which grow if they are too few."""
    if offset < 0:
        raise noted(RuntimeError(f"Tensor: invalid storage offset {offset}"))
    if len(size) != len(stride):
        raise noted(RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})"))
    if any(n < 0 for n in size):
        raise noted(RuntimeError("numel: integer multiplication overflow"))
    if any(s < 0 for s in stride):
        raise noted(
            RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
        )
    if 0 in size:
        return np.empty(size, kind)
    end = (offset + sum([(n - 1) * s for n, s in zip(size, stride)]) + 1) * kind.itemsize
    if end > memory.size:
        grown = np.zeros(end, np.uint8)
        grown[: memory.size] = memory
        memory = grown
    return np.ndarray(size, kind, memory, offset * kind.itemsize, [s * kind.itemsize for s in stride])


def set_(self: Any, source: Any = None, storage_offset: Any = None, size: Any = None, stride: Any = None) -> Any:
    """Take over the memory of a tensor or storage (source: ``torch.Tensor.set_``); without arguments, none.

    source            the tensor: its size, strides and offset are taken over too, unless they are given
    storage_offset    the first element, in elements of the memory
    size, stride      of the result; default stride: that of a contiguous tensor

    Other tensors on the memory that the tensor had keep it. There is no derivative.

    >>> import livetape as torch
    >>> x, y = torch.ones(3), torch.arange(4.)
    >>> _ = x.set_(y)
    >>> y[0] = 9
    >>> x
    tensor([9., 1., 2., 3.])
    """
    recording = is_recording()
    if source is None:
        array: Any = np.empty(0, self.array.dtype)
    elif not isinstance(source, (TensorBase, UntypedStorage, TypedStorage)):
        raise noted(no_overload("set_"))
    elif storage_offset is None and isinstance(source, TensorBase):
        array = source.array
    elif storage_offset is not None and size is None:
        raise noted(no_overload("set_"))
    else:
        kind = self.array.dtype
        if isinstance(source, TensorBase):
            memory = memory_of(owner_of(source))
        else:
            memory = (source.untyped() if isinstance(source, TypedStorage) else source).memory
        shape = (memory.size // kind.itemsize,) if size is None else tuple(size)
        array = _placed(memory, kind, storage_offset or 0, shape, _strides(shape) if stride is None else tuple(stride))
    if isinstance(source, TensorBase) and source.dtype is not self.dtype:
        names = [_named(t) for t in (source, self)]
        raise noted(RuntimeError(f"Could not set tensor of type {names[0]} to a tensor of type {names[1]}"))
    check_inplace(self, recording, True)
    counter = counter_of(self)
    node = None
    if recording:
        edges = [edge_of(t) for t in (self, source) if isinstance(t, TensorBase)]
        if any(e is not None for e in edges):
            node = _NotImplemented()
            node._edges = tuple(edges)
    elif self.base is not None and needs_gradient(self):
        self.node = None
    self.array = array
    self._size = None
    self.base = None
    counter.bump()
    if node is not None:
        rebase_history(self, node)
    return self


set_ = as_method("set_", set_)


def _named(tensor: Any) -> str:
    name = C_NAME[tensor.dtype]
    return "long int" if name == "long" else "short int" if name == "short" else name
