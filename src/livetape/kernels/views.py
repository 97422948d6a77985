"""Views of arrays: C++ where it was built, else the NumPy twin with the same results."""

from __future__ import annotations

from typing import Any

from livetape.kernels.compiled import compiled

__all__ = ["reshaped", "viewed"]


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
