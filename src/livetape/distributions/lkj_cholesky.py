"""LKJCholesky: Cholesky factors of correlation matrices."""

from __future__ import annotations

import math

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.beta import Beta
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.utils import Value, broadcast_all
from livetape.size import SCALAR, Size
from livetape.tensor import Tensor

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Factors L of ``dim`` x ``dim`` correlation matrices L L^T, whose density is det^(concentration - 1).

    Lewandowski, Kurowicka and Joe (2009), by their onion method (source: ``torch.distributions.LKJCholesky``).
    ``concentration`` 1 is uniform; the larger it is, the smaller the correlations.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parts = {"dim": None, "concentration": 0, "_beta": 1}

    def __init__(self, dim: int, concentration: Value = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squared length of each row but for its diagonal element is a beta variable; the first row's is 0.
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = ops.arange(dim - 1, dtype=self.concentration.dtype)
        offset = ops.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(shape_of(self.concentration), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        direction = ops.randn(self._extended_shape(sample_shape), dtype=y.dtype).tril(-1)
        direction = direction / direction.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)  # 0 / 0
        factor = ops.sqrt(y) * direction
        rest = (1 - (factor**2).sum(-1)).clamp(min=ops.finfo(factor.dtype).tiny)
        factor += ops.diag_embed(rest.sqrt())
        return factor

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - ops.arange(2, self.dim + 1)
        unnormalized = (power * diagonal.log()).sum(-1)
        others = self.dim - 1
        alpha = self.concentration + 0.5 * others
        norm = 0.5 * others * math.log(math.pi) + ops.mvlgamma(alpha - 0.5, others) - ops.lgamma(alpha) * others
        return unnormalized - norm
