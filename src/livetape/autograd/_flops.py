"""How many floating point operations the rows need that do most of the work: a product and a sum count as two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from livetape._tape.tensor import TensorBase, shape_of


def _product(left: Any, found: Any) -> int:
    """Of a matrix product, with the factors as they are or transposed."""
    rows, columns = shape_of(left)[-2:]
    return int(2 * found.array.size * (columns if rows == shape_of(found)[-2] else rows))


def _convolution(args: tuple[Any, ...], found: Any) -> int:
    places = args[0] if args[6] else found  # a transposed one adds up where another takes from
    return int(2 * places.array.size * math.prod(shape_of(args[1])[1:]))


def _each(args: tuple[Any, ...], found: Any) -> int:
    return int(found.array.size)


_COUNTS: dict[str, Callable[[tuple[Any, ...], Any], int]] = {
    "mm": lambda args, found: _product(args[0], found),
    "bmm": lambda args, found: _product(args[0], found),
    "addmm": lambda args, found: _product(args[1], found),
    "baddbmm": lambda args, found: _product(args[1], found),
    "convolution": _convolution,
    "add": _each,
    "mul": _each,
}


def flops_of(name: str, args: tuple[Any, ...], found: Any) -> int:
    """The operations of a call, or 0 where nothing is known."""
    count = _COUNTS.get(name)
    return 0 if count is None or not isinstance(found, TensorBase) else count(args, found)
