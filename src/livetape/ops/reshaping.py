"""Changing the shape of a tensor itself: the memory stays, and a recorded tensor gets one node more."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import noted
from livetape._tape.modes import interpose, is_recording, state
from livetape._tape.tensor import counter_of, shape_of, version_of
from livetape._tape.views import check_inplace, move_retained, needs_gradient
from livetape.kernels.resizing import resized
from livetape.ops.basics import AS_STRIDED, layout_of, storage_offset
from livetape.ops.nodes import node_class
from livetape.ops.options import ints
from livetape.size import size_of

AS_STRIDED_INPLACE = node_class("AsStridedBackward1")


def change_shape(op: Any, values: tuple[Any, ...]) -> Any:
    """Give ``values[0]`` the geometry that the view operation ``op`` would give a view of it."""
    if state.interposed != 0:
        return interpose(op, values, {"reshape": change_shape}, lambda *values: _change_plain(op, values))
    return _change_plain(op, values)


def _change_plain(op: Any, values: tuple[Any, ...]) -> Any:
    """`change_shape` below the interposers."""
    target = values[0]
    recording = is_recording()
    check_inplace(target, recording, True)
    out = op.kernel(*op.arrays(values))
    node = op.node_for(values, target.dtype) if recording else None
    if node is not None:
        if op.inplace_class is not None:
            renamed = op.inplace_class()
            renamed._op, renamed._edges = op, node._edges
            node = renamed
        op.save(node, values, (target,), 1)
    target.array = out
    target._size = None
    counter_of(target).bump()
    if node is not None:
        move_retained(target, node)
        target.node = node
        target.output_nr = 0
    if target.base is not None:
        target.view_version = version_of(target)
    return target


def as_strided_(self: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """In-place `as_strided` (source: ``torch.Tensor.as_strided_``)."""
    offset = 0 if storage_offset is None else storage_offset - _here(self)
    values = (self, size_of(tuple(size)), tuple(stride), offset, layout_of(self.array))
    return change_shape(AS_STRIDED, values)


_here = storage_offset


def resize_(self: Any, *size: Any, memory_format: Any = None) -> Any:
    """Give the tensor another size, keeping its memory or taking more (source: ``torch.Tensor.resize_``)."""
    wanted = ints("resize_", size)
    if needs_gradient(self):
        raise noted(RuntimeError("cannot resize variables that require grad"))
    if any(n < 0 for n in wanted):
        raise noted(RuntimeError("numel: integer multiplication overflow"))
    if wanted == self.array.shape:
        return self
    if self.inference:  # outside of inference mode it refuses, as all changes in place do
        check_inplace(self, False, True)
    _resize(self, wanted)
    return self


def resize_as_(self: Any, the_template: Any, memory_format: Any = None) -> Any:
    """`resize_` to the size of another tensor (source: ``torch.Tensor.resize_as_``)."""
    return resize_(self, shape_of(the_template))


def _resize(self: Any, wanted: tuple[int, ...]) -> None:
    self.array = resized(self.array, wanted)
    self._size = None
    counter_of(self).bump()
