"""LinearCrossEntropyOptions, where torch defines them."""

from __future__ import annotations

from livetape.nn._linear_cross_entropy import LinearCrossEntropyOptions

__all__ = ["LinearCrossEntropyOptions"]
