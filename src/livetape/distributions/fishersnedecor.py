"""FisherSnedecor: the F distribution."""

from __future__ import annotations

import math

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.gamma import Gamma
from livetape.distributions.utils import Value, broadcast_all
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared variables, each over its degrees of freedom (source: ``torch.distributions``)."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parts = {"df1": 0, "df2": 0, "_gamma1": 0, "_gamma2": 0}

    def __init__(self, df1: Value, df2: Value, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(shape_of(self.df1), validate_args=validate_args)

    def _df2_above(self, limit: int) -> Tensor:
        df2 = self.df2.clone().contiguous()
        df2[df2 <= limit] = math.nan
        return df2

    @property
    def mean(self) -> Tensor:
        """NaN where ``df2`` is 2 or less."""
        df2 = self._df2_above(2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """NaN where ``df1`` is 2 or less."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        """NaN where ``df2`` is 4 or less."""
        df2 = self._df2_above(4)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape)
        tiny = ops.finfo(below.dtype).tiny
        below.clamp_(min=tiny)
        ratio = above / below
        ratio.clamp_(min=tiny)
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2 = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        norm = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * ops.log(value)
        return norm + power - (half1 + half2) * ops.log1p(ratio * value)
