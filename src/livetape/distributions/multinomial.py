"""Multinomial: how often each category comes up."""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape.distributions import constraints
from livetape.distributions._probs import OverCategorical
from livetape.distributions.binomial import Binomial
from livetape.distributions.categorical import Categorical
from livetape.distributions.distribution import Shape
from livetape.distributions.utils import broadcast_all
from livetape.size import SCALAR, Size
from livetape.tensor import Tensor

__all__ = ["Multinomial"]


class Multinomial(OverCategorical):
    """The counts of the categories in ``total_count`` draws, an int (source: ``torch.distributions.Multinomial``).

    >>> import livetape as torch
    >>> Multinomial(5, torch.tensor([0.0, 1.0])).sample()
    tensor([0., 5.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int
    _parts = {"total_count": None, "_binomial": None, **OverCategorical._parts}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        self._binomial = Binomial(total_count, self.probs)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count, *sample_shape)))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, ops.ones_like(drawn))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        n = ops.tensor(self.total_count)
        draws = n * self._categorical.entropy() - ops.lgamma(n + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        orders = (ops.exp(self._binomial.log_prob(support)) * ops.lgamma(support + 1)).sum([0, -1])
        return draws + orders

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone().contiguous()
        orders = ops.lgamma(value.sum(-1) + 1) - ops.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -math.inf)] = 0
        return orders + (logits * value).sum(-1)
