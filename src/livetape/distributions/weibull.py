"""Weibull: a power of an exponential variable."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.distributions import constraints
from livetape.distributions.distribution import Shape
from livetape.distributions.exponential import Exponential
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import AffineTransform, PowerTransform, Transform
from livetape.distributions.utils import Value, broadcast_all, euler_constant
from livetape.tensor import Tensor

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """cdf 1 - exp(-(x / scale)^concentration) for x > 0 (source: ``torch.distributions.Weibull``).

    >>> Weibull(1.0, 1.0).mean
    tensor(1.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _parts = {"scale": 0, "concentration": 0, "concentration_reciprocal": 0}

    def __init__(self, scale: Value, concentration: Value, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ops.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._own_transforms(), validate_args=validate_args)

    def _own_transforms(self) -> list[Transform]:
        return [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.transforms = new._own_transforms()  # of the expanded parameters
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * ops.exp(ops.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return self.scale.pow(2) * (ops.exp(ops.lgamma(1 + 2 * inverse)) - ops.exp(2 * ops.lgamma(1 + inverse)))

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + ops.log(self.scale * inverse) + 1
