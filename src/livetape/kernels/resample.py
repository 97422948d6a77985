"""Resampling along one dimension after the other, as ``torch.nn.functional.interpolate`` does it.

What happens along a dimension is a `Taps`: which input elements each output element is a weighted sum of. Applied it
is a matrix product where the matrix is small, else a sum of gathered elements; its transpose is the backward.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any
_SMALL = 128  # sizes up to which a dense matrix is quicker than gathering


class Taps:
    """Output element o is the sum over t of weights[t, o] * input[places[t, o]]; without weights, one element."""

    def __init__(self, size: int, places: Array, weights: Array | None) -> None:
        self.size = size
        self.places = places
        self.weights = weights
        self._matrix: Array = None

    def matrix(self, kind: Any) -> Array:
        """The same as a matrix (out, in)."""
        if self._matrix is None or self._matrix.dtype != kind:
            assert self.weights is not None
            found = np.zeros((self.places.shape[1], self.size), kind)
            np.add.at(found, (np.arange(self.places.shape[1]), self.places), self.weights.astype(kind))
            self._matrix = found
        return self._matrix

    def is_dense(self) -> bool:
        """Whether to multiply by the matrix."""
        return self.weights is not None and (self.size <= _SMALL or len(self.places) > 8)

    def apply(self, x: Array, axis: int) -> Array:
        """Resample one axis."""
        if self.weights is None:
            return x.take(self.places[0], axis=axis)
        if self.is_dense():
            return multiplied(x, axis, self.matrix(x.dtype))
        shape = [1] * (x.ndim - axis)
        shape[0] = -1
        found: Array = None
        for places, weights in zip(self.places, self.weights.astype(x.dtype)):
            part = x.take(places, axis=axis)
            part *= weights.reshape(shape)
            if found is None:
                found = part
            else:
                found += part
        return found

    def transpose(self, grad: Array, axis: int) -> Array:
        """The transpose of `apply`."""
        if self.is_dense():
            return multiplied(grad, axis, self.matrix(grad.dtype).T)
        found = np.zeros((*grad.shape[:axis], self.size, *grad.shape[axis + 1 :]), grad.dtype)
        if not grad.size:
            return found
        shape = [1] * (grad.ndim - axis)
        shape[0] = -1
        before = (slice(None),) * axis
        for at, places in enumerate(self.places):
            part = grad if self.weights is None else grad * self.weights[at].astype(grad.dtype).reshape(shape)
            # places never decrease, so equal ones are neighbours
            starts = np.flatnonzero(np.diff(places, prepend=-1))
            found[(*before, places[starts])] += np.add.reduceat(part, starts, axis=axis)
        return found


def multiplied(x: Array, axis: int, matrix: Array) -> Array:
    """``x`` with one axis multiplied by a matrix (out, in)."""
    if axis == x.ndim - 1:
        return np.matmul(x, matrix.T)
    after = math.prod(x.shape[axis + 1 :])
    found = np.matmul(matrix, x.reshape(*x.shape[: axis + 1], after))
    return found.reshape(*x.shape[:axis], matrix.shape[0], *x.shape[axis + 1 :])


def _scale(size: int, out: int, align_corners: bool, factor: float | None, kind: Any) -> Any:
    if align_corners:
        return kind((size - 1) / (out - 1)) if out > 1 else kind(0)
    if factor is not None and factor > 0:
        return kind(1.0 / factor)
    return kind(size) / kind(out)


def nearest(size: int, out: int, exact: bool, factor: float | None) -> Taps:
    """The element below, or with ``exact`` the nearest, by float32 arithmetic."""
    at = np.arange(out, dtype=np.float32)
    if exact:
        at += np.float32(0.5)
    places = np.floor(at * _scale(size, out, False, factor, np.float32)).astype(np.int64)
    return Taps(size, np.minimum(places, size - 1)[None], None)


def _sources(size: int, out: int, align_corners: bool, factor: float | None, kind: Any) -> Array:
    scale = _scale(size, out, align_corners, factor, kind)
    at = np.arange(out, dtype=kind)
    return at * scale if align_corners else (at + kind(0.5)) * scale - kind(0.5)


def linear(size: int, out: int, align_corners: bool, factor: float | None, kind: Any) -> Taps:
    """Between two neighbours."""
    if size == out and (factor is None or factor == 1):
        return Taps(size, np.arange(size)[None], None)
    source = np.maximum(_sources(size, out, align_corners, factor, kind), 0)
    low = np.minimum(source.astype(np.int64), size - 1)
    part = np.clip(source - low.astype(kind), 0, 1)
    return Taps(size, np.stack((low, np.minimum(low + 1, size - 1))), np.stack((1 - part, part)))


def cubic(size: int, out: int, align_corners: bool, factor: float | None, kind: Any) -> Taps:
    """Between four neighbours, by the convolution kernel with a = -3/4."""
    source = _sources(size, out, align_corners, factor, kind)
    low = np.floor(source)
    t = source - low
    places = np.clip(low.astype(np.int64) + np.arange(-1, 3)[:, None], 0, size - 1)
    return Taps(size, places, np.stack([_cubic(np.abs(t - shift), -0.75) for shift in range(-1, 3)]))


def _cubic(x: Array, a: float) -> Array:
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0)).astype(x.dtype)


def _triangle(x: Array) -> Array:
    return np.maximum(1 - x, 0)


def _lanczos(x: Array) -> Array:
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS: dict[str, tuple[Any, int]] = {
    "bilinear": (_triangle, 2),
    "bicubic": (lambda x: _cubic(x, -0.5), 4),
    "lanczos": (_lanczos, 6),
}


def antialiased(size: int, out: int, mode: str, align_corners: bool, factor: float | None, kind: Any) -> Taps:
    """A filter as wide as an output element where that covers several input elements."""
    if size == out and (factor is None or factor == 1):
        return Taps(size, np.arange(size)[None], None)
    function, width = _FILTERS[mode]
    scale = _scale(size, out, align_corners, factor, kind)
    support = kind(width * 0.5) * max(scale, kind(1))
    inverse = kind(1) / max(scale, kind(1))
    centre = scale * (np.arange(out, dtype=kind) + kind(0.5))
    start = np.maximum((centre - support + kind(0.5)).astype(np.int64), 0)
    end = np.minimum((centre + support + kind(0.5)).astype(np.int64), size)
    number = np.arange(int((end - start).max(initial=1)))[:, None]
    places = number + start
    weights = function(np.abs((places.astype(kind) - centre + kind(0.5)) * inverse))
    weights = np.where(places < end, weights, 0).astype(kind)
    weights /= weights.sum(axis=0)
    return Taps(size, np.minimum(places, size - 1), weights)


def resampled(x: Array, taps: tuple[Taps, ...]) -> Array:
    """Resample the last dimensions; integers are computed in float32 and rounded."""
    kind = x.dtype
    if kind.kind in "iu" and any(t.weights is not None for t in taps):
        info = np.iinfo(kind)
        return np.clip(np.rint(resampled(x.astype(np.float32), taps)), info.min, info.max).astype(kind)
    half = kind.itemsize == 2 and kind.kind not in "iu" and any(t.weights is not None for t in taps)
    y = x.astype(np.float32) if half else x
    for at in reversed(range(len(taps))):
        y = taps[at].apply(y, x.ndim - len(taps) + at)
    return np.ascontiguousarray(y.astype(kind) if half else y)


def resampled_backward(grad: Array, taps: tuple[Taps, ...]) -> Array:
    """The transpose of `resampled`."""
    kind = grad.dtype
    g = grad.astype(np.float32) if kind.itemsize == 2 else grad
    for at in range(len(taps)):
        g = taps[at].transpose(g, grad.ndim - len(taps) + at)
    return np.ascontiguousarray(g if g.dtype == kind else g.astype(kind))
