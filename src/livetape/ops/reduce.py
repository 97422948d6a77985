"""Reductions to sums, means, products and truth values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import is_recording, state
from livetape._tape.tensor import TensorBase, shape_of
from livetape.compat import compat
from livetape.dtypes import BOOL, COMPLEX, FLOAT, SCALAR_TYPE, dtype, uint8
from livetape.kernels import reductions as kernels
from livetape.kernels.views import expanded
from livetape.ops.basics import cast
from livetape.ops.choose import dropped
from livetape.ops.dims import is_integer, numpy_names, reduced_size, reduction_dims, renamed, wrap_dim
from livetape.ops.refuse import no_overload
from livetape.ops.scan import products_of_others
from livetape.ops.table import into, row


# ---------------------------------------------------------------- back from a reduction
def _spread(grad: Any, size: Any, dim: Any, keepdim: bool) -> Any:
    if grad.ndim and dim is not None and not keepdim:
        grad = grad.reshape(reduced_size(size, dim, True))
    return expanded(grad, size)


SPREAD = row(
    "expand",
    _spread,
    tensors="grad",
    key="reduce.spread",
    linear=True,
    batch="size dim",
    grad=lambda grad, dim, keepdim: (
        SUM.apply((grad,)) if dim is None and not keepdim else SUM_DIM.apply((grad, dim, keepdim, None))
    ),
)
RESHAPE = row(
    "view",
    lambda self, size: self.reshape(size),
    key="reduce.reshape",
    linear=True,
    batch="size",
    self=lambda grad, self_size: RESHAPE.apply((grad, self_size)),
)


def spread(grad: Any, size: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a sum over ``dim`` (None: all) of a tensor of the given size."""
    return SPREAD.apply((grad, size, dim, keepdim))


def kept(result: Any, size: Any, dim: Any, keepdim: bool) -> Any:
    """A reduction's result with the reduced dimensions in their places, so that it broadcasts against the input."""
    if keepdim or dim is None or len(dim) == len(size):
        return result
    return RESHAPE.apply((result, reduced_size(size, dim, True)))


# ---------------------------------------------------------------- arguments
class _Ungiven:
    """``dim`` left out: torch tells this from None, which counts all dimensions up."""

    def __repr__(self) -> str:
        return "None"


UNGIVEN: Any = _Ungiven()


def check_tensor(name: str, input: Any) -> None:
    """Raise torch's error for an input that is no tensor."""
    if not isinstance(input, TensorBase):
        raise noted(TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"))


def check_keepdim(name: str, keepdim: Any, position: int = 2) -> None:
    """Raise torch's error for a ``keepdim`` that is no bool."""
    if not isinstance(keepdim, bool):
        raise noted(
            TypeError(f"{name}(): argument 'keepdim' (position {position}) must be bool, not {type(keepdim).__name__}")
        )


def several(name: str, input: Any, dim: Any) -> tuple[int, ...] | None:
    """The argument ``dim`` of a reduction that takes several: None for all, else a tuple."""
    if dim is None or dim is UNGIVEN:
        return None
    first = dim[0] if isinstance(dim, (tuple, list)) and dim else 0 if isinstance(dim, (tuple, list)) else dim
    if not is_integer(first):
        raise noted(no_overload(name))
    return reduction_dims(dim, input.array.ndim, name)


def _by_torch_names(name: str, names: dict[str, Any], **given: Any) -> dict[str, Any]:
    """The keyword arguments of a call that used NumPy's names ``axis`` or ``keepdims``."""
    found = given | renamed(names)
    if len(found) > len(given):
        raise noted(no_overload(name))
    return found


# ---------------------------------------------------------------- sum
def _sum_dim(self: Any, dim: Any, keepdim: bool, dtype: dtype | None) -> Any:
    return kernels.total(self, dim, keepdim, None if dtype is None else dtype.np)


SUM = row(
    "sum",
    kernels.sum_all,
    params="self",
    linear=True,
    batch="total",
    self=lambda grad, self_size: SPREAD.apply((grad, self_size, None, False)),
)
SUM.quick = kernels.sum_all
SUM_TYPED = row(
    "sum",
    lambda self, dtype: _sum_dim(self, None, False, dtype),
    key="sum.dtype",
    linear=True,
    batch="total",
    self=lambda grad, self_size: SPREAD.apply((grad, self_size, None, False)),
)
SUM_DIM = row(
    "sum",
    _sum_dim,
    node="SumBackward1",
    key="sum.dim",
    linear=True,
    batch="dim",
    self=lambda grad, self_size, dim, keepdim: SPREAD.apply((grad, self_size, dim, keepdim)),
)


def sum(
    input: Any, dim: Any = UNGIVEN, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None, **names: Any
) -> Any:
    """The sum of all elements, or over ``dim``; integers and bool give int64 (source: ``torch.sum``).

    >>> import livetape as torch
    >>> torch.sum(torch.ones(2, 3), dim=0)
    tensor([2., 2., 2.])
    """
    if (
        dim is UNGIVEN
        and dtype is None
        and out is None
        and keepdim is False
        and not names
        and isinstance(input, TensorBase)
    ):
        return SUM.apply((input,))
    if names:
        return sum(input, **_by_torch_names("sum", names, dim=dim, keepdim=keepdim, dtype=dtype, out=out))
    if out is not None:
        return into(out, sum, input, None if dim is UNGIVEN else dim, keepdim, dtype=dtype)
    check_tensor("sum", input)
    check_keepdim("sum", keepdim)
    if dim is UNGIVEN:
        if keepdim:
            raise noted(no_overload("sum"))
        return SUM_TYPED.apply((input, dtype))
    return SUM_DIM.apply((input, several("sum", input, dim), keepdim, dtype))


def _nansum(self: Any, dim: Any, keepdim: bool, dtype: dtype | None) -> Any:
    if self.dtype.kind in "fV":
        self = np.where(np.isnan(self), np.zeros((), self.dtype), self)
    return kernels.total(self, dim, keepdim, None if dtype is None else dtype.np)


NANSUM = row(
    "nansum",
    _nansum,
    batch="dim",
    self=lambda grad, self, dim, keepdim: dropped(SPREAD.apply((grad, shape_of(self), dim, keepdim)), self != self),
    selects="masked",
)


@numpy_names
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None) -> Any:
    """The sum that counts NaN as 0 (source: ``torch.nansum``)."""
    if out is not None:
        return into(out, nansum, input, dim, keepdim, dtype=dtype)
    check_tensor("nansum", input)
    if input.dtype.category == COMPLEX:
        raise noted(RuntimeError("nansum on CPU does not support complex inputs"))
    check_keepdim("nansum", keepdim)
    return NANSUM.apply((input, several("nansum", input, dim), keepdim, dtype))


# ---------------------------------------------------------------- mean
def _mean(self: Any) -> Any:
    if self.size <= kernels.SMALL and self.dtype.kind == "f" and self.itemsize > 2:
        found = np.add.reduce(self, axis=None) / self.dtype.type(self.size)
        if math.isfinite(found):
            return found
    return kernels.mean(self)


def _mean_dim(self: Any, dim: Any, keepdim: bool, dtype: dtype | None) -> Any:
    return kernels.mean(self, dim, keepdim, None if dtype is None else dtype.np)


_OVERFLOW = "values whose sum overflows"


def _mean_backward(grad: Any, self_size: Any, dim: Any, keepdim: bool) -> Any:
    count = kernels.count_over(self_size, dim)
    same = SPREAD.apply((grad, self_size, dim, keepdim))
    return same / count if count else same


MEAN = row(
    "mean",
    _mean,
    linear=True,
    batch="total",
    self=lambda grad, self_size: _mean_backward(grad, self_size, None, False),
    differs=_OVERFLOW,
)
MEAN_TYPED = row(
    "mean",
    lambda self, dtype: _mean_dim(self, None, False, dtype),
    key="mean.dtype",
    linear=True,
    batch="total",
    self=lambda grad, self_size: _mean_backward(grad, self_size, None, False),
    differs=_OVERFLOW,
)
MEAN_DIM = row(
    "mean",
    _mean_dim,
    node="MeanBackward1",
    key="mean.dim",
    linear=True,
    batch="dim",
    self=_mean_backward,
    differs=_OVERFLOW,
)


def mean(
    input: Any, dim: Any = UNGIVEN, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None, **names: Any
) -> Any:
    """The mean of all elements, or over ``dim``, of a floating point or complex tensor (source: ``torch.mean``).

    >>> import livetape as torch
    >>> torch.mean(torch.tensor([[1., 2.], [3., 4.]]), 1)
    tensor([1.5000, 3.5000])
    """
    if (
        dim is UNGIVEN
        and dtype is None
        and out is None
        and keepdim is False
        and not names
        and isinstance(input, TensorBase)
        and input.dtype.category >= FLOAT
    ):
        return MEAN.apply((input,))
    if names:
        return mean(input, **_by_torch_names("mean", names, dim=dim, keepdim=keepdim, dtype=dtype, out=out))
    check_tensor("mean", input)
    kind = input.dtype if dtype is None else dtype
    if kind.category < FLOAT:
        which = "Input dtype" if dtype is None else "Optional dtype"
        raise noted(
            RuntimeError(
                f"mean(): could not infer output dtype. {which} must be either a floating point or complex "
                f"dtype. Got: {SCALAR_TYPE[kind]}"
            )
        )
    if out is not None:
        return into(out, mean, input, None if dim is UNGIVEN else dim, keepdim, dtype=dtype)
    check_keepdim("mean", keepdim)
    if dim is UNGIVEN:
        if keepdim:
            raise noted(no_overload("mean"))
        return MEAN_TYPED.apply((input, dtype))
    return MEAN_DIM.apply((input, several("mean", input, dim), keepdim, dtype))


@numpy_names
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None) -> Any:
    """The mean of the elements that are not NaN (source: ``torch.nanmean``)."""
    if out is not None:
        return into(out, nanmean, input, dim, keepdim, dtype=dtype)
    check_tensor("nanmean", input)
    if input.dtype.category < FLOAT:
        raise noted(
            RuntimeError(
                f"nanmean(): expected input to have floating point or complex dtype but got {SCALAR_TYPE[input.dtype]}"
            )
        )
    present = input == input
    found = nansum(input, dim, keepdim, dtype=dtype) / sum(present, dim, keepdim)
    if not compat.torch and state.interposed == 0 and np.isinf(found.array).any():
        parts = input / sum(present, dim, True)  # whose sum may not overflow
        return nansum(parts, dim, keepdim, dtype=dtype)
    return found


# ---------------------------------------------------------------- prod
def _prod(self: Any, dim: Any, keepdim: bool, dtype: dtype | None) -> Any:
    kind = kernels.sum_kind(self) if dtype is None else dtype.np
    if kind.itemsize == 2 and kind.kind in "fV":
        return np.asarray(kernels.product(self.astype(kind), dim, keepdim, np.dtype(np.float32))).astype(kind)
    return kernels.product(self, dim, keepdim, kind)


def _prod_backward(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    size = shape_of(self)
    grad = kept(grad, size, dim, keepdim)
    if not is_recording() and not np.any(result.array == 0):
        return grad * (kept(result, size, dim, keepdim) / self)
    if result.dtype is not self.dtype:
        self = cast(self, result.dtype)
    if dim is None:
        flat = RESHAPE.apply((self, (math.prod(size),)))
        return grad * RESHAPE.apply((products_of_others(flat, 0), size))
    return grad * products_of_others(self, dim[0] if dim else 0)


PROD = row(
    "prod",
    lambda self, dtype: _prod(self, None, False, dtype),
    batch="total",
    self=lambda grad, self, result: _prod_backward(grad, self, result, None, False),
)
PROD_DIM = row(
    "prod",
    _prod,
    node="ProdBackward1",
    key="prod.dim",
    batch="dim",
    self=_prod_backward,
    uses=lambda used, self, dim, keepdim: kept(used, shape_of(self), dim, keepdim).expand_as(self),
    dense=True,
)


@numpy_names
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None) -> Any:
    """The product of all elements, or over one dimension; integers and bool give int64 (source: ``torch.prod``).

    >>> import livetape as torch
    >>> torch.prod(torch.tensor([2., 3., 4.]))
    tensor(24.)
    """
    if out is not None:
        return into(out, prod, input, dim, keepdim, dtype=dtype)
    check_tensor("prod", input)
    if dim is None:
        return PROD.apply((input, dtype))
    if not is_integer(dim):
        raise noted(no_overload("prod"))
    check_keepdim("prod", keepdim)
    ndim = input.array.ndim
    axis = wrap_dim(dim, ndim)
    return PROD_DIM.apply((input, (axis,) if ndim else (), keepdim, dtype))


# ---------------------------------------------------------------- truth values and counts
def _truth(ufunc: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    found = ufunc.reduce(self, axis=dim, keepdims=keepdim, dtype=np.bool_)
    return found.astype(np.uint8) if self.dtype == np.uint8 else found


ALL = row("all", lambda self, dim, keepdim: _truth(np.logical_and, self, dim, keepdim), batch="dim")
ANY = row("any", lambda self, dim, keepdim: _truth(np.logical_or, self, dim, keepdim), batch="dim")


def _truth_of(name: str, op: Any, function: Any, input: Any, dim: Any, keepdim: bool, out: Any) -> Any:
    if out is not None:
        if out.dtype.category != BOOL and out.dtype is not uint8:
            raise noted(RuntimeError(f"{name} only supports bool tensor for result, got: {SCALAR_TYPE[out.dtype]}"))
        return into(out, function, input, dim, keepdim)
    check_tensor(name, input)
    if type(keepdim) is not bool:
        check_keepdim(name, keepdim)
    if isinstance(dim, (tuple, list)) and not dim:  # here an empty list means no dimension at all
        return op.apply((input, (), keepdim))
    return op.apply((input, several(name, input, dim), keepdim))


@numpy_names
def all(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Whether all elements, or all along ``dim``, are true (source: ``torch.all``).

    >>> import livetape as torch
    >>> torch.all(torch.tensor([True, False]))
    tensor(False)
    """
    return _truth_of("all", ALL, all, input, dim, keepdim, out)


@numpy_names
def any(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Whether any element, or any along ``dim``, is true (source: ``torch.any``)."""
    return _truth_of("any", ANY, any, input, dim, keepdim, out)


COUNT_NONZERO = row(
    "count_nonzero", lambda self, dim: np.asarray(np.count_nonzero(self, axis=dim), np.int64), batch="dim"
)


def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many elements, or how many along ``dim``, are not 0 (source: ``torch.count_nonzero``)."""
    check_tensor("count_nonzero", input)
    return COUNT_NONZERO.apply((input, several("count_nonzero", input, dim)))


FUNCTIONS = ["sum", "nansum", "mean", "nanmean", "prod", "all", "any", "count_nonzero"]
METHODS = {
    "sum": sum,
    "nansum": nansum,
    "mean": mean,
    "nanmean": nanmean,
    "prod": prod,
    "all": all,
    "any": any,
    "count_nonzero": count_nonzero,
}
