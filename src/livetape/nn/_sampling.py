"""Sampling images at arbitrary places (Jaderberg et al. 2015)."""

from __future__ import annotations

import warnings
from typing import Any

from livetape import ops
from livetape.ops.autocasting import single_in_autocast
from livetape.tensor import Tensor

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
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
    return ops.affine_grid_generator(theta, size, align_corners)  # type: ignore[no-any-return]


@single_in_autocast
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The values of images (N, C, H, W) at places (N, H', W', 2), or of volumes at (N, D', H', W', 3).

    The last dimension of ``grid`` holds x, y (, z) from -1 to 1. mode: "bilinear", "nearest" or "bicubic";
    padding_mode: "zeros", "border" or "reflection".
    """
    if mode not in _MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(_DEFAULT, stacklevel=2)
        align_corners = False
    return ops.grid_sampler(  # type: ignore[no-any-return]
        input, grid, _MODES.index(mode), _PADDINGS.index(padding_mode), align_corners
    )
