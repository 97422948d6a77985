"""Regions that parameters and samples lie in (source: ``torch.distributions.constraints``).

A constraint's `check` says of each event of a tensor whether it lies in the region.

>>> import livetape as torch
>>> positive.check(torch.tensor([-1., 1.]))
tensor([False,  True])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from livetape import linalg, ops
from livetape._tape.modes import state
from livetape._tape.tensor import TensorBase
from livetape.distributions.utils import all_true, finfo
from livetape.kernels.reductions import total

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "independent",
    "integer_interval",
    "interval",
    "half_open_interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "MixtureSameFamilyConstraint",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_semidefinite",
    "positive_definite",
    "positive_integer",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A region (source: ``torch.distributions.constraints.Constraint``).

    is_discrete   whether it consists of separate points
    event_dim     how many of a value's last dimensions make up one event
    """

    is_discrete: Any = False
    event_dim: Any = 0

    # What `check` does, for a plain array: for the checks of arguments, where operations would take much longer.
    # None where there is no such short cut, and so for classes that only define a `check` of their own.
    _test: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "check" in cls.__dict__ and "_test" not in cls.__dict__:
            cls._test = None

    def check(self, value: Any) -> Any:
        """Whether each event of ``value`` lies in the region: a bool tensor without the event's dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


def satisfies(value: Any, constraint: Any) -> bool:
    """Whether all events of a tensor lie in a region."""
    test = constraint._test
    if test is None or state.interposed != 0 or not isinstance(value, TensorBase):
        return all_true(constraint.check(value))
    held = test(value.array)
    return bool(np.count_nonzero(held) == held.size)


# ---------------------------------------------------------------- regions that depend on other parameters
class _Dependent(Constraint):
    """A region that is not known without the other parameters; its attributes may be."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> Any:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with other attributes: ``constraints.dependent(event_dim=1)``."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other parameters, so that it cannot be checked (source: ``torch``)."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of distributions that says their region; on the class itself, a dependent constraint.

    ``@dependent_property`` and ``@dependent_property(is_discrete=False, event_dim=0)`` both work.
    """

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Any) -> Any:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# ---------------------------------------------------------------- wrappers
def _need(condition: bool, text: str) -> None:
    """torch asserts these; ``python -O`` keeps them there too."""
    if not condition:
        raise AssertionError(text)


def _all_of_rest(result: Any, kept: int) -> Any:
    """Whether all elements hold, over the dimensions after the first ``kept``."""
    return result.reshape((*result.shape[:kept], -1)).all(-1)


class _Wrapper(Constraint):
    """What a constraint on events becomes where their dimensions change."""

    def __init__(self, base_constraint: Any) -> None:
        _need(
            isinstance(base_constraint, Constraint),
            f"base_constraint must be a Constraint, got {type(base_constraint).__name__}",
        )
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim


class _IndependentConstraint(_Wrapper):
    """Events made of all those along further dimensions: all have to lie in the region."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        dims = reinterpreted_batch_ndims
        _need(isinstance(dims, int), f"reinterpreted_batch_ndims must be an int, got {type(dims).__name__}")
        _need(dims >= 0, f"reinterpreted_batch_ndims must be >= 0, got {dims}")
        self.reinterpreted_batch_ndims = dims
        inner = base_constraint._test
        if inner is not None and not base_constraint.event_dim and type(self).check is _IndependentConstraint.check:
            self._test = inner  # all elements are asked for, whatever they are gathered by

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value)
        kept = result.dim() - self.reinterpreted_batch_ndims
        if kept < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of_rest(result, kept)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Wrapper):
    """The region of a mixture: that of all its components (source: ``torch.distributions.constraints``)."""

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        kept = value.dim() - self.event_dim
        if kept < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of_rest(result, kept)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


# ---------------------------------------------------------------- numbers
class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)

    _test = check


class _Real(Constraint):
    """The real line with both infinities: all but NaN."""

    def check(self, value: Any) -> Any:
        return value == value

    _test = check


class _Bounded(Constraint):
    """Within bounds, which may be tensors."""

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={bound}' for name, bound in vars(self).items())})"


class _Above(_Bounded):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _Below(_Bounded):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _Between(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()


def _plain(bound: Any) -> Any:
    return bound.array if isinstance(bound, TensorBase) else bound


def _whole(array: Any) -> Any:
    return True if array.dtype.kind in "iu" else array % 1 == 0


class _GreaterThan(_Above):
    """Above a bound."""

    def check(self, value: Any) -> Any:
        return self.lower_bound < value

    def _test(self, array: Any) -> Any:
        return array > _plain(self.lower_bound)


class _GreaterThanEq(_Above):
    """At or above a bound."""

    def check(self, value: Any) -> Any:
        return self.lower_bound <= value

    def _test(self, array: Any) -> Any:
        return array >= _plain(self.lower_bound)


class _LessThan(_Below):
    """Below a bound."""

    def check(self, value: Any) -> Any:
        return value < self.upper_bound

    def _test(self, array: Any) -> Any:
        return array < _plain(self.upper_bound)


class _Interval(_Between):
    """Between two bounds, or at one of them."""

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)

    def _test(self, array: Any) -> Any:
        return (array >= _plain(self.lower_bound)) & (array <= _plain(self.upper_bound))


class _HalfOpenInterval(_Between):
    """Between two bounds, or at the lower one."""

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)

    def _test(self, array: Any) -> Any:
        return (array >= _plain(self.lower_bound)) & (array < _plain(self.upper_bound))


class _IntegerInterval(_Between):
    """The whole numbers from one bound to another."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)

    def _test(self, array: Any) -> Any:
        return (array >= _plain(self.lower_bound)) & (array <= _plain(self.upper_bound)) & _whole(array)


class _IntegerGreaterThan(_Above):
    """The whole numbers from a bound on."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)

    def _test(self, array: Any) -> Any:
        return (array >= _plain(self.lower_bound)) & _whole(array)


class _IntegerLessThan(_Below):
    """The whole numbers up to a bound."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value <= self.upper_bound)


# ---------------------------------------------------------------- vectors
class _OneHot(Constraint):
    """Vectors of zeros and a single one."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return _Boolean().check(value).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of nonnegative numbers with the sum 1."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)

    def _test(self, array: Any) -> Any:
        array = array if array.ndim else array.reshape(1)
        return (array >= 0).all(-1) & (np.abs(total(array, (array.ndim - 1,)) - 1) < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts with at most a given sum."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Any) -> Any:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


# ---------------------------------------------------------------- matrices
def _is_lower(value: Any) -> Any:
    return _all_of_rest(value.tril() == value, value.dim() - 2)


class _LowerTriangular(Constraint):
    """Lower triangular matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return _is_lower(value)


def _is_factor(value: Any) -> Any:
    return _is_lower(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return _is_factor(value)


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: their rows have the length 1."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        length = linalg.norm(value.detach(), dim=-1)
        return _is_factor(value) & (length - 1.0).abs().le(tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        *batch, rows, columns = value.shape
        return ops.full(batch, rows == columns, dtype=bool)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Any) -> Any:
        square = super().check(value)
        if not square.all():
            return square
        return ops.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices that have a Cholesky factor."""

    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return linalg.cholesky_ex(value).info.eq(0)


# ---------------------------------------------------------------- several regions along a dimension
class _Several(Constraint):
    """One constraint for each part of a tensor along a dimension."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        _need(all(isinstance(c, Constraint) for c in cseq), "All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> Any:
        return max(c.event_dim for c in self.cseq)

    def _need_dim(self, value: Any) -> None:
        n = value.dim()
        _need(-n <= self.dim < n, f"dim {self.dim} out of range for value with {n} dimensions")


class _Cat(_Several):
    """Parts of the given lengths, as `livetape.cat` joins them."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        given, wanted = len(self.lengths), len(self.cseq)
        _need(given == wanted, f"lengths ({given}) must match cseq ({wanted})")

    def check(self, value: Any) -> Any:
        self._need_dim(value)
        parts = value.split(self.lengths, self.dim) if value.size(self.dim) == sum(self.lengths) else None
        if parts is None:  # torch looks at the parts only, and fails where one is not there
            starts = np.cumsum([0, *self.lengths[:-1]]).tolist()
            parts = [value.narrow(self.dim, start, n) for start, n in zip(starts, self.lengths)]
        return ops.cat([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(_Several):
    """Parts of one element, as `livetape.stack` joins them."""

    @property
    def event_dim(self) -> Any:
        dims = super().event_dim
        return dims + 1 if self.dim + dims < 0 else dims

    def check(self, value: Any) -> Any:
        self._need_dim(value)
        return ops.stack([c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim))], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
