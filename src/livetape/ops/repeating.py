"""Tensors repeated: with copies, and by broadcasting without."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import broadcast_error, noted
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape.dtypes import SCALAR_TYPE, boolean
from livetape.ops.basics import clone_as, sum_to
from livetape.ops.dims import as_int, is_integer, wrap_dim
from livetape.ops.gathering import INDEX_SELECT, MASKED_SELECT
from livetape.ops.joining import stack, tensor_list
from livetape.ops.options import ints
from livetape.ops.refuse import no_overload
from livetape.ops.shape import expand, reshape, unsqueeze, view
from livetape.ops.table import row
from livetape.size import SCALAR, size_of


def _repeat_backward(grad: Any, size: Any, repeats: Any) -> Any:
    new = len(repeats) - len(size)
    parts = [n for r, s in zip(repeats, (1,) * new + tuple(size)) for n in (r, s)]
    kept = [n for s in (1,) * new + tuple(size) for n in (1, s)]
    return reshape(sum_to(reshape(grad, parts), tuple(kept)), size)


REPEAT = row(
    "repeat",
    lambda self, repeats: np.tile(self, repeats),
    linear=True,
    batch="repeat",
    self=lambda grad, self_size, repeats: _repeat_backward(grad, self_size, repeats),
)


def repeat(input: Any, *args: Any, repeats: Any = None) -> Any:
    """The tensor several times along each dimension, copied (source: ``torch.Tensor.repeat``).

    >>> import livetape as torch
    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    times = ints("repeat", args, repeats, "repeats")
    return _repeated(input, times)


def _repeated(input: Any, times: tuple[int, ...]) -> Any:
    size = shape_of(input)
    if len(times) < len(size):
        raise noted(
            RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
        )
    new = len(times) - len(size)
    target = [r * s for r, s in zip(times, (1,) * new + tuple(size))]
    for n in target:
        if n < 0:
            raise noted(RuntimeError(f"Trying to create tensor with negative dimension {n}: {target}"))
    return REPEAT.apply((input, times))


def tile(input: Any, *args: Any, dims: Any = None) -> Any:
    """The tensor several times along its last dimensions (source: ``torch.tile``)."""
    times = ints("tile", args, dims, "dims")
    return _repeated(input, (1,) * (input.array.ndim - len(times)) + times)


def repeat_interleave(input: Any, repeats: Any = None, dim: Any = None, *, output_size: Any = None) -> Any:
    """Each element several times in a row (source: ``torch.repeat_interleave``).

    >>> import livetape as torch
    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        return _numbered(input)
    if not is_integer(repeats) and not isinstance(repeats, TensorBase):
        raise noted(no_overload("repeat_interleave"))
    if dim is None:
        input = reshape(input, (-1,) if input.array.size else (0,))
        dim = 0
    size = shape_of(input)
    at = wrap_dim(dim, len(size), "repeat_interleave")
    if not isinstance(repeats, TensorBase):
        return _interleaved(input, as_int(repeats), at)
    if repeats.array.ndim > 1:
        raise noted(RuntimeError("repeats must be 0-dim or 1-dim tensor"))
    if repeats.array.size == 1 and (not repeats.array.ndim or size[at] != 1):
        repeats = expand(reshape(repeats, (1,)), (size[at],))
    if repeats.array.shape[0] != size[at]:
        raise noted(
            RuntimeError(
                "repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{repeats.array.shape[0]} and input.size({dim}) = {size[at]}"
            )
        )
    return INDEX_SELECT.apply((input, at, _numbered(repeats)))


def _interleaved(input: Any, times: int, dim: int) -> Any:
    if times < 0:
        raise noted(RuntimeError("Repeats must be non-negative"))
    size = shape_of(input)
    if not size:
        input, size = reshape(input, (1,)), (1,)
    wide = expand(unsqueeze(input, dim + 1), (*size[: dim + 1], times, *size[dim + 1 :]))
    return view(clone_as(wide, None), (*size[:dim], size[dim] * times, *size[dim + 1 :]))


def _numbered(repeats: Any) -> Any:
    """0 repeats[0] times, 1 repeats[1] times, and so on."""
    array = repeats.array
    if array.ndim != 1:
        raise noted(RuntimeError("repeat_interleave only accept 1D vector as repeat"))
    if array.dtype.kind != "i":
        raise noted(
            NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{SCALAR_TYPE[repeats.dtype]}'")
        )
    if array.size and array.min() < 0:
        raise noted(RuntimeError("repeats can not be negative"))
    return wrap(np.repeat(np.arange(array.size), array).astype(array.dtype, copy=False), repeats.dtype, None)


# ---------------------------------------------------------------- broadcast together
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that several broadcast to (source: ``torch.broadcast_shapes``).

    >>> import livetape as torch
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    tuples = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    result = [1] * max([len(s) for s in tuples], default=0)
    for i, shape in enumerate(tuples):
        for at in range(-1, -1 - len(shape), -1):
            n = shape[at]
            if n < 0:
                raise noted(ValueError("Attempting to broadcast a dimension with negative length!"))
            if n == 1 or n == result[at]:
                continue
            if result[at] != 1:
                given = shape if isinstance(shapes[i], int) else shapes[i]
                raise noted(
                    RuntimeError(
                        f"Attempting to broadcast a dimension of length {n} at {at}! Mismatching argument at index "
                        f"{i} had {given}; but expected shape should be broadcastable to {result}"
                    )
                )
            result[at] = n
    return size_of(tuple(result))


def broadcast_tensors(*tensors: Any) -> Any:
    """Tensors expanded to the shape they broadcast to (source: ``torch.broadcast_tensors``)."""
    tensor_list("broadcast_tensors", tensors)
    size: Any = SCALAR
    for one in tensors:
        have = shape_of(one)
        if have != size:
            try:
                size = size_of(np.broadcast_shapes(size, have))
            except ValueError:
                raise noted(broadcast_error(size, have)) from None
    return tuple([one if shape_of(one) == size else expand(one, size) for one in tensors])


def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """The coordinates of a grid of vectors, one tensor an axis (source: ``torch.meshgrid``)."""
    vectors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    tensor_list("meshgrid", vectors)
    if not vectors:
        raise noted(RuntimeError("meshgrid expects a non-empty TensorList"))
    for one in vectors:
        if one.array.ndim > 1:
            raise noted(RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {one!r}"))
        if one.dtype is not vectors[0].dtype:
            raise noted(RuntimeError("meshgrid expects all tensors to have the same dtype"))
    if indexing is None:
        if not _warned:
            _warned.append("meshgrid")
            warnings.warn(
                "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
                UserWarning,
                stacklevel=2,
            )
    elif indexing not in ("ij", "xy"):
        raise noted(RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'))
    swap = indexing == "xy" and len(vectors) > 1
    order = [vectors[1], vectors[0], *vectors[2:]] if swap else list(vectors)
    counts = tuple([one.array.size for one in order])
    grids = []
    for i, one in enumerate(order):
        along = view(one, (1,) * i + (counts[i],) + (1,) * (len(order) - 1 - i))
        grids.append(expand(along, counts))
    if swap:
        grids = [grids[1], grids[0], *grids[2:]]
    return tuple(grids)


_warned: list[str] = []


def cartesian_prod(*tensors: Any) -> Any:
    """All tuples with one element of each vector, as rows (source: ``torch.cartesian_prod``)."""
    tensor_list("cartesian_prod", tensors)
    for one in tensors:
        if one.array.ndim != 1:
            raise noted(RuntimeError(f"Expect a 1D vector, but got shape {list(one.array.shape)}"))
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(grid, (-1,) if grid.array.size else (0,)) for grid in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All ways to choose ``r`` elements of a vector, as rows (source: ``torch.combinations``)."""
    if input.array.ndim != 1:
        raise noted(RuntimeError(f"Expect a 1D vector, but got shape {list(input.array.shape)}"))
    if r < 0:
        raise noted(RuntimeError(f"Expect a non-negative number, but got {r}"))
    if r == 0:
        return wrap(np.empty(0, input.array.dtype), input.dtype, None)
    count = input.array.size
    grids = meshgrid(*[input] * r, indexing="ij")
    places = np.indices((count,) * r)
    mask = np.ones((count,) * r, bool)
    for i in range(r - 1):
        mask &= (places[i] <= places[i + 1]) if with_replacement else (places[i] < places[i + 1])
    chosen = wrap(mask, boolean, None)
    return stack([MASKED_SELECT.apply((grid, chosen)) for grid in grids], 1)


FUNCTIONS = [
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "combinations",
    "meshgrid",
    "repeat_interleave",
    "tile",
]
METHODS = {"repeat": repeat, "repeat_interleave": repeat_interleave, "tile": tile}
