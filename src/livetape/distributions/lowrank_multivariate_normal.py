"""LowRankMultivariateNormal: normal vectors whose covariance is a diagonal and a few factors."""

from __future__ import annotations

import math

from livetape import linalg, ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv, log_diagonal
from livetape.distributions.utils import _standard_normal, lazy_property
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["LowRankMultivariateNormal"]


def _plus_identity(matrix: Tensor) -> Tensor:
    """A matrix plus the identity, in place."""
    n = matrix.size(-1)
    matrix = matrix.contiguous()
    matrix.view(-1, n * n)[:, :: n + 1] += 1
    return matrix


def _batch_capacitance_tril(factor: Tensor, diagonal: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T D^-1 W, which the determinant and the inverse of W W^T + D follow from."""
    return linalg.cholesky(_plus_identity(ops.matmul(factor.mT / diagonal.unsqueeze(-2), factor)))


def _batch_lowrank_logdet(factor: Tensor, diagonal: Tensor, capacitance: Tensor) -> Tensor:
    """log det (W W^T + D), by the matrix determinant lemma."""
    return 2 * log_diagonal(capacitance) + diagonal.log().sum(-1)


def _batch_lowrank_mahalanobis(factor: Tensor, diagonal: Tensor, x: Tensor, capacitance: Tensor) -> Tensor:
    """x^T (W W^T + D)^-1 x, by the Woodbury identity."""
    projected = _batch_mv(factor.mT / diagonal.unsqueeze(-2), x)
    return (x.pow(2) / diagonal).sum(-1) - _batch_mahalanobis(capacitance, projected)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with the covariance ``cov_factor cov_factor^T + diag(cov_diag)`` (source: ``torch.distributions``).

    With n x m factors it takes time and memory in n m^2 and n m, where a full covariance takes n^3 and n^2.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _parts = {
        "loc": 1,
        "cov_diag": 1,
        "cov_factor": 2,
        "_unbroadcasted_cov_factor": None,
        "_unbroadcasted_cov_diag": None,
        "_capacitance_tril": None,
    }

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = shape_of(loc)[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if shape_of(cov_factor)[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if shape_of(cov_diag)[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            wide, self.cov_factor, diagonal = ops.broadcast_tensors(
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = wide[..., 0], diagonal[..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(shape_of(self.loc)[:-1], event, validate_args=validate_args)

    @property
    def _low_rank(self) -> tuple[Tensor, Tensor]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _batched(self, value: Tensor, dims: int) -> Tensor:
        return value.expand(self._batch_shape + self._event_shape * dims)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        factor, diagonal = self._low_rank
        return self._batched(factor.pow(2).sum(-1) + diagonal, 1)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        factor, diagonal = self._low_rank
        root = diagonal.sqrt().unsqueeze(-1)  # taken out, so that the rest is well conditioned
        scaled = factor / root
        return self._batched(root * linalg.cholesky(_plus_identity(ops.matmul(scaled, scaled.mT))), 2)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor, diagonal = self._low_rank
        return self._batched(ops.matmul(factor, factor.mT) + ops.diag_embed(diagonal), 2)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The covariance's inverse, by the Woodbury identity."""
        factor, diagonal = self._low_rank
        solved = linalg.solve_triangular(self._capacitance_tril, factor.mT / diagonal.unsqueeze(-2), upper=False)
        return self._batched(ops.diag_embed(diagonal.reciprocal()) - solved.mT @ solved, 2)

    def rsample(self, sample_shape: Shape = SCALAR) -> Tensor:
        factor, diagonal = self._low_rank
        shape = self._extended_shape(sample_shape)
        shared = _standard_normal(shape[:-1] + shape_of(self.cov_factor)[-1:], self.loc.dtype)
        own = _standard_normal(shape, self.loc.dtype)
        return self.loc + _batch_mv(factor, shared) + diagonal.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor, diagonal = self._low_rank
        square = _batch_lowrank_mahalanobis(factor, diagonal, value - self.loc, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(factor, diagonal, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + square)

    def entropy(self) -> Tensor:
        log_det = _batch_lowrank_logdet(*self._low_rank, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
