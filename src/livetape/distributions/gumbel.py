"""Gumbel: the distribution of a largest value."""

from __future__ import annotations

import math

from livetape import ops
from livetape.distributions import constraints
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import AffineTransform, ExpTransform
from livetape.distributions.uniform import Uniform
from livetape.distributions.utils import Value, all_numbers, broadcast_all, euler_constant
from livetape.tensor import Tensor

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """cdf exp(-exp(-(x - loc) / scale)) (source: ``torch.distributions.Gumbel``).

    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parts = {"loc": 0, "scale": 0}

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = ops.finfo(self.loc.dtype)
        low, high = info.tiny, 1 - info.eps
        if all_numbers(loc, scale):
            base = Uniform(low, high, validate_args=validate_args)
        else:
            base = Uniform(ops.full_like(self.loc, low), ops.full_like(self.loc, high), validate_args=validate_args)
        transforms = [
            ExpTransform().inv,
            AffineTransform(0, -ops.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc, -self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
