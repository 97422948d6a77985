"""What the old and the new weight and spectral norms share."""

from __future__ import annotations

from livetape import ops
from livetape.tensor import Tensor


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The 2-norms over all dimensions but one, in the shape that broadcasts back; over all for -1."""
    return ops.norm_except_dim(v, 2, dim)


def weight_norm_of(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """``v`` with lengths ``g`` along ``dim``."""
    return ops._weight_norm(v, g, dim)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight with dimension ``dim`` first and all others flattened."""
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.reshape(weight.size(0), -1)


def unit(x: Tensor, eps: float) -> Tensor:
    """A vector of length 1."""
    return x / ops.clamp_min(ops.norm(x), eps)
