"""NegativeBinomial: successes before a number of failures."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.autograd import no_grad
from livetape.distributions import constraints
from livetape.distributions._probs import Binary
from livetape.distributions.distribution import Shape
from livetape.distributions.gamma import Gamma
from livetape.distributions.utils import lazy_property
from livetape.ops.smooth import logsigmoid
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Binary):
    """How many trials succeed before ``total_count`` fail (source: ``torch.distributions.NegativeBinomial``).

    The number of failures may be any positive number: Poisson counts of gamma distributed rates.
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor
    _parts = {"total_count": 0, **Binary._parts}

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._set_counted(total_count, probs, logits), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * ops.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / ops.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # not checked, because rates of 0 are all right for Poisson
        return Gamma(self.total_count, ops.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        with no_grad():
            return ops.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        unnormalized = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        norm = -ops.lgamma(n + value) + ops.lgamma(1.0 + value) + ops.lgamma(n)
        norm = norm.masked_fill(n + value == 0.0, 0.0)  # the limit for no failures and no successes
        return unnormalized - norm
