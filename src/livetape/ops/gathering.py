"""Elements picked by index tensors and masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import broadcast_error, noted
from livetape._tape.tensor import TensorBase, from_array, shape_of, wrap
from livetape.dtypes import INTEGER, SCALAR_TYPE, boolean, int32, int64
from livetape.kernels.scatter import add_along, add_at, add_rows, along
from livetape.ops.dims import as_int, is_integer, wrap_dim
from livetape.ops.indexing import SELECT, SLICE
from livetape.ops.options import need_tensor
from livetape.ops.shape import expand, reshape
from livetape.ops.table import into, row


# ---------------------------------------------------------------- one slice, or a range of them
def select(input: Any, dim: Any, index: Any) -> Any:
    """The slice at ``index`` of a dimension, which is lost: a view (source: ``torch.select``).

    >>> import livetape as torch
    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    size = shape_of(input)
    if not size:
        raise noted(IndexError("select() cannot be applied to a 0-dim tensor."))
    at = wrap_dim(dim, len(size), "select")
    if not is_integer(index):
        raise noted(TypeError(f"select(): argument 'index' (position 2) must be int, not {type(index).__name__}"))
    place = as_int(index)
    if not -size[at] <= place < size[at]:
        raise noted(
            IndexError(f"select(): index {place} out of range for tensor of size {list(size)} at dimension {at}")
        )
    return SELECT.apply((input, at, place))


def narrow(input: Any, dim: Any, start: Any, length: Any) -> Any:
    """``length`` slices of a dimension from ``start``: a view (source: ``torch.narrow``).

    >>> import livetape as torch
    >>> torch.narrow(torch.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    return SLICE.apply((input, *_narrowed(input, dim, start, length), 1))


def _narrowed(input: Any, dim: Any, start: Any, length: Any, copies: bool = False) -> tuple[int, int, int]:
    size = shape_of(input)
    if not size:
        raise noted(RuntimeError("narrow() cannot be applied to a 0-dim tensor."))
    if length < 0 and not copies:
        raise noted(RuntimeError("narrow(): length must be non-negative."))
    at = wrap_dim(dim, len(size), "narrow")
    if isinstance(start, TensorBase) and (start.array.ndim or start.array.dtype.kind not in "iu"):
        raise noted(RuntimeError("start must be an 0-dim integral Tensor."))
    first, extent = as_int(start), size[at]
    if not -extent <= first <= extent:
        raise noted(
            IndexError(f"start out of range (expected to be in range of [{-extent}, {extent}], but got {first})")
        )
    if first < 0:
        first += extent
    if first > extent - length or length < 0:
        raise noted(RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({extent})."))
    return at, first, first + length


NARROW_COPY = row(
    "narrow_copy",
    lambda self, dim, start, end: self[(slice(None),) * dim + (slice(start, end),)].copy(),
    linear=True,
    batch="dim",
    self=lambda grad, self_size, dim, start, end: SLICE.formulas[0].fn(grad, self_size, dim, start, end, 1),
    selects=True,
)


def narrow_copy(input: Any, dim: Any, start: Any, length: Any, *, out: Any = None) -> Any:
    """As `narrow`, but a copy (source: ``torch.narrow_copy``)."""
    if out is not None:
        return into(out, narrow_copy, input, dim, start, length)
    if is_integer(dim) and as_int(dim) >= input.array.ndim > 0:
        raise noted(
            RuntimeError(
                "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could "
                "this "
                "error message be improved?  If so, please report an enhancement request to PyTorch.)"
            )
        )
    return NARROW_COPY.apply((input, *_narrowed(input, dim, start, length, True)))


# ---------------------------------------------------------------- whole slices
def _take_slices(self: Any, dim: int, index: Any) -> Any:
    if not self.ndim:
        return self.copy() if index.ndim == 0 else self.repeat(index.size).reshape(() if index.size == 1 else -1)
    return self.take(index if index.ndim else index.reshape(1), dim)


def _add_slices(grad: Any, size: Any, dim: int, index: Any) -> Any:
    if not size:
        return grad.reshape(-1).sum().reshape(()).astype(grad.dtype)
    return add_rows(np.zeros(size, grad.dtype), dim, index if index.ndim else index.reshape(1), grad)


INDEX_SELECT = row(
    "index_select",
    _take_slices,
    tensors="self index",
    linear=True,
    batch="index_select",
    self=lambda grad, self_size, dim, index: INDEX_SELECT_BACKWARD.apply((grad, self_size, dim, index)),
    selects=True,
)
INDEX_SELECT_BACKWARD = row(
    "index_select_backward",
    _add_slices,
    tensors="grad index",
    node="IndexAddBackward0",
    linear=True,
    batch="index_select_backward",
    grad=lambda grad, dim, index: INDEX_SELECT.apply((grad, dim, index)),
)


def check_range(
    index: Any, extent: int, text: str | None = None, kind: type[Exception] = IndexError, dim: int = 0
) -> None:
    """Raise torch's error if an index is outside 0 .. extent - 1."""
    if index.size:
        if index.dtype == np.int64:  # negative ones are the largest unsigned ones: one pass instead of two
            wrong = int(index.view(np.uint64).max()) >= extent
        else:
            wrong = int(index.min()) < 0 or int(index.max()) >= extent
        if wrong:
            flat = index.reshape(-1)
            bad = int(flat[(flat < 0) | (flat >= extent)][0])
            raise noted(kind(text or f"index {bad} is out of bounds for dimension {dim} with size {extent}"))


def index_select(input: Any, dim: Any, index: Any, *, out: Any = None) -> Any:
    """The slices of a dimension that a vector of integers names (source: ``torch.index_select``).

    >>> import livetape as torch
    >>> torch.index_select(torch.tensor([10, 20, 30]), 0, torch.tensor([2, 0, 2]))
    tensor([30, 10, 30])
    """
    if out is not None:
        return into(out, index_select, input, dim, index)
    need_tensor("index_select", index, "index", 2)
    size = shape_of(input)
    at = wrap_dim(dim, len(size), "index_select")
    if index.array.ndim > 1:
        raise noted(IndexError("index_select(): Index is supposed to be a vector"))
    if index.dtype is not int64 and index.dtype is not int32:
        raise noted(RuntimeError("index_select(): Expected dtype int32 or int64 for index"))
    check_range(index.array, size[at] if size else 1, "index out of range in self")
    return INDEX_SELECT.apply((input, at, index))


# ---------------------------------------------------------------- along a dimension
GATHER = row(
    "gather",
    lambda self, dim, index: _gathered(self, dim, index),
    tensors="self index",
    linear=True,
    batch="dim",
    self=lambda grad, self_size, dim, index: GATHER_BACKWARD.apply((grad, self_size, dim, index)),
    selects=True,
    dense=True,
)
GATHER_BACKWARD = row(
    "gather_backward",
    lambda grad, size, dim, index: add_along(np.zeros(size, grad.dtype), dim, index, grad),
    tensors="grad index",
    node="ScatterAddBackward0",
    linear=True,
    batch="size dim",
    grad=lambda grad, dim, index: GATHER.apply((grad, dim, index)),
)


def _gathered(self: Any, dim: int, index: Any) -> Any:
    if not index.size:
        return np.empty(index.shape, self.dtype)
    if not index.ndim:
        return self.copy() if not self.ndim else self[index]
    if not self.ndim:
        return self.reshape(1)[index]
    return self[along(self.shape, dim, index)]


def gather(input: Any, dim: Any, index: Any, *, sparse_grad: bool = False, out: Any = None) -> Any:
    """For each place of ``index`` the element that it names along ``dim`` (source: ``torch.gather``).

    >>> import livetape as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """
    if out is not None:
        return into(out, gather, input, dim, index)
    need_tensor("gather", index, "index", 2)
    size = shape_of(input)
    at = wrap_dim(dim, len(size), "gather")
    places = index.array
    if not places.size:  # any empty index will do
        index = wrap(np.empty(places.shape, np.int64), int64, None)
        return GATHER.apply((input, at, index))
    if index.dtype is not int64 and index.dtype is not int32:
        raise noted(RuntimeError("gather(): Expected dtype int32/int64 for index"))
    check_along("input", size, at, places)
    return GATHER.apply((input, at, index))


def check_along(name: str, size: Any, dim: int, places: Any) -> None:
    """Raise torch's error unless an index fits a tensor of ``size`` in every dimension but ``dim``."""
    if max(places.ndim, 1) != max(len(size), 1):
        raise noted(RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor"))
    for d in range(places.ndim if size else 0):
        if d != dim and places.shape[d] > size[d]:
            raise noted(
                RuntimeError(
                    f"Size does not match at dimension {d} expected index {list(places.shape)} to be no "
                    "larger "
                    f"than self {list(size)} apart from dimension {dim}"
                )
            )
    check_range(places, size[dim] if size else 1, None, RuntimeError, dim)


def take_along_dim(input: Any, indices: Any, dim: Any = None, *, out: Any = None) -> Any:
    """`gather` with broadcasting; without ``dim`` of the flattened tensor (source: ``torch.take_along_dim``)."""
    if out is not None:
        return into(out, take_along_dim, input, indices, dim)
    if indices.dtype is not int64 and indices.dtype is not int32:
        raise noted(
            RuntimeError(
                "torch.take_along_dim(): dtype of indices should be Long but got " + SCALAR_TYPE[indices.dtype]
            )
        )
    if dim is None:
        return gather(_flat(input), 0, _flat(indices))
    size, wanted = shape_of(input), shape_of(indices)
    if len(size) != len(wanted):
        raise noted(
            RuntimeError(
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                "got "
                f"{len(size)} dimensions for input, and {len(wanted)} dimensions for indices"
            )
        )
    at = wrap_dim(dim, len(size), "take_along_dim")
    try:
        both = np.broadcast_shapes((*size[:at], 1, *size[at + 1 :]), (*wanted[:at], 1, *wanted[at + 1 :]))
    except ValueError:
        raise noted(broadcast_error((*size[:at], 1, *size[at + 1 :]), (*wanted[:at], 1, *wanted[at + 1 :]))) from None
    wide = expand(input, (*both[:at], size[at], *both[at + 1 :]))
    places = indices.array
    if places.size and places.min() < 0:
        indices = wrap(np.where(places < 0, places + size[at], places), indices.dtype, None)
    return gather(wide, at, expand(indices, (*both[:at], wanted[at], *both[at + 1 :])))


def _flat(input: Any) -> Any:
    return reshape(input, (input.array.size,))


# ---------------------------------------------------------------- in the flattened tensor
TAKE = row(
    "take",
    lambda self, index: self.reshape(-1)[index] if index.ndim else self.reshape(-1)[int(index), ...].copy(),
    tensors="self index",
    linear=True,
    batch="take",
    self=lambda grad, self_size, index: TAKE_BACKWARD.apply((grad, self_size, index)),
    selects=True,
)
TAKE_BACKWARD = row(
    "take_backward",
    lambda grad, size, index: add_at(np.zeros(size, grad.dtype).reshape(-1), (index,), grad).reshape(size),
    tensors="grad index",
    node="PutBackward0",
    linear=True,
    batch="take_backward",
    grad=lambda grad, index: TAKE.apply((grad, index)),
)


def check_flat(name: str, index: Any, count: int) -> None:
    """Raise torch's error unless an index is fit for the elements of a flattened tensor."""
    if index.dtype is not int64:
        raise noted(RuntimeError(f"{name}(): Expected a long tensor for index, but got {SCALAR_TYPE[index.dtype]}"))
    places = index.array
    if places.size and (places.min() < -count or places.max() >= count):
        flat = places.reshape(-1)
        bad = int(flat[(flat < -count) | (flat >= count)][0])
        raise noted(IndexError(f"out of range: tried to access index {bad} on a tensor of {count} elements."))


def take(input: Any, index: Any, *, out: Any = None) -> Any:
    """Elements by their place in the flattened tensor (source: ``torch.take``).

    >>> import livetape as torch
    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([3, 0]))
    tensor([4, 1])
    """
    if out is not None:
        return into(out, take, input, index)
    need_tensor("take", index, "index", 1)
    count = input.array.size
    if not count and index.array.size:
        raise noted(IndexError("take(): tried to take from an empty tensor"))
    check_flat("take", index, count)
    return TAKE.apply((input, index))


# ---------------------------------------------------------------- by masks
def _put_selected(grad: Any, size: Any, mask: Any) -> Any:
    both = np.broadcast_shapes(size, mask.shape)
    total = np.zeros(both, grad.dtype)
    total[np.broadcast_to(mask, both)] = grad
    return total


def _select_masked(self: Any, mask: Any) -> Any:
    if self.shape != mask.shape:
        self, mask = np.broadcast_arrays(self, mask)
    return self[mask]


MASKED_SELECT = row(
    "masked_select",
    _select_masked,
    tensors="self mask",
    linear=True,
    batch="masked_select",
    self=lambda grad, self_size, mask: _masked_select_backward(grad, self_size, mask),
    selects="masked",
)
MASKED_PLACE = row(
    "masked_select_backward",
    _put_selected,
    tensors="grad mask",
    node="MaskedScatterBackward0",
    linear=True,
    batch="masked_place",
    grad=lambda grad, mask: MASKED_SELECT.apply((grad, mask)),
)


def _masked_select_backward(grad: Any, size: Any, mask: Any) -> Any:
    whole = MASKED_PLACE.apply((grad, size, mask))
    return whole.sum_to_size(size) if whole.array.shape != tuple(size) else whole


def masked_select(input: Any, mask: Any, *, out: Any = None) -> Any:
    """The elements where a mask is true, in one dimension (source: ``torch.masked_select``).

    >>> import livetape as torch
    >>> x = torch.tensor([1, 5, 2])
    >>> torch.masked_select(x, x > 1)
    tensor([5, 2])
    """
    if out is not None:
        return into(out, masked_select, input, mask)
    need_tensor("masked_select", mask, "mask", 1)
    if mask.dtype is not boolean:
        raise noted(RuntimeError("masked_select: expected BoolTensor for mask"))
    check_broadcast(mask, input)
    return MASKED_SELECT.apply((input, mask))


def check_broadcast(one: Any, other: Any) -> tuple[int, ...]:
    """The shape that two tensors broadcast to, or torch's error."""
    left, right = one.array.shape, other.array.shape
    if left == right:
        return left  # type: ignore[no-any-return]
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        raise noted(broadcast_error(left, right)) from None


# ---------------------------------------------------------------- where elements are not 0
def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """The places of the elements that are not 0, one a row, or a vector a dimension (source: ``torch.nonzero``).

    >>> import livetape as torch
    >>> torch.nonzero(torch.tensor([0, 3, 0, 4]))
    tensor([[1],
            [3]])
    """
    need_tensor("nonzero", input)
    if out is not None:
        return into(out, nonzero, input)
    array = input.array
    if as_tuple:
        return tuple([from_array(found) for found in np.nonzero(array if array.ndim else array.reshape(1))])
    return from_array(np.ascontiguousarray(np.argwhere(array)))


def argwhere(input: Any) -> Any:
    """The places of the elements that are not 0, one a row (source: ``torch.argwhere``)."""
    need_tensor("argwhere", input)
    return nonzero(input)


def nonzero_static(input: Any, *, size: Any, fill_value: int = -1, out: Any = None) -> Any:
    """As `nonzero`, cut or filled up to ``size`` rows (source: ``torch.nonzero_static``)."""
    if out is not None:
        return into(out, nonzero_static, input, size=size, fill_value=fill_value)
    if size < 0:
        raise noted(RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, but got {size}"))
    found = np.argwhere(input.array)[:size]
    made = np.full((size, input.array.ndim), fill_value, np.int64)
    made[: len(found)] = found
    return from_array(made)


def unravel_index(indices: Any, shape: Any) -> Any:
    """The places in a tensor of a shape of flat positions, a tensor a dimension (source: ``torch.unravel_index``).

    >>> import livetape as torch
    >>> torch.unravel_index(torch.tensor(5), (2, 3))
    (tensor(1), tensor(2))
    """
    kind = indices.dtype
    if kind.category != INTEGER:
        raise noted(TypeError(f"expected 'indices' to be integer dtype, but got {kind!r}"))
    size = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(size) == 1:
        return (wrap(indices.array.copy(), kind, None),)
    found = []
    flat = indices.array
    for extent in reversed(size):
        flat, place = np.divmod(flat, extent)
        found.append(wrap(np.asarray(place), kind, None))
    return tuple(reversed(found))


FUNCTIONS = [
    "argwhere",
    "gather",
    "index_select",
    "masked_select",
    "narrow",
    "narrow_copy",
    "nonzero",
    "nonzero_static",
    "select",
    "take",
    "take_along_dim",
    "unravel_index",
]
METHODS = {
    "argwhere": argwhere,
    "gather": gather,
    "index_select": index_select,
    "masked_select": masked_select,
    "narrow": narrow,
    "narrow_copy": narrow_copy,
    "nonzero": nonzero,
    "select": select,
    "take": take,
    "take_along_dim": take_along_dim,
}
