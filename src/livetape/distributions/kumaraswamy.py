"""Kumaraswamy: much like the beta distribution, with a simple distribution function."""

from __future__ import annotations

import math

from livetape import ops
from livetape.distributions import constraints
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import AffineTransform, PowerTransform
from livetape.distributions.uniform import Uniform
from livetape.distributions.utils import Value, broadcast_all, euler_constant
from livetape.tensor import Tensor

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """cdf 1 - (1 - x^concentration1)^concentration0 on [0, 1] (source: ``torch.distributions.Kumaraswamy``).

    >>> Kumaraswamy(2.0, 1.0).mean
    tensor(0.6667)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _parts = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1: Value, concentration0: Value, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            ops.full_like(self.concentration0, 0), ops.full_like(self.concentration0, 1), validate_args=validate_args
        )
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, order: int) -> Tensor:
        """E x^order."""
        a, b = self.concentration1, self.concentration0
        shifted = 1 + order / a
        return b * ops.exp(ops.lgamma(shifted) + ops.lgamma(b) - ops.lgamma(shifted + b))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """NaN where a concentration is below 1."""
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        log_mode[(b < 1) | (a < 1)] = math.nan
        return log_mode.exp()

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - ops.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = ops.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - ops.log(a) - ops.log(b)
