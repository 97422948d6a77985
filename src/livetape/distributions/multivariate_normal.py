"""MultivariateNormal: normal vectors."""

from __future__ import annotations

import math
from typing import Any

from livetape import linalg, ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.utils import _standard_normal, lazy_property
from livetape.size import SCALAR, Size
from livetape.tensor import Tensor

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrices times vectors, both batches that broadcast."""
    return ops.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def log_diagonal(matrix: Tensor) -> Tensor:
    """The sum of the logarithms on the diagonal: log det of a triangular matrix."""
    return matrix.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """x^T (L L^T)^-1 x for a batch of factors L and a batch of vectors, which has at least the factors' dimensions.

    One triangular system is solved for each factor, with all its vectors as right-hand sides: a dimension of vectors
    against one of factors is split into the factors' extent and how often it is repeated.
    """
    n = x.size(-1)
    outer, inner = shape_of(x)[:-1], shape_of(factor)[:-2]
    lead = len(outer) - len(inner)
    split: list[int] = [*outer[:lead]]
    for many, own in zip(outer[lead:], inner):
        split += [many // own, own]
    repeats = [*range(lead), *range(lead, len(split), 2)]
    own_dims = [*range(lead + 1, len(split), 2)]
    apart = x.reshape((*split, n)).permute([*repeats, *own_dims, len(split)])
    flat = factor.reshape(-1, n, n)
    sides = apart.reshape(-1, flat.size(0), n).permute(1, 2, 0)
    square = linalg.solve_triangular(flat, sides, upper=False).pow(2).sum(-2)
    back = [0] * len(split)
    for place, dim in enumerate([*repeats, *own_dims]):
        back[dim] = place
    return square.t().reshape(apart.shape[:-1]).permute(back).reshape(outer)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The lower Cholesky factor of a precision matrix's inverse, without inverting it."""
    flipped = linalg.cholesky(ops.flip(precision, (-2, -1)))
    upper = ops.flip(flipped, (-2, -1)).transpose(-2, -1)
    return linalg.solve_triangular(upper, ops.eye(precision.shape[-1], dtype=precision.dtype), upper=False)


def given_matrix(covariance_matrix: Any, precision_matrix: Any, scale_tril: Any) -> tuple[str, Any]:
    """Which of three matrices that say the same was given, and the matrix; ("", None) unless it is exactly one."""
    given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
    found = [(name, matrix) for name, matrix in given.items() if matrix is not None]
    return found[0] if len(found) == 1 else ("", None)


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """The lower Cholesky factor of the covariance that a given matrix says."""
    if name == "scale_tril":
        return matrix
    return linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


class MultivariateNormal(Distribution):
    """Normal vectors of mean ``loc`` and a covariance, its inverse or its Cholesky factor (source: ``torch``).

    All works on the factor: ``scale_tril`` is the quickest to give.

    >>> import livetape as torch
    >>> MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _unbroadcasted_scale_tril: Tensor
    _parts = {
        "loc": 1,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
        "_unbroadcasted_scale_tril": None,
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = given_matrix(covariance_matrix, precision_matrix, scale_tril)
        if matrix is None:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if matrix.dim() < 2:
            called = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{called} must be at least two-dimensional, with optional leading batch dimensions")
        batch = ops.broadcast_shapes(shape_of(matrix)[:-2], shape_of(loc)[:-1])
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(Size(batch), shape_of(self.loc)[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def _batched(self, value: Tensor, dims: int) -> Tensor:
        """A vector (1) or matrix (2) of the unbroadcast parameters, for the whole batch."""
        return value.expand(self._batch_shape + self._event_shape * dims)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._batched(self._unbroadcasted_scale_tril, 2)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._batched(ops.matmul(factor, factor.mT), 2)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The covariance's inverse."""
        return self._batched(ops.cholesky_inverse(self._unbroadcasted_scale_tril), 2)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._batched(self._unbroadcasted_scale_tril.pow(2).sum(-1), 1)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        square = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        half_log_det = log_diagonal(self._unbroadcasted_scale_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + square) - half_log_det

    def entropy(self) -> Tensor:
        half_log_det = log_diagonal(self._unbroadcasted_scale_tril)
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
