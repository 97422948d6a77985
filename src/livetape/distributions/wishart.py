"""Wishart: the distribution of a sample covariance."""

from __future__ import annotations

import math
import warnings
from typing import Any

from livetape import linalg, ops
from livetape._tape.tensor import shape_of
from livetape.distributions import constraints
from livetape.distributions.chi2 import Chi2
from livetape.distributions.distribution import Shape
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.multivariate_normal import factor_of, given_matrix, log_diagonal
from livetape.distributions.utils import NUMBER, Value, lazy_property
from livetape.size import SCALAR, Size
from livetape.tensor import Tensor

__all__ = ["Wishart"]

_LOG_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return ops.digamma(x.unsqueeze(-1) - ops.arange(p, dtype=x.dtype).div(2).expand((*x.shape, -1))).sum(-1)


class Wishart(ExponentialFamily):
    """The sum of x x^T over ``df`` normal vectors x of mean 0 and a covariance (source: ``torch.distributions.Wishart``).

    The covariance, its inverse or its Cholesky factor is given. ``df`` may be any number above n - 1.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _unbroadcasted_scale_tril: Tensor
    _parts = {
        "df": 0,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
        "_unbroadcasted_scale_tril": 2,
        "_dist_chi2": 1,
    }

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Value,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = given_matrix(covariance_matrix, precision_matrix, scale_tril)
        if matrix is None:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        batch, event = shape_of(matrix)[:-2], shape_of(matrix)[-2:]
        n = event[-1]
        if isinstance(df, NUMBER):
            self.df = ops.tensor(df, dtype=matrix.dtype)
        else:
            batch = Size(ops.broadcast_shapes(batch, shape_of(df)))
            self.df = df.expand(batch)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        falling = ops.arange(n, dtype=self._unbroadcasted_scale_tril.dtype).expand((*batch, -1))
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - falling)

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._batched(factor @ factor.transpose(-2, -1))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The covariance's inverse."""
        factor = self._unbroadcasted_scale_tril
        return self._batched(ops.cholesky_solve(ops.eye(self._event_shape[-1], dtype=factor.dtype), factor))

    def _times(self, factor: Tensor, matrix: Tensor) -> Tensor:
        """A number for each distribution of the batch times its matrix."""
        return factor.expand(self._batch_shape).reshape((*self._batch_shape, 1, 1)) * matrix

    @property
    def mean(self) -> Tensor:
        return self._times(self.df, self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        """NaN where ``df`` is below n + 1."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = math.nan
        return self._times(factor, self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._times(self.df, covariance.pow(2) + ops.einsum("...i,...j->...ij", diagonal, diagonal))

    def _bartlett_sampling(self, sample_shape: Shape = SCALAR) -> Tensor:
        """By Bartlett's decomposition: the samples' factors have chi variables on the diagonal, normal ones below it."""
        p = self._event_shape[-1]
        chi = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = chi.clamp(min=ops.finfo(chi.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        i, j = ops.tril_indices(p, p, offset=-1)
        shape = (*sample_shape, *self._batch_shape, p * (p - 1) // 2)
        noise[..., i, j] = ops.randn(shape, dtype=noise.dtype)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def _across_batch(self, flags: Tensor) -> Tensor:
        dims = [-(dim + 1) for dim in range(len(self._batch_shape))]
        return flags.amax(dims) if dims else flags

    def rsample(self, sample_shape: Shape = SCALAR, max_try_correction: int | None = None) -> Tensor:
        """Samples with gradients; again, as torch has it, for those that its check picks out, at most so many times."""
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        again = self._across_batch(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                where = again.clone()
                new = self._bartlett_sampling(where[where].shape)
                sample[where] = new
                again[where] = self._across_batch(~self.support.check(new))
                if not again.any():
                    break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        return (
            -nu * (p * _LOG_2 / 2 + log_diagonal(factor))
            - ops.mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * linalg.slogdet(value).logabsdet
            - ops.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * _LOG_2 / 2 + log_diagonal(self._unbroadcasted_scale_tril))
            + ops.mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        shifted = y + (p + 1) / 2
        return shifted * (-linalg.slogdet(-2 * x).logabsdet + _LOG_2 * p) + ops.mvlgamma(shifted, p)
