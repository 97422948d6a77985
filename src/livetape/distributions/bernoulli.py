"""Bernoulli: a coin."""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape.autograd import no_grad
from livetape.distributions import constraints
from livetape.distributions._probs import Binary, counts
from livetape.distributions.distribution import Shape
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.utils import broadcast_all, expanded
from livetape.ops.label_loss import binary_cross_entropy_with_logits
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["Bernoulli"]


class Bernoulli(Binary, ExponentialFamily):
    """1 with the probability ``probs``, else 0 (source: ``torch.distributions.Bernoulli``).

    >>> import livetape as torch
    >>> Bernoulli(0.3).log_prob(torch.tensor(1.0)).exp()
    tensor(0.3000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _parts = Binary._parts

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._set_param(probs, logits), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        """NaN where both are as probable."""
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.bernoulli(expanded(self.probs, shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return counts(self, 2, self._param.dtype, expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (ops.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Any:
        return ops.log1p(ops.exp(x))
