"""Transforms of vectors and matrices, and transforms side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from livetape import linalg, ops
from livetape.distributions import constraints
from livetape.distributions._elementwise_transforms import _clipped_sigmoid
from livetape.distributions._transform import SHORT, Transform
from livetape.distributions.utils import _sum_rightmost, finfo, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix
from livetape.ops.padding import pad
from livetape.ops.smooth import logsigmoid, softplus
from livetape.size import Size
from livetape.tensor import Tensor


def _need_dims(shape: Any, dims: int) -> None:
    if len(shape) < dims:
        raise ValueError(SHORT)


# ---------------------------------------------------------------- onto the simplex
class SoftmaxTransform(Transform, all_equal=True):
    """The softmax over the last dimension; as its inverse, the logarithm (source: ``torch.distributions.transforms``)."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _need_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform, all_equal=True):
    """Vectors onto the simplex of one dimension more (source: ``torch.distributions.transforms``).

    Each number says which fraction of what is left of a stick is broken off; 0 gives equal parts.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _pieces(like: Tensor, count: int) -> Tensor:
        """The pieces that are still to be made at each break: count, count - 1, ... 1."""
        return count + 1 - like.new_ones(count).cumsum(-1)

    def _call(self, x: Tensor) -> Tensor:
        fraction = _clipped_sigmoid(x - self._pieces(x, x.shape[-1]).log())
        left = (1 - fraction).cumprod(-1)
        return pad(fraction, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        broken = y[..., :-1]
        left = (1 - broken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return broken.log() - left.log() + self._pieces(y, broken.shape[-1]).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._pieces(x, x.shape[-1]).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _need_dims(shape, 1)
        return shape[:-1] + Size((shape[-1] + 1,))

    def inverse_shape(self, shape: Any) -> Any:
        _need_dims(shape, 1)
        return shape[:-1] + Size((shape[-1] - 1,))


# ---------------------------------------------------------------- matrices
class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of n x n correlation matrices (source: ``torch``).

    tanh of each is a partial correlation; each row of the factor has the length 1.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = ops.tanh(x)
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.clamp(-1 + eps, 1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + ops.eye(partial.shape[-1], dtype=partial.dtype)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        rows = 0.5 * left.log().sum(-1)
        return rows + -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape: Any) -> Any:
        _need_dims(shape, 1)
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + Size((n, n))

    def inverse_shape(self, shape: Any) -> Any:
        _need_dims(shape, 2)
        n = shape[-1]
        if shape[-2] != n:
            raise ValueError("Input is not square")
        return shape[:-2] + Size((n * (n - 1) // 2,))


def _with_diagonal(matrix: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """The lower triangle, with a changed diagonal."""
    return matrix.tril(-1) + change(matrix.diagonal(dim1=-2, dim2=-1)).diag_embed()


class LowerCholeskyTransform(Transform, all_equal=True):
    """Matrices to lower triangular ones with a positive diagonal, by exp (source: ``torch.distributions.transforms``)."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return _with_diagonal(x, ops.exp)

    def _inverse(self, y: Tensor) -> Tensor:
        return _with_diagonal(y, ops.log)


class PositiveDefiniteTransform(Transform, all_equal=True):
    """Matrices to positive definite ones: L L^T of `LowerCholeskyTransform`'s L (``torch.distributions.transforms``)."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


# ---------------------------------------------------------------- side by side
class _Several(Transform):
    """One transform for each part of a tensor along a dimension."""

    transforms: list[Transform]

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _extent(self) -> tuple[int, str]:
        """The extent of the dimension, and torch's words for it."""
        raise NotImplementedError

    def _checked(self, value: Tensor, name: str = "tensor") -> Tensor:
        n = value.dim()
        if not -n <= self.dim < n:
            raise AssertionError(f"dim {self.dim} out of range for {name} with {n} dimensions")
        return value

    def _parts(self, value: Tensor, name: str, of: str = "tensor") -> Sequence[Tensor]:
        """The parts of a tensor."""
        self._checked(value, of)
        extent, called = self._extent()
        have = value.size(self.dim)
        if have != extent:
            raise AssertionError(f"{name}.size({self.dim}) = {have} must equal {called} {extent}")
        return self._split(value)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _join(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._join([t(part) for t, part in zip(self.transforms, self._parts(x, "x"))])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._parts(y, "y"))])

    def _terms(self, x: Tensor, y: Tensor) -> list[Tensor]:
        """The parts' log |det Jacobian|."""
        xs, ys = self._parts(x, "x", "x"), self._parts(y, "y", "y")
        return [t.log_abs_det_jacobian(x_, y_) for t, x_, y_ in zip(self.transforms, xs, ys)]

    @property
    def bijective(self) -> Any:
        return all(t.bijective for t in self.transforms)


class CatTransform(_Several):
    """Transforms of parts of the given lengths, as `livetape.cat` joins them (``torch.distributions.transforms``)."""

    _made_of = ("transforms", "dim", "lengths")

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        given, wanted = len(self.lengths), len(self.transforms)
        if given != wanted:
            raise AssertionError(f"lengths ({given}) must match transforms ({wanted})")

    @lazy_property
    def event_dim(self) -> Any:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> Any:
        return sum(self.lengths)

    def _extent(self) -> tuple[int, str]:
        return self.length, "length"

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        return value.split(self.lengths, self.dim)

    def _join(self, parts: list[Tensor]) -> Tensor:
        return ops.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        dims = self.event_dim
        terms = [
            _sum_rightmost(term, max(dims - t.event_dim, 0)) for t, term in zip(self.transforms, self._terms(x, y))
        ]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        return ops.cat(terms, dim + dims) if dim + dims < 0 else sum(terms[1:], terms[0])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Several):
    """Transforms of parts of one element, as `livetape.stack` joins them (source: ``torch.distributions.transforms``)."""

    _made_of = ("transforms", "dim")

    def _extent(self) -> tuple[int, str]:
        return len(self.transforms), "len(transforms)"

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        return value.unbind(self.dim)

    def _join(self, parts: list[Tensor]) -> Tensor:
        return ops.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self._join(self._terms(x, y))

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
