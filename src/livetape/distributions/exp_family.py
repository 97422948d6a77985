"""ExponentialFamily: entropies and divergences from a family's log normalizer."""

from __future__ import annotations

from typing import Any

from livetape import autograd
from livetape.distributions.distribution import Distribution
from livetape.tensor import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with the density exp(<t(x), theta> - F(theta) + k(x)) (source: ``torch.distributions``).

    A family says its natural parameters theta, its log normalizer F, whose gradient is the mean of t(x), and the mean
    of its carrier measure k.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def _expected_statistics(self) -> tuple[list[Tensor], Tensor, tuple[Tensor, ...]]:
        """The natural parameters, the log normalizer there, and its gradient: the means of the statistics."""
        params = [param.detach().requires_grad_() for param in self._natural_params]
        normalizer = self._log_normalizer(*params)
        return params, normalizer, autograd.grad(normalizer.sum(), params, create_graph=True)

    def entropy(self) -> Tensor:
        """The entropy: F(theta) - <theta, E t(x)> - E k(x)."""
        carrier = -self._mean_carrier_measure
        params, normalizer, means = self._expected_statistics()
        result: Any = carrier + normalizer
        for param, mean in zip(params, means):
            result = result - (param * mean).reshape((*self._batch_shape, -1)).sum(-1)
        return result
