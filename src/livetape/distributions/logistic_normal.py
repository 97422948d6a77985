"""LogisticNormal: a normal variable, sent onto the simplex."""

from __future__ import annotations

from livetape.distributions import constraints
from livetape.distributions.independent import Independent
from livetape.distributions.normal import Normal
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import StickBreakingTransform
from livetape.distributions.utils import Value
from livetape.tensor import Tensor

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Points of the simplex of one dimension more than ``loc`` (source: ``torch.distributions.LogisticNormal``).

    Stick breaking by normal variables: see `StickBreakingTransform`.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Independent[Normal]
    _parts = {}

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal variables."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal variables."""
        return self.base_dist.base_dist.scale
