"""LogNormal: the exponential of a normal variable."""

from __future__ import annotations

from livetape.distributions import constraints
from livetape.distributions.normal import Normal
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import ExpTransform
from livetape.distributions.utils import Value
from livetape.tensor import Tensor

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """exp(x) of a normal x of mean ``loc`` and deviation ``scale`` (source: ``torch.distributions.LogNormal``).

    >>> LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Normal
    _parts = {}

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
