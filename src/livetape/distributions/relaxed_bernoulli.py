"""RelaxedBernoulli: a coin that gradients come through, and its logit."""

from __future__ import annotations

from typing import Any

from livetape.distributions import constraints, utils
from livetape.distributions._probs import Binary
from livetape.distributions.distribution import Shape
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import SigmoidTransform
from livetape.distributions.utils import broadcast_all, clamp_probs
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Binary):
    """The logit of `RelaxedBernoulli`, which does not underflow (Maddison, Mnih and Teh 2017; source: ``torch``)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _parts = {"temperature": None, **Binary._parts}

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(self._set_param(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(utils.uniform(shape, probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class _OverTempered(TransformedDistribution):
    """Transformed distributions of a temperature and probabilities, which the base holds."""

    base_dist: Any

    @property
    def temperature(self) -> Tensor:
        """How soft the samples are: near 0, they are almost discrete."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logits."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs


class RelaxedBernoulli(_OverTempered):
    """Numbers in (0, 1) that tend to a coin's 0 and 1 as ``temperature``, a tensor, tends to 0 (source: ``torch``).

    Also called the binary concrete distribution; samples have gradients.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample: Any = True
    _parts = {}

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
