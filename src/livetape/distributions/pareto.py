"""Pareto: a power law above a scale."""

from __future__ import annotations

from typing import Any

from livetape.distributions import constraints
from livetape.distributions.exponential import Exponential
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import AffineTransform, ExpTransform
from livetape.distributions.utils import Value, broadcast_all
from livetape.tensor import Tensor

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The density proportional to x^(-alpha - 1) for x >= ``scale`` (source: ``torch.distributions.Pareto``).

    >>> Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _parts = {"scale": 0, "alpha": 0}

    def __init__(self, scale: Value, alpha: Value, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """Infinite for ``alpha`` of 1 and less."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        """Infinite for ``alpha`` of 2 and less."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
