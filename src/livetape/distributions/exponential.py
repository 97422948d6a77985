"""Exponential: the exponential distribution."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.distribution import Shape
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.utils import Value, broadcast_all
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """rate * exp(-rate x) for x >= 0 (source: ``torch.distributions.Exponential``).

    >>> Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parts = {"rate": 0}

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(shape_of(self.rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return ops.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 1 - ops.exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -ops.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - ops.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:
        return -ops.log(-x)
