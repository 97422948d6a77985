"""StudentT: Student's t distribution."""

from __future__ import annotations

import math

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.chi2 import Chi2
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.utils import Value, _standard_normal, broadcast_all
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t of ``df`` degrees of freedom, moved and scaled (source: ``torch.distributions.StudentT``)."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parts = {"df": 0, "loc": 0, "scale": 0, "_chi2": 0}

    def __init__(self, df: Value, loc: Value = 0.0, scale: Value = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(shape_of(self.df), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """NaN for one degree of freedom and fewer."""
        mean = self.loc.clone().contiguous()
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite for up to two degrees of freedom, NaN for up to one."""
        variance = self.df.clone().contiguous()
        finite = self.df > 2
        df = self.df[finite]
        variance[finite] = self.scale[finite].pow(2) * df / (df - 2)
        variance[(self.df <= 2) & (self.df > 1)] = math.inf
        variance[self.df <= 1] = math.nan
        return variance

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        x = _standard_normal(self._extended_shape(sample_shape), self.df.dtype)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * ops.rsqrt(z / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        log_norm = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + ops.lgamma(0.5 * self.df)
            - ops.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * ops.log1p(y**2.0 / self.df) - log_norm

    def entropy(self) -> Tensor:
        half, above = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = ops.lgamma(half) + math.lgamma(0.5) - ops.lgamma(above)
        return self.scale.log() + above * (ops.digamma(above) - ops.digamma(half)) + 0.5 * self.df.log() + log_beta
