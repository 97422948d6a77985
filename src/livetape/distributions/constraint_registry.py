"""Which transform maps the real numbers onto a constraint's region (source: ``torch.distributions.constraint_registry``).

``biject_to`` gives a one-to-one map, with a known Jacobian: for Hamiltonian Monte Carlo and the like. ``transform_to`` need
not be one to one; its maps rather suit optimisation, coordinate by coordinate: for a simplex it gives the softmax, where
``biject_to`` breaks a stick.

>>> import livetape as torch
>>> from livetape.distributions import Normal
>>> transform_to(Normal.arg_constraints["scale"])(torch.zeros(2))
tensor([1., 1.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape.distributions import constraints, transforms
from livetape.distributions.utils import NUMBER

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Transforms by constraints (source: ``torch.distributions.constraint_registry``)."""

    def __init__(self) -> None:
        self._registry: dict[Any, Callable[[Any], Any]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Let ``factory(constraint)`` make the transforms onto constraints of a class, or of an instance's class.

        Without a factory, a decorator for one. Raises TypeError for what is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, constraints.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {kind}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform onto a constraint's region. Raises NotImplementedError where none is registered."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _for_both(*kinds: Any) -> Callable[[Any], Any]:
    """Register a factory of one-to-one transforms, which both registries can give."""

    def decorate(factory: Any) -> Any:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorate


@_for_both(constraints.real)
def _onto_real(constraint: Any) -> Any:
    return transforms.identity_transform


@_for_both(constraints.positive, constraints.nonnegative)
def _onto_positive(constraint: Any) -> Any:
    return transforms.ExpTransform()


@_for_both(constraints.greater_than, constraints.greater_than_eq)
def _onto_above(constraint: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_for_both(constraints.less_than)
def _onto_below(constraint: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_for_both(constraints.interval, constraints.half_open_interval)
def _onto_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, NUMBER) and isinstance(high, NUMBER) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@_for_both(constraints.corr_cholesky)
def _onto_corr_cholesky(constraint: Any) -> Any:
    return transforms.CorrCholeskyTransform()


biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda constraint: transforms.PositiveDefiniteTransform())


def _composite(registry: ConstraintRegistry) -> None:
    """Constraints made of others: the registry is asked for each."""
    registry.register(
        constraints.independent,
        lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims),
    )
    registry.register(
        constraints.cat, lambda c: transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)
    )
    registry.register(
        constraints.stack, lambda c: transforms.StackTransform([registry(part) for part in c.cseq], c.dim)
    )


_composite(biject_to)
_composite(transform_to)
