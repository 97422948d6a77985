"""View operations that copy: the same node under another name, and memory of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import state
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape._tape.views import shared_error, shares_elements
from livetape.dtypes import boolean
from livetape.ops.basics import (
    as_strided,
    check_reach,
    check_strides,
    clone,
    detach,
    extent_of,
    gather_strided,
    layout_of,
    owner_of,
    places_of,
    storage_offset,
)
from livetape.ops.complexes import view_as_complex, view_as_real
from livetape.ops.gathering import select
from livetape.ops.indexing import ALIAS, SLICE
from livetape.ops.joining import unbind
from livetape.ops.nodes import node_class
from livetape.ops.placing import check_slice
from livetape.ops.shape import expand, permute, squeeze, t, transpose, unsqueeze, view
from livetape.ops.splitting import split, split_with_sizes
from livetape.ops.table import into, row
from livetape.ops.unfolding import unfold
from livetape.size import size_of


def alias(input: Any) -> Any:
    """A view of everything."""
    return ALIAS.apply((input,))


def slice_(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """A range of slices, as a view."""
    return SLICE.apply((input, dim, *slice(start, end, step).indices(shape_of(input)[dim])))


def _copied(view_of: Any, name: str) -> Any:
    """The copying twin of a view function."""

    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None:
            return into(out, function, *args, **kwargs)
        found = view_of(*args, **kwargs)
        if isinstance(found, TensorBase):
            return _copy(found, {})
        renamed: dict[int, Any] = {}
        return tuple([_copy(one, renamed) for one in found])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `{name.removesuffix('_copy')}`, but a copy (source: ``torch.{name}``)."
    return function


def _copy(found: Any, renamed: dict[int, Any]) -> Any:
    """A copy of a view that takes over its node; the outputs of one node keep sharing one."""
    if state.interposed != 0:
        return clone(found)
    made = wrap(found.array.copy(), found.dtype, None)
    node = found.node
    if found.recorded and node is not None:
        twin = renamed.get(id(node))
        if twin is None:
            twin = renamed[id(node)] = node_class(type(node).__name__ + "_copy")()
            for part in ("_op", "_edges", "_saved", "_versions", "_metas", "_extras"):
                setattr(twin, part, getattr(node, part))
        made.node, made.output_nr, made.recorded = twin, found.output_nr, True
    return made


alias_copy = _copied(alias, "alias_copy")
as_strided_copy = _copied(as_strided, "as_strided_copy")
detach_copy = _copied(detach, "detach_copy")
expand_copy = _copied(expand, "expand_copy")
permute_copy = _copied(permute, "permute_copy")
select_copy = _copied(select, "select_copy")
slice_copy = _copied(slice_, "slice_copy")
split_copy = _copied(split, "split_copy")
split_with_sizes_copy = _copied(split_with_sizes, "split_with_sizes_copy")
squeeze_copy = _copied(squeeze, "squeeze_copy")
t_copy = _copied(t, "t_copy")
transpose_copy = _copied(transpose, "transpose_copy")
unbind_copy = _copied(unbind, "unbind_copy")
unfold_copy = _copied(unfold, "unfold_copy")
unsqueeze_copy = _copied(unsqueeze, "unsqueeze_copy")
view_as_complex_copy = _copied(view_as_complex, "view_as_complex_copy")
view_as_real_copy = _copied(view_as_real, "view_as_real_copy")
view_copy = _copied(view, "view_copy")


def _with_strided(self: Any, src: Any, size: Any, stride: Any, storage_offset: int, layout: Any) -> Any:
    memory = np.zeros(extent_of(self.shape, layout), self.dtype)
    out = _seen(memory, self.shape, layout)
    out[...] = self
    places = places_of(size, stride, storage_offset)
    inside = (places >= 0) & (places < memory.size)  # the view may reach beyond the tensor, whose memory is larger
    memory[places[inside]] = np.broadcast_to(src, size).reshape(-1)[inside]
    return out


def _seen(memory: Any, shape: Any, layout: Any) -> Any:
    if layout is None:
        return memory.reshape(shape)
    return np.ndarray(shape, memory.dtype, memory, 0, [s * memory.itemsize for s in layout])


def _covered(shape: Any, size: Any, stride: Any, storage_offset: int, layout: Any) -> Any:
    """Which elements of a tensor a view by strides covers."""
    memory = np.zeros(extent_of(shape, layout), np.bool_)
    places = places_of(size, stride, storage_offset)
    memory[places[(places >= 0) & (places < memory.size)]] = True
    return wrap(_seen(memory, shape, layout).copy("C"), boolean, None)


AS_STRIDED_SCATTER = row(
    "as_strided_scatter",
    _with_strided,
    tensors="self src",
    linear=True,
    self=lambda grad, self_size, size, stride, storage_offset, layout: grad.masked_fill(
        _covered(self_size, size, stride, storage_offset, layout), 0
    ),
    src=lambda grad, size, stride, storage_offset, layout: gather_strided(grad, layout, size, stride, storage_offset),
    selects=True,
)


def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """A copy with ``src`` in the place of a view by strides (source: ``torch.as_strided_scatter``)."""
    size, stride = tuple(size), tuple(stride)
    check_strides(size, stride, storage_offset)
    if shares_elements(input.array):
        input = input.contiguous()  # as torch does: the view is one of the copy
        here = 0
    else:
        here = _here(input)
    first = here if storage_offset is None else storage_offset
    if all(size):
        check_reach(owner_of(input.array), size, stride, first, input.array.itemsize)
    check_slice(src, size)
    if any(s == 0 and n > 1 for n, s in zip(size, stride)):
        raise noted(shared_error())
    return AS_STRIDED_SCATTER.apply((input, src, size_of(size), stride, first - here, layout_of(input.array)))


_here = storage_offset


def slice_inverse(input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """The view of ``src``'s shape and strides in the memory of ``input``, which is a slice of it.

    Source: ``torch.slice_inverse``.
    """
    return as_strided(input, src.shape, src.stride(), _here(src))


def detach_(input: Any) -> Any:
    """Forget a tensor's history (source: ``torch.detach_``)."""
    return input.detach_()


FUNCTIONS = [
    "detach",
    "detach_",
    "slice_inverse",
    "alias_copy",
    "as_strided_copy",
    "as_strided_scatter",
    "detach_copy",
    "expand_copy",
    "permute_copy",
    "select_copy",
    "slice_copy",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "t_copy",
    "transpose_copy",
    "unbind_copy",
    "unfold_copy",
    "unsqueeze_copy",
    "view_as_complex_copy",
    "view_as_real_copy",
    "view_copy",
]
METHODS = {"as_strided_scatter": as_strided_scatter, "slice_inverse": slice_inverse}
