"""Laplace: the double exponential distribution."""

from __future__ import annotations

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.utils import Value, broadcast_all
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["Laplace"]


class Laplace(Distribution):
    """exp(-|x - loc| / scale) / (2 scale) (source: ``torch.distributions.Laplace``).

    >>> import livetape as torch
    >>> Laplace(0.0, 1.0).log_prob(torch.tensor(1.0))
    tensor(-1.6931)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parts = {"loc": 0, "scale": 0}

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(self.loc), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return (2**0.5) * self.scale

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        # eps away from -1, where the logarithm below would be infinite
        eps = ops.finfo(self.loc.dtype).eps
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * ops.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -ops.log(2 * self.scale) - ops.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * ops.expm1(-(value - self.loc).abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        away = value - 0.5
        return self.loc - self.scale * away.sign() * ops.log1p(-2 * away.abs())

    def entropy(self) -> Tensor:
        return 1 + ops.log(2 * self.scale)
