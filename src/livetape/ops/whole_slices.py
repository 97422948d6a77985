"""Whole slices added to, copied over or filled at places along one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape.dtypes import SCALAR_TYPE, int32, int64
from livetape.kernels.layouts import copied
from livetape.kernels.scatter import add_rows
from livetape.ops.basics import is_expanded
from livetape.ops.dims import wrap_dim
from livetape.ops.gathering import INDEX_SELECT, check_range
from livetape.ops.indexing import FULL, OVERWRITTEN, counters_like, surviving, write_shared
from livetape.ops.options import need_tensor
from livetape.ops.scattering import as_value
from livetape.ops.shape import reshape
from livetape.ops.table import into, row


def slices_key(self: Any, dim: int, index: Any) -> Any:
    return (*(FULL,) * dim, index if index.ndim else index.reshape(1))


def _index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    out = self.copy("C")
    if alpha != 1:
        source = (source * as_value(source, alpha)).astype(source.dtype, copy=False)
    if not out.ndim:
        return out + source.sum(dtype=source.dtype)
    if not source.ndim:
        source = source.reshape(1)
    return add_rows(out, dim, index if index.ndim else index.reshape(1), source)


INDEX_ADD = row(
    "index_add",
    _index_add,
    tensors="self index source",
    apart=True,
    linear=True,
    batch="index_dim",
    self=lambda grad: grad,
    source=lambda grad, dim, index, source_size, alpha: _scaled(
        _shaped(INDEX_SELECT.apply((grad, dim, index)), source_size), alpha
    ),
)
INDEX_COPY = row(
    "index_copy",
    lambda self, dim, index, source: _index_write(self, dim, index, source),
    tensors="self index source",
    apart=True,
    linear=True,
    batch="index_dim",
    self=lambda grad, dim, index: INDEX_FILL.apply((grad, dim, index, 0)),
    source=lambda grad, dim, index, source_size: _shaped(_index_copy_source(grad, dim, index), source_size),
    differs=OVERWRITTEN,
    selects=True,
    dense=True,
)


def _index_copy_source(grad: Any, dim: int, index: Any) -> Any:
    return surviving(
        INDEX_SELECT.apply((grad, dim, index)),
        lambda numbers: INDEX_SELECT.apply((INDEX_COPY.apply((counters_like(grad), dim, index, numbers)), dim, index)),
    )


INDEX_FILL = row(
    "index_fill",
    lambda self, dim, index, value: _index_write(self, dim, index, as_value(self, value)),
    tensors="self index",
    batch="index_dim",
    self=lambda grad, dim, index: INDEX_FILL.apply((grad, dim, index, 0)),
    selects=True,
)
INDEX_FILL_TENSOR = row(
    "index_fill",
    lambda self, dim, index, value: _index_write(self, dim, index, as_value(self, value)),
    tensors="self index value",
    node="IndexFillBackward1",
    key="index_fill.tensor",
    batch="index_fill",
    self=lambda grad, dim, index: INDEX_FILL.apply((grad, dim, index, 0)),
    value=lambda grad, dim, index: INDEX_SELECT.apply((grad, dim, _distinct(index))).sum(),
    selects=True,
)


def _distinct(index: Any) -> Any:
    """The index without repetitions: what is written twice counts once."""
    return wrap(np.unique(index.array), index.dtype, None)


def _scaled(grad: Any, alpha: Any) -> Any:
    return grad if alpha == 1 else grad * alpha


def _shaped(grad: Any, size: Any) -> Any:
    return grad if shape_of(grad) == size else reshape(grad, size)


def _index_write(self: Any, dim: int, index: Any, source: Any) -> Any:
    out = copied(self)
    if not out.ndim:
        if index.size:
            out[...] = source.reshape(-1)[-1]
    elif source.ndim or not source.size:
        out[slices_key(out, dim, index)] = source
    else:
        out[slices_key(out, dim, index)] = source.reshape(())
    return out


def index_dim(name: str, input: Any, dim: Any, index: Any) -> int:
    need_tensor(name, index, "index", 2)
    at = wrap_dim(dim, input.array.ndim, name)
    if index.dtype is not int64 and (index.dtype is not int32 or not name.startswith("index_add")):
        wanted = "int32/int64" if name.startswith("index_add") else "int64"
        if name.startswith("index_fill"):
            raise noted(IndexError("index_fill_(): Expected dtype int64 for index."))
        found = SCALAR_TYPE[index.dtype]
        if name.startswith("index_copy"):
            raise noted(RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {found}"))
        got = f" but got: {found}" if name.startswith("index_add") else ""
        raise noted(RuntimeError(f"{name.rstrip('_')}_(): Expected dtype {wanted} for index{got}"))
    if index.array.ndim > 1:
        raise noted(IndexError(f"{name.rstrip('_')}_(): Index should have dimension 1 or 0 (got {index.array.ndim})"))
    return at


def count_of(size: Any, dim: int) -> int:
    return size[dim] if size else 1  # type: ignore[no-any-return]


def _index_add_values(name: str, input: Any, dim: Any, index: Any, source: Any, alpha: Any) -> tuple[Any, ...]:
    need_tensor(name, source, "source", 3)
    at = index_dim(name, input, dim, index)
    if source.dtype is not input.dtype:
        raise noted(
            RuntimeError(
                f"index_add_(): self ({SCALAR_TYPE[input.dtype]}) and source ({SCALAR_TYPE[source.dtype]}) "
                "must "
                "have the same scalar type"
            )
        )
    given, have = index.array.size, count_of(shape_of(source), at)
    if given != have:
        raise noted(
            RuntimeError(
                f"index_add_(): Number of indices ({given}) should be equal to source.size(dim): ({have}), for dim: {at}"
            )
        )
    _check_rest("index_add_", input, source, at)
    check_range(index.array, count_of(shape_of(input), at), None, RuntimeError, at)
    return input, at, index, source, alpha


def _check_rest(name: str, input: Any, source: Any, dim: int) -> None:
    size, have = list(shape_of(input)), list(shape_of(source))
    if size and have and (size[:dim] + size[dim + 1 :] != have[:dim] + have[dim + 1 :]):
        if name == "index_add_":
            raise noted(
                RuntimeError(
                    "source tensor shape must match self tensor shape, excluding the specified dimension. "
                    "Got "
                    f"self.shape = {size} source.shape = {have}"
                )
            )
        raise noted(
            IndexError(
                f"{name}(): Source/destination tensor must have same slice shapes. Destination slice shape: "
                f"{size[:dim] + size[dim + 1 :]} at dimension {dim} and source slice shape: "
                f"{have[:dim] + have[dim + 1 :]} at dimension {dim}."
            )
        )


def index_add(input: Any, dim: Any, index: Any, source: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """A copy with slice i of ``source`` added to slice ``index[i]`` (source: ``torch.index_add``).

    >>> import livetape as torch
    >>> torch.index_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.tensor([1., 2.]))
    tensor([0., 3.])
    """
    if out is not None:
        return into(out, index_add, input, dim, index, source, alpha=alpha)
    return INDEX_ADD.apply(_index_add_values("index_add", input, dim, index, source, alpha))


def index_add_(self: Any, dim: Any, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """In-place `index_add`."""
    return INDEX_ADD.inplace(*_index_add_values("index_add_", self, dim, index, source, alpha))


def _index_copy_values(name: str, input: Any, dim: Any, index: Any, source: Any) -> tuple[Any, ...]:
    need_tensor(name, source, "source", 3)
    at = index_dim(name, input, dim, index)
    if source.dtype is not input.dtype:
        raise noted(
            RuntimeError(
                f"index_copy_(): self and source expected to have the same dtype, but got (self) "
                f"{SCALAR_TYPE[input.dtype]} and (source) {SCALAR_TYPE[source.dtype]}"
            )
        )
    given, have = index.array.size, count_of(shape_of(source), at)
    if source.array.ndim != input.array.ndim and source.array.ndim and input.array.ndim:
        raise noted(
            IndexError(
                "index_copy_(): When source and destination are not scalars, their dimensionality must "
                "match. "
                f"Source dimensionality ({source.array.ndim}), destination dimensionality "
                f"({input.array.ndim})"
            )
        )
    _check_rest("index_copy_", input, source, at)
    if given != have:
        raise noted(
            IndexError(f"index_copy_(): Number of indices ({given}) should be equal to source.size(dim) ({have})")
        )
    extent = count_of(shape_of(input), at)
    bad = index.array[(index.array < 0) | (index.array >= extent)] if index.array.size else index.array
    if bad.size:
        raise noted(
            IndexError(
                f"index_copy_(): index {int(bad.reshape(-1)[0])} is out of bounds for dimension {at} with size {extent}"
            )
        )
    return input, at, index, source


def index_copy(input: Any, dim: Any, index: Any, source: Any, *, out: Any = None) -> Any:
    """A copy with slice i of ``source`` in the place of slice ``index[i]`` (source: ``torch.index_copy``)."""
    if out is not None:
        return into(out, index_copy, input, dim, index, source)
    return INDEX_COPY.apply(_index_copy_values("index_copy", input, dim, index, source))


def index_copy_(self: Any, dim: Any, index: Any, source: Any) -> Any:
    """In-place `index_copy`."""
    return INDEX_COPY.inplace(*_index_copy_values("index_copy_", self, dim, index, source))


def _index_fill_call(name: str, input: Any, dim: Any, index: Any, value: Any) -> Any:
    at = index_dim(name, input, dim, index)
    extent = count_of(shape_of(input), at)
    places = index.array
    if places.size and (places.min() < -extent or places.max() >= extent):
        bad = places.reshape(-1)[(places.reshape(-1) < -extent) | (places.reshape(-1) >= extent)]
        raise noted(IndexError(f"index {int(bad[0])} is out of bounds for dimension {at} with size {extent}"))
    if isinstance(value, TensorBase):
        if value.array.ndim:
            raise noted(
                RuntimeError(
                    "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                    f"{value.array.ndim} dimension(s)."
                )
            )
        return INDEX_FILL_TENSOR, (input, at, index, value)
    return INDEX_FILL, (input, at, index, value)


def index_fill(input: Any, dim: Any, index: Any, value: Any) -> Any:
    """A copy with the slices that ``index`` names filled with a number (source: ``torch.index_fill``)."""
    op, values = _index_fill_call("index_fill", input, dim, index, value)
    return op.apply(values)


def index_fill_(self: Any, dim: Any, index: Any, value: Any) -> Any:
    """In-place `index_fill`."""
    op, values = _index_fill_call("index_fill_", self, dim, index, value)
    if is_expanded(self, "index_fill_", "tensor[mask] = scalar"):
        found = value.array.astype(self.array.dtype) if isinstance(value, TensorBase) else value
        return write_shared(self, slices_key(self.array, values[1], index.array), found)
    return op.inplace(*values)


FUNCTIONS = [
    "index_add",
    "index_copy",
    "index_fill",
]
METHODS = {
    "index_add": index_add,
    "index_add_": index_add_,
    "index_copy": index_copy,
    "index_copy_": index_copy_,
    "index_fill": index_fill,
    "index_fill_": index_fill_,
}
