"""The same elements in another shape: views where memory allows, else copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import state
from livetape._tape.tensor import NDARRAY, TensorBase, counter_of, shape_of, wrap
from livetape.dtypes import FLOAT, SCALAR_TYPE, dtype, int64
from livetape.kernels.views import reshaped
from livetape.ops.basics import EXPAND, as_strided, cast, clone_as, sizes_error, sum_to
from livetape.ops.dims import is_integer, wrap_dim, wrap_dims
from livetape.ops.options import ints, need_tensor
from livetape.ops.permuting import permute, t, transpose  # noqa: F401 - of this family
from livetape.ops.refuse import no_overload
from livetape.ops.reshaping import as_strided_, change_shape, resize_, resize_as_
from livetape.ops.slicing import SQUEEZE_DIM, UNSQUEEZE
from livetape.ops.table import row

# ---------------------------------------------------------------- view and reshape
VIEW = row(
    "view",
    lambda self, size: self.reshape(size, copy=False),
    view=True,
    batch="size",
    self=lambda grad, self_size: reshape(grad, self_size),
)
RESHAPE_ALIAS = row(
    "_reshape_alias",
    lambda self, size: self.reshape(size, copy=False),
    view=True,
    node="ReshapeAliasBackward0",
    batch="size",
    self=lambda grad, self_size: reshape(grad, self_size),
)
UNSAFE_VIEW = row(
    "unsafe_view",
    lambda self, size: self.reshape(size),
    linear=True,
    batch="size",
    self=lambda grad, self_size: reshape(grad, self_size),
)
_INCOMPATIBLE = (
    "view size is not compatible with input tensor's size and stride (at least one dimension spans "
    "across two "
    "contiguous subspaces). Use .reshape(...) instead."
)


def view(input: Any, *args: Any, size: Any = None, dtype: Any = None) -> Any:
    """A view of another shape, or, given a dtype, of the same bytes (source: ``torch.Tensor.view``).

    >>> import livetape as torch
    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    out = reshaped(input.array, args) if args else None
    if out is not None and size is None and dtype is None:
        if state.interposed == 0:
            return VIEW.finish_view((input, out.shape), out)
        return VIEW.apply((input, out.shape))
    if dtype is None and len(args) == 1 and type(args[0]) is _DTYPE:
        dtype = args[0]
    if dtype is not None:
        return _view_dtype(input, dtype)
    found = _viewed_size("view", input, args, size, "size")
    try:
        return VIEW.apply((input, found))
    except ValueError:
        raise noted(RuntimeError(_INCOMPATIBLE)) from None


_DTYPE = dtype


def _viewed_size(name: str, input: Any, args: tuple[Any, ...], size: Any, argument: str) -> tuple[int, ...]:
    """The size that `view` or `reshape` is asked for, -1 replaced; torch's errors for what cannot be."""
    if (
        name == "view"
        and size is None
        and (not args or (not isinstance(args[0], (tuple, list, TensorBase)) and not is_integer(args[0])))
    ):
        raise noted(no_overload("view"))
    wanted = ints(name, args, size, argument)
    return resolve(wanted, input.array.size)


def resolve(wanted: tuple[int, ...], count: int) -> tuple[int, ...]:
    """A shape for ``count`` elements with its -1, if any, replaced."""
    unknown = None
    known = 1
    for i, n in enumerate(wanted):
        if n == -1:
            if unknown is not None:
                raise noted(RuntimeError("only one dimension can be inferred"))
            unknown = i
        elif n < 0:
            raise noted(RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(wanted)}"))
        else:
            known *= n
    if known == count and unknown is None:
        return wanted
    if unknown is None or (known and count % known) or (not known and count):
        raise noted(RuntimeError(f"shape '{list(wanted)}' is invalid for input of size {count}"))
    if not known:
        raise noted(
            RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(wanted)} because the unspecified "
                "dimension "
                "size -1 can be any value and is ambiguous"
            )
        )
    return (*wanted[:unknown], count // known, *wanted[unknown + 1 :])


def _view_dtype(input: Any, kind: Any) -> Any:
    """The same bytes read as another dtype; gradients do not flow through."""
    array = input.array
    have, want = input.dtype.itemsize, kind.itemsize
    names = f"to view {SCALAR_TYPE[input.dtype]} as {SCALAR_TYPE[kind]} (different element sizes)"
    if have != want:
        if not array.ndim:
            raise noted(RuntimeError(f"self.dim() cannot be 0 {names}"))
        ratio = want // have
        if want > have and array.shape[-1] % ratio:
            raise noted(RuntimeError(f"self.size(-1) must be divisible by {ratio} {names}, but got {array.shape[-1]}"))
        step = array.strides[-1] // have
        if step != 1 and array.shape[-1] != 1:
            raise noted(RuntimeError(f"self.stride(-1) must be 1 {names}, but got {step}"))
        if want > have:
            offset = _offset_of(array)
            if offset % ratio:
                raise noted(
                    RuntimeError(f"self.storage_offset() must be divisible by {ratio} {names}, but got {offset}")
                )
    twin = wrap(array.view(kind.np), kind, None)
    twin.version = counter_of(input)
    return twin


def _offset_of(array: Any) -> int:
    owner = array
    while isinstance(owner.base, NDARRAY):
        owner = owner.base
    found = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return int(found // array.itemsize)


def reshape(input: Any, *args: Any, shape: Any = None) -> Any:
    """The elements in another shape: a view if memory allows, else a copy (source: ``torch.reshape``).

    >>> import livetape as torch
    >>> torch.reshape(torch.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    array = input.array
    out = reshaped(array, args) if args else None
    if out is not None and shape is None:
        op = VIEW if array.flags.c_contiguous else RESHAPE_ALIAS
        if state.interposed == 0:
            return op.finish_view((input, out.shape), out)
        return op.apply((input, out.shape))
    found = _viewed_size("reshape", input, args, shape, "shape")
    try:
        return (VIEW if array.flags.c_contiguous else RESHAPE_ALIAS).apply((input, found))
    except ValueError:
        return UNSAFE_VIEW.apply((clone_as(input, None), found))


def unsafe_view(input: Any, size: Any) -> Any:
    """`view` for a fresh result that nothing else refers to: the tape does not count it as a view."""
    return UNSAFE_VIEW.apply((input, size))


def view_as(input: Any, other: Any) -> Any:
    """`view` with the size of another tensor (source: ``torch.Tensor.view_as``)."""
    need_tensor("view_as", other, "other")
    return view(input, shape_of(other))


def reshape_as(input: Any, other: Any) -> Any:
    """`reshape` with the size of another tensor (source: ``torch.Tensor.reshape_as``)."""
    need_tensor("reshape_as", other, "other")
    return reshape(input, shape_of(other))


def ravel(input: Any) -> Any:
    """All elements in one dimension (source: ``torch.ravel``)."""
    return view(input if input.array.flags.c_contiguous else clone_as(input, None), (-1,) if input.array.size else (0,))


def flatten(input: Any, start_dim: Any = 0, end_dim: Any = -1) -> Any:
    """The dimensions from ``start_dim`` to ``end_dim`` made one (source: ``torch.flatten``).

    >>> import livetape as torch
    >>> torch.flatten(torch.zeros(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    size = shape_of(input)
    ndim = len(size)
    first = wrap_dim(start_dim, ndim, "flatten", "start_dim")
    last = wrap_dim(end_dim, ndim, "flatten", "end_dim", 2)
    if first > last:
        raise noted(RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim"))
    if not ndim:
        return reshape(input, (1,))
    if first == last:
        return input
    return reshape(input, (*size[:first], math.prod(size[first : last + 1]), *size[last + 1 :]))


def unflatten(input: Any, dim: Any, sizes: Any) -> Any:
    """One dimension made several (source: ``torch.unflatten``).

    >>> import livetape as torch
    >>> torch.unflatten(torch.zeros(2, 6), 1, (2, -1)).shape
    torch.Size([2, 2, 3])
    """
    if not isinstance(sizes, (tuple, list)):
        raise noted(
            TypeError("unflatten(): argument 'sizes' (position 2) must be tuple of ints, not " + type(sizes).__name__)
        )
    size = shape_of(input)
    at = wrap_dim(dim, len(size), "unflatten")
    if not sizes:
        raise noted(RuntimeError("unflatten: sizes must be non-empty"))
    if not size:
        words = f"unflatten got an unexpected error:\nDimension specified as {dim} but tensor has no dimensions"
        raise noted(RuntimeError(words))
    try:
        parts = resolve(ints("unflatten", (sizes,), None, "sizes"), size[at])
    except RuntimeError as error:
        if str(error).startswith("shape"):
            raise noted(
                RuntimeError(
                    f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} "
                    f"({size[at]}) in the input tensor"
                )
            ) from None
        raise noted(RuntimeError(f"unflatten got an unexpected error:\n{error}")) from None
    return view(input, (*size[:at], *parts, *size[at + 1 :]))


# ---------------------------------------------------------------- dimensions of one element
SQUEEZE = row(
    "squeeze",
    lambda self: self.squeeze(),
    view=True,
    inplace_node="SqueezeBackward3",
    batch="squeeze",
    self=lambda grad, self_size: reshape(grad, self_size),
)
SQUEEZE_DIMS = row(
    "squeeze",
    lambda self, dim: self.squeeze(tuple([d for d in dim if self.shape[d] == 1])),
    view=True,
    node="SqueezeBackward2",
    inplace_node="SqueezeBackward5",
    key="squeeze.dims",
    batch="dim",
    self=lambda grad, self_size: reshape(grad, self_size),
)
_EVERY: Any = object()


def squeeze(input: Any, *args: Any, dim: Any = _EVERY) -> Any:
    """Without dimensions of one element: all of them, or those named (source: ``torch.squeeze``).

    >>> import livetape as torch
    >>> torch.squeeze(torch.zeros(1, 3, 1)).shape
    torch.Size([3])
    """
    op, values = _squeezed(input, args, dim)
    return op.apply(values)


def squeeze_(self: Any, *args: Any, dim: Any = _EVERY) -> Any:
    """In-place `squeeze`."""
    op, values = _squeezed(self, args, dim)
    return change_shape(op, values)


def _squeezed(input: Any, args: tuple[Any, ...], dim: Any) -> tuple[Any, tuple[Any, ...]]:
    """The row that squeezes, and its arguments."""
    ndim = input.array.ndim
    if args:
        dim = args[0] if len(args) == 1 else args
    if dim is _EVERY:
        return SQUEEZE, (input,)
    if type(dim) is int or is_integer(dim):
        return SQUEEZE_DIM, (input, wrap_dim(dim, ndim))
    if not isinstance(dim, (tuple, list)):
        raise noted(no_overload("squeeze"))
    dims = wrap_dims(tuple(dim), ndim, "squeeze")
    return SQUEEZE_DIMS, (input, dims if ndim else ())


def squeeze_multiple(input: Any, dims: tuple[int, ...]) -> Any:
    """`squeeze` of a fresh result, under the name that torch's matrix products leave."""
    return change_shape(SQUEEZE_DIM, (input, dims[0])) if len(dims) == 1 else change_shape(SQUEEZE_DIMS, (input, dims))


def unsqueeze(input: Any, dim: Any) -> Any:
    """A dimension of one element more, at ``dim`` (source: ``torch.unsqueeze``).

    >>> import livetape as torch
    >>> torch.unsqueeze(torch.tensor([1, 2]), 1)
    tensor([[1],
            [2]])
    """
    return UNSQUEEZE.apply((input, wrap_dim(dim, input.array.ndim + 1, "unsqueeze")))


# ---------------------------------------------------------------- repeated without a copy
def expand(input: Any, *args: Any, size: Any = None, implicit: bool = False) -> Any:
    """Dimensions of one element repeated without a copy; -1 keeps a dimension (source: ``torch.Tensor.expand``).

    >>> import livetape as torch
    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    wanted = ints("expand", args, size)
    array = input.array
    have = array.shape
    new = len(wanted) - len(have)
    if new < 0:
        raise noted(sizes_error(input, wanted))
    strides = array.strides
    found = list(wanted)
    steps = [0] * len(found)
    for i in range(len(found) - 1, -1, -1):
        n = found[i]
        if i < new:
            if n < 0:
                raise noted(
                    RuntimeError(
                        f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}"
                    )
                )
            if n == 1 and have:  # torch gives a new dimension of one element the stride of its neighbour's whole
                steps[i] = steps[i + 1] * found[i + 1]
            continue
        extent = have[i - new]
        if n == -1:
            found[i] = extent
        elif n != extent and extent != 1:
            raise noted(
                RuntimeError(
                    f"The expanded size of the tensor ({n}) must match the existing size ({extent}) at "
                    f"non-singleton dimension {i}.  Target sizes: {list(wanted)}.  Tensor sizes: "
                    f"{list(have)}"
                )
            )
        if extent != 1 or found[i] == 1:
            steps[i] = strides[i - new]
    if state.interposed != 0:
        return EXPAND.apply((input, tuple(found)))
    return EXPAND.finish_view((input, tuple(found)), _strided(array, found, steps))


def _strided(array: Any, size: Any, steps: Any) -> Any:
    """A writable view with strides of 0, quicker than NumPy's own."""
    if array.flags.c_contiguous and array.size and array.dtype.kind != "V":
        return np.ndarray(size, array.dtype, array, 0, steps)
    out = np.broadcast_to(array, size)
    if array.flags.writeable:
        out.flags.writeable = True
    return out


def expand_as(input: Any, other: Any) -> Any:
    """`expand` to the size of another tensor (source: ``torch.Tensor.expand_as``)."""
    need_tensor("expand_as", other, "other")
    return expand(input, shape_of(other))


def broadcast_to(input: Any, size: Any) -> Any:
    """`expand` as a function (source: ``torch.broadcast_to``)."""
    return expand(input, tuple(size))


def sum_to_size(input: Any, *size: Any) -> Any:
    """The sum over the dimensions that `expand` would repeat (source: ``torch.Tensor.sum_to_size``)."""
    wanted = ints("sum_to_size", size)
    have = shape_of(input)
    extra = len(have) - len(wanted)
    if extra < 0 or any(n not in (1, have[extra + i]) for i, n in enumerate(wanted)):
        raise noted(RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(have)}}}."))
    if input.dtype.category < FLOAT and input.dtype is not int64 and (have != wanted or not wanted):
        input = cast(input, int64)
    return sum_to(input, wanted)


# ---------------------------------------------------------------- in place: only shape and strides change
def unsqueeze_(self: Any, dim: Any) -> Any:
    """In-place `unsqueeze`."""
    return change_shape(UNSQUEEZE, (self, wrap_dim(dim, self.array.ndim + 1, "unsqueeze_")))


FUNCTIONS = [
    "as_strided",
    "as_strided_",
    "broadcast_to",
    "flatten",
    "ravel",
    "reshape",
    "resize_as_",
    "squeeze",
    "unflatten",
    "unsqueeze",
]
METHODS = {
    "as_strided": as_strided,
    "as_strided_": as_strided_,
    "broadcast_to": broadcast_to,
    "expand": expand,
    "expand_as": expand_as,
    "flatten": flatten,
    "ravel": ravel,
    "reshape": reshape,
    "reshape_as": reshape_as,
    "resize_": resize_,
    "resize_as_": resize_as_,
    "squeeze": squeeze,
    "squeeze_": squeeze_,
    "sum_to_size": sum_to_size,
    "unflatten": unflatten,
    "unsqueeze": unsqueeze,
    "unsqueeze_": unsqueeze_,
    "view": view,
    "view_as": view_as,
}
