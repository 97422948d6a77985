"""Functions that torch has for sizes which a compiler does not know yet: here sizes are numbers, and branches are taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["cond", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """One of two functions of ``operands``, by a truth value (source: ``torch.cond``).

    >>> import livetape as torch
    >>> torch.cond(torch.tensor(True), torch.neg, torch.abs, (torch.tensor(2),))
    tensor(-2)
    """
    return (true_fn if pred else false_fn)(*operands)


def sym_int(a: Any) -> int:
    """``int(a)`` (source: ``torch.sym_int``)."""
    return int(a)


def sym_float(a: Any) -> float:
    """``float(a)`` (source: ``torch.sym_float``)."""
    return float(a)


def sym_not(a: Any) -> bool:
    """``not a`` (source: ``torch.sym_not``)."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger number, a float if one of them is (source: ``torch.sym_max``)."""
    return _alike(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number, a float if one of them is (source: ``torch.sym_min``)."""
    return _alike(min(a, b), a, b)


def _alike(chosen: Any, a: Any, b: Any) -> Any:
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of numbers (source: ``torch.sym_sum``)."""
    return sum(args)


def sym_sqrt(a: Any) -> float:
    """The square root (source: ``torch._sym_sqrt``)."""
    return math.sqrt(a)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t`` if ``b`` else ``f``, of one type (source: ``torch.sym_ite``)."""
    assert isinstance(b, bool), f"expected SymBool or bool, got {type(b)}"
    assert type(t) is type(f), f"expected values of one type, got {type(t)} and {type(f)}"
    return t if b else f
