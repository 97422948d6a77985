"""Tensors taken apart along a dimension: the parts are views."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import dtype
from livetape.ops.basics import zeros
from livetape.ops.dims import as_int, is_integer, wrap_dim
from livetape.ops.indexing import FULL, SLICE
from livetape.ops.joining import CAT
from livetape.ops.options import ints
from livetape.ops.refuse import no_overload
from livetape.ops.table import row


def _parts(self: Any, counts: Any, dim: int) -> list[Any]:
    whole = (FULL,) * dim
    found = []
    at = 0
    for n in counts:
        found.append(self[(*whole, slice(at, at + n))])
        at += n
    return found


def _even(extent: int, split_size: int) -> list[int]:
    """The sizes of the parts that `split` makes."""
    if not split_size:
        return [0]
    return [min(split_size, extent - at) for at in range(0, extent, split_size)] or [0]


def _split(self: Any, split_size: int, dim: int) -> list[Any]:
    return _parts(self, _even(self.shape[dim], split_size), dim)


def _rejoined(grads: Any, size: Any, counts: Any, dim: int) -> Any:
    """The gradients of the parts put together, with zeros for parts that have none."""
    kind: dtype = next(g.dtype for g in grads if g is not None)
    return CAT.apply(
        ([zeros((*size[:dim], n, *size[dim + 1 :]), kind) if g is None else g for g, n in zip(grads, counts)], dim)
    )


def _split_backward(grads: Any, self_size: Any, split_size: int, dim: int) -> Any:
    return _rejoined(grads, self_size, _even(self_size[dim], split_size), dim)


def _sizes_backward(grads: Any, self_size: Any, split_sizes: Any, dim: int) -> Any:
    return _rejoined(grads, self_size, split_sizes, dim)


SPLIT = row("split", _split, view=True, outputs=0, batch="dim", self=_split_backward, selects=True)
SPLIT_SIZES = row(
    "split_with_sizes",
    lambda self, split_sizes, dim: _parts(self, split_sizes, dim),
    view=True,
    outputs=0,
    batch="dim",
    self=_sizes_backward,
    selects=True,
)
# The parts share memory with the whole, but are no views for the tape.
UNSAFE_SPLIT = row("unsafe_split", _split, outputs=0, batch="dim", self=_split_backward)
UNSAFE_SPLIT_SIZES = row(
    "unsafe_split_with_sizes",
    lambda self, split_sizes, dim: _parts(self, split_sizes, dim),
    outputs=0,
    batch="dim",
    self=_sizes_backward,
)


def _dimension(input: Any, dim: Any, name: str, message: str) -> int:
    ndim = input.array.ndim
    if not ndim:
        raise noted(RuntimeError(message))
    return wrap_dim(dim, ndim, name)


def _split_by(op: Any, input: Any, split_size: int, dim: Any) -> Any:
    at = _dimension(input, dim, "split", "split expects at least a 1-dimensional tensor")
    extent = input.array.shape[at]
    if split_size < 0:
        raise noted(RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}"))
    if split_size == 0 and extent:
        raise noted(
            RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {extent}")
        )
    return op.apply((input, split_size, at))


def _split_by_sizes(op: Any, input: Any, split_sizes: Any, dim: Any) -> Any:
    counts = list(ints("split_with_sizes", (split_sizes,), None, "split_sizes"))
    at = _dimension(input, dim, "split_with_sizes", "split expects at least a 1-dimensional tensor")
    if any(n < 0 for n in counts):
        raise noted(
            RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={counts}"
            )
        )
    extent = input.array.shape[at]
    if sum(counts) != extent:
        raise noted(
            RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's size at "
                f"dimension {at}), but got split_sizes={counts}"
            )
        )
    return op.apply((input, tuple(counts), at))


def split(tensor: Any, split_size_or_sections: Any = None, dim: Any = 0, *, split_size: Any = None) -> Any:
    """Parts of one size, the last perhaps smaller, or of the sizes given (source: ``torch.split``).

    >>> import livetape as torch
    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    wanted = split_size_or_sections if split_size is None else split_size
    if is_integer(wanted):
        return _split_by(SPLIT, tensor, as_int(wanted), dim)
    if not isinstance(wanted, (tuple, list)):
        raise noted(
            TypeError(
                "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not "
                f"{type(wanted).__name__}"
            )
        )
    return _split_by_sizes(SPLIT_SIZES, tensor, wanted, dim)


def split_with_sizes(input: Any, split_sizes: Any, dim: Any = 0) -> Any:
    """Parts of the given sizes (source: ``torch.split_with_sizes``)."""
    return _split_by_sizes(SPLIT_SIZES, input, split_sizes, dim)


def unsafe_split(tensor: Any, split_size: Any, dim: Any = 0) -> Any:
    """As `split`, but the parts are no views for the tape (source: ``torch.unsafe_split``)."""
    return _split_by(UNSAFE_SPLIT, tensor, as_int(split_size), dim)


def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: Any = 0) -> Any:
    """As `split_with_sizes`, but the parts are no views for the tape (source: ``torch.unsafe_split_with_sizes``)."""
    return _split_by_sizes(UNSAFE_SPLIT_SIZES, input, split_sizes, dim)


def chunk(input: Any, chunks: Any, dim: Any = 0) -> Any:
    """At most ``chunks`` parts of one size, the last perhaps smaller (source: ``torch.chunk``).

    >>> import livetape as torch
    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    return _chunked(SPLIT, SPLIT_SIZES, input, chunks, dim)


def unsafe_chunk(input: Any, chunks: Any, dim: Any = 0) -> Any:
    """As `chunk`, but the parts are no views for the tape (source: ``torch.unsafe_chunk``)."""
    return _chunked(UNSAFE_SPLIT, UNSAFE_SPLIT_SIZES, input, chunks, dim)


def _chunked(even: Any, sized: Any, input: Any, chunks: Any, dim: Any) -> Any:
    if not is_integer(chunks):
        raise noted(TypeError(f"chunk(): argument 'chunks' (position 2) must be int, not {type(chunks).__name__}"))
    at = _dimension(input, dim, "chunk", "chunk expects at least a 1-dimensional tensor")
    count = as_int(chunks)
    if count <= 0:
        raise noted(RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {count}"))
    extent = input.array.shape[at]
    if not extent:  # torch keeps the number of parts here
        return sized.apply((input, (0,) * count, at))
    return even.apply((input, -(-extent // count), at))


def tensor_split(
    input: Any,
    indices_or_sections: Any = None,
    dim: Any = 0,
    *,
    indices: Any = None,
    sections: Any = None,
    tensor_indices_or_sections: Any = None,
) -> Any:
    """Parts between indices, or a number of nearly equal parts (source: ``torch.tensor_split``).

    >>> import livetape as torch
    >>> torch.tensor_split(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    wanted = next(
        (v for v in (indices_or_sections, indices, sections, tensor_indices_or_sections) if v is not None), None
    )
    if isinstance(wanted, TensorBase):
        if wanted.array.ndim > 1 or wanted.array.dtype.kind != "i":
            raise noted(
                RuntimeError(
                    "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                    f"one-dimensional tensor, but got a tensor with {wanted.array.ndim} dims"
                )
            )
        wanted = wanted.array.tolist()
    if not is_integer(wanted) and not isinstance(wanted, (tuple, list)):
        raise noted(no_overload("tensor_split"))
    size = shape_of(input)
    if not size:
        raise noted(RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"))
    at = wrap_dim(dim, len(size), "tensor_split")
    return tuple([SLICE.apply((input, at, *slice(a, b).indices(size[at]))) for a, b in _ranges(wanted, size[at])])


def _ranges(wanted: Any, extent: int) -> list[tuple[Any, Any]]:
    if is_integer(wanted):
        count = as_int(wanted)
        if count <= 0:
            raise noted(RuntimeError(f"number of sections must be larger than 0, got {count}"))
        least, more = divmod(extent, count)
        ends = [i * least + min(i, more) for i in range(count + 1)]
        return list(pairwise(ends))
    inner = [as_int(i) for i in wanted]
    return list(zip([0, *inner], [*inner, extent]))


def _split_along(name: str, input: Any, indices_or_sections: Any, dim: int, least: int) -> Any:
    ndim = input.array.ndim
    if ndim < least:
        raise noted(
            RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {ndim} dimensions!"
            )
        )
    if is_integer(indices_or_sections):
        count, extent = as_int(indices_or_sections), input.array.shape[dim]
        if count <= 0 or extent % count:
            raise noted(
                RuntimeError(
                    f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                    f"{extent} "
                    f"is not divisible by the split_size {count}!"
                )
            )
    return tensor_split(input, indices_or_sections, dim)


def hsplit(input: Any, indices_or_sections: Any) -> Any:
    """Parts side by side: along dimension 1, or 0 for vectors (source: ``torch.hsplit``)."""
    return _split_along("hsplit", input, indices_or_sections, 0 if input.array.ndim == 1 else 1, 1)


def vsplit(input: Any, indices_or_sections: Any) -> Any:
    """Parts one below the other: along dimension 0 (source: ``torch.vsplit``)."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Any, indices_or_sections: Any) -> Any:
    """Parts one behind the other: along dimension 2 (source: ``torch.dsplit``)."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


FUNCTIONS = [
    "chunk",
    "dsplit",
    "hsplit",
    "split",
    "split_with_sizes",
    "tensor_split",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "vsplit",
]
METHODS = {
    "chunk": chunk,
    "dsplit": dsplit,
    "hsplit": hsplit,
    "split": split,
    "split_with_sizes": split_with_sizes,
    "tensor_split": tensor_split,
    "unsafe_chunk": unsafe_chunk,
    "unsafe_split": unsafe_split,
    "unsafe_split_with_sizes": unsafe_split_with_sizes,
    "vsplit": vsplit,
}
