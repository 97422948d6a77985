"""Distances between rows, and slices held to a length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import is_recording
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE, boolean
from livetape.kernels import distances as kernels
from livetape.kernels.reductions import vector_norm as norm_kernel
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.basics import conj, sum_to
from livetape.ops.choose import dropped, where
from livetape.ops.complexes import real
from livetape.ops.dims import is_integer, reduction_dims, wrap_dim
from livetape.ops.matrices import constant, mT, need, need_broadcast, product
from livetape.ops.norms import norm_backward, vector_norm
from livetape.ops.pointwise import sgn
from livetape.ops.refuse import unsupported
from livetape.ops.shape import reshape, view
from livetape.ops.table import into, row


# ---------------------------------------------------------------- all rows of one matrix and all of another
def _differentiable_backward(grad: Any, x1: Any, x2: Any, result: Any, p: float) -> Any:
    """`kernels.backward` in operations that have derivatives themselves."""
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    grad, length = grad.unsqueeze(-1), result.unsqueeze(-1)
    if p == math.inf:
        reached = constant(np.abs(apart.array) == length.array, boolean)
        return (sgn(apart) * (grad * reached)).sum(-2)
    return norm_backward(grad, apart, length, p, (-1,), True).sum(-2)


CDIST_BACKWARD = row(
    "cdist_backward",
    lambda grad, x1, x2, result, p: kernels.backward(grad, x1, x2, result, p),
    batch="broadcast",
    tensors="grad x1 x2 result",
)


def _cdist_backward(grad: Any, x1: Any, x2: Any, result: Any, p: float) -> Any:
    if is_recording():
        found = _differentiable_backward(grad, x1, x2, result, p)
    else:
        found = CDIST_BACKWARD.apply((grad, x1, x2, result, p))
    return sum_to(found, shape_of(x1))


CDIST = row(
    "cdist",
    lambda x1, x2, p: kernels.distances(x1, x2, p),
    batch="broadcast",
    tensors="x1 x2",
    x1=lambda grad, x1, x2, result, p: _cdist_backward(grad, x1, x2, result, p),
    x2=lambda grad, x1, x2, result, p: _cdist_backward(mT(grad), x2, x1, mT(result), p),
)


def _euclidean_backward(grad: Any, x1: Any, x2: Any, result: Any) -> Any:
    nothing = result == 0
    ratio = dropped(grad / (result + nothing), nothing)
    return (
        x1 * ratio.sum(-1, True) - product(ratio, x2),
        x2 * ratio.sum(-2, False).unsqueeze(-1) - product(mT(ratio), x1),
    )


EUCLIDEAN = row(
    "euclidean_dist",
    lambda x1, x2: kernels.euclidean(x1, x2),
    batch="any",
    tensors="x1 x2",
    differs="distances of more than 25 rows that are close to each other",
)
EUCLIDEAN.joint("x1 x2", _euclidean_backward)

_MODES = {"use_mm_for_euclid_dist_if_necessary": 0, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


@single_in_autocast
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The p-norm distances of all rows of x1, [..., n, d], from all of x2, [..., m, d] (source: ``torch.cdist``).

    Euclidean distances of many rows are computed by a matrix product, unless ``compute_mode`` forbids it.

    >>> import livetape as torch
    >>> torch.cdist(torch.tensor([[0., 0.]]), torch.tensor([[3., 4.], [0., 1.]]))
    tensor([[5., 1.]])
    """
    need("cdist", "x1", x1)
    need("cdist", "x2", x2, 2)
    if compute_mode not in _MODES:
        raise noted(ValueError(f"{compute_mode} is not a valid value for compute_mode"))
    a, b = shape_of(x1), shape_of(x2)
    for name, value in (("X1", x1), ("X2", x2)):
        if value.array.ndim < 2:
            raise noted(RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {value.array.ndim}D"))
    if a[-1] != b[-1]:
        raise noted(RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}"))
    for name, value in (("X1", x1), ("X2", x2)):
        if value.dtype.category != FLOAT:
            raise noted(
                RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {SCALAR_TYPE[value.dtype]}")
            )
    if p < 0:
        raise noted(RuntimeError("cdist only supports non-negative p values"))
    if x1.dtype is not x2.dtype:
        raise noted(RuntimeError(f"expected scalar type {SCALAR_TYPE[x1.dtype]} but found {SCALAR_TYPE[x2.dtype]}"))
    if x1.dtype.itemsize == 2:
        raise noted(unsupported("cdist", x1.array, ""))
    batch = need_broadcast(a[:-2], b[:-2])
    mode = _MODES[compute_mode]
    if p == 2 and a[-1] and (mode == 1 or (mode == 0 and (a[-2] > 25 or b[-2] > 25))):
        count = math.prod(batch)
        if count != 1:
            x1 = reshape(x1.expand(*batch, *a[-2:]), count, *a[-2:])
            x2 = reshape(x2.expand(*batch, *b[-2:]), count, *b[-2:])
        return view(EUCLIDEAN.apply((x1, x2)), (*batch, a[-2], b[-2]))
    return CDIST.apply((x1, x2, float(p)))


# ---------------------------------------------------------------- all pairs of rows of one matrix
SQUARE = row(
    "pdist_square", lambda self, n: kernels.square(self, n), self=lambda grad: ABOVE.apply((grad,)), linear=True
)
ABOVE = row(
    "pdist_above",
    lambda self: kernels.above(self),
    self=lambda grad, self_size: SQUARE.apply((grad, self_size[0])),
    linear=True,
)


def _pdist_backward(grad: Any, self: Any, result: Any, p: float) -> Any:
    n = shape_of(self)[0]
    return _cdist_backward(SQUARE.apply((grad, n)), self, self, SQUARE.apply((result, n)), p)


PDIST = row("pdist", lambda self, p: kernels.pairs(self, p), self=_pdist_backward)


def pdist(input: Any, p: float = 2) -> Any:
    """The p-norm distances of all pairs of rows i < j of a matrix, in the order (0, 1), (0, 2), ...

    Source: ``torch.pdist``.

    >>> import livetape as torch
    >>> torch.pdist(torch.tensor([[0., 0.], [3., 4.], [0., 1.]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    need("pdist", "input", input)
    if input.array.ndim != 2:
        raise noted(RuntimeError(f"pdist only supports 2D tensors, got: {input.array.ndim}D"))
    if input.dtype.category != FLOAT:
        raise noted(RuntimeError("pdist only supports floating-point dtypes"))
    if p < 0:
        raise noted(RuntimeError("pdist only supports non-negative p values"))
    if input.dtype.itemsize == 2:
        raise noted(unsupported("pdist", input.array, ""))
    return PDIST.apply((input, float(p)))


# ---------------------------------------------------------------- lengths
def _norm(self: Any, p: float, dim: Any, keepdim: bool) -> Any:
    return np.asarray(norm_kernel(self, p, dim, keepdim)).astype(self.real.dtype, copy=False)


# torch's older norm, which some of its functions are built with
NORM = row(
    "norm",
    lambda self, p: _norm(self, p, None, False),
    batch="whole_norm",
    analytic=False,
    self=lambda grad, self, result, p: norm_backward(grad, self, result, p, None, False),
)
NORM_DIM = row(
    "norm",
    _norm,
    batch="dim",
    node="NormBackward1",
    key="norm.dim",
    analytic=False,
    self=lambda grad, self, result, p, dim, keepdim: norm_backward(grad, self, result, p, dim, keepdim),
)


def plain_norm(input: Any, p: float = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """The p-norm over all elements, or over ``dim``, as the node NormBackward."""
    if dim is None:
        return NORM.apply((input, float(p)))
    return NORM_DIM.apply((input, float(p), reduction_dims(dim, input.array.ndim, "norm"), keepdim))


def _renorm_backward(grad: Any, self: Any, p: float, dim: int, maxnorm: float) -> Any:
    axes = tuple([i for i in range(self.array.ndim) if i != dim])
    length = vector_norm(self, p, axes, True)
    scale = maxnorm / (length + 1e-7)
    inner = (conj(grad) * self).sum(axes, True)
    by_length = -(real(inner) if inner.dtype.category == COMPLEX else inner) * scale / (length + 1e-7)
    bent = grad * scale + norm_backward(by_length, self, length, p, axes, True)
    return where(length > maxnorm, bent, grad)


RENORM = row(
    "renorm",
    lambda self, p, dim, maxnorm: kernels.renorm(self, p, dim, maxnorm),
    analytic=False,
    self=_renorm_backward,
    dense=True,
)


def _renorm_arguments(input: Any, p: Any, dim: Any, maxnorm: Any) -> tuple[Any, ...]:
    need("renorm", "input", input)
    if isinstance(p, complex):
        raise noted(RuntimeError("renorm: p must be real-valued"))
    if p <= 0:
        raise noted(RuntimeError("renorm: non-positive-norm not supported"))
    if isinstance(maxnorm, complex):
        raise noted(RuntimeError("renorm: maxnorm must be real-valued"))
    if maxnorm < 0:
        raise noted(RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}"))
    ndim = input.array.ndim
    if ndim < 2:
        raise noted(RuntimeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions"))
    axis = wrap_dim(dim, ndim, "renorm")
    if input.dtype.category < FLOAT:
        raise noted(
            RuntimeError(
                f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE[input.dtype]}"
            )
        )
    return input, float(p), axis, float(maxnorm)


def renorm(input: Any, p: Any, dim: Any, maxnorm: Any, *, out: Any = None) -> Any:
    """The slices along ``dim``, those whose p-norm exceeds ``maxnorm`` brought down to it (source: ``torch.renorm``).

    >>> import livetape as torch
    >>> torch.renorm(torch.tensor([[3., 4.], [0., 1.]]), 2, 0, 2.5)
    tensor([[1.5000, 2.0000],
            [0.0000, 1.0000]])
    """
    if out is not None:
        return into(out, renorm, input, p, dim, maxnorm)
    return RENORM.apply(_renorm_arguments(input, p, dim, maxnorm))


def renorm_(self: Any, p: Any, dim: Any, maxnorm: Any) -> Any:
    """In-place `renorm`."""
    return RENORM.inplace(*_renorm_arguments(self, p, dim, maxnorm))


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norms over all dimensions but one, in the shape that broadcasts back; over all for -1.

    Source: ``torch.norm_except_dim``.
    """
    if dim == -1:
        return plain_norm(v, pow)
    size = shape_of(v)
    last = len(size) - 1
    if dim == 0:
        return view(plain_norm(view(v.contiguous(), size[0], -1), pow, 1), (size[0], *[1] * last))
    if dim == last:
        return view(plain_norm(view(v.contiguous(), -1, size[-1]), pow, 0), (*[1] * last, size[-1]))
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


def _weight_norm_backward(grad: Any, v: Any, g: Any, result1: Any, dim: int) -> tuple[Any, Any]:
    axes = tuple([i for i in range(v.array.ndim) if i != dim])
    length = norm_except_dim(v, 2, dim) if is_recording() else result1
    by_g = (grad * v).sum(axes, True) / length
    by_v = (g.view(shape_of(length)) / length) * (grad - v * (by_g / length))
    return by_v, by_g.view(shape_of(g))


WEIGHT_NORM = row("weight_norm_interface", lambda v, g, dim: kernels.weight_norm(v, g, dim), tensors="v g", outputs=2)
WEIGHT_NORM.joint("v g", _weight_norm_backward)


def _weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    """``v`` with the lengths ``g`` along ``dim`` (source: ``torch._weight_norm``)."""
    if isinstance(v, TensorBase) and v.dtype.category == FLOAT and is_integer(dim) and dim in (0, v.array.ndim - 1):
        return WEIGHT_NORM.apply((v, g, dim))[0]
    return v * (g / norm_except_dim(v, 2, dim))


FUNCTIONS = ["cdist", "pdist", "renorm", "norm_except_dim", "_weight_norm"]
METHODS = {"renorm": renorm, "renorm_": renorm_}
FUNCTIONAL = ["pdist"]
