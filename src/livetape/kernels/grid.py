"""Images sampled at arbitrary places: bilinear, nearest and bicubic, with zeros, the border or a mirror outside."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


def reflected(x: Any, low: float, span: float) -> Any:
    """Coordinates folded back into the interval from ``low`` of the given length."""
    if span == 0:
        return np.zeros_like(x)
    away = np.abs(x - x.dtype.type(low))
    extra = np.fmod(away, x.dtype.type(span))
    even = np.fmod(np.floor(away / x.dtype.type(span)), 2) == 0
    return np.where(even, extra + low, span - extra + low).astype(x.dtype)


def bounded(x: Any, size: int, padding: int, aligned: bool) -> Any:
    """Pixel coordinates, brought inside by the padding mode."""
    if padding == REFLECTION:
        x = reflected(x, 0, size - 1) if aligned else reflected(x, -0.5, size)
    return x if padding == ZEROS else np.fmin(np.fmax(x, 0), x.dtype.type(size - 1))  # nan becomes 0


def _fetch(image: Any, places: list[Any]) -> Any:
    """The pixels at whole coordinates (slowest dimension first), 0 outside: [N, C, *]."""
    sizes = image.shape[2:]
    inside: Any = True
    index: Any = 0
    for place, size in zip(places, sizes):
        here = (place >= 0) & (place <= size - 1)
        inside = inside & here
        index = index * size + np.where(here, place, 0).astype(np.int64)
    batch, channels = image.shape[:2]
    flat = index.reshape(batch, 1, -1)
    found = np.take_along_axis(
        image.reshape(batch, channels, math.prod(sizes)), np.broadcast_to(flat, (batch, channels, flat.shape[2])), 2
    )
    return np.where(inside[:, None], found.reshape(batch, channels, *index.shape[1:]), np.zeros((), image.dtype))


def cubic_weights(t: Any) -> list[Any]:
    """The weights of four neighbours at offsets -1, 0, 1 and 2 (Keys 1981, with a = -0.75)."""
    a = -0.75

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def sampled(image: Any, grid: Any, mode: int, padding: int, aligned: bool) -> Any:
    """``image`` [N, C, *] at the coordinates ``grid`` [N, *, 2 or 3], from -1 to 1, the fastest dimension first."""
    kind = image.dtype
    if kind.itemsize == 2:
        image, grid = image.astype(np.float32), grid.astype(np.float32)
    extents = image.shape[2:]
    dims = len(extents)
    places = []
    for i, size in enumerate(extents):
        x = grid[..., dims - 1 - i]
        place = (x + 1) * ((size - 1) / 2) if aligned else ((x + 1) * size - 1) / 2
        places.append(place if mode == BICUBIC else bounded(place, size, padding, aligned))
    if mode == NEAREST:
        return _fetch(image, [np.rint(place) for place in places]).astype(kind)
    starts = [np.floor(place) for place in places]
    parts = [place - start for place, start in zip(places, starts)]
    offsets: tuple[int, ...]
    if mode == BILINEAR:
        weights, offsets = [[1 - part, part] for part in parts], (0, 1)
    else:
        weights, offsets = [cubic_weights(part) for part in parts], (-1, 0, 1, 2)
    total: Any = 0
    for corner in itertools.product(range(len(offsets)), repeat=dims):
        spots = [start + offsets[k] for start, k in zip(starts, corner)]
        if mode == BICUBIC:
            spots = [bounded(spot, size, padding, aligned) for spot, size in zip(spots, extents)]
        weight: Any = 1
        for k, own in zip(corner, weights):
            weight = weight * own[k]
        total = total + _fetch(image, spots) * weight[:, None]
    return np.asarray(total, kind)


def pixels(extents: Any, aligned: bool, kind: Any) -> Any:
    """The homogeneous coordinates of the pixels, from -1 to 1, the fastest dimension first: [pixels, dimensions + 1]."""
    axes = []
    for n in extents:
        axis = np.linspace(-1, 1, n).astype(kind) if n > 1 else np.zeros(n, kind)
        axes.append(axis if aligned else axis * kind.type((n - 1) / n if n else 0))
    found = np.meshgrid(*axes, indexing="ij")
    return np.stack([*[f.reshape(-1) for f in reversed(found)], np.ones(found[0].size, kind)], -1)


def affine(theta: Any, size: Any, aligned: bool) -> Any:
    """Where maps ``theta`` [N, d, d + 1] take the pixels of images of a size: [N, *, d]."""
    base = pixels(size[2:], aligned, theta.dtype)
    wide = np.float32 if theta.itemsize == 2 else theta.dtype
    found = np.matmul(base.astype(wide), theta.astype(wide).transpose(0, 2, 1))
    return found.reshape(size[0], *size[2:], len(size) - 2).astype(theta.dtype)
