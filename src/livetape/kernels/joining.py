"""Arrays put together: C++ where it was built, else the NumPy twin with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled

__all__ = ["stacked"]


def _stacked(arrays: list[Any]) -> Any:
    """Arrays of one shape along a new first dimension, in the usual memory order; None if they have several dtypes."""
    kind = arrays[0].dtype
    if any(array.dtype is not kind for array in arrays):
        return None
    if arrays[0].ndim == 0:
        return np.concatenate([array[None] for array in arrays])
    joined = np.concatenate(arrays)
    return np.ascontiguousarray(joined).reshape(len(arrays), *arrays[0].shape)


stacked = compiled("stacked", _stacked)
