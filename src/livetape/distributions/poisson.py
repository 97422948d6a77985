"""Poisson: the Poisson distribution."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.autograd import no_grad
from livetape.distributions import constraints
from livetape.distributions.distribution import Shape
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.utils import Value, broadcast_all
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """How many events happen where ``rate`` are expected (source: ``torch.distributions.Poisson``).

    >>> import livetape as torch
    >>> Poisson(4.0).log_prob(torch.tensor(4.0))
    tensor(-1.6329)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _parts = {"rate": 0}

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(shape_of(self.rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        with no_grad():
            return ops.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (ops.log(self.rate),)

    def _log_normalizer(self, x: Any) -> Any:
        return ops.exp(x)
