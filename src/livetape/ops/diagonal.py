"""Diagonals and triangles of matrices, and tensors turned over."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape._tape.views import shares_elements
from livetape.dtypes import SCALAR_TYPE, boolean, int32, int64
from livetape.ops.basics import as_strided, storage_offset
from livetape.ops.dims import as_int, is_integer, wrap_dim, wrap_dims
from livetape.ops.indexing import write_shared
from livetape.ops.joining import in_order
from livetape.ops.options import finish, ints, kind_of, need_tensor, number_of
from livetape.ops.placing import check_slice
from livetape.ops.shape import reshape
from livetape.ops.table import into, row


# ---------------------------------------------------------------- diagonals
def _diagonal(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    out = self.diagonal(offset, dim1, dim2)
    if self.flags.writeable:
        out.flags.writeable = True  # NumPy hands it out read-only
    return out


def _place_diagonal(grad: Any, size: Any, offset: int, dim1: int, dim2: int) -> Any:
    total = np.zeros(size, grad.dtype)
    _diagonal(total, offset, dim1, dim2)[...] = grad
    return total


DIAGONAL = row(
    "diagonal",
    _diagonal,
    view=True,
    batch="dim1 dim2",
    self=lambda grad, self_size, offset, dim1, dim2: DIAGONAL_BACKWARD.apply((grad, self_size, offset, dim1, dim2)),
    selects=True,
)
DIAGONAL_BACKWARD = row(
    "diagonal_backward",
    _place_diagonal,
    tensors="grad",
    linear=True,
    batch="size dim1 dim2",
    grad=lambda grad, offset, dim1, dim2: DIAGONAL.apply((grad, offset, dim1, dim2)),
)
DIAGONAL_COPY = row(
    "diagonal_copy",
    lambda self, offset, dim1, dim2: self.diagonal(offset, dim1, dim2).copy(),
    node="DiagonalBackward0_copy",
    linear=True,
    batch="dim1 dim2",
    self=lambda grad, self_size, offset, dim1, dim2: DIAGONAL_BACKWARD.apply((grad, self_size, offset, dim1, dim2)),
    selects=True,
)


def _diagonal_dims(input: Any, dim1: Any, dim2: Any, ndim: int, name: str) -> tuple[int, int]:
    first, second = wrap_dim(dim1, ndim, name, "dim1", 2), wrap_dim(dim2, ndim, name, "dim2", 3)
    if first == second:
        raise noted(RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}"))
    return first, second


def _offset(name: str, value: Any, argument: str = "diagonal") -> int:
    if type(value) is int:
        return value
    if not is_integer(value):
        raise noted(TypeError(f"{name}(): argument '{argument}' (position 1) must be int, not {type(value).__name__}"))
    return as_int(value)


def diagonal(input: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Any:
    """The diagonal of two dimensions, as a view whose last dimension it is (source: ``torch.diagonal``).

    >>> import livetape as torch
    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    dims = _diagonal_dims(input, dim1, dim2, input.array.ndim, "diagonal")
    return DIAGONAL.apply((input, _offset("diagonal", offset, "offset"), *dims))


def diagonal_copy(input: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1, *, out: Any = None) -> Any:
    """As `diagonal`, but a copy (source: ``torch.diagonal_copy``)."""
    if out is not None:
        return into(out, diagonal_copy, input, offset, dim1, dim2)
    dims = _diagonal_dims(input, dim1, dim2, input.array.ndim, "diagonal")
    return DIAGONAL_COPY.apply((input, _offset("diagonal", offset, "offset"), *dims))


def _diag_embed(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    extent = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for d in sorted((dim1, dim2)):
        shape.insert(d, extent)
    total = np.zeros(shape, self.dtype)
    _diagonal(total, offset, dim1, dim2)[...] = self
    return total


DIAG_EMBED = row(
    "diag_embed",
    _diag_embed,
    linear=True,
    batch="dim1 dim2",
    self=lambda grad, offset, dim1, dim2: DIAGONAL.apply((grad, offset, dim1, dim2)),
)


def diag_embed(input: Any, offset: Any = 0, dim1: Any = -2, dim2: Any = -1) -> Any:
    """Matrices with the last dimension as their diagonal (source: ``torch.diag_embed``).

    >>> import livetape as torch
    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    dims = _diagonal_dims(input, dim1, dim2, input.array.ndim + 1 if input.array.ndim else 0, "diag_embed")
    return DIAG_EMBED.apply((input, _offset("diag_embed", offset, "offset"), *dims))


def diag(input: Any, diagonal: Any = 0, *, out: Any = None) -> Any:
    """The diagonal of a matrix, or a matrix with a vector as its diagonal (source: ``torch.diag``).

    >>> import livetape as torch
    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]), 1)
    tensor([2])
    """
    if out is not None:
        return into(out, diag, input, diagonal)
    ndim = input.array.ndim
    offset = _offset("diag", diagonal)
    if ndim == 1:
        return DIAG_EMBED.apply((input, offset, 0, 1))
    if ndim == 2:
        return DIAGONAL_COPY.apply((input, offset, 0, 1))
    raise noted(RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D"))


def diagflat(input: Any, offset: Any = 0) -> Any:
    """A matrix with all elements on its diagonal (source: ``torch.diagflat``)."""
    return DIAG_EMBED.apply((reshape(input, (input.array.size,)), _offset("diagflat", offset, "offset"), 0, 1))


def _with_diagonal(self: Any, src: Any, offset: int, dim1: int, dim2: int) -> Any:
    out = self.copy()
    _diagonal(out, offset, dim1, dim2)[...] = src
    return out


DIAGONAL_SCATTER = row(
    "diagonal_scatter",
    _with_diagonal,
    tensors="self src",
    linear=True,
    batch="dim1 dim2",
    self=lambda grad, src_size, offset, dim1, dim2: DIAGONAL_SCATTER.apply(
        (grad, grad.new_zeros(src_size), offset, dim1, dim2)
    ),
    src=lambda grad, offset, dim1, dim2: DIAGONAL.apply((grad, offset, dim1, dim2)),
    selects=True,
)


def diagonal_scatter(input: Any, src: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Any:
    """A copy with ``src`` as the diagonal of two dimensions (source: ``torch.diagonal_scatter``)."""
    dims = _diagonal_dims(input, dim1, dim2, input.array.ndim, "diagonal")
    check_slice(src, input.array.diagonal(offset, *dims).shape)
    return DIAGONAL_SCATTER.apply((input, src, _offset("diagonal_scatter", offset, "offset"), *dims))


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Set the main diagonal to a number (source: ``torch.Tensor.fill_diagonal_``)."""
    size = shape_of(self)
    if len(size) < 2:
        raise noted(RuntimeError("dimensions must larger than 1"))
    if len(size) > 2 and len(set(size)) > 1:
        raise noted(RuntimeError("all dimensions of input must be of equal length"))
    value = number_of("fill_diagonal_", fill_value, "fill_value", 1)
    strides = [s // max(1, self.array.itemsize) for s in self.array.strides]
    offset = storage_offset(self)
    as_strided(self, (min(size),), (sum(strides),), offset).fill_(value)
    if wrap and len(size) == 2 and size[0] > size[1] + 1:
        start = (size[1] + 1) * strides[0]
        count = -(-(size[0] * size[1] - start) // (size[1] + 1))
        as_strided(self, (count,), (sum(strides),), offset + start).fill_(value)
    return self


# ---------------------------------------------------------------- triangles
TRIL = row(
    "tril",
    lambda self, diagonal: in_order(np.tril(self, diagonal)),
    linear=True,
    batch="any",
    self=lambda grad, diagonal: TRIL.apply((grad, diagonal)),
    selects=True,
)
TRIU = row(
    "triu",
    lambda self, diagonal: in_order(np.triu(self, diagonal)),
    linear=True,
    batch="any",
    self=lambda grad, diagonal: TRIU.apply((grad, diagonal)),
    selects=True,
)


def _triangle(name: str, input: Any, diagonal: Any) -> int:
    need_tensor(name, input)
    offset = _offset(name, diagonal)
    if input.array.ndim < 2:
        raise noted(RuntimeError(f"{name}: input tensor must have at least 2 dimensions"))
    return offset


def tril(input: Any, diagonal: Any = 0, *, out: Any = None) -> Any:
    """The lower triangles of matrices, the rest zeros (source: ``torch.tril``).

    >>> import livetape as torch
    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    if out is not None:
        return into(out, tril, input, diagonal)
    return TRIL.apply((input, _triangle("tril", input, diagonal)))


def triu(input: Any, diagonal: Any = 0, *, out: Any = None) -> Any:
    """The upper triangles of matrices, the rest zeros (source: ``torch.triu``)."""
    if out is not None:
        return into(out, triu, input, diagonal)
    return TRIU.apply((input, _triangle("triu", input, diagonal)))


def tril_(self: Any, diagonal: Any = 0) -> Any:
    """In-place `tril`."""
    return _keep_triangle(TRIL, self, _triangle("tril", self, diagonal))


def triu_(self: Any, diagonal: Any = 0) -> Any:
    """In-place `triu`."""
    return _keep_triangle(TRIU, self, _triangle("triu", self, diagonal))


def _keep_triangle(op: Any, self: Any, offset: int) -> Any:
    if shares_elements(self.array):  # an element is 0 if one of its places is
        keep = np.tril if op is TRIL else np.triu
        return write_shared(self, ~keep(np.ones(self.array.shape, np.bool_), offset), 0)
    return op.inplace(self, offset)


def tril_indices(
    row: Any,
    col: Any,
    offset: Any = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: Any = False,
) -> Any:
    """The places of a lower triangle: rows, and columns (source: ``torch.tril_indices``)."""
    return _triangle_places("tril_indices", row, col, offset, dtype, device, layout, pin_memory)


def triu_indices(
    row: Any,
    col: Any,
    offset: Any = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: Any = False,
) -> Any:
    """The places of an upper triangle: rows, and columns (source: ``torch.triu_indices``)."""
    return _triangle_places("triu_indices", row, col, offset, dtype, device, layout, pin_memory)


def _triangle_places(
    name: str, rows: Any, columns: Any, offset: Any, kind: Any, device: Any, layout: Any, pin_memory: Any
) -> Any:
    for label, n in (("row", rows), ("col", columns)):
        if n < 0:
            raise noted(RuntimeError(f"{label} must be non-negative, got{n}"))
    wanted = kind_of(name, kind, int64)
    if wanted not in (int64, int32):
        raise noted(NotImplementedError(f"\"{name}\" not implemented for '{SCALAR_TYPE[wanted]}'"))
    find = np.tril_indices if name == "tril_indices" else np.triu_indices
    found = np.stack(find(rows, offset, columns)).astype(wanted.np, copy=False)
    return finish(name, found, wanted, device, False, layout, pin_memory)


TRACE = row(
    "trace",
    lambda self: self.trace(dtype=np.int64 if self.dtype.kind in "iu" else None),
    linear=True,
    batch="diagonal_sum",
    self=lambda grad, self_size: _trace_backward(grad, self_size),
    selects=True,
)


def _trace_backward(grad: Any, size: Any) -> Any:
    return DIAGONAL_BACKWARD.apply((grad.expand(min(size)), size, 0, 0, 1))


def trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix (source: ``torch.trace``).

    >>> import livetape as torch
    >>> torch.trace(torch.tensor([[1., 2.], [3., 4.]]))
    tensor(5.)
    """
    need_tensor("trace", input)
    if input.array.ndim != 2:
        raise noted(RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.array.ndim}"))
    if input.dtype is boolean:
        raise noted(NotImplementedError("\"trace\" not implemented for 'Bool'"))
    return TRACE.apply((input,))


# ---------------------------------------------------------------- turned over
FLIP = row(
    "flip",
    lambda self, dims: np.flip(self, dims).copy("K"),
    linear=True,
    batch="dims",
    self=lambda grad, dims: FLIP.apply((grad, dims)),
)
ROLL = row(
    "roll",
    lambda self, shifts, dims: in_order(np.roll(self, shifts, dims) if dims else np.roll(self, shifts[0])),
    linear=True,
    batch="roll",
    self=lambda grad, shifts, dims: ROLL.apply((grad, tuple([-s for s in shifts]), dims)),
)
ROT90 = row(
    "rot90",
    lambda self, k, dims: np.rot90(self, k, dims).copy("K"),
    linear=True,
    batch="dims",
    self=lambda grad, k, dims: ROT90.apply((grad, -k, dims)),
)


def flip(input: Any, *args: Any, dims: Any = None) -> Any:
    """The elements in reverse along dimensions, copied (source: ``torch.flip``).

    >>> import livetape as torch
    >>> torch.flip(torch.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    axes = wrap_dims(ints("flip", args, dims, "dims"), input.array.ndim, "flip")
    return FLIP.apply((input, axes if input.array.ndim else ()))


def fliplr(input: Any) -> Any:
    """The columns in reverse (source: ``torch.fliplr``)."""
    if input.array.ndim < 2:
        raise noted(RuntimeError("Input must be >= 2-d."))
    return FLIP.apply((input, (1,)))


def flipud(input: Any) -> Any:
    """The rows in reverse (source: ``torch.flipud``)."""
    if not input.array.ndim:
        raise noted(RuntimeError("Input must be >= 1-d."))
    return FLIP.apply((input, (0,)))


def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """The elements moved along dimensions; those that leave come in again (source: ``torch.roll``).

    >>> import livetape as torch
    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    steps = _ints_or_one("roll", shifts, "shifts", 2)
    axes = () if dims is None else _ints_or_one("roll", dims, "dims", 3)
    if not steps:
        raise noted(RuntimeError("`shifts` required"))
    if len(steps) != len(axes) and not (len(steps) == 1 and not axes):
        raise noted(RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}"))
    ndim = input.array.ndim
    if not axes:
        return ROLL.apply((input, steps, ()))
    if not ndim:
        raise noted(IndexError(f"Dimension specified as {axes[0]} but tensor has no dimensions"))
    return ROLL.apply((input, steps, tuple([wrap_dim(d, ndim, "roll") for d in axes])))


def _ints_or_one(name: str, value: Any, argument: str, position: int) -> tuple[int, ...]:
    if is_integer(value):
        return (as_int(value),)
    if not isinstance(value, (tuple, list)):
        raise noted(
            TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be tuple of ints, not {type(value).__name__}"
            )
        )
    return ints(name, (value,), None, argument)


def rot90(input: Any, k: Any = 1, dims: Any = (0, 1)) -> Any:
    """The tensor turned ``k`` times by 90 degrees, from the first to the second of ``dims`` (source:
    ``torch.rot90``)."""
    ndim = input.array.ndim
    axes = ints("rot90", (dims,), None, "dims")
    if len(axes) != 2:
        raise noted(RuntimeError(f"expected total rotation dims == 2, but got dims = {len(axes)}"))
    if ndim < 2:
        raise noted(RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}"))
    first, second = (wrap_dim(d, ndim, "rot90") for d in axes)
    if first == second:
        raise noted(
            RuntimeError(f"expected rotation dims to be different, but got dim0 = {axes[0]} and dim1 = {axes[1]}")
        )
    return ROT90.apply((input, as_int(k), (first, second)))


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """The powers of a vector's elements as columns (source: ``torch.vander``)."""
    if x.array.ndim != 1:
        raise noted(RuntimeError("x must be a one-dimensional tensor."))
    count = x.array.size if N is None else as_int(N)
    if count < 0:
        raise noted(RuntimeError("N must be non-negative."))
    kind = x.dtype if x.dtype.category > 1 else int64
    made = x.new_empty((x.array.size, count), dtype=kind)
    if count > 0:
        made.select(1, 0).fill_(1)
        if count > 1:
            rest = made[:, 1:]
            rest.copy_(x.unsqueeze(1).expand(x.array.size, count - 1))
            rest.copy_(rest.clone().cumprod(1))
    return made if increasing else made.flip((1,))


FUNCTIONS = [
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_copy",
    "diagonal_scatter",
    "flip",
    "fliplr",
    "flipud",
    "roll",
    "rot90",
    "trace",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "vander",
]
METHODS = {
    "diag": diag,
    "diag_embed": diag_embed,
    "diagflat": diagflat,
    "diagonal": diagonal,
    "diagonal_scatter": diagonal_scatter,
    "fill_diagonal_": fill_diagonal_,
    "flip": flip,
    "fliplr": fliplr,
    "flipud": flipud,
    "roll": roll,
    "rot90": rot90,
    "trace": trace,
    "tril": tril,
    "tril_": tril_,
    "triu": triu,
    "triu_": triu_,
}
