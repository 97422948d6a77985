"""Running sums, products and extremes along a dimension, differences and trapezoids.

Gradients of products are written without division, so that they are exact where elements are 0, to any order. They
rest on a linear recurrence, y[i] = x[i] + factor[i - 1] * y[i - 1], whose own gradient is one in the other direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.modes import is_recording
from livetape._tape.tensor import TensorBase, from_array, shape_of
from livetape.compat import compat
from livetape.dtypes import BOOL, COMPLEX, FLOAT, boolean, dtype
from livetape.kernels import scans as kernels
from livetape.ops.along import add_along
from livetape.ops.basics import cast, copy_, zeros, zeros_like
from livetape.ops.choose import dropped, where
from livetape.ops.dims import numpy_names, wrap_dim
from livetape.ops.indexing import SELECT, SLICE
from livetape.ops.joining import cat
from livetape.ops.pointwise import exp
from livetape.ops.refuse import no_overload, unsupported
from livetape.ops.table import into, row


def part(self: Any, dim: int, start: int, end: int) -> Any:
    """The elements from ``start`` to ``end`` along ``dim``."""
    return SLICE.apply((self, dim, start, end, 1))


# ---------------------------------------------------------------- a linear recurrence
def _recurrence(factor: Any, self: Any, dim: int, reverse: bool) -> Any:
    if self.ndim == 0 or self.shape[dim] < 2:
        return self.copy()
    ahead: list[tuple[int, int]] = [(1, 0) if i == dim else (0, 0) for i in range(self.ndim)]
    if not reverse:
        return kernels.recurrence(np.pad(factor, ahead), self, dim)
    turned = kernels.recurrence(np.pad(np.flip(factor, dim), ahead), np.flip(self, dim), dim)
    return np.flip(turned, dim)


def _recurrence_backward(grad: Any, factor: Any, result: Any, dim: int, reverse: bool) -> tuple[Any, Any]:
    back = RECURRENCE.apply((factor, grad, dim, not reverse))
    count = shape_of(back)[dim] if shape_of(back) else 1
    if count < 2:
        return None, back
    low, high = (1, count), (0, count - 1)
    here, there = (high, low) if reverse else (low, high)
    return part(back, dim, *here) * part(result, dim, *there), back


RECURRENCE = row("recurrence", _recurrence, tensors="factor self", key="scan.recurrence", batch="dim").joint(
    "factor self", _recurrence_backward
)


# ---------------------------------------------------------------- products of the elements before each
def _exclusive(self: Any, dim: int, reverse: bool) -> Any:
    if self.ndim == 0:
        return np.ones_like(self)
    x = np.flip(self, dim) if reverse else self
    found = np.ones_like(x)
    later, before = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    later[dim], before[dim] = slice(1, None), slice(0, -1)
    found[tuple(later)] = kernels.cumprod(x[tuple(before)], dim)
    return np.flip(found, dim) if reverse else found


def _shift(self: Any, dim: int, step: int) -> Any:
    found = np.zeros_like(self)
    if self.ndim:
        to, source = [slice(None)] * self.ndim, [slice(None)] * self.ndim
        to[dim], source[dim] = (slice(1, None), slice(0, -1)) if step > 0 else (slice(0, -1), slice(1, None))
        found[tuple(to)] = self[tuple(source)]
    return found


SHIFT = row(
    "shift",
    _shift,
    key="scan.shift",
    linear=True,
    batch="dim",
    self=lambda grad, dim, step: SHIFT.apply((grad, dim, -step)),
)
EXCLUSIVE = row(
    "cumprod",
    _exclusive,
    key="scan.exclusive",
    batch="dim",
    self=lambda grad, self, dim, reverse: product_gradient(
        SHIFT.apply((grad, dim, 1 if reverse else -1)), self, dim, reverse
    ),
)


def product_gradient(grad: Any, self: Any, dim: int, reverse: bool) -> Any:
    """The gradient of running products, from the end if ``reverse``."""
    count = shape_of(self)[dim] if shape_of(self) else 1
    if count < 2:
        return RECURRENCE.apply((self, grad, dim, not reverse))
    factor = part(self, dim, 0, count - 1) if reverse else part(self, dim, 1, count)
    return EXCLUSIVE.apply((self, dim, reverse)) * RECURRENCE.apply((factor, grad, dim, not reverse))


def products_of_others(self: Any, dim: int) -> Any:
    """For each element the product of all others along ``dim``."""
    return EXCLUSIVE.apply((self, dim, False)) * EXCLUSIVE.apply((self, dim, True))


# ---------------------------------------------------------------- cumsum and cumprod
def _cumprod_backward(grad: Any, self: Any, result: Any, dim: int) -> Any:
    if result.dtype is not self.dtype:
        self = cast(self, result.dtype)
    if not is_recording() and not np.any(result.array == 0):
        return CUMSUM_REVERSED.apply((grad * result, dim)) / self
    return product_gradient(grad, self, dim, False)


def _kind(kind: dtype | None) -> Any:
    return None if kind is None else kind.np


CUMSUM = row(
    "cumsum",
    lambda self, dim, dtype: kernels.cumsum(self, dim, _kind(dtype)),
    linear=True,
    batch="dim",
    self=lambda grad, dim: CUMSUM_REVERSED.apply((grad, dim)),
    dense=True,
)
CUMSUM_REVERSED = row(
    "cumsum",
    lambda self, dim: kernels.reversed_cumsum(self, dim),
    key="scan.cumsum_reversed",
    linear=True,
    batch="dim",
    self=lambda grad, dim: CUMSUM.apply((grad, dim, None)),
)
CUMPROD = row(
    "cumprod",
    lambda self, dim, dtype: kernels.cumprod(self, dim, _kind(dtype)),
    batch="dim",
    self=_cumprod_backward,
    uses=lambda used, dim: used.sum(dim, keepdim=True).expand_as(used),
    dense=True,
)


def _running(op: Any, function: Any, input: Any, dim: Any, kind: dtype | None, out: Any) -> Any:
    name = op.name
    if not isinstance(input, TensorBase):
        raise noted(TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"))
    if out is not None:
        return into(out, function, input, dim, dtype=kind)
    return op.apply((input, wrap_dim(dim, input.array.ndim, name), kind))


def _running_inplace(op: Any, self: Any, dim: Any, kind: dtype | None) -> Any:
    if self.dtype is boolean:
        raise noted(NotImplementedError(f"\"{op.name}_out_cpu\" not implemented for 'Bool'"))
    if kind is None:
        kind = self.dtype
    elif kind is not self.dtype:
        raise noted(
            RuntimeError(
                f"Bad in-place call: input tensor dtype {_c_name(self.dtype)} and output tensor dtype "
                f"{_c_name(kind)} should match"
            )
        )
    return op.inplace(self, wrap_dim(dim, self.array.ndim, op.name), kind)


def _c_name(kind: dtype) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}.get(kind.name, kind.name)


@numpy_names
def cumsum(input: Any, dim: Any, *, dtype: dtype | None = None, out: Any = None) -> Any:
    """Running sums along ``dim``; integers and bool give int64 (source: ``torch.cumsum``).

    >>> import livetape as torch
    >>> torch.cumsum(torch.tensor([1., 2., 3.]), 0)
    tensor([1., 3., 6.])
    """
    return _running(CUMSUM, cumsum, input, dim, dtype, out)


@numpy_names
def cumprod(input: Any, dim: Any, *, dtype: dtype | None = None, out: Any = None) -> Any:
    """Running products along ``dim``; integers and bool give int64 (source: ``torch.cumprod``)."""
    return _running(CUMPROD, cumprod, input, dim, dtype, out)


@numpy_names
def cumsum_(self: Any, dim: Any, *, dtype: dtype | None = None) -> Any:
    """In-place `cumsum`."""
    return _running_inplace(CUMSUM, self, dim, dtype)


@numpy_names
def cumprod_(self: Any, dim: Any, *, dtype: dtype | None = None) -> Any:
    """In-place `cumprod`."""
    return _running_inplace(CUMPROD, self, dim, dtype)


# ---------------------------------------------------------------- cummax and cummin
CUMMAX = row(
    "cummax",
    lambda self, dim: kernels.extremes(self, dim, True),
    outputs=2,
    batch="dim",
    self=lambda grad, result1, self_size, dim: add_along(grad, result1, self_size, dim),
    selects=True,
)
CUMMIN = row(
    "cummin",
    lambda self, dim: kernels.extremes(self, dim, False),
    outputs=2,
    batch="dim",
    self=lambda grad, result1, self_size, dim: add_along(grad, result1, self_size, dim),
    selects=True,
)


def _extremes(op: Any, function: Any, made: Any, input: Any, dim: Any, out: Any) -> Any:
    if out is not None:
        return into(out, function, input, dim)
    if input.dtype.category == COMPLEX:
        raise noted(unsupported(op.name, input.array))
    return tuple.__new__(made, op.apply((input, wrap_dim(dim, input.array.ndim, op.name))))


@numpy_names
def cummax(input: Any, dim: Any, *, out: Any = None) -> Any:
    """Running maxima along ``dim``, and where each was found (source: ``torch.cummax``).

    >>> import livetape as torch
    >>> torch.cummax(torch.tensor([1., 3., 2.]), 0)
    torch.return_types.cummax(
    values=tensor([1., 3., 3.]),
    indices=tensor([0, 1, 1]))
    """
    return _extremes(CUMMAX, cummax, return_types.cummax, input, dim, out)


@numpy_names
def cummin(input: Any, dim: Any, *, out: Any = None) -> Any:
    """Running minima along ``dim``, and where each was found (source: ``torch.cummin``)."""
    return _extremes(CUMMIN, cummin, return_types.cummin, input, dim, out)


# ---------------------------------------------------------------- logcumsumexp
def _log_backward(grad: Any, self: Any, result: Any, dim: int) -> Any:
    count = shape_of(self)[dim] if shape_of(self) else 1
    if count < 2:
        return grad * exp(self - result) if compat.torch else grad
    before, after = part(result, dim, 0, count - 1), part(result, dim, 1, count)
    decay = exp(dropped(before - after, before == after))  # equal infinities are no distance apart
    back = RECURRENCE.apply((decay, grad, dim, True))
    if compat.torch or self.dtype.category == COMPLEX:
        return exp(self - result) * back
    alike = (self == result) & self.isinf()
    weight = dropped(exp(dropped(self - result, alike)), alike & (self < 0))  # log(0) weighs nothing
    first = np.zeros([count if i == dim else 1 for i in range(len(shape_of(self)))], np.bool_)
    first[(slice(None),) * dim + (0,)] = True
    # the first sum is its argument itself
    return where(alike & (self < 0) & from_array(first), grad, weight * back)


LOGCUMSUMEXP = row(
    "logcumsumexp",
    lambda self, dim: kernels.logcumsumexp(self, dim),
    batch="dim",
    self=_log_backward,
    differs="the gradient where results are infinite",
    uses=lambda used, self, dim: used.sum(dim, keepdim=True).expand_as(used),
    dense=True,
)


@numpy_names
def logcumsumexp(input: Any, dim: Any, *, out: Any = None) -> Any:
    """The logarithm of the running sums of ``exp(input)`` (source: ``torch.logcumsumexp``)."""
    if out is not None:
        return into(out, logcumsumexp, input, dim)
    if input.dtype.category < FLOAT:
        raise noted(NotImplementedError(str(unsupported("logcumsumexp_out", input.array))))
    return LOGCUMSUMEXP.apply((input, wrap_dim(dim, input.array.ndim, "logcumsumexp")))


# ---------------------------------------------------------------- differences and areas
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None, *, out: Any = None) -> Any:
    """Differences of neighbours along ``dim``, taken ``n`` times (source: ``torch.diff``).

    >>> import livetape as torch
    >>> torch.diff(torch.tensor([1., 4., 9.]))
    tensor([3., 5.])
    """
    if out is not None:
        return into(out, diff, input, n, dim, prepend, append)
    if input.array.ndim == 0:
        raise noted(RuntimeError("diff expects input to be at least one-dimensional"))
    axis = wrap_dim(dim, input.array.ndim, "diff", "dim", 2)
    for name, more in (("prepend", prepend), ("append", append)):
        _check_ends(name, input, more, axis)
    if n < 0:
        raise noted(RuntimeError(f"order must be non-negative but got {n}"))
    if n == 0:
        return copy_(zeros_like(input), input)
    pieces = [piece for piece in (prepend, input, append) if piece is not None]
    found = cat(pieces, axis) if len(pieces) > 1 else input
    n = min(n, shape_of(found)[axis])
    for _ in range(n):
        count = shape_of(found)[axis]
        later, before = part(found, axis, 1, count), part(found, axis, 0, max(count - 1, 0))
        found = later ^ before if found.dtype is boolean else later - before
    return found


def _check_ends(name: str, input: Any, more: Any, axis: int) -> None:
    if more is None:
        return
    if more.array.ndim != input.array.ndim:
        raise noted(RuntimeError("diff expects prepend or append to be the same dimension as input"))
    for i, (have, want) in enumerate(zip(shape_of(more), shape_of(input))):
        if i != axis and have != want:
            raise noted(
                RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({i}) = {want}, but got tensor.size({i}) = {have}"
                )
            )


# ---------------------------------------------------------------- areas below sampled curves


def _widths(name: str, y: Any, x: Any, dim: int) -> Any:
    """The distances of the sample points along ``dim``."""
    count = shape_of(y)[dim]
    if x.array.ndim == 1:
        if shape_of(x)[0] != count:
            raise noted(RuntimeError(f"{name}: There must be one `x` value for each sample point"))
        x = x.view([count if i == dim else 1 for i in range(y.array.ndim)])
    elif x.array.ndim < y.array.ndim:
        x = x.view([1] * (y.array.ndim - x.array.ndim) + list(shape_of(x)))
    return part(x, dim, 1, shape_of(x)[dim]) - part(x, dim, 0, max(shape_of(x)[dim] - 1, 0))


def _areas(name: str, y: Any, x: Any, dx: Any, dim: Any) -> tuple[int, Any, Any]:
    """The dimension as a number, the sums of neighbours along it and their distances; errors."""
    if x is not None and dx is not None:
        raise noted(no_overload(name))
    for argument, value in (("y", y), ("x", x)):
        if value is not None and value.dtype.category == BOOL:
            raise noted(RuntimeError(f"{name}: received a bool input for `{argument}`, but bool is not supported"))
    if y.array.ndim == 0:
        raise noted(IndexError(f"Dimension specified as {dim} but tensor has no dimensions"))
    axis = wrap_dim(dim, y.array.ndim, name)
    count = shape_of(y)[axis]
    if count == 0:
        return axis, None, None
    widths = (1 if dx is None else dx) if x is None else _widths(name, y, x, axis)
    if x is None and name == "trapezoid":
        return axis, None, widths
    return axis, part(y, axis, 1, count) + part(y, axis, 0, count - 1), widths


def trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: Any = -1) -> Any:
    """The area below ``y`` along ``dim`` by the trapezoid rule, for samples at ``x`` or ``dx`` apart.

    Source: ``torch.trapezoid``.

    >>> import livetape as torch
    >>> torch.trapezoid(torch.tensor([1., 5., 10.]))
    tensor(10.5000)
    """
    axis, pairs, widths = _areas("trapezoid", y, x, dx, dim)
    size = shape_of(y)
    if size[axis] == 0:
        return zeros([n for i, n in enumerate(size) if i != axis], y.dtype)
    if pairs is None:
        ends = SELECT.apply((y, axis, 0)) + SELECT.apply((y, axis, size[axis] - 1))
        return (y.sum(axis) - ends * 0.5) * widths
    return (pairs * widths).sum(axis) / 2.0


def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: Any = -1) -> Any:
    """The running area below ``y`` along ``dim`` by the trapezoid rule (source: ``torch.cumulative_trapezoid``)."""
    axis, pairs, widths = _areas("cumulative_trapezoid", y, x, dx, dim)
    if pairs is None:
        return zeros(shape_of(y), y.dtype)
    if x is None:
        return cumsum(pairs * (widths / 2.0), axis)
    return cumsum(pairs * widths, axis) / 2.0


def trapz(y: Any, x: Any = None, *, dx: Any = None, dim: Any = -1) -> Any:
    """`trapezoid` by its older name (source: ``torch.trapz``)."""
    return trapezoid(y, x, dx=dx, dim=dim)


FUNCTIONS = [
    "cumsum",
    "cumprod",
    "cummax",
    "cummin",
    "logcumsumexp",
    "diff",
    "trapezoid",
    "trapz",
    "cumulative_trapezoid",
]
METHODS = {
    "cumsum": cumsum,
    "cumsum_": cumsum_,
    "cumprod": cumprod,
    "cumprod_": cumprod_,
    "cummax": cummax,
    "cummin": cummin,
    "logcumsumexp": logcumsumexp,
    "diff": diff,
}
