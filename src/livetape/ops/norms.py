"""Spread and size: variance, standard deviation, vector norms, distances, log-sum-exp."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import state
from livetape._tape.tensor import TensorBase, shape_of
from livetape.compat import compat
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE, default, dtype, promote_types
from livetape.kernels import reductions as kernels
from livetape.ops.basics import cast, zeros_like
from livetape.ops.choose import dropped, where
from livetape.ops.dims import is_integer, numpy_names, reduction_dims, wrap_dims
from livetape.ops.pointwise import abs, exp, sgn
from livetape.ops.reduce import MEAN_DIM, check_keepdim, check_tensor, kept, spread
from livetape.ops.refuse import no_overload
from livetape.ops.table import into, row


# ---------------------------------------------------------------- variance and standard deviation
def _var_backward(grad: Any, self: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    size = shape_of(self)
    grad = kept(grad, size, dim, keepdim)
    apart = self - MEAN_DIM.apply((self, dim, True, None))
    freedom = kernels.count_over(size, dim) - correction
    if freedom <= 0 and (dim is None or len(dim) == len(size)):  # torch tells the whole from a dimension
        return grad * where(apart == 0, math.nan, math.inf)
    return grad * (math.inf if freedom == 0 else 2.0 / freedom) * apart


def _std_backward(grad: Any, self: Any, result: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    flat = result == 0
    scaled = dropped(grad / ((result + flat) * 2), flat)  # at 0 the gradient is 0, and finite to any order
    return _var_backward(scaled, self, dim, correction, keepdim)


def _mean_part(grad: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    size = shape_of(self)
    return spread(grad, size, dim, keepdim) / max(1, kernels.count_over(size, dim))


def _both(first: Any, second: Any) -> Any:
    return second if first is None else first if second is None else first + second


def _var_mean_backward(grads: Any, self: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return _both(
        None if grads[0] is None else _var_backward(grads[0], self, dim, correction, keepdim),
        None if grads[1] is None else _mean_part(grads[1], self, dim, keepdim),
    )


def _std_mean_backward(grads: Any, self: Any, result0: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return _both(
        None if grads[0] is None else _std_backward(grads[0], self, result0, dim, correction, keepdim),
        None if grads[1] is None else _mean_part(grads[1], self, dim, keepdim),
    )


VAR = row(
    "var",
    lambda self, dim, correction, keepdim: kernels.moments(self, dim, correction, keepdim, False)[0],
    analytic=False,
    batch="dim",
    self=_var_backward,
    uses=lambda used, self, dim, keepdim: kept(used, shape_of(self), dim, keepdim).expand_as(self),
    dense=True,
)
STD = row(
    "std",
    lambda self, dim, correction, keepdim: kernels.moments(self, dim, correction, keepdim, True)[0],
    analytic=False,
    batch="dim",
    self=_std_backward,
    differs="float64 values whose squares overflow or vanish",
    uses=lambda used, self, dim, keepdim: kept(used, shape_of(self), dim, keepdim).expand_as(self),
    dense=True,
)
VAR_MEAN = row(
    "var_mean",
    lambda self, dim, correction, keepdim: kernels.moments(self, dim, correction, keepdim, False),
    outputs=2,
    analytic=False,
    batch="dim",
    self=_var_mean_backward,
    dense=True,
)
STD_MEAN = row(
    "std_mean",
    lambda self, dim, correction, keepdim: kernels.moments(self, dim, correction, keepdim, True),
    outputs=2,
    analytic=False,
    batch="dim",
    self=_std_mean_backward,
    differs="float64 values whose squares overflow or vanish",
    dense=True,
)


def _moment(op: Any, input: Any, dim: Any, unbiased: bool | None, keepdim: bool, correction: Any) -> Any:
    name = op.name
    check_tensor(name, input)
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and (correction is not None or type(unbiased) is not bool):
        raise noted(no_overload(name))
    if not is_integer(dim) and dim is not None and not (isinstance(dim, (tuple, list)) and is_integer([*dim, 0][0])):
        raise noted(no_overload(name))
    if correction is None:
        correction = 0 if unbiased is False else 1
    if input.dtype.category < FLOAT:
        kind = "std and var" if "mean" not in name else name
        raise noted(RuntimeError(f"{kind} only support floating point and complex dtypes"))
    check_keepdim(name, keepdim, 3)
    axes = reduction_dims(dim, input.array.ndim, name)
    if kernels.count_over(input.array.shape, axes) - correction <= 0:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
            "factor (input numel divided by output numel).",
            UserWarning,
            stacklevel=4,
        )
    return op.apply((input, axes, correction, keepdim))


@numpy_names
def var(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Any = None,
) -> Any:
    """The variance of all elements, or over ``dim``: squared distances from the mean by N - ``correction`` (default 1).

    Source: ``torch.var``.

    >>> import livetape as torch
    >>> torch.var(torch.tensor([1., 2., 3., 4.]), correction=0)
    tensor(1.2500)
    """
    if out is not None:
        return into(out, var, input, dim, unbiased, keepdim, correction=correction)
    return _moment(VAR, input, dim, unbiased, keepdim, correction)


@numpy_names
def std(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Any = None,
) -> Any:
    """The standard deviation, the root of `var` (source: ``torch.std``)."""
    if out is not None:
        return into(out, std, input, dim, unbiased, keepdim, correction=correction)
    return _moment(STD, input, dim, unbiased, keepdim, correction)


@numpy_names
def var_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Variance and mean in a tuple (source: ``torch.var_mean``)."""
    return _moment(VAR_MEAN, input, dim, unbiased, keepdim, correction)


@numpy_names
def std_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Standard deviation and mean in a tuple (source: ``torch.std_mean``)."""
    return _moment(STD_MEAN, input, dim, unbiased, keepdim, correction)


# ---------------------------------------------------------------- vector norms
def _shares(self: Any, result: Any, dim: Any) -> Any:
    """One over the number of elements as large as the norm, where they are; NaN are all as large."""
    size = np.absolute(self)
    mask = (size == result) | np.isnan(size)
    return np.true_divide(mask, np.count_nonzero(mask, axis=dim, keepdims=True)).astype(result.dtype)


SHARES = row("vector_norm_shares", _shares, tensors="self result", batch="norm_shares")


def norm_backward(grad: Any, self: Any, result: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    """The gradient of a vector norm; where the norm is not differentiable, torch's subgradient (0 at 0)."""
    size = shape_of(self)
    grad, result = kept(grad, size, dim, keepdim), kept(result, size, dim, keepdim)
    if ord == 0:
        return zeros_like(self)
    if ord == 1:
        return grad * sgn(self)
    if math.isinf(ord):
        return sgn(self) * (grad * SHARES.apply((self, result, dim)))
    nothing = result == 0
    safe = result + nothing
    if ord == 2:
        return self * dropped(grad / safe, nothing)
    if ord < 1:
        zero = self == 0
        slope = sgn(self) * dropped((abs(self) + zero) ** (ord - 1), zero)
        return slope * (grad * dropped(safe ** (1 - ord), nothing))
    if ord < 2:
        zero = self == 0
        slope = sgn(self) * dropped((abs(self) + zero) ** (ord - 1), zero)
    elif ord == 3:
        slope = self * abs(self)
    else:
        slope = self * abs(self) ** (ord - 2)
    return slope * dropped(grad / safe ** (ord - 1), nothing)


def _vector_norm(self: Any, ord: float, dim: Any, keepdim: bool, dtype: dtype | None) -> Any:
    kind = self.dtype if dtype is None else dtype.np
    found = np.asarray(kernels.vector_norm(self.astype(kind, copy=False), ord, dim, keepdim))
    return found.astype(kind) if kernels.is_half(np.empty(0, kind)) else found


VECTOR_NORM = row(
    "linalg_vector_norm",
    _vector_norm,
    analytic=False,
    batch="dim",
    self=lambda grad, self, result, ord, dim, keepdim: norm_backward(grad, self, result, ord, dim, keepdim),
    differs="values whose powers overflow or vanish",
    uses=lambda used, self, dim, keepdim: kept(used, shape_of(self), dim, keepdim).expand_as(self),
)


def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None
) -> Any:
    """The vector norm of order ``ord`` of all elements, or over ``dim`` (source: ``torch.linalg.vector_norm``)."""
    if out is not None:
        return into(out, vector_norm, x, ord, dim, keepdim, dtype=dtype)
    check_tensor("linalg_vector_norm", x)
    if x.dtype.category < FLOAT:
        raise noted(
            RuntimeError(
                f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE[x.dtype]}"
            )
        )
    if dtype is not None:
        _check_norm_dtype(x.dtype, dtype)
    order = float(ord)
    whole = dim is None or (isinstance(dim, (tuple, list)) and not dim)
    axes = None if whole else reduction_dims(dim, x.array.ndim, "linalg_vector_norm")
    if order < 0 or order == math.inf:
        _check_not_empty(shape_of(x), order, axes)
    return VECTOR_NORM.apply((x, order, axes, keepdim, dtype))


def _check_norm_dtype(have: dtype, want: dtype) -> None:
    label = "linalg.vector_norm"
    if want.category < FLOAT:
        raise noted(RuntimeError(f"{label}: dtype should be floating point or complex, but got {SCALAR_TYPE[want]}"))
    if (have.category == COMPLEX) != (want.category == COMPLEX):
        which = "complex" if have.category == COMPLEX else "real"
        raise noted(RuntimeError(f"{label}: dtype should be {which} for {which} inputs, but got {SCALAR_TYPE[want]}"))
    if promote_types(have, want) is not want:
        raise noted(
            RuntimeError(
                f"{label}: the dtype of the input ({SCALAR_TYPE[have]}) should be convertible without "
                f"narrowing to the specified dtype ({SCALAR_TYPE[want]})"
            )
        )


def _check_not_empty(size: Any, order: float, axes: Any) -> None:
    """Norms of negative and of infinite order have no value for nothing."""
    shown = f"{order:g}"
    if axes is None:
        if 0 in size:
            raise noted(
                RuntimeError(
                    f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the "
                    "operation does not have an identity"
                )
            )
        return
    for i in axes:
        if size[i] == 0:
            raise noted(
                RuntimeError(
                    f"linalg.vector_norm cannot compute the {shown} norm on the dimension {i}because this "
                    "dimension is empty and the operation does not have an identity"
                )
            )


def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: dtype | None = None
) -> Any:
    """The vector norm of order ``p``; "fro" is order 2, "nuc" the sum of a matrix's singular values.

    Source: ``torch.norm``.

    >>> import livetape as torch
    >>> torch.norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    if p is None or p == "fro":
        return vector_norm(input, 2, dim, keepdim, dtype=dtype, out=out)
    if isinstance(p, str):
        size = shape_of(input)
        axes = tuple(range(len(size))) if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
        if p != "nuc":
            raise noted(RuntimeError(f"linalg.matrix_norm: Order {p} not supported."))
        if len(axes) != 2:
            raise noted(RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, axes))}"))
        return nuclear_norm(input if dtype is None else cast(input, dtype), axes, keepdim, out=out)
    return vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def norm_method(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: dtype | None = None) -> Any:
    """See `norm` (source: ``torch.Tensor.norm``)."""
    return norm(self, p, dim, keepdim, dtype=dtype)


def nuclear_norm(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The sum of the singular values of a matrix, or of those in two dimensions (source: ``torch.nuclear_norm``)."""
    if out is not None:
        return into(out, nuclear_norm, input, dim, keepdim)
    axes = wrap_dims((0, 1) if dim is None else dim, input.array.ndim, "nuclear_norm")
    rest = [i for i in range(input.array.ndim) if i not in axes]
    matrices = input.permute(*rest, *axes)
    found = matrices.svd()[1].sum(-1)
    if keepdim:
        for axis in sorted(axes):
            found = found.unsqueeze(axis)
    return found


# ---------------------------------------------------------------- distance
DIST = row(
    "dist",
    lambda self, other, p: _vector_norm(self - other, p, None, False, None),
    tensors="self other",
    batch="dist",
    analytic=False,
).joint("self other", lambda grad, self, other, result, p, wanted: _dist_backward(grad, self, other, result, p, wanted))


def _dist_backward(grad: Any, self: Any, other: Any, result: Any, p: float, wanted: Any) -> Any:
    slope = norm_backward(grad, self - other, result, p, None, False)
    return slope.sum_to_size(shape_of(self)), (-slope).sum_to_size(shape_of(other))


def dist(input: Any, other: Any, p: Any = 2) -> Any:
    """The norm of order ``p`` of the difference (source: ``torch.dist``)."""
    check_tensor("dist", input)
    if not isinstance(other, TensorBase):
        raise noted(TypeError(f"dist(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}"))
    kind = promote_types(input.dtype, other.dtype)
    if kind.category < FLOAT:
        raise noted(
            RuntimeError(
                f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE[kind]}"
            )
        )
    input, other = [t if t.dtype is kind else cast(t, kind) for t in (input, other)]
    try:
        return DIST.apply((input, other, float(p)))
    except ValueError:
        return input - other  # raises torch's error for shapes that do not broadcast


# ---------------------------------------------------------------- log-sum-exp
def _logsumexp_backward(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    size = shape_of(self)
    grad, result = kept(grad, size, dim, keepdim), kept(result, size, dim, keepdim)
    if compat.torch or self.dtype.category == COMPLEX or (state.interposed == 0 and np.isfinite(result.array).all()):
        return grad * exp(self - result)
    # an infinite argument takes all the weight; sums of nothing but log(0) have nothing to share it by
    bound = result.isinf()
    tops = (self == result) & (result > 0) if kernels.count_over(size, dim) > 1 else self == self
    share = tops / (tops.sum(dim, True) + (tops.sum(dim, True) == 0))
    return grad * where(bound, share.to(self.dtype), exp(where(bound, 0, self - result)))


LOGSUMEXP = row(
    "logsumexp",
    lambda self, dim, keepdim: kernels.logsumexp(self, dim, keepdim),
    batch="dim",
    self=_logsumexp_backward,
    differs="the gradient where the result is infinite",
    uses=lambda used, self, dim, keepdim: kept(used, shape_of(self), dim, keepdim).expand_as(self),
)


@numpy_names
def logsumexp(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """The logarithm of the sum of ``exp(input)`` over ``dim``, without overflow (source: ``torch.logsumexp``).

    >>> import livetape as torch
    >>> torch.logsumexp(torch.tensor([0., 0.]), 0)
    tensor(0.6931)
    """
    if out is not None:
        return into(out, logsumexp, input, dim, keepdim)
    check_tensor("logsumexp", input)
    check_keepdim("logsumexp", keepdim)
    if input.dtype.category < FLOAT:
        input = cast(input, default.dtype)
    if isinstance(dim, (tuple, list)) and not dim and input.array.ndim:
        dims: tuple[int, ...] = tuple(range(input.array.ndim))
    else:
        dims = reduction_dims(dim, input.array.ndim, "logsumexp")
    return LOGSUMEXP.apply((input, dims, keepdim))


FUNCTIONS = ["var", "std", "var_mean", "std_mean", "norm", "nuclear_norm", "dist", "logsumexp"]
METHODS = {"var": var, "std": std, "norm": norm_method, "dist": dist, "logsumexp": logsumexp}
