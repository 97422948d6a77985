"""Elements replaced: where masks hold, at index lists, in slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import SCALAR_TYPE, boolean, of_numpy
from livetape.kernels.scatter import add_at
from livetape.ops.basics import is_expanded
from livetape.ops.dims import as_int, wrap_dim
from livetape.ops.gathering import TAKE, check_broadcast, check_flat
from livetape.ops.indexing import FULL, INDEX_PUT, OVERWRITTEN, SELECT, SLICE, counters_like, surviving, write_shared
from livetape.ops.indexing import put_ as index_put_into
from livetape.ops.options import fits, need_tensor, scalar_array
from livetape.ops.shape import expand, reshape
from livetape.ops.table import into, row


# ---------------------------------------------------------------- where a mask holds
def _filled(self: Any, mask: Any, value: Any) -> Any:
    out = self.copy()
    np.copyto(
        out,
        value.astype(self.dtype) if isinstance(value, np.ndarray) else scalar_array(value, of_numpy(self.dtype)),
        where=mask,
    )
    return out


MASKED_FILL = row(
    "masked_fill",
    _filled,
    tensors="self mask",
    batch="broadcast",
    self=lambda grad, mask: MASKED_FILL.apply((grad, mask, 0)),
    selects="masked",
)
MASKED_FILL_TENSOR = row(
    "masked_fill",
    _filled,
    tensors="self mask value",
    node="MaskedFillBackward1",
    key="masked_fill.tensor",
    batch="masked_fill",
    self=lambda grad, mask: MASKED_FILL.apply((grad, mask, 0)),
    value=lambda grad, mask: MASKED_FILL.apply((grad, ~mask, 0)).sum(),
    selects="masked",
)


def _fill_row(input: Any, mask: Any, value: Any) -> Any:
    """The row that fills with this value, once mask and value are found fit."""
    need_tensor("masked_fill", mask, "mask", 1)
    if mask.dtype is not boolean:
        raise noted(RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {_c_name(mask)}"))
    if isinstance(value, TensorBase):
        if value.array.ndim:
            raise noted(
                RuntimeError(
                    "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                    f"{value.array.ndim} dimension(s)."
                )
            )
        if value.dtype.is_complex and not input.dtype.is_complex:
            fits(value.array.item(), input.dtype)
        return MASKED_FILL_TENSOR
    if not isinstance(value, (int, float, complex, np.generic)):
        raise noted(
            TypeError(f"masked_fill(): argument 'value' (position 2) must be Number, not {type(value).__name__}")
        )
    fits(value, input.dtype)
    return MASKED_FILL


def _c_name(tensor: Any) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int", "int32": "int", "uint8": "unsigned char"}.get(
        tensor.dtype.name, tensor.dtype.name
    )


def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """A copy with a number, or a 0-d tensor, where the mask is true (source: ``torch.masked_fill``).

    >>> import livetape as torch
    >>> x = torch.tensor([1., -2.])
    >>> torch.masked_fill(x, x < 0, 0)
    tensor([1., 0.])
    """
    op = _fill_row(input, mask, value)
    size = check_broadcast(mask, input)
    return op.apply((input if size == input.array.shape else expand(input, size), mask, value))


def masked_fill_(self: Any, mask: Any, value: Any) -> Any:
    """In-place `masked_fill`."""
    op = _fill_row(self, mask, value)
    _check_mask(self, mask)
    if is_expanded(self, "masked_fill_", "tensor[mask] = scalar"):
        found = (
            value.array.astype(self.array.dtype) if isinstance(value, TensorBase) else scalar_array(value, self.dtype)
        )
        return write_shared(self, np.broadcast_to(mask.array, self.array.shape), found)
    return op.inplace(self, mask, value)


def _check_mask(self: Any, mask: Any) -> None:
    size = check_broadcast(self, mask)
    if size != self.array.shape:
        raise noted(
            RuntimeError(f"output with shape {list(self.array.shape)} doesn't match the broadcast shape {list(size)}")
        )


def _masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    out = self.copy()
    mask = np.broadcast_to(mask, out.shape)
    count = np.count_nonzero(mask)
    if source.size < count:
        raise noted(RuntimeError("Number of elements of source < number of ones in mask"))
    out[mask] = source.reshape(-1)[:count]
    return out


def _read_masked(grad: Any, mask: Any, size: Any) -> Any:
    found = grad[np.broadcast_to(mask, grad.shape)]
    total = np.zeros(size, grad.dtype)
    total.reshape(-1)[: found.size] = found
    return total


MASKED_SCATTER = row(
    "masked_scatter",
    _masked_scatter,
    tensors="self mask source",
    linear=True,
    self=lambda grad, mask: MASKED_FILL.apply((grad, mask, 0)),
    source=lambda grad, mask, source_size: MASKED_READ.apply((grad, mask, source_size)),
    selects="masked",
)
MASKED_READ = row(
    "masked_scatter_backward",
    _read_masked,
    tensors="grad mask",
    linear=True,
    grad=lambda grad, mask, grad_size: _masked_again(grad, mask, grad_size),
)


def _masked_again(grad: Any, mask: Any, size: Any) -> Any:
    return MASKED_SCATTER.apply((grad.new_zeros(size), mask, grad))


def _check_source(self: Any, mask: Any, source: Any) -> None:
    need_tensor("masked_scatter", mask, "mask", 1)
    need_tensor("masked_scatter", source, "source", 2)
    if self.dtype is not source.dtype:
        raise noted(
            RuntimeError(
                "masked_scatter: expected self and source to have same dtypes but got"
                f"{SCALAR_TYPE[self.dtype]} and {SCALAR_TYPE[source.dtype]}"
            )
        )
    if mask.dtype is not boolean:
        raise noted(
            RuntimeError(
                f"masked_scatter_ only supports boolean masks, but got mask with dtype {SCALAR_TYPE[mask.dtype]}"
            )
        )


def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """A copy with the elements of ``source``, in order, where the mask is true (source: ``torch.masked_scatter``)."""
    _check_source(input, mask, source)
    size = check_broadcast(mask, input)
    return MASKED_SCATTER.apply((input if size == input.array.shape else expand(input, size), mask, source))


def masked_scatter_(self: Any, mask: Any, source: Any) -> Any:
    """In-place `masked_scatter`."""
    _check_source(self, mask, source)
    _check_mask(self, mask)
    return MASKED_SCATTER.inplace(self, mask, source)


# ---------------------------------------------------------------- at index lists
def _indices(name: str, input: Any, indices: Any, values: Any) -> tuple[Any, ...]:
    if not isinstance(indices, (tuple, list)):
        raise noted(
            TypeError(
                f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}"
            )
        )
    need_tensor(name, values, "values", 2)
    for i in indices:
        if i is not None and not isinstance(i, TensorBase):
            raise noted(
                TypeError(
                    f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not tuple of {type(i).__name__}"
                )
            )
        if i is not None and i.dtype.name not in ("int64", "int32", "bool", "uint8"):
            raise noted(IndexError("tensors used as indices must be long, int, byte or bool tensors"))
    if values.dtype is not input.dtype:
        raise noted(
            RuntimeError(
                "Index put requires the source and destination dtypes match, got "
                f"{SCALAR_TYPE[input.dtype]} for the destination and {SCALAR_TYPE[values.dtype]} for the "
                "source."
            )
        )
    return tuple(indices)


def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy with ``values`` at the places that index tensors name (source: ``torch.index_put``).

    >>> import livetape as torch
    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 0]),), torch.tensor(1.), accumulate=True)
    tensor([2., 0., 0.])
    """
    return INDEX_PUT.apply((input, _indices("index_put", input, indices, values), values, accumulate))


def index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """In-place `index_put`."""
    return index_put_into(self, _indices("index_put_", self, indices, values), values, accumulate)


# ---------------------------------------------------------------- in the flattened tensor
def _put(self: Any, index: Any, source: Any, accumulate: bool) -> Any:
    out = self.copy("C")
    flat = out.reshape(-1)
    if accumulate:
        add_at(flat, (index.reshape(-1),), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return out


def _put_zero(grad: Any, index: Any) -> Any:
    return PUT.apply((grad, index, grad.new_zeros(shape_of(index)), False))


PUT = row(
    "put",
    _put,
    tensors="self index source",
    apart=True,
    linear=True,
    batch="put",
    self=lambda grad, index, accumulate: grad if accumulate else _put_zero(grad, index),
    source=lambda grad, index, source_size, accumulate: reshape(_put_source(grad, index, accumulate), source_size),
    differs=OVERWRITTEN,
    selects=True,
)


def _put_source(grad: Any, index: Any, accumulate: bool) -> Any:
    found = TAKE.apply((grad, index))
    if accumulate:
        return found
    return surviving(
        found, lambda numbers: TAKE.apply((PUT.apply((counters_like(grad), index, numbers, False)), index))
    )


def _put_values(self: Any, index: Any, source: Any, accumulate: bool) -> tuple[Any, ...]:
    need_tensor("put", index, "index", 1)
    need_tensor("put", source, "source", 2)
    if index.array.size != source.array.size:
        raise noted(
            IndexError(
                "put_(): Expected source and index to have the same number of elements, but got "
                "source.numel() = "
                f"{source.array.size}, index.numel() = {index.array.size}"
            )
        )
    if source.dtype is not self.dtype:
        raise noted(
            RuntimeError(
                "put_(): self and source expected to have the same dtype, but got self.dtype = "
                f"{SCALAR_TYPE[self.dtype]} and source.dtype = {SCALAR_TYPE[source.dtype]}"
            )
        )
    check_flat("put_", index, self.array.size)
    return self, index, source, accumulate


def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """A copy with ``source`` at places of the flattened tensor (source: ``torch.put``)."""
    return PUT.apply(_put_values(input, index, source, accumulate))


def put_(self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """In-place `put`."""
    return PUT.inplace(*_put_values(self, index, source, accumulate))


# ---------------------------------------------------------------- slices of a copy
def _written(self: Any, key: tuple[Any, ...], src: Any) -> Any:
    out = self.copy()
    out[key] = src
    return out


SELECT_SCATTER = row(
    "select_scatter",
    lambda self, src, dim, index: _written(self, (*(FULL,) * dim, index), src),
    tensors="self src",
    linear=True,
    batch="dim",
    self=lambda grad, src_size, dim, index: SELECT_SCATTER.apply((grad, grad.new_zeros(src_size), dim, index)),
    src=lambda grad, dim, index: SELECT.apply((grad, dim, index)),
    selects=True,
)
SLICE_SCATTER = row(
    "slice_scatter",
    lambda self, src, dim, start, end, step: _written(self, (*(FULL,) * dim, slice(start, end, step)), src),
    tensors="self src",
    linear=True,
    batch="dim",
    self=lambda grad, src_size, dim, start, end, step: SLICE_SCATTER.apply(
        (grad, grad.new_zeros(src_size), dim, start, end, step)
    ),
    src=lambda grad, dim, start, end, step: SLICE.apply((grad, dim, start, end, step)),
    selects=True,
)


def check_slice(src: Any, size: Any) -> None:
    """Raise torch's error unless ``src`` has the size of the slice that it replaces."""
    have = list(shape_of(src))
    if have != list(size):
        raise noted(
            RuntimeError(
                f"expected src to have a size equal to the slice of self. src size = {have}, slice size = {list(size)}"
            )
        )


def select_scatter(input: Any, src: Any, dim: Any, index: Any) -> Any:
    """A copy with ``src`` in the place of one slice (source: ``torch.select_scatter``)."""
    need_tensor("select_scatter", src, "src", 1)
    size = shape_of(input)
    at = wrap_dim(dim, len(size), "select_scatter")
    place = as_int(index)
    if not -size[at] <= place < size[at]:
        raise noted(
            IndexError(f"select(): index {place} out of range for tensor of size {list(size)} at dimension {at}")
        )
    check_slice(src, (*size[:at], *size[at + 1 :]))
    return SELECT_SCATTER.apply((input, src, at, place))


def slice_scatter(
    input: Any, src: Any, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1, *, out: Any = None
) -> Any:
    """A copy with ``src`` in the place of a range of slices (source: ``torch.slice_scatter``)."""
    if out is not None:
        return into(out, slice_scatter, input, src, dim, start, end, step)
    need_tensor("slice_scatter", src, "src", 1)
    size = shape_of(input)
    at = wrap_dim(dim, len(size), "slice_scatter")
    if step <= 0:
        raise noted(RuntimeError("slice step must be positive"))
    bounds = slice(start, end, step).indices(size[at])
    check_slice(src, (*size[:at], max(0, -(-(bounds[1] - bounds[0]) // step)), *size[at + 1 :]))
    return SLICE_SCATTER.apply((input, src, at, *bounds))


FUNCTIONS = ["index_put", "index_put_", "masked_fill", "masked_scatter", "put", "select_scatter", "slice_scatter"]
METHODS = {
    "index_put": index_put,
    "index_put_": index_put_,
    "masked_fill": masked_fill,
    "masked_fill_": masked_fill_,
    "masked_scatter": masked_scatter,
    "masked_scatter_": masked_scatter_,
    "put": put,
    "put_": put_,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
}
