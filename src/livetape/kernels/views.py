"""Views of arrays: C++ where it was built, else the NumPy twin with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled

__all__ = ["expanded", "reshaped", "viewed"]


def _expanded(array: Any, size: Any) -> Any:
    """A view of ``array`` broadcast to ``size`` (np.broadcast_to, without its detours)."""
    if array.flags.c_contiguous and array.size:
        extra = len(size) - array.ndim
        strides = [
            0 if n == 1 and size[i + extra] != 1 else s for i, (n, s) in enumerate(zip(array.shape, array.strides))
        ]
        for i in range(extra - 1, -1, -1):
            strides.insert(0, strides[0] * size[i + 1] if size[i] == 1 and array.ndim else 0)
        return np.ndarray(size, array.dtype, array, 0, strides)
    out = np.broadcast_to(array, size)
    if array.flags.writeable:
        out.flags.writeable = True
    return out


expanded = compiled("expanded", _expanded)


def _reshaped(array: Any, sizes: tuple[Any, ...]) -> Any:
    """The elements in the shape that numbers, or one sequence of them, ask for; None where no view has it."""
    wanted = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    try:
        out = array.reshape(wanted, copy=False)
    except (ValueError, TypeError):
        return None
    return None if wanted and min(wanted) < -1 else out  # NumPy takes any negative number for -1


reshaped = compiled("reshaped", _reshaped)


def _viewed(array: Any, sizes: tuple[Any, ...]) -> Any:
    """`reshaped` for arrays that lie in the usual order and at least one size; None for others."""
    return _reshaped(array, sizes) if sizes and array.flags.c_contiguous else None


viewed = compiled("viewed", _viewed)
