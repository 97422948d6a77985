"""OneHotCategorical: one of a number of categories, as a vector of zeros and a one."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.distributions import constraints
from livetape.distributions._probs import OverCategorical
from livetape.distributions.categorical import Categorical
from livetape.distributions.distribution import Shape
from livetape.ops.embedding import one_hot
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategorical):
    """`Categorical`, whose samples are one-hot vectors (source: ``torch.distributions.OneHotCategorical``).

    >>> import livetape as torch
    >>> OneHotCategorical(torch.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _parts = OverCategorical._parts

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return one_hot(self.probs.argmax(-1), self.event_shape[0]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        return one_hot(self._categorical.sample(sample_shape), self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n, batch = self.event_shape[0], self.batch_shape
        values = ops.eye(n, dtype=self._param.dtype).view((n, *[1] * len(batch), n))
        return values.expand((n, *batch, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same with gradients: a sample passes them on as the probabilities would (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
