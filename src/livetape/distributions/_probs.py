"""What distributions share whose parameter is a probability, given as such (``probs``) or by its ``logits``."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.distributions.distribution import Distribution
from livetape.distributions.utils import broadcast_all, exactly_one, lazy_property, logits_to_probs, probs_to_logits
from livetape.size import Size
from livetape.tensor import Tensor


class Binary(Distribution):
    """Distributions of a coin's probability. What was not given follows from what was."""

    _param: Tensor  # the one that was given
    _parts = {"probs": 0, "logits": 0, "_param": 0}

    def _set_param(self, probs: Any, logits: Any) -> Size:
        """Keep the one parameter that is given; returns its shape."""
        name = exactly_one(probs, logits)
        (self._param,) = broadcast_all(logits if probs is None else probs)
        self.__dict__[name] = self._param
        return shape_of(self._param)

    def _set_counted(self, total_count: Any, probs: Any, logits: Any) -> Size:
        """The same with a number of trials, which becomes a tensor of the parameter's shape and dtype."""
        name = exactly_one(probs, logits)
        count, self._param = broadcast_all(total_count, logits if probs is None else probs)
        self.total_count = count.type_as(self._param)
        self.__dict__[name] = self._param
        return shape_of(self._param)

    @lazy_property
    def logits(self) -> Tensor:
        """log(p / (1 - p))."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """p."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class OverCategorical(Distribution):
    """Distributions made of a `Categorical` one, ``_categorical``, whose categories are their events' elements."""

    _categorical: Any
    _parts = {"_categorical": 0}

    @property
    def logits(self) -> Tensor:
        """The normalised logarithms of the categories' probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The categories' probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)


def counts(distribution: Distribution, count: int, dtype: Any, expand: bool) -> Tensor:
    """0, 1, ... count - 1 along dimension 0, for a batch of distributions of numbers."""
    batch = distribution._batch_shape
    values = ops.arange(count, dtype=dtype).view((-1, *[1] * len(batch)))
    return values.expand((-1, *batch)) if expand else values
