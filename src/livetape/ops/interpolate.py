"""Up- and downsampling."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import FLOAT, uint8
from livetape.kernels import resample as kernels
from livetape.kernels.select import refuse
from livetape.ops.adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from livetape.ops.dims import as_int, is_integer
from livetape.ops.table import row


# ---------------------------------------------------------------- the rows
def _rows(name: str, node: str) -> Any:
    backward = row(
        name + "_backward",
        lambda grad_output, taps: kernels.resampled_backward(grad_output, taps),
        tensors="grad_output",
        node=node + "BackwardBackward0",
        linear=True,
        batch="any",
        grad_output=lambda grad, taps: forward.apply((grad, taps)),
    )
    forward = row(
        name,
        lambda self, taps: kernels.resampled(self, taps),
        node=node + "Backward0",
        linear=True,
        batch="any",
        self=lambda grad, taps: backward.apply((grad, taps)),
    )
    return forward


_ROWS: dict[tuple[str, int], Any] = {}
for _dims in (1, 2, 3):
    _ROWS["nearest", _dims] = _rows(f"upsample_nearest{_dims}d", f"UpsampleNearest{_dims}D")
    _ROWS["nearest-exact", _dims] = _rows(f"upsample_nearest_exact{_dims}d", f"UpsampleNearestExact{_dims}D")
_ROWS["linear", 1] = _rows("upsample_linear1d", "UpsampleLinear1D")
_ROWS["bilinear", 2] = _rows("upsample_bilinear2d", "UpsampleBilinear2D")
_ROWS["trilinear", 3] = _rows("upsample_trilinear3d", "UpsampleTrilinear3D")
_ROWS["bicubic", 2] = _rows("upsample_bicubic2d", "UpsampleBicubic2D")
_AA_ROWS = {
    mode: _rows(f"upsample_{mode}2d_aa", f"Upsample{mode.capitalize()}2DAa")
    for mode in ("bilinear", "bicubic", "lanczos")
}


def _taps(mode: str, size: int, out: int, align_corners: bool, factor: float | None, antialias: bool, kind: Any) -> Any:
    if antialias:
        return kernels.antialiased(size, out, mode, align_corners, factor, kind)
    if mode.startswith("nearest"):
        return kernels.nearest(size, out, mode == "nearest-exact", factor)
    if mode == "bicubic":
        return kernels.cubic(size, out, align_corners, factor, kind)
    return kernels.linear(size, out, align_corners, factor, kind)


def resample(input: Any, out: list[int], mode: str, align_corners: bool, factors: Any, antialias: bool) -> Any:
    size = input.array.shape
    dims = len(out)
    _check_sizes(size, out)
    kind = input.dtype
    if kind.category < FLOAT and kind is not uint8:
        name = mode.replace("nearest-exact", "nearest")
        raise noted(refuse(f"upsample_{name}{dims}d" + ("_channels_last" if dims == 2 else ""), kind.np))
    real = np.float64 if kind.np == np.float64 else np.float32
    taps = tuple(
        [
            _taps(mode, n, o, align_corners, f, antialias, real)
            for n, o, f in zip(size[2:], out, factors or [None] * dims)
        ]
    )
    return (_AA_ROWS[mode] if antialias else _ROWS[mode, dims]).apply((input, taps))


def _check_sizes(size: Any, out: Any) -> None:
    axes = ("D", "H", "W")[3 - len(out) :]
    if any(n <= 0 for n in out) or not all(size[2:]):
        shown = [", ".join(f"{axis}: {n}" for axis, n in zip(axes, numbers)) for numbers in (size[2:], out)]
        joint = " and output" if len(out) == 1 else " output"
        raise noted(
            RuntimeError(
                f"Input and output sizes should be greater than 0, but got input ({shown[0]}){joint} ({shown[1]})"
            )
        )
    if not size[1]:
        raise noted(
            RuntimeError(f"Non-empty {len(out) + 2}D data tensor expected but got a tensor with sizes {list(size)}")
        )


# ---------------------------------------------------------------- interpolate
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_DIMS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "lanczos": 2}


def _output_size(input: Any, size: Any, scale_factor: Any) -> tuple[Any, Any]:
    """The size and the scale factors for each dimension, one of which is None."""
    spatial = list(shape_of(input)[2:])
    if size is not None and scale_factor is not None:
        raise noted(ValueError("only one of size or scale_factor should be defined"))
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != len(spatial):
                raise noted(
                    ValueError(
                        "Input and output must have the same number of spatial dimensions, but got input with "
                        f"spatial dimensions of {spatial} and output size of {size}. Please provide input "
                        "tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
                    )
                )
            if not all(is_integer(n) for n in size):
                raise noted(
                    TypeError(
                        "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, "
                        f"int], but got size with types {[type(n) for n in size]}"
                    )
                )
            return [as_int(n) for n in size], None
        if not is_integer(size):
            raise noted(TypeError(f"interpolate(): size must be ints, not {type(size).__name__}"))
        return [as_int(size)] * len(spatial), None
    if scale_factor is None:
        raise noted(ValueError("either size or scale_factor should be defined"))
    if isinstance(scale_factor, (list, tuple)):
        if len(scale_factor) != len(spatial):
            raise noted(
                ValueError(
                    "Input and scale_factor must have the same number of spatial dimensions, but got input "
                    f"with spatial dimensions of {spatial} and scale_factor of shape {scale_factor}. Please "
                    "provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, "
                    "...,sK) format."
                )
            )
        return None, [float(f) for f in scale_factor]
    return None, [float(scale_factor)] * len(spatial)


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """(N, C, d...) resampled to ``size`` or by ``scale_factor`` (source: ``torch.nn.functional.interpolate``).

    mode  "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "lanczos" or "area"

    >>> import livetape as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if not isinstance(input, TensorBase):
        raise AttributeError(f"'{type(input).__name__}' object has no attribute 'dim'")
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise noted(
                ValueError(
                    "align_corners option can only be set with the interpolating modes: linear | bilinear | "
                    "bicubic | trilinear"
                )
            )
    elif align_corners is None:
        align_corners = False
    out, factors = _output_size(input, size, scale_factor)
    if recompute_scale_factor is not None and recompute_scale_factor and size is not None:
        raise noted(ValueError("recompute_scale_factor is not meaningful with an explicit size."))
    ndim = input.array.ndim
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and ndim == 4):
        raise noted(
            ValueError(
                "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
            )
        )
    if out is None:
        out = [math.floor(float(n) * f) for n, f in zip(shape_of(input)[2:], factors)]
        if recompute_scale_factor or mode == "area":
            factors = None
    if ndim not in (3, 4, 5) or mode not in _MODES.split(" | "):
        raise noted(
            NotImplementedError(
                f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the "
                f"modes: {_MODES} (got {mode})"
            )
        )
    dims = ndim - 2
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[dims - 1](
            input, out if dims > 1 else out[0]
        )
    if _DIMS.get(mode, dims) != dims:
        raise noted(NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_DIMS[mode] + 2}D input"))
    if mode == "lanczos" and not antialias:
        raise noted(ValueError("Lanczos mode requires antialias=True"))
    return resample(input, out, mode, bool(align_corners), factors, antialias)


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """`interpolate`, deprecated (source: ``torch.nn.functional.upsample``)."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` by nearest neighbours, deprecated (source: ``torch.nn.functional.upsample_nearest``)."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` with aligned corners, deprecated (source: ``torch.nn.functional.upsample_bilinear``)."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _deprecated(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)


FUNCTIONS: list[str] = []
METHODS: dict[str, Any] = {}
FUNCTIONAL = {
    "interpolate": interpolate,
    "upsample": upsample,
    "upsample_nearest": upsample_nearest,
    "upsample_bilinear": upsample_bilinear,
}
