"""Discrete Fourier transforms of arrays, by NumPy's, with torch's numbers for their scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

# what a transform is multiplied by, for n points: 1, the root of 1/n, 1/n; NumPy's words depend on the direction
_FORWARD: tuple[Any, ...] = ("backward", "ortho", "forward")
_INVERSE: tuple[Any, ...] = ("forward", "ortho", "backward")


def c2c(x: Any, dim: Any, normalization: int, forward: bool) -> Any:
    """Complex to complex."""
    if not dim:
        return x.copy()
    if forward:
        return np.fft.fftn(x, axes=dim, norm=_FORWARD[normalization])
    return np.fft.ifftn(x, axes=dim, norm=_INVERSE[normalization])


def r2c(x: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    """Real to complex; ``onesided`` leaves out the half of the last dimension that follows from the other."""
    if onesided:
        return np.fft.rfftn(x, axes=dim, norm=_FORWARD[normalization])
    return np.fft.fftn(x, axes=dim, norm=_FORWARD[normalization])


def c2r(x: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    """From a half as `r2c` gives it to ``last_dim_size`` real numbers, the inverse direction."""
    sizes = [*(x.shape[d] for d in dim[:-1]), last_dim_size]
    return np.fft.irfftn(x, s=sizes, axes=dim, norm=_INVERSE[normalization])


def middle(shape: Any, dim: int, full: int, factor: float, dtype: Any) -> Any:
    """Weights along ``dim`` of a half spectrum: ``factor`` for what stands for two points, 1 for the others."""
    weights = np.ones(shape[dim], dtype)
    weights[1 : (full + 1) // 2] = factor
    return weights.reshape([-1 if i == dim else 1 for i in range(len(shape))])
