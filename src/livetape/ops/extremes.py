"""The largest and smallest, and the middle: max, min, amax, argmax, median, mode, kthvalue."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import BOOL, C_NAME, COMPLEX, SCALAR_TYPE
from livetape.kernels import selection as kernels
from livetape.kernels.reductions import largest, smallest
from livetape.ops.along import put
from livetape.ops.choose import maximum, minimum
from livetape.ops.dims import is_integer, numpy_names, reduction_dims, wrap_dim
from livetape.ops.reduce import check_tensor, kept
from livetape.ops.refuse import check_flags, no_overload
from livetape.ops.table import into, row

_pair = tuple.__new__


def refuse_complex(label: str, input: Any) -> None:
    """Raise torch's error where complex numbers, which have no order, are not taken."""
    if input.dtype.category == COMPLEX:
        raise noted(NotImplementedError(f"\"{label}\" not implemented for '{SCALAR_TYPE[input.dtype]}'"))


# ---------------------------------------------------------------- gradients: ties share
def _ties(self: Any, result: Any, dim: Any, keepdim: bool, nan: bool) -> Any:
    """One over how many elements equal the result, where they do."""
    if dim is not None and not keepdim:
        result = np.expand_dims(result, dim)
    mask = self == result
    if nan:
        mask = np.where(np.isnan(result), np.isnan(self), mask)
    return np.true_divide(mask, np.count_nonzero(mask, axis=dim, keepdims=True)).astype(self.dtype)


TIES = row("ties", _ties, tensors="self result", batch="dim")


def _shared(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of an extreme over ``dim``, evenly split between ties."""
    return kept(grad, shape_of(self), dim, keepdim) * TIES.apply((self, result, dim, keepdim, False))


def _evenly(grad: Any, self: Any, result: Any) -> Any:
    """The gradient of one element of all, evenly split between those equal to it; NaN equals NaN."""
    return grad * TIES.apply((self, result, None, False, True))


# ---------------------------------------------------------------- amax, amin, aminmax
AMAX = row(
    "amax",
    lambda self, dim, keepdim: largest(self, dim, keepdim),
    batch="dim",
    self=_shared,
    selects=True,
)
AMIN = row(
    "amin",
    lambda self, dim, keepdim: smallest(self, dim, keepdim),
    batch="dim",
    self=_shared,
    selects=True,
)


def _both(grads: Any, self: Any, result0: Any, result1: Any, dim: Any, keepdim: bool) -> Any:
    low = None if grads[0] is None else _shared(grads[0], self, result0, dim, keepdim)
    high = None if grads[1] is None else _shared(grads[1], self, result1, dim, keepdim)
    return high if low is None else low if high is None else low + high


AMINMAX = row(
    "aminmax",
    lambda self, dim, keepdim: (
        smallest(self, dim, keepdim),
        largest(self, dim, keepdim),
    ),
    outputs=2,
    batch="dim",
    self=_both,
    dense=True,
)


def _check_not_empty(name: str, size: Any, axes: Any, label: str | None = None) -> None:
    """Raise torch's error if there is nothing to choose from."""
    for i in axes:
        if size[i] == 0:
            raise noted(IndexError(f"{label or name + '()'}: Expected reduction dim {i} to have non-zero size."))


def _amax(op: Any, function: Any, input: Any, dim: Any, keepdim: bool, out: Any) -> Any:
    if out is not None:
        if out.dtype is not input.dtype:
            raise noted(
                RuntimeError(
                    f"Expected the dtype for input and out to match, but got {SCALAR_TYPE[input.dtype]} for "
                    f"input's dtype and {SCALAR_TYPE[out.dtype]} for out's dtype."
                )
            )
        return into(out, function, input, dim, keepdim)
    name = op.name
    check_tensor(name, input)
    if type(keepdim) is not bool:
        check_flags(name, keepdim)
    refuse_complex("max_values_cpu" if name == "amax" else "min_values_cpu", input)
    size = input.array.shape
    axes = reduction_dims(dim, len(size), name)
    if 0 in size:
        if dim is None or (isinstance(dim, (tuple, list)) and not dim):
            raise noted(
                RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    "reduction dim with the 'dim' argument."
                )
            )
        _check_not_empty(name, size, axes)
    return op.apply((input, axes, keepdim))


@numpy_names
def amax(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The largest of all elements, or over ``dim``; equal ones share its gradient (source: ``torch.amax``).

    >>> import livetape as torch
    >>> torch.amax(torch.tensor([[1., 4.], [3., 2.]]), 0)
    tensor([3., 4.])
    """
    return _amax(AMAX, amax, input, dim, keepdim, out)


@numpy_names
def amin(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The smallest of all elements, or over ``dim``; equal ones share its gradient (source: ``torch.amin``)."""
    return _amax(AMIN, amin, input, dim, keepdim, out)


@numpy_names
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest and the largest, of all elements or along ``dim`` (source: ``torch.aminmax``)."""
    if out is not None:
        for target in out:
            if target.dtype is not input.dtype:
                raise noted(
                    RuntimeError(
                        f"Expected out tensor to have dtype {C_NAME[input.dtype]}, but got {C_NAME[target.dtype]} instead"
                    )
                )
        return into(out, aminmax, input, dim=dim, keepdim=keepdim)
    check_tensor("aminmax", input)
    check_flags("aminmax", keepdim)
    refuse_complex("aminmax_cpu", input)
    size = input.array.shape
    if dim is None:
        if 0 in size:
            raise noted(
                RuntimeError(
                    "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
                )
            )
        axes: tuple[int, ...] = tuple(range(len(size)))
    else:
        axes = (wrap_dim(dim, len(size), "aminmax", position=0),) if size else ()
        _check_not_empty("aminmax", size, axes, "aminmax")
    return _pair(return_types.aminmax, AMINMAX.apply((input, axes, keepdim)))


# ---------------------------------------------------------------- max and min
def _max_dim(self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    return largest(self, dim, keepdim), np.asarray(self.argmax(dim, keepdims=keepdim))


def _min_dim(self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    return smallest(self, dim, keepdim), np.asarray(self.argmin(dim, keepdims=keepdim))


def _put(grad: Any, result1: Any, self_size: Any, dim: int, keepdim: bool) -> Any:
    return put(grad, result1, self_size, dim, keepdim)


MAX_ALL = row("max", lambda self: largest(self, None), node="MaxBackward1", batch="total", self=_evenly, selects=True)
MIN_ALL = row("min", lambda self: smallest(self, None), node="MinBackward1", batch="total", self=_evenly, selects=True)
MAX_DIM = row("max", _max_dim, key="max.dim", outputs=2, batch="dim", self=_put, selects=True, dense=True)
MIN_DIM = row("min", _min_dim, key="min.dim", outputs=2, batch="dim", self=_put, selects=True, dense=True)


def _max(
    name: str,
    function: Any,
    rows: Any,
    made: Any,
    pairwise: Any,
    input: Any,
    dim: Any,
    keepdim: bool,
    out: Any,
    other: Any,
) -> Any:
    if isinstance(input, TensorBase) and (other is not None or isinstance(dim, TensorBase)):
        return pairwise(input, dim if other is None else other, out=out)
    if (
        not isinstance(input, TensorBase)
        or not isinstance(keepdim, bool)
        or (dim is None and keepdim)
        or (dim is not None and not is_integer(dim))
    ):
        raise noted(no_overload(name))
    if out is not None:
        return into(out, function, input) if dim is None else into(out, function, input, dim, keepdim)
    if dim is None:
        refuse_complex(name + "_all", input)
        if not input.array.size:
            raise noted(
                RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    "reduction dim with the 'dim' argument."
                )
            )
        return rows[0].apply((input,))
    refuse_complex("compare_cpu", input)
    size = input.array.shape
    axis = wrap_dim(dim, len(size), name)
    if 0 in size:
        _check_not_empty(name, size, (axis,))
    return _pair(made, rows[1].apply((input, axis, keepdim)))


@numpy_names
def max(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None, other: Any = None) -> Any:
    """The largest element; along ``dim``, values and indices; with another tensor, `maximum` (source: ``torch.max``).

    >>> import livetape as torch
    >>> torch.max(torch.tensor([[1., 4.], [3., 2.]]), 1)
    torch.return_types.max(
    values=tensor([4., 3.]),
    indices=tensor([1, 0]))
    """
    return _max("max", max, (MAX_ALL, MAX_DIM), return_types.max, maximum, input, dim, keepdim, out, other)


@numpy_names
def min(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None, other: Any = None) -> Any:
    """The smallest element; along ``dim``, values and indices; with another tensor, `minimum`.

    Source: ``torch.min``.
    """
    return _max("min", min, (MIN_ALL, MIN_DIM), return_types.min, minimum, input, dim, keepdim, out, other)


# ---------------------------------------------------------------- argmax and argmin
def _arg(function: Any, self: Any, dim: int | None, keepdim: bool) -> Any:
    return np.asarray(function(self, axis=dim, keepdims=keepdim), np.int64) if self.ndim else np.zeros((), np.int64)


ARGMAX = row("argmax", lambda self, dim, keepdim: _arg(np.argmax, self, dim, keepdim), batch="place")
ARGMIN = row("argmin", lambda self, dim, keepdim: _arg(np.argmin, self, dim, keepdim), batch="place")


def _argmax(op: Any, function: Any, input: Any, dim: Any, keepdim: bool, out: Any) -> Any:
    name = op.name
    if out is not None:
        return into(out, function, input, dim, keepdim)
    check_tensor(name, input)
    if type(keepdim) is not bool:
        check_flags(name, keepdim)
    if input.dtype.category == COMPLEX or input.dtype.category == BOOL:
        kind = "complex" if input.dtype.category == COMPLEX else "bool"
        raise noted(RuntimeError(f"{name}(): does not support {kind} input"))
    size = input.array.shape
    axis = None if dim is None else wrap_dim(dim, len(size), name)
    if 0 in size:
        if axis is None:
            raise noted(IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0."))
        _check_not_empty(name, size, (axis,))
    return op.apply((input, axis, keepdim))


@numpy_names
def argmax(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Where the largest element is: its place among all, or along ``dim``; of equal ones the first.

    Source: ``torch.argmax``.

    >>> import livetape as torch
    >>> torch.argmax(torch.tensor([1., 5., 5.]))
    tensor(1)
    """
    return _argmax(ARGMAX, argmax, input, dim, keepdim, out)


@numpy_names
def argmin(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Where the smallest element is: its place among all, or along ``dim``; of equal ones the first.

    Source: ``torch.argmin``.
    """
    return _argmax(ARGMIN, argmin, input, dim, keepdim, out)


# ---------------------------------------------------------------- median, mode, kthvalue
def _along(self: Any, dim: int, keepdim: bool, found: tuple[Any, Any]) -> tuple[Any, Any]:
    if keepdim and self.ndim:
        return np.expand_dims(found[0], dim), np.expand_dims(found[1], dim)
    return found


MEDIAN = row("median", lambda self: kernels.median_of_all(self, False), batch="total", self=_evenly, selects=True)
NANMEDIAN = row("nanmedian", lambda self: kernels.median_of_all(self, True), batch="total", self=_evenly, selects=True)
MEDIAN_DIM = row(
    "median",
    lambda self, dim, keepdim: _along(self, dim, keepdim, kernels.median(self, dim, False)),
    node="MedianBackward1",
    key="median.dim",
    outputs=2,
    batch="dim",
    self=_put,
    selects=True,
)
NANMEDIAN_DIM = row(
    "nanmedian",
    lambda self, dim, keepdim: _along(self, dim, keepdim, kernels.median(self, dim, True)),
    node="NanmedianBackward1",
    key="nanmedian.dim",
    outputs=2,
    batch="dim",
    self=_put,
    selects=True,
)
MODE = row(
    "mode",
    lambda self, dim, keepdim: _along(self, dim, keepdim, kernels.mode(self, dim)),
    outputs=2,
    batch="dim",
    self=_put,
    selects=True,
)
KTHVALUE = row(
    "kthvalue",
    lambda self, k, dim, keepdim: _along(self, dim, keepdim, kernels.kth_by_partition(self, k - 1, dim)),
    outputs=2,
    batch="dim",
    self=_put,
    selects=True,
)


def _chosen(name: str, op: Any, made: Any, input: Any, dim: Any, keepdim: bool, *more: Any) -> Any:
    """Values and indices of what is chosen along one dimension."""
    check_tensor(name, input)
    check_flags(name, keepdim)
    refuse_complex(name.removeprefix("nan") + "_cpu", input)
    size = input.array.shape
    axis = wrap_dim(dim, len(size), name)
    if size and size[axis] == 0:
        _check_not_empty(name, size, (axis,))
    return _pair(made, op.apply((input, *more, axis, keepdim)))


def _refuse_bool(label: str, input: Any) -> None:
    if input.dtype.category == BOOL:
        raise noted(NotImplementedError(f"\"{label}\" not implemented for 'Bool'"))


def _median(name: str, function: Any, rows: Any, made: Any, input: Any, dim: Any, keepdim: bool, out: Any) -> Any:
    if out is not None:
        return into(out, function, input, dim, keepdim)
    if dim is None:
        check_tensor(name, input)
        refuse_complex("median_cpu", input)
        _refuse_bool("median_cpu", input)
        return rows[0].apply((input,))
    check_tensor(name, input)
    _refuse_bool("median_out", input)
    return _chosen(name, rows[1], made, input, dim, keepdim)


@numpy_names
def median(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The lower median of all elements; along ``dim``, values and indices (source: ``torch.median``).

    >>> import livetape as torch
    >>> torch.median(torch.tensor([1., 4., 2., 3.]))
    tensor(2.)
    """
    return _median("median", median, (MEDIAN, MEDIAN_DIM), return_types.median, input, dim, keepdim, out)


@numpy_names
def nanmedian(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The lower median of the elements that are not NaN (source: ``torch.nanmedian``)."""
    return _median("nanmedian", nanmedian, (NANMEDIAN, NANMEDIAN_DIM), return_types.nanmedian, input, dim, keepdim, out)


@numpy_names
def mode(input: Any, dim: Any = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent element along ``dim``, of several the smallest, and its index (source: ``torch.mode``)."""
    if out is not None:
        return into(out, mode, input, dim, keepdim)
    return _chosen("mode", MODE, return_types.mode, input, dim, keepdim)


@numpy_names
def kthvalue(input: Any, k: Any, dim: Any = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The ``k``-th smallest element along ``dim``, and its index (source: ``torch.kthvalue``)."""
    if out is not None:
        return into(out, kthvalue, input, k, dim, keepdim)
    check_tensor("kthvalue", input)
    _refuse_bool("kthvalue_cpu", input)
    size = input.array.shape
    axis = wrap_dim(dim, len(size), "kthvalue", "dim", 2)
    extent = size[axis] if size else 1
    if extent and not 0 < k <= extent:
        raise noted(RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}"))
    return _chosen("kthvalue", KTHVALUE, return_types.kthvalue, input, dim, keepdim, int(k))


FUNCTIONS = ["amax", "amin", "aminmax", "max", "min", "argmax", "argmin", "median", "nanmedian", "mode", "kthvalue"]
METHODS = {name: globals()[name] for name in FUNCTIONS}
