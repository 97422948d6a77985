"""Categorical: one of a number of categories."""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions._probs import counts
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.utils import exactly_one, finfo, lazy_property, logits_to_probs, probs_to_logits
from livetape.dtypes import int64
from livetape.size import SCALAR, Size
from livetape.tensor import Tensor

__all__ = ["Categorical"]


class Categorical(Distribution):
    """The number of a category, drawn with the probabilities along the last dimension (source: ``torch.distributions``).

    ``probs`` need not sum to 1, and ``logits`` are any numbers: both are normalised.

    >>> import livetape as torch
    >>> Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _param: Tensor
    _parts = {"probs": 1, "logits": 1, "_param": 1, "_num_events": None}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name = exactly_one(probs, logits)
        given = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = self._param = given / given.sum(-1, keepdim=True)
        else:
            self.logits = self._param = given - given.logsumexp(-1, keepdim=True)
        shape = shape_of(self._param)
        self._num_events = shape[-1]
        super().__init__(shape[:-1], validate_args=validate_args)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The normalised logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        """NaN: categories are no numbers."""
        return ops.full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        """NaN."""
        return self.mean

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = ops.multinomial(rows, shape.numel(), True).T
        return drawn.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index = value.long().unsqueeze(-1)
        logits = self.logits
        if shape_of(value) != self._batch_shape:
            index, logits = ops.broadcast_tensors(index, logits)
            index = index[..., :1]
        return logits.gather(-1, index).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits
        # where a probability is 0, its logit is -inf: their product is to be 0
        return -(logits.clamp(min=finfo(logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return counts(self, self._num_events, int64, expand)
