"""Tensors put together along a dimension, and taken apart again element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.dtypes import SCALAR_TYPE, default, of_numpy, promote_types
from livetape.kernels.joining import stacked
from livetape.ops.basics import zeros
from livetape.ops.dims import wrap_dim
from livetape.ops.indexing import FULL, SLICE
from livetape.ops.refuse import no_overload
from livetape.ops.shape import reshape, unsqueeze
from livetape.ops.signatures import refusal
from livetape.ops.table import into, row


# ---------------------------------------------------------------- cat and stack
def _joined(inputs: Any, dim: int) -> Any:
    kind = inputs[0].dtype
    for array in inputs:
        if array.dtype is not kind:
            return _joined_mixed(inputs, dim)
    return in_order(np.concatenate(inputs, dim))


def in_order(array: Any) -> Any:
    """The array in the usual memory order: NumPy keeps another that all inputs have."""
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _joined_mixed(inputs: Any, dim: int) -> Any:
    """Arrays of several dtypes, or empty ones that `cat` passes over."""
    kind = of_numpy(inputs[0].dtype)
    for array in inputs:
        kind = promote_types(kind, of_numpy(array.dtype))
    return in_order(np.concatenate([a.astype(kind.np, copy=False) for a in inputs], dim))


def _cat(inputs: Any, dim: int) -> Any:
    ndim, kind = inputs[0].ndim, inputs[0].dtype
    for array in inputs:
        if array.ndim != ndim or array.dtype is not kind:
            return _cat_mixed(inputs, dim)
    return in_order(np.concatenate(inputs, dim))


def _cat_mixed(inputs: Any, dim: int) -> Any:
    ndim = max([a.ndim for a in inputs])
    for array in inputs:
        if array.ndim != ndim:  # empty: torch leaves such out
            kind = _joined_mixed([a.reshape(-1)[:0] for a in inputs], 0).dtype
            return in_order(np.concatenate([a.astype(kind) for a in inputs if a.ndim == ndim], dim))
    return _joined(inputs, dim)


def _cat_backward(grad: Any, sizes: Any, dim: int) -> list[Any]:
    found = []
    at = 0
    whole = max(len(size) for size in sizes)
    for size in sizes:
        if len(size) < whole:
            found.append(zeros(size, grad.dtype))
        else:
            found.append(SLICE.apply((grad, dim, at, at + size[dim], 1)))
            at += size[dim]
    return found


CAT = row(
    "cat",
    _cat,
    tensors="inputs",
    listed=True,
    linear=True,
    batch="dim",
    inputs=lambda grad, inputs_size, dim: _cat_backward(grad, inputs_size, dim),
)
STACK = row(
    "stack",
    lambda inputs, dim: _stack(inputs, dim),
    tensors="inputs",
    listed=True,
    linear=True,
    batch="dim",
    inputs=lambda grad, inputs_size, dim: list(UNBIND.apply((grad, dim))),
)


def _stack(inputs: Any, dim: int) -> Any:
    if dim == 0:
        out = stacked(inputs)
        if out is not None:
            return out
    return _joined([a[(*(FULL,) * dim, None)] for a in inputs], dim)


def _slices_of(self: Any, dim: int) -> list[Any]:
    if dim == 0 and self.ndim > 1:
        return list(self)
    return [self[(*(FULL,) * dim, i, ...)] for i in range(self.shape[dim])]


def _unbind_backward(grads: Any, self_size: Any, dim: int) -> Any:
    kind = next(g.dtype for g in grads if g is not None)
    size = (*self_size[:dim], *self_size[dim + 1 :])
    return STACK.apply(([zeros(size, kind) if g is None else g for g in grads], dim))


UNBIND = row("unbind", _slices_of, view=True, outputs=0, batch="dim", self=_unbind_backward, selects=True)


def tensor_list(name: str, tensors: Any) -> Any:
    """The argument ``tensors`` as a list; torch's errors if it is none, or holds something else."""
    if not isinstance(tensors, (list, tuple)):
        raise noted(
            TypeError(
                f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
            )
        )
    if not all(issubclass(kind, TensorBase) for kind in set(map(type, tensors))):
        i, one = next((i, one) for i, one in enumerate(tensors) if not isinstance(one, TensorBase))
        raise noted(TypeError(f"expected Tensor as element {i} in argument 0, but got {type(one).__name__}"))
    return tensors


def cat(tensors: Any, dim: Any = 0, *, axis: Any = None, out: Any = None) -> Any:
    """Tensors one after the other along a dimension they have (source: ``torch.cat``).

    >>> import livetape as torch
    >>> torch.cat([torch.zeros(2), torch.ones(1)])
    tensor([0., 0., 1.])
    """
    if axis is not None:
        dim = axis
    tensors = tensor_list("cat", tensors)
    if not tensors:
        raise noted(ValueError("torch.cat(): expected a non-empty list of Tensors"))
    if out is not None:
        return _cat_into(out, tensors, dim)
    size: Any = None
    first = 0
    for i, one in enumerate(tensors):
        shape = one.array.shape
        if shape == (0,):
            continue
        if size is None:
            if not shape:
                raise noted(RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated"))
            size, first = shape, i
            dim = wrap_dim(dim, len(shape), "cat", "dim", 2)
        elif shape != size:
            if not shape:
                raise noted(RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated"))
            _check_fits(size, shape, dim, i - first)
    if size is None:
        dim = wrap_dim(dim, 1, "cat", "dim", 2)
    return CAT.apply((list(tensors), dim))


def _check_fits(size: Any, shape: Any, dim: int, position: int) -> None:
    if len(size) != len(shape):
        raise noted(RuntimeError(f"Tensors must have same number of dimensions: got {len(size)} and {len(shape)}"))
    for d, (p, q) in enumerate(zip(size, shape)):
        if p != q and d != dim:
            raise noted(
                RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {p} but got "
                    f"size {q} "
                    f"for tensor number {position} in the list."
                )
            )


def _cat_into(out: Any, tensors: Any, dim: Any) -> Any:
    try:
        return into(out, cat, tensors, dim)
    except RuntimeError as error:
        if "result type" in str(error):
            raise noted(
                TypeError("torch.cat(): input types can't be cast to the desired output type " + SCALAR_TYPE[out.dtype])
            ) from None
        raise


def concat(tensors: Any, dim: Any = 0, *, axis: Any = None, out: Any = None) -> Any:
    """As `cat` (source: ``torch.concat``)."""
    return cat(tensors, dim, axis=axis, out=out)


def concatenate(tensors: Any, axis: Any = 0, *, dim: Any = None, out: Any = None) -> Any:
    """As `cat` (source: ``torch.concatenate``)."""
    return cat(tensors, axis if dim is None else dim, out=out)


def stack(tensors: Any, dim: Any = 0, *, out: Any = None) -> Any:
    """Tensors of one size along a new dimension (source: ``torch.stack``).

    >>> import livetape as torch
    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    if out is not None:
        return into(out, stack, tensors, dim)
    tensors = tensor_list("stack", tensors)
    if not tensors:
        raise noted(RuntimeError("stack expects a non-empty TensorList"))
    size = tensors[0].array.shape
    for i, one in enumerate(tensors):
        if one.array.shape != size:
            raise noted(
                RuntimeError(
                    f"stack expects each tensor to be equal size, but got {list(size)} at entry 0 and "
                    f"{list(one.array.shape)} at entry {i}"
                )
            )
    return STACK.apply((list(tensors), wrap_dim(dim, len(size) + 1, "stack", "dim", 2)))


def _at_least(name: str, tensors: Any, make: Any) -> Any:
    tensors = tensor_list(name, tensors)
    if not tensors:
        raise noted(RuntimeError(f"{name} expects a non-empty TensorList"))
    return [make(one) for one in tensors]


def hstack(tensors: Any, *, out: Any = None) -> Any:
    """Tensors side by side: along dimension 1, or 0 for vectors (source: ``torch.hstack``)."""
    parts = _at_least("hstack", tensors, atleast_1d)
    return cat(parts, 0 if parts[0].array.ndim == 1 else 1, out=out)


def vstack(tensors: Any, *, out: Any = None) -> Any:
    """Tensors one below the other: vectors are rows (source: ``torch.vstack``)."""
    return cat(_at_least("vstack", tensors, atleast_2d), 0, out=out)


def row_stack(tensors: Any, *, out: Any = None) -> Any:
    """As `vstack` (source: ``torch.row_stack``)."""
    return cat(_at_least("row_stack", tensors, atleast_2d), 0, out=out)


def dstack(tensors: Any, *, out: Any = None) -> Any:
    """Tensors one behind the other: along dimension 2 (source: ``torch.dstack``)."""
    return cat(_at_least("dstack", tensors, atleast_3d), 2, out=out)


def column_stack(tensors: Any, *, out: Any = None) -> Any:
    """Vectors as columns, matrices side by side (source: ``torch.column_stack``)."""
    return cat(_at_least("column_stack", tensors, _column), 1, out=out)


def _column(one: Any) -> Any:
    return one if one.array.ndim > 1 else reshape(one, (one.array.size, 1))


def _each(name: str, tensors: tuple[Any, ...], make: Any) -> Any:
    """Apply ``make`` to one tensor, or to each of several or of a list."""
    if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
        if not isinstance(tensors[0], TensorBase):
            raise noted(refusal("inner." + name, tensors, {}) or no_overload(name))
        return make(tensors[0])
    given = tensors[0] if len(tensors) == 1 else tensors
    return tuple([make(one) for one in tensor_list(name, given)])


def atleast_1d(*tensors: Any) -> Any:
    """Numbers become vectors of one element (source: ``torch.atleast_1d``)."""
    return _each("atleast_1d", tensors, lambda one: one if one.array.ndim else reshape(one, (1,)))


def atleast_2d(*tensors: Any) -> Any:
    """Vectors become matrices of one row (source: ``torch.atleast_2d``)."""
    return _each("atleast_2d", tensors, _matrix)


def _matrix(one: Any) -> Any:
    ndim = one.array.ndim
    return one if ndim > 1 else unsqueeze(one, 0) if ndim else reshape(one, (1, 1))


def atleast_3d(*tensors: Any) -> Any:
    """Vectors and matrices get dimensions of one element (source: ``torch.atleast_3d``)."""
    return _each("atleast_3d", tensors, _block)


def _block(one: Any) -> Any:
    ndim = one.array.ndim
    if ndim > 2:
        return one
    if ndim == 2:
        return unsqueeze(one, -1)
    return unsqueeze(unsqueeze(one, 0), -1) if ndim else reshape(one, (1, 1, 1))


def _block_diag(inputs: Any) -> Any:
    rows = sum(a.shape[0] for a in inputs)
    columns = sum(a.shape[1] for a in inputs)
    total = np.zeros((rows, columns), _joined_mixed([a.reshape(-1)[:0] for a in inputs], 0).dtype)
    i = j = 0
    for a in inputs:
        total[i : i + a.shape[0], j : j + a.shape[1]] = a
        i, j = i + a.shape[0], j + a.shape[1]
    return total


def _block_diag_backward(grad: Any, sizes: Any) -> list[Any]:
    found = []
    i = j = 0
    for size in sizes:
        rows, columns = (1,) * (2 - len(size)) + tuple(size)
        piece = SLICE.apply((SLICE.apply((grad, 0, i, i + rows, 1)), 1, j, j + columns, 1))
        found.append(reshape(piece, size))
        i, j = i + rows, j + columns
    return found


BLOCK_DIAG = row(
    "block_diag",
    lambda inputs: _block_diag([a.reshape((1,) * (2 - a.ndim) + a.shape) for a in inputs]),
    tensors="inputs",
    listed=True,
    linear=True,
    batch="block_diag",
    inputs=lambda grad, inputs_size: _block_diag_backward(grad, inputs_size),
)


def block_diag(*tensors: Any) -> Any:
    """A matrix with the given matrices along its diagonal (source: ``torch.block_diag``)."""
    if not tensors:
        return zeros((1, 0), default.dtype)
    for i, one in enumerate(tensor_list("block_diag", tensors)):
        if one.array.ndim > 2:
            raise noted(
                RuntimeError(
                    f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                    f"{one.array.ndim} dimensions"
                )
            )
    return BLOCK_DIAG.apply((list(tensors),))


# ---------------------------------------------------------------- one by one
def unbind(input: Any, dim: Any = 0) -> Any:
    """The slices along a dimension, which is lost, as a tuple of views (source: ``torch.unbind``).

    >>> import livetape as torch
    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    ndim = input.array.ndim
    at = wrap_dim(dim, ndim, "unbind")
    if not ndim:
        raise noted(IndexError(f"Dimension specified as {dim} but tensor has no dimensions"))
    return UNBIND.apply((input, at)) if input.array.shape[at] else ()


FUNCTIONS = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "cat",
    "column_stack",
    "concat",
    "concatenate",
    "dstack",
    "hstack",
    "row_stack",
    "stack",
    "unbind",
    "vstack",
]
METHODS = {"unbind": unbind}
