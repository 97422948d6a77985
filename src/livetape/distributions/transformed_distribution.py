"""TransformedDistribution: samples of a distribution, sent through transforms."""

from __future__ import annotations

import functools
import operator
from typing import Any

from livetape._tape.modes import local, set_grad
from livetape.distributions import constraints
from livetape.distributions._transform import widened
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.independent import Independent
from livetape.distributions.transforms import ComposeTransform, Transform
from livetape.distributions.utils import _sum_rightmost
from livetape.size import SCALAR, Size
from livetape.tensor import Tensor

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What becomes of a distribution through a transform, or a list of them (source: ``torch.distributions``).

    >>> import livetape as torch
    >>> from livetape.distributions import ExpTransform, Normal
    >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).log_prob(torch.tensor(1.0))  # LogNormal
    tensor(-0.9189)
    """

    arg_constraints: Any = {}
    base_dist: Any
    transforms: list[Transform]
    _parts = {}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dims = len(base_distribution.event_shape)
        transform = ComposeTransform(transforms)
        inner, outer = transform.domain.event_dim, transform.codomain.event_dim
        if len(base_shape) < inner:
            raise ValueError(f"base_distribution needs to have shape with size at least {inner}, but got {base_shape}.")
        # The transforms' parameters may be of a larger batch, and their events of more dimensions, than the base's.
        shape = transform.forward_shape(base_shape)
        needed = transform.inverse_shape(shape)
        if base_shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - base_dims])
        if inner > base_dims:
            base_distribution = Independent(base_distribution, inner - base_dims)
        self.base_dist = base_distribution
        cut = len(shape) - max(outer, base_dims + outer - inner)
        if cut < 0:
            raise AssertionError(f"forward_shape length {len(shape)} must be >= event_dim {len(shape) - cut}")
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(self._home, _instance)
        shape: Any = Size((*batch_shape, *self.event_shape))
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return super().expand(batch_shape, new)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        return widened(self.transforms[-1].codomain, len(self.event_shape))

    @property
    def has_rsample(self) -> Any:
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        before = local.grad
        set_grad(False)
        try:
            return self._forward(self.base_dist.sample(sample_shape))
        finally:
            set_grad(before)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        dims = len(self.event_shape)
        log_prob: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            inner = transform.domain.event_dim
            dims += inner - transform.codomain.event_dim
            log_prob = log_prob - _sum_rightmost(transform.log_abs_det_jacobian(x, y), dims - inner)
            y = x
        return log_prob + _sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Any) -> Any:
        """A probability, or where the transforms turn the line around, 1 less it."""
        sign = functools.reduce(operator.mul, [transform.sign for transform in self.transforms], 1)
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))
