"""Sampling images at arbitrary places (Jaderberg et al. 2015)."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

from livetape import dtypes, ops
from livetape.ops.autocasting import single_in_autocast
from livetape.tensor import Tensor

_DEFAULT = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
    "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
    "details."
)


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Where an affine map takes the pixels of an image: (N, 2, 3) to (N, H, W, 2), or (N, 3, 4) to (N, D, H, W, 3).

    Coordinates run from -1 to 1, the centres of the outer pixels with ``align_corners``, their edges without.
    """
    if align_corners is None:
        warnings.warn(_DEFAULT, stacklevel=2)
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = tuple(size)
    spatial = len(size) - 2
    if spatial not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if theta.dim() != 3 or theta.shape[1:] != (spatial, spatial + 1):
        raise ValueError(
            f"Expected a batch of {spatial}D affine matrices of shape Nx{spatial}x{spatial + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    axes = []
    for n in reversed(size[2:]):  # the last dimension is x
        axis = ops.linspace(-1, 1, n, dtype=theta.dtype) if n > 1 else ops.zeros(n, dtype=theta.dtype)
        axes.append(axis if align_corners else axis * ((n - 1) / n))
    shape = tuple(size[2:])
    base = [
        axis.reshape([-1 if d == spatial - 1 - i else 1 for d in range(spatial)]).expand(shape)
        for i, axis in enumerate(axes)
    ]
    grid = ops.stack([*base, ops.ones(shape, dtype=theta.dtype)], -1).reshape(1, -1, spatial + 1)
    found = ops.bmm(grid.expand(size[0], -1, -1), theta.transpose(1, 2))
    return found.view(size[0], *shape, spatial)


def _reflected(x: Tensor, twice_low: int, twice_high: int) -> Tensor:
    """Coordinates folded back into an interval, given by twice its bounds."""
    if twice_low == twice_high:
        return ops.zeros_like(x)
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    away = (x - low).abs()
    extra = away.detach().fmod(span)
    flips = (away.detach() / span).floor()
    even = flips.fmod(2.0) == 0
    extra = extra + (away - away.detach())  # the value of the remainder, the slope of the distance
    return ops.where(even, extra + low, span - extra + low)


def _bounded(x: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Pixel coordinates, brought inside by the padding mode."""
    if padding_mode == "reflection":
        x = _reflected(x, 0, 2 * (size - 1)) if align_corners else _reflected(x, -1, 2 * size - 1)
    return x if padding_mode == "zeros" else x.clamp(0, size - 1)


def _fetch(input: Tensor, places: list[Tensor]) -> Tensor:
    """The pixels at integer coordinates (slowest dimension first), and 0 outside: (N, C, *)."""
    sizes = input.shape[2:]
    inside: Any = None
    index: Any = None
    for place, size in zip(places, sizes, strict=True):
        whole = place.detach()
        here = (whole >= 0) & (whole <= size - 1)
        inside = here if inside is None else inside & here
        whole = ops.where(here, whole, ops.zeros((), dtype=whole.dtype)).to(dtypes.int64)
        index = whole if index is None else index * size + whole
    batch, channels = input.shape[:2]
    flat = index.reshape(batch, 1, -1).expand(batch, channels, -1)
    found = input.reshape(batch, channels, -1).gather(2, flat).reshape(batch, channels, *index.shape[1:])
    return found.masked_fill(inside.logical_not().unsqueeze(1), 0.0)


def _cubic_weights(t: Tensor) -> list[Tensor]:
    """The weights of four neighbours at offsets -1, 0, 1 and 2."""
    a = -0.75

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


@single_in_autocast
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The values of images (N, C, H, W) at places (N, H', W', 2), or of volumes at (N, D', H', W', 3).

    The last dimension of ``grid`` holds x, y (, z) from -1 to 1. mode: "bilinear", "nearest" or "bicubic";
    padding_mode: "zeros", "border" or "reflection".
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(_DEFAULT, stacklevel=2)
        align_corners = False
    dims = input.dim()
    sizes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if dims not in (4, 5) or grid.dim() != dims:
        kind = "5D" if dims == 5 else "4D" if dims == 4 else "4D or 5D"
        raise RuntimeError(
            f"grid_sampler(): expected {kind} input and grid with same number of dimensions, but got " + sizes
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    if grid.shape[-1] != dims - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {dims - 2} in last dimension, but got grid "
            f"with sizes {list(grid.shape)}"
        )
    if mode == "bicubic" and dims != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    extents = input.shape[2:]
    places = []
    for i, size in enumerate(extents):  # y before x, as the dimensions lie
        x = grid[..., dims - 3 - i]
        place = (x + 1) * ((size - 1) / 2) if align_corners else ((x + 1) * size - 1) / 2
        places.append(place if mode == "bicubic" else _bounded(place, size, padding_mode, align_corners))
    if mode == "nearest":
        return _fetch(input, [place.round() for place in places])
    starts = [place.detach().floor() for place in places]
    parts = [place - start for place, start in zip(places, starts, strict=True)]
    if mode == "bilinear":
        weights, offsets = [[1 - part, part] for part in parts], (0, 1)
    else:
        weights, offsets = [_cubic_weights(part) for part in parts], (-1, 0, 1, 2)  # type: ignore[assignment]
    total: Any = None
    for corner in itertools.product(range(len(offsets)), repeat=len(places)):
        spots = [start + offsets[k] for start, k in zip(starts, corner, strict=True)]
        if mode == "bicubic":
            spots = [
                _bounded(spot, size, padding_mode, align_corners) for spot, size in zip(spots, extents, strict=True)
            ]
        weight: Any = None
        for k, own in zip(corner, weights, strict=True):
            weight = own[k] if weight is None else weight * own[k]
        term = _fetch(input, spots) * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total  # type: ignore[no-any-return]
