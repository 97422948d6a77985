"""ContinuousBernoulli: a coin's likelihood, made a density on [0, 1]."""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape.autograd import no_grad
from livetape.distributions import constraints, utils
from livetape.distributions._probs import Binary
from livetape.distributions.distribution import Shape
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from livetape.ops.label_loss import binary_cross_entropy_with_logits
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Binary, ExponentialFamily):
    """The density C p^x (1 - p)^(1 - x) on [0, 1] (Loaiza-Ganem and Cunningham 2019; source: ``torch.distributions``).

    Its formulas divide by 1 - 2 p. Between the two probabilities ``lims`` Taylor series replace them.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True
    _parts = {"_lims": None, **Binary._parts}

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        shape = self._set_param(probs, logits)
        if probs is not None:
            if validate_args is not None and not constraints.satisfies(self.probs, self.arg_constraints["probs"]):
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """p, kept inside (0, 1)."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return ops.max(ops.le(self.probs, self._lims[0]), ops.gt(self.probs, self._lims[1]))

    def _cut_probs(self) -> Tensor:
        """The probabilities, with the lower limit where the formulas are not to be used."""
        return ops.where(self._outside_unstable_region(), self.probs, self._lims[0] * ops.ones_like(self.probs))

    def _log_odds_against(self, p: Tensor) -> Tensor:
        return ops.log1p(-p) - ops.log(p)

    def _cont_bern_log_norm(self) -> Tensor:
        """log C."""
        p = self._cut_probs()
        below = ops.where(ops.le(p, 0.5), p, ops.zeros_like(p))
        above = ops.where(ops.ge(p, 0.5), p, ops.ones_like(p))
        log_distance = ops.where(ops.le(p, 0.5), ops.log1p(-2.0 * below), ops.log(2.0 * above - 1.0))
        log_norm = ops.log(ops.abs(self._log_odds_against(p))) - log_distance
        x = ops.pow(self.probs - 0.5, 2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return ops.where(self._outside_unstable_region(), log_norm, series)

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        mean = p / (2.0 * p - 1.0) + 1.0 / self._log_odds_against(p)
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * ops.pow(x, 2)) * x
        return ops.where(self._outside_unstable_region(), mean, series)

    @property
    def stddev(self) -> Tensor:
        return ops.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        variance = p * (p - 1.0) / ops.pow(1.0 - 2.0 * p, 2) + 1.0 / ops.pow(self._log_odds_against(p), 2)
        x = ops.pow(self.probs - 0.5, 2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return ops.where(self._outside_unstable_region(), variance, series)

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        return self.icdf(utils.uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        curved = (ops.pow(p, value) * ops.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = ops.where(self._outside_unstable_region(), curved, value)
        upper = ops.where(ops.ge(value, 1.0), ops.ones_like(value), inside)
        return ops.where(ops.le(value, 0.0), ops.zeros_like(value), upper)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        curved = (ops.log1p(-p + value * (2.0 * p - 1.0)) - ops.log1p(-p)) / (ops.log(p) - ops.log1p(-p))
        return ops.where(self._outside_unstable_region(), curved, value)

    def entropy(self) -> Tensor:
        log_probs0, log_probs1 = ops.log1p(-self.probs), ops.log(self.probs)
        return self.mean * (log_probs0 - log_probs1) - self._cont_bern_log_norm() - log_probs0

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        outside = ops.max(ops.le(x, low), ops.gt(x, high))
        cut = ops.where(outside, x, low * ops.ones_like(x))
        log_norm = ops.log(ops.abs(ops.expm1(cut))) - ops.log(ops.abs(cut))
        series = 0.5 * x + ops.pow(x, 2) / 24.0 - ops.pow(x, 4) / 2880.0
        return ops.where(outside, log_norm, series)
