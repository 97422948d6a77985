"""Beta: the beta distribution."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.distributions import constraints
from livetape.distributions.dirichlet import Dirichlet
from livetape.distributions.distribution import Shape
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.utils import Value, all_numbers, broadcast_all
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The beta distribution: a Dirichlet distribution of two (source: ``torch.distributions.Beta``).

    >>> Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _parts = {"_dirichlet": 0}

    def __init__(self, concentration1: Value, concentration0: Value, validate_args: bool | None = None) -> None:
        if all_numbers(concentration1, concentration0):
            both = ops.tensor([float(concentration1), float(concentration0)])
        else:
            both = ops.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        """The exponent of x, plus 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The exponent of 1 - x, plus 1."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(ops.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return ops.lgamma(x) + ops.lgamma(y) - ops.lgamma(x + y)
