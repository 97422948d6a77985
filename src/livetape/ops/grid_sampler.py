"""Images sampled at arbitrary places (Jaderberg et al. 2015): ``torch.grid_sampler`` and its like."""

from __future__ import annotations

import itertools
import math
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import from_array, shape_of
from livetape.dtypes import FLOAT, SCALAR_TYPE, int64
from livetape.kernels import grid as kernels
from livetape.kernels.grid import BICUBIC, BILINEAR, NEAREST, REFLECTION, ZEROS
from livetape.ops.choose import where
from livetape.ops.joining import stack
from livetape.ops.products import matmul
from livetape.ops.refuse import unsupported
from livetape.ops.table import row


# ---------------------------------------------------------------- the gradients
def _bounded(x: Any, size: int, padding: int, aligned: bool) -> tuple[Any, Any]:
    """Coordinates brought inside by the padding mode, and their slopes: 0 where they were cut off."""
    slope = x * 0 + 1
    if padding == REFLECTION:
        low, span = (0.0, size - 1) if aligned else (-0.5, size)
        if span == 0:
            return x * 0, x * 0
        away = (x - low).abs()
        even = (away / span).floor().fmod(2.0) == 0
        extra = away.fmod(float(span))
        slope = where(even, slope, -slope) * where(x < low, -slope, slope)
        x = where(even, extra + low, span - extra + low)
    if padding == ZEROS:
        return x, slope
    inside = (x > 0) & (x < size - 1)
    return x.clamp(0, size - 1), slope * inside.to(x.dtype)


def _flat_places(spots: list[Any], sizes: Any) -> tuple[Any, Any]:
    """Whole coordinates as places in the flattened image [N, 1, places], and whether they lie inside [N, 1, *]."""
    inside: Any = None
    index: Any = None
    for spot, size in zip(spots, sizes):
        here = (spot >= 0) & (spot <= size - 1)
        inside = here if inside is None else inside & here
        whole = where(here, spot, spot * 0).nan_to_num().to(int64)
        index = whole if index is None else index * size + whole
    return index.reshape(shape_of(index)[0], 1, -1), inside.unsqueeze(1)


def _cubic_slopes(t: Any) -> list[Any]:
    """The derivatives of the weights of four neighbours at offsets -1, 0, 1 and 2."""
    a = -0.75

    def near(x: Any) -> Any:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Any) -> Any:
        return (3 * a * x - 10 * a) * x + 8 * a

    return [far(t + 1), near(t), -near(1 - t), -far(2 - t)]


def _product(factors: Any) -> Any:
    total = None
    for factor in factors:
        total = factor if total is None else total * factor
    return total


def _gradients(
    grad: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool, wanted: Any
) -> Any:
    """The gradients of the image and of the grid, in operations: they can be differentiated again."""
    mode, size = interpolation_mode, shape_of(input)
    batch, channels, *extents = size
    dims = len(extents)
    starts, parts, slopes = [], [], []
    for i, extent in enumerate(extents):  # the last dimension of the grid is the fastest of the image first
        x = grid.select(-1, dims - 1 - i)
        fixed = x.detach()
        scale = (extent - 1) / 2 if align_corners else extent / 2
        place = (fixed + 1) * scale if align_corners else ((fixed + 1) * extent - 1) / 2
        slope = place * 0 + 1
        if mode != BICUBIC:
            place, slope = _bounded(place, extent, padding_mode, align_corners)
        slope = slope * scale
        start = place.round() if mode == NEAREST else place.floor()
        starts.append(start)
        parts.append(place - start + (x - fixed) * slope)  # the value of the place, as a function of the grid
        slopes.append(slope)
    if mode == NEAREST:
        weights, offsets = [[part * 0 + 1] for part in parts], (0,)
        rises = [[part * 0] for part in parts]
    elif mode == BILINEAR:
        weights, offsets = [[1 - part, part] for part in parts], (0, 1)  # type: ignore[assignment]
        rises = [[part * 0 - 1, part * 0 + 1] for part in parts]
    else:
        weights, offsets = [kernels.cubic_weights(part) for part in parts], (-1, 0, 1, 2)  # type: ignore[assignment]
        rises = [_cubic_slopes(part) for part in parts]
    flat_input = input.reshape(batch, channels, math.prod(extents))
    to_input: Any = flat_input.new_zeros(shape_of(flat_input)) if wanted[0] else None
    to_parts: list[Any] = [None] * dims
    for corner in itertools.product(range(len(offsets)), repeat=dims):
        spots = [start + offsets[k] for start, k in zip(starts, corner)]
        if mode == BICUBIC:
            spots = [_bounded(s, n, padding_mode, align_corners)[0] for s, n in zip(spots, extents)]
        places, inside = _flat_places(spots, extents)
        places = places.expand(batch, channels, -1)
        own = [weights[d][k] for d, k in enumerate(corner)]
        here = grad * inside.to(grad.dtype)
        if wanted[0]:
            share = (here * _product(own).unsqueeze(1)).reshape(batch, channels, -1)
            to_input = to_input.scatter_add(2, places, share)
        if wanted[1]:
            pixels = flat_input.gather(2, places).reshape(shape_of(grad))
            along = (here * pixels).sum(1)
            for d in range(dims):
                rise = _product([*own[:d], rises[d][corner[d]], *own[d + 1 :]])
                part = along * rise
                to_parts[d] = part if to_parts[d] is None else to_parts[d] + part
    found = None if to_input is None else to_input.reshape(size)
    if not wanted[1]:
        return found, None
    return found, stack([to_parts[d] * slopes[d] for d in reversed(range(dims))], -1)


def _row(dims: int) -> Any:
    made = row(
        f"grid_sampler_{dims}d",
        kernels.sampled,
        params="input grid interpolation_mode padding_mode align_corners",
        tensors="input grid",
        node=f"GridSampler{dims}DBackward0",
        batch="fold",
    )
    return made.joint("input grid", _gradients)


ROWS = {4: _row(2), 5: _row(3)}


# ---------------------------------------------------------------- the functions
def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """`nn.functional.grid_sample` with modes as numbers (source: ``torch.grid_sampler``).

    interpolation_mode   0 bilinear, 1 nearest, 2 bicubic
    padding_mode         0 zeros, 1 border, 2 reflection
    """
    dims = input.array.ndim
    sizes = f"input with sizes {list(shape_of(input))} and grid with sizes {list(shape_of(grid))}"
    if dims not in (4, 5) or grid.array.ndim != dims:
        kind = "5D" if dims == 5 else "4D" if dims == 4 else "4D or 5D"
        raise noted(
            RuntimeError(
                f"grid_sampler(): expected {kind} input and grid with same number of dimensions, but got {sizes}"
            )
        )
    if shape_of(input)[0] != shape_of(grid)[0]:
        raise noted(RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}"))
    if shape_of(grid)[-1] != dims - 2:
        raise noted(
            RuntimeError(
                f"grid_sampler(): expected grid to have size {dims - 2} in last dimension, but got grid with sizes "
                f"{list(shape_of(grid))}"
            )
        )
    for i, n in enumerate(shape_of(input)[2:]):
        if n == 0:
            raise noted(
                RuntimeError(
                    "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                    f"{list(shape_of(input))} with dimension {i + 2} being empty"
                )
            )
    if interpolation_mode == BICUBIC and dims != 4:
        raise noted(RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input"))
    if input.dtype is not grid.dtype:
        raise noted(
            RuntimeError(f"expected scalar type {SCALAR_TYPE[input.dtype]} but found {SCALAR_TYPE[grid.dtype]}")
        )
    if input.dtype.category != FLOAT:
        raise noted(unsupported(f"grid_sampler_{dims - 2}d_cpu_kernel_impl", input.array, ""))
    return ROWS[dims].apply((input, grid, interpolation_mode, padding_mode, align_corners))


def grid_sampler_2d(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """`grid_sampler` of images (source: ``torch.grid_sampler_2d``)."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """`grid_sampler` of volumes (source: ``torch.grid_sampler_3d``)."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


# ---------------------------------------------------------------- affine maps
def _pixels(theta: Any, size: Any, align_corners: bool) -> Any:
    """The homogeneous coordinates of an image's pixels, in the dtype of theta: a tensor [pixels, dimensions + 1]."""
    return from_array(kernels.pixels(size[2:], align_corners, theta.dtype.np))


AFFINE = row(
    "affine_grid_generator",
    kernels.affine,
    params="theta size align_corners",
    tensors="theta",
    linear=True,
    batch="fold",
    theta=lambda grad, size, align_corners: matmul(
        grad.reshape(size[0], -1, len(size) - 2).transpose(1, 2), _pixels(grad, size, align_corners)
    ),
)


def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """Where affine maps [N, 2, 3] or [N, 3, 4] take the pixels of images of a size (source: the torch function)."""
    size, have = tuple(size), shape_of(theta)
    if have[0] != size[0]:
        want = [size[0], len(size) - 1]
        words = (
            f"Expected size for first two dimensions of batch2 tensor to be: {want} but got: [{have[0]}, {want[1]}]."
        )
        raise noted(RuntimeError(words))
    return AFFINE.apply((theta, size, align_corners))


FUNCTIONS = ["affine_grid_generator", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"]
METHODS: dict[str, Any] = {}
