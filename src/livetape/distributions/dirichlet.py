"""Dirichlet: a distribution on the simplex."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.autograd import Function
from livetape.autograd.function import once_differentiable
from livetape.distributions import constraints
from livetape.distributions.distribution import Shape
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.utils import expanded
from livetape.ops.embedding import one_hot
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["Dirichlet"]


class _Dirichlet(Function):
    """Samples, whose derivatives are those of beta variables: each component against the others' sum."""

    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Any:
        x = ops._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Any) -> Any:
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        slope = ops._dirichlet_grad(x, concentration, total)
        return slope * (grad_output - (x * grad_output).sum(-1, True))


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of a vector ``concentration`` (source: ``torch.distributions.Dirichlet``).

    >>> import livetape as torch
    >>> Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _parts = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = shape_of(concentration)
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        return _Dirichlet.apply(expanded(self.concentration, self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            ops.xlogy(self.concentration - 1.0, value).sum(-1)
            + ops.lgamma(self.concentration.sum(-1))
            - ops.lgamma(self.concentration).sum(-1)
        )

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)  # where all are below 1, a corner is as good as any
        mode[corner] = one_hot(mode[corner].argmax(dim=-1), above.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        count = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            ops.lgamma(self.concentration).sum(-1)
            - ops.lgamma(total)
            - (count - total) * ops.digamma(total)
            - ((self.concentration - 1.0) * ops.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - ops.lgamma(x.sum(-1))
