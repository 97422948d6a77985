"""RelaxedOneHotCategorical: a choice that gradients come through, and its logarithm."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.distributions import constraints, utils
from livetape.distributions._probs import OverCategorical
from livetape.distributions.categorical import Categorical
from livetape.distributions.distribution import Shape
from livetape.distributions.relaxed_bernoulli import _OverTempered
from livetape.distributions.transforms import ExpTransform
from livetape.distributions.utils import broadcast_all, clamp_probs
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategorical):
    """The logarithm of `RelaxedOneHotCategorical` (Maddison, Mnih and Teh 2017; source: ``torch.distributions``)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _parts = {"temperature": None, **OverCategorical._parts}

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        u = clamp_probs(utils.uniform(self._extended_shape(sample_shape), self.logits))
        gumbels = -((-(u.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        temperature = self.temperature
        norm = ops.full_like(temperature, float(count)).lgamma() - temperature.log().mul(-(count - 1))
        score = logits - value.mul(temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + norm


class RelaxedOneHotCategorical(_OverTempered):
    """Points of the simplex that tend to its corners as ``temperature``, a tensor, tends to 0 (source: ``torch``).

    Also called the concrete, or Gumbel softmax, distribution (Jang, Gu and Poole 2017); samples have gradients.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample: Any = True
    _parts = {}

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
