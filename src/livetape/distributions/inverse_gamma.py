"""InverseGamma: the inverse of a gamma variable."""

from __future__ import annotations

import math

from livetape import ops
from livetape.distributions import constraints
from livetape.distributions.gamma import Gamma
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import PowerTransform
from livetape.distributions.utils import Value
from livetape.tensor import Tensor

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """1 / x of a gamma x of ``concentration`` and ``rate`` (source: ``torch.distributions.InverseGamma``).

    >>> InverseGamma(3.0, 2.0).mean
    tensor(1.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma
    _parts = {}

    def __init__(self, concentration: Value, rate: Value, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The gamma variable's shape."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The gamma variable's rate: this one's scale."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """Infinite for concentrations of 1 and less."""
        return ops.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """Infinite for concentrations of 2 and less."""
        variance = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return ops.where(self.concentration > 2, variance, math.inf)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            + self.rate.log()
            + self.concentration.lgamma()
            - (1 + self.concentration) * self.concentration.digamma()
        )
