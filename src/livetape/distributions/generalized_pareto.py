"""GeneralizedPareto: what is left above a high threshold."""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints, utils
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.utils import Value, broadcast_all
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution above ``loc`` (source: ``torch.distributions.GeneralizedPareto``).

    ``concentration`` 0 is the exponential distribution, above 0 its tail is heavy, below 0 it ends.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _parts = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc: Value, scale: Value, concentration: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(shape_of(self.loc), validate_args=validate_args)

    def _cases(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with ones there, to divide by."""
        zero = ops.isclose(self.concentration, ops.zeros_like(self.concentration))
        return zero, ops.where(zero, ops.ones_like(self.concentration), self.concentration)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        return self.icdf(utils.uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, concentration = self._cases()
        power = 1 / concentration + ops.ones_like(z)
        curved = ops.where(power == 0, power, power * ops.log1p(concentration * z))
        return -self.scale.log() - ops.where(zero, z, curved)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of 1 - cdf."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        zero, concentration = self._cases()
        return ops.where(zero, -z, -ops.log1p(concentration * z) / concentration)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the cdf."""
        return ops.log1p(-ops.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return ops.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, concentration = self._cases()
        log_rest = ops.log1p(-value)
        curved = self.loc + self.scale / concentration * ops.expm1(-concentration * log_rest)
        return ops.where(zero, self.loc - self.scale * log_rest, curved)

    @property
    def mean(self) -> Tensor:
        """NaN for concentrations of 1 and more."""
        valid = self.concentration < 1
        concentration = ops.where(valid, self.concentration, 0.5)
        return ops.where(valid, self.loc + self.scale / (1 - concentration), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """NaN for concentrations of 1/2 and more."""
        valid = self.concentration < 0.5
        concentration = ops.where(valid, self.concentration, 0.25)
        variance = self.scale**2 / ((1 - concentration) ** 2 * (1 - 2 * concentration))
        return ops.where(valid, variance, math.nan)

    def entropy(self) -> Tensor:
        return ops.broadcast_to(ops.log(self.scale) + self.concentration + 1, self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = ops.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)
