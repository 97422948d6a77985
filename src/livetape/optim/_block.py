"""Block: enough of a tensor's methods on a plain array for an optimiser's update.

Updates are written once, with tensor methods. Off the tape they run on Blocks, which are ndarrays with those methods
and nothing else: no promotion, no recording. The rounding is torch's: scalars have the array's dtype, products come
first.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Block:
    """An array, or a part of one, under update."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    # ------------------------------------------------------------ new blocks

    def add(self, other: Any, *, alpha: Any = 1) -> Block:
        """``self + alpha * other``."""
        return Block(np.add(self.array, _scaled(other, alpha)))

    def sub(self, other: Block) -> Block:
        """``self - other``."""
        return Block(np.subtract(self.array, other.array))

    def mul(self, other: Any) -> Block:
        """``self * other``."""
        return Block(np.multiply(self.array, _array(other)))

    def div(self, other: Any) -> Block:
        """``self / other``."""
        return Block(np.divide(self.array, _array(other)))

    def addcmul(self, first: Block, second: Block, *, value: Any = 1) -> Block:
        """``self + value * first * second``."""
        product = np.multiply(first.array, value)
        np.multiply(product, second.array, product)
        return Block(np.add(self.array, product, product))

    def maximum(self, other: Block) -> Block:
        """The larger one of each pair."""
        return Block(np.maximum(self.array, other.array))

    def sqrt(self) -> Block:
        """Square roots."""
        return Block(np.sqrt(self.array))

    def abs(self) -> Block:
        """Sizes without sign."""
        return Block(np.abs(self.array))

    def sign(self) -> Block:
        """-1, 0 or 1."""
        return Block(np.sign(self.array))

    def clone(self) -> Block:
        """A copy."""
        return Block(self.array.copy())

    def masked_fill(self, mask: Any, value: Any) -> Block:
        """A copy with ``value`` where ``mask`` is true."""
        return self.clone().masked_fill_(mask, value)

    def eq(self, other: Any) -> Any:
        """Where the elements equal a number."""
        return self.array == other

    def __neg__(self) -> Block:
        return Block(np.negative(self.array))

    def __mul__(self, other: Any) -> Block:
        return self.mul(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Block:
        return self.div(other)

    def __rtruediv__(self, other: Any) -> Block:
        return Block(np.divide(other, self.array))

    def __gt__(self, other: Any) -> Any:
        return self.array > other

    def __lt__(self, other: Any) -> Any:
        return self.array < other

    # ------------------------------------------------------------ in place

    def add_(self, other: Any, *, alpha: Any = 1) -> Block:
        """``self += alpha * other``."""
        np.add(self.array, _scaled(other, alpha), self.array)
        return self

    def mul_(self, other: Any) -> Block:
        """``self *= other``."""
        np.multiply(self.array, _array(other), self.array)
        return self

    def div_(self, other: Any) -> Block:
        """``self /= other``."""
        np.divide(self.array, _array(other), self.array)
        return self

    def addcmul_(self, first: Block, second: Block, *, value: Any = 1) -> Block:
        """``self += value * first * second``."""
        product = np.multiply(first.array, value)
        np.multiply(product, second.array, product)
        np.add(self.array, product, self.array)
        return self

    def addcdiv_(self, first: Block, second: Block, *, value: Any = 1) -> Block:
        """``self += value * first / second``."""
        quotient = np.multiply(first.array, value)
        np.divide(quotient, second.array, quotient)
        np.add(self.array, quotient, self.array)
        return self

    def lerp_(self, end: Block, weight: float) -> Block:
        """``self += weight * (end - self)``, reckoned from the nearer side."""
        way = np.subtract(end.array, self.array)
        if weight < 0.5:
            np.multiply(way, weight, way)
            np.add(self.array, way, self.array)
        else:
            np.multiply(way, 1 - weight, way)
            np.subtract(end.array, way, self.array)
        return self

    def sqrt_(self) -> Block:
        """Square roots."""
        np.sqrt(self.array, self.array)
        return self

    def clamp_(self, low: float, high: float) -> Block:
        """Limit to [low, high]."""
        np.clip(self.array, low, high, self.array)
        return self

    def copy_(self, other: Block) -> Block:
        """Take over values."""
        self.array[...] = other.array
        return self

    def masked_fill_(self, mask: Any, value: Any) -> Block:
        """Set ``value`` where ``mask`` is true."""
        self.array[mask] = value
        return self


def _array(value: Any) -> Any:
    return value.array if type(value) is Block else value


def _scaled(value: Any, alpha: Any) -> Any:
    array = value.array if type(value) is Block else value
    return array if alpha == 1 else np.multiply(array, alpha)
