"""Padding on plain arrays. Widths are those of torch: pairs (before, after) from the last dimension to the first."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
Ints = tuple[int, ...]


def _around(ndim: int, axis: int, part: slice) -> tuple[slice, ...]:
    """An index that takes ``part`` along one axis."""
    return (*[slice(None)] * axis, part, *[slice(None)] * (ndim - axis - 1))


def constant(self: Array, pad: Ints, value: Any) -> Array:
    """``value`` around the array; negative widths cut off."""
    if self.dtype.kind in "iu" and not isinstance(value, int):
        value = int(value)
    shape, source, target = list(self.shape), [slice(None)] * self.ndim, [slice(None)] * self.ndim
    for at in range(len(pad) // 2):
        axis, before, after = self.ndim - 1 - at, pad[2 * at], pad[2 * at + 1]
        size = self.shape[axis]
        shape[axis] = size + before + after
        source[axis] = slice(max(0, -before), size - max(0, -after))
        target[axis] = slice(max(0, before), shape[axis] - max(0, after))
    if value == 0:
        found = np.zeros(shape, self.dtype)
    else:
        found = np.full(shape, value, self.dtype)
    found[tuple(target)] = self[tuple(source)]
    return found


def mirrored(self: Array, pad: Ints, reflect: bool) -> Array:
    """The array with its edges reflected (the edge itself once) or repeated outwards."""
    for at in range(len(pad) // 2):
        axis, before, after = self.ndim - 1 - at, pad[2 * at], pad[2 * at + 1]
        size = self.shape[axis]
        places = np.arange(-before, size + after)
        if reflect:
            places = np.where(places < 0, -places, places)
            places = np.where(places >= size, 2 * (size - 1) - places, places)
        else:
            places = np.clip(places, 0, size - 1)
        self = self.take(places, axis=axis)
    return self


def mirrored_backward(grad: Array, pad: Ints, reflect: bool) -> Array:
    """The transpose of `mirrored`: what was copied outwards is added where it came from."""
    for at in range(len(pad) // 2):
        axis, before, after = grad.ndim - 1 - at, pad[2 * at], pad[2 * at + 1]
        if before < 0 or after < 0:  # what was cut off gets nothing
            grad = constant(grad, (0,) * (2 * at) + (max(0, -before), max(0, -after)), 0)
            before, after = max(0, before), max(0, after)
        size = grad.shape[axis] - before - after
        ndim = grad.ndim

        def part(start: int, stop: int, axis: int = axis, ndim: int = ndim) -> tuple[slice, ...]:
            return _around(ndim, axis, slice(start, stop))

        core = grad[part(before, before + size)].copy()
        first, last = grad[part(0, before)], grad[part(before + size, before + size + after)]
        if reflect:
            if before:
                core[part(1, before + 1)] += np.flip(first, axis)
            if after:
                core[part(size - 1 - after, size - 1)] += np.flip(last, axis)
        else:
            if before:
                core[part(0, 1)] += first.sum(axis, keepdims=True)
            if after:
                core[part(size - 1, size)] += last.sum(axis, keepdims=True)
        grad = core
    return grad
