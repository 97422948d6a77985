"""Transforms of numbers."""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape.distributions import constraints
from livetape.distributions._transform import Transform, widened
from livetape.distributions.utils import NUMBER, broadcast_all, finfo, lazy_property
from livetape.ops.smooth import softplus
from livetape.tensor import Tensor


class _Increasing(Transform):
    """Increasing maps of the real line."""

    domain = constraints.real
    bijective = True
    sign: Any = +1


class ExpTransform(_Increasing, all_equal=True):
    """exp(x) (source: ``torch.distributions.transforms``)."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid, kept inside (0, 1)."""
    info = finfo(x.dtype)
    return ops.sigmoid(x).clamp(info.tiny, 1.0 - info.eps)


class SigmoidTransform(_Increasing, all_equal=True):
    """1 / (1 + exp(-x)), whose inverse is the logit (source: ``torch.distributions.transforms``)."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        info = finfo(y.dtype)
        inside = y.clamp(info.tiny, 1.0 - info.eps)
        return inside.log() - (-inside).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Increasing, all_equal=True):
    """log(1 + exp(x)), with torch's shortcut y = x above 20 (source: ``torch.distributions.transforms``)."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Increasing, all_equal=True):
    """tanh(x). Its inverse is exact only with a cache where y is near 1 (source: ``torch.distributions.transforms``)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)^2), in a form that does not round to log(0)
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform, all_equal=True):
    """|x|; as its inverse, y itself (source: ``torch.distributions.transforms``)."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


def _shape_of(value: Any) -> Any:
    return getattr(value, "shape", ())


class PowerTransform(Transform):
    """x ** exponent, of positive numbers (source: ``torch.distributions.transforms``)."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _made_of = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return ops.broadcast_shapes(shape, _shape_of(self.exponent))

    inverse_shape = forward_shape


def _same(one: Any, other: Any) -> bool:
    """Whether two parameters, numbers or tensors, are equal."""
    if isinstance(one, NUMBER) and isinstance(other, NUMBER):
        return one == other
    return bool((one == other).all().item())


class AffineTransform(Transform):
    """loc + scale * x, of numbers or of events of ``event_dim`` dimensions (source: ``torch.distributions.transforms``)."""

    bijective = True
    _made_of = ("loc", "scale", "event_dim")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return widened(constraints.real, self.event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return widened(constraints.real, self.event_dim)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        scale = self.scale
        return (scale > 0) - (scale < 0) if isinstance(scale, NUMBER) else scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shape, scale, dims = x.shape, self.scale, self.event_dim
        if isinstance(scale, NUMBER):
            result = ops.full_like(x, math.log(abs(scale)))
        else:
            result = ops.abs(scale).log()
        if dims:
            result = result.view((*result.shape[:-dims], -1)).sum(-1)
            shape = shape[:-dims]
        return result.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return ops.broadcast_shapes(shape, _shape_of(self.loc), _shape_of(self.scale))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution of numbers (source: ``torch.distributions.transforms``)."""

    bijective = True
    codomain = constraints.unit_interval
    sign: Any = +1
    _made_of = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
