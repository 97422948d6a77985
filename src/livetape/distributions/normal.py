"""Normal: the normal distribution."""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape._tape.modes import local, set_grad
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.distribution import Shape
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.utils import Value, _standard_normal, broadcast_all, expanded
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["Normal"]

_LOG_ROOT_TAU = math.log(math.sqrt(2 * math.pi))


class Normal(ExponentialFamily):
    """The normal distribution of mean ``loc`` and standard deviation ``scale`` (source: ``torch.distributions.Normal``).

    >>> import livetape as torch
    >>> Normal(0.0, torch.tensor([1.0, 2.0])).log_prob(torch.tensor(0.0))
    tensor([-0.9189, -1.6121])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
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
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        before = local.grad
        set_grad(False)
        try:
            return ops.normal(expanded(self.loc, shape), expanded(self.scale, shape))
        finally:
            set_grad(before)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        variance = self.scale**2
        return -((value - self.loc) ** 2) / (2 * variance) - self.scale.log() - _LOG_ROOT_TAU

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ops.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * ops.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return -0.25 * x.pow(2) / y + 0.5 * ops.log(-math.pi / y)
