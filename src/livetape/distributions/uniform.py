"""Uniform: the uniform distribution on an interval."""

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

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Uniform numbers from ``low`` up to ``high`` (source: ``torch.distributions.Uniform``).

    >>> import livetape as torch
    >>> Uniform(0.0, 4.0).log_prob(torch.tensor(1.0))
    tensor(-1.3863)
    """

    has_rsample = True
    _parts = {"low": 0, "high": 0}

    @property
    def arg_constraints(self) -> Any:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low: Value, high: Value, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(shape_of(self.low), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        u = utils.uniform(self._extended_shape(sample_shape), self.low)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        inside = self.low.le(value).type_as(self.low).mul(self.high.gt(value).type_as(self.low))
        return ops.log(inside) - ops.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return ops.log(self.high - self.low)
