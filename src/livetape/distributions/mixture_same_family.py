"""MixtureSameFamily: mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.autograd import no_grad
from livetape.distributions import constraints
from livetape.distributions.categorical import Categorical
from livetape.distributions.distribution import Distribution, Shape
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Samples of one of a batch's last dimension of distributions, which `Categorical` chooses (source: ``torch``).

    >>> import livetape as torch
    >>> from livetape.distributions import Normal
    >>> mixture = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1., 3.]), torch.ones(2)))
    >>> mixture.mean
    tensor(1.)
    """

    arg_constraints: Any = {}
    has_rsample = False
    _parts = {
        "_component_distribution": 1,
        "_mixture_distribution": 0,
        "_num_component": None,
        "_event_ndims": None,
    }

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        batch, components = mixture_distribution.batch_shape, component_distribution.batch_shape
        for one, other in zip(reversed(batch), reversed(components[:-1])):
            if one != other and one != 1 and other != 1:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({batch}) is not compatible with "
                    f"`component_distribution.batch_shape`({components[:-1]})"
                )
        count = mixture_distribution.logits.shape[-1]
        if count != components[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({components[-1]})"
            )
        self._num_component = count
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(components[:-1], event, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The distributions of the components."""
        return self._component_distribution

    def _weighted(self, moments: Tensor) -> Tensor:
        """The mean of the components' moments."""
        return (self._pad_mixture_dimensions(self.mixture_distribution.probs) * moments).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The components' variance, and the variance of their means."""
        apart = self.component_distribution.mean - self._pad(self.mean)
        return self._weighted(self.component_distribution.variance) + self._weighted(apart.pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_probs = self.component_distribution.log_prob(self._pad(x))
        weights = ops.log_softmax(self.mixture_distribution.logits, -1)
        return ops.logsumexp(log_probs + weights, -1)

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        with no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            event = self.event_shape
            chosen = self.mixture_distribution.sample(sample_shape)
            outer = chosen.shape
            samples = self.component_distribution.sample(sample_shape)
            chosen = chosen.reshape((*outer, *[1] * (len(event) + 1)))
            chosen = chosen.repeat((*[1] * len(outer), 1, *event))
            return samples.gather(dim, chosen).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        """With a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        """The weights with dimensions of one element, so that they broadcast against the components' moments."""
        dims = len(self.mixture_distribution.batch_shape)
        missing = 0 if dims == 1 else len(self.batch_shape) - dims
        shape = x.shape
        return x.reshape((*shape[:-1], *[1] * missing, shape[-1], *[1] * self._event_ndims))

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
