"""Kullback-Leibler divergences (source: ``torch.distributions.kl``).

The formulas are registered in `livetape.distributions._kl_same` (two distributions of one family) and ``_kl_cross``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from livetape.distributions.distribution import Distribution
from livetape.tensor import Tensor

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Any]
Pair = tuple[type, type]

_KL_REGISTRY: dict[Pair, Formula] = {}
_KL_MEMOIZE: dict[Pair, Formula | None] = {}  # by the types that were asked for


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """A decorator for the formula of KL(p || q), for distributions of two classes and of their subclasses.

    A pair of classes that fits better takes precedence; where two fit as well, a RuntimeWarning says so.
    """
    for name, kind in (("p", type_p), ("q", type_q)):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected type_{name} to be a Distribution subclass but got {kind}")

    def register(formula: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()
        return formula

    return register


def _closest(pairs: list[Pair]) -> Pair:
    """Of pairs of superclasses, the one whose first class is the most derived, then the second."""
    best = pairs[0]
    for pair in pairs[1:]:
        for mine, its in zip(pair, best):
            if mine is not its:
                if issubclass(mine, its):
                    best = pair
                break
    return best


def _look_up(type_p: type, type_q: type) -> Formula | None:
    fitting = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not fitting:
        return None
    left = _closest(fitting)
    q, p = _closest([(q, p) for p, q in fitting])
    if _KL_REGISTRY[left] is not _KL_REGISTRY[p, q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left[0].__name__}, {q.__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence KL(p || q), of shape ``batch_shape`` (source: ``torch.distributions``).

    Raises NotImplementedError where no formula is registered for the two.

    >>> from livetape.distributions import Normal
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _look_up(*key)
    formula = _KL_MEMOIZE[key]
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return formula(p, q)
