"""What the old and the new weight and spectral norms share."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.tensor import Tensor


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The 2-norms over all dimensions but one, in the shape that broadcasts back; over all for -1."""
    if dim == -1:
        return ops.norm(v)
    shape = [1] * v.dim()
    shape[dim] = v.shape[dim]
    rows = v.transpose(0, dim).reshape(v.shape[dim], -1)
    return ops.norm(rows, 2, 1).view(shape)


def weight_norm_of(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """``v`` with lengths ``g`` along ``dim``."""
    fused: Any = getattr(ops, "_weight_norm", None)
    if fused is not None:
        return fused(v, g, dim)
    return v * (g / norm_except_dim(v, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight with dimension ``dim`` first and all others flattened."""
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.reshape(weight.size(0), -1)


def unit(x: Tensor, eps: float) -> Tensor:
    """A vector of length 1."""
    return x / ops.clamp_min(ops.norm(x), eps)
