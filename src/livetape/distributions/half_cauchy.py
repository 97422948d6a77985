"""HalfCauchy: the absolute value of a Cauchy variable."""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape.distributions import constraints
from livetape.distributions.cauchy import Cauchy
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import AbsTransform
from livetape.distributions.utils import Value
from livetape.tensor import Tensor

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """|x| of a Cauchy variable x of median 0 and half width ``scale`` (source: ``torch.distributions.HalfCauchy``)."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Cauchy
    _parts = {}

    def __init__(self, scale: Value, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The half width of the whole Cauchy distribution."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return ops.full(self._extended_shape(), math.inf, dtype=self.scale.dtype)

    @property
    def mode(self) -> Tensor:
        return ops.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = ops.as_tensor(value, dtype=self.scale.dtype)
        return ops.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
