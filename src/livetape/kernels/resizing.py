"""Giving an array another size in its memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def resized(array: Any, size: tuple[int, ...]) -> Any:
    """A contiguous array that begins where this one does: in the same memory if that suffices, else in new memory.

    What the memory holds is kept, as far as it goes.
    """
    count = math.prod(size)
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    start = (array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]) // max(1, array.itemsize)
    flat = owner.reshape(-1) if owner.flags.c_contiguous and owner.dtype == array.dtype else None
    if flat is not None and 0 <= start and start + count <= flat.size:
        return flat[start : start + count].reshape(size)
    made = np.empty(count, array.dtype)
    kept = flat[start:] if flat is not None else array.reshape(-1)
    made[: min(count, kept.size)] = kept[:count]
    return made.reshape(size)
