"""Binomial: successes in a number of trials."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.autograd import no_grad
from livetape.distributions import constraints
from livetape.distributions._probs import Binary, counts
from livetape.distributions.distribution import Shape
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["Binomial"]


class Binomial(Binary):
    """How many of ``total_count`` trials succeed (source: ``torch.distributions.Binomial``).

    >>> import livetape as torch
    >>> Binomial(2, torch.tensor([0.5])).log_prob(torch.tensor([1.0])).exp()
    tensor([0.5000])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    total_count: Tensor
    _parts = {"total_count": 0, **Binary._parts}

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._set_counted(total_count, probs, logits), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        # log(1 + exp(logits)) without overflow; both branches of the maximum at 0 get half of the gradient there
        above = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        norm = n * above + n * ops.log1p(ops.exp(-ops.abs(logits))) - ops.lgamma(n + 1)
        return value * logits - ops.lgamma(value + 1) - ops.lgamma(n - value + 1) - norm

    def _common_count(self, name: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(ops.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return counts(self, 1 + self._common_count("enumerate_support"), self._param.dtype, expand)
