"""Cauchy: the Cauchy, or Lorentz, distribution."""

from __future__ import annotations

import math

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.utils import Value, broadcast_all
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy distribution of median ``loc`` and half width ``scale`` (source: ``torch.distributions.Cauchy``).

    It has no mean, and no variance.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parts = {"loc": 0, "scale": 0}

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(self.loc), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return ops.full(self._extended_shape(), math.nan, dtype=self.loc.dtype)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return ops.full(self._extended_shape(), math.inf, dtype=self.loc.dtype)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        noise = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ops.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return ops.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
