"""What the tape needs of the operations where a result does not use some elements: see `livetape._tape.unused`."""

from __future__ import annotations

from typing import Any

from livetape._tape.views import primitives
from livetape.ops.choose import dropped, where


def leave_out(grad: Any, used: Any, but: Any) -> Any:
    """``grad`` with 0 for NaN where ``used`` is 0, unless ``but`` holds."""
    mask = (used == 0) & (grad != grad)
    return dropped(grad, mask if but is None else mask & ~but)


def parts(factor: Any) -> tuple[Any, Any]:
    """A tensor with 0 for what is not finite, and one that is 1 there and 0 elsewhere."""
    bad = ~factor.isfinite()
    return dropped(factor, bad), bad.to(factor.dtype)


def product_of_used(grad: Any, used: Any, fn: Any, finite: Any, bad: Any, found: Any) -> Any:
    """What ``fn`` makes of the elements of ``grad`` that are used alone: a factor that is not finite spoils only what
    it meets there."""
    spoilt = fn((used != 0).to(grad.dtype), *bad)
    return where(spoilt != 0, found, fn(grad, *finite))


def equal(tensor: Any, side: Any) -> Any:
    """Where both are equal."""
    return tensor == side


primitives.equal = equal
primitives.leave_out = leave_out
primitives.parts = parts
primitives.product_of_used = product_of_used
