"""Choosing between values element by element, and other loops that NumPy runs slowly, by way of quicker ones.

``np.where`` and masked copies branch on every element, which costs some 4 ns each on mixed masks. Arithmetic on the
bits of the same arrays runs at the speed of memory. For few elements the fewest calls win: each function asks the size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from livetape.dtypes import SCALAR_TYPE, of_numpy

Array = Any
LARGE = 2048  # elements from which more calls of quicker loops pay
_INTEGER = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_numbers: dict[tuple[str, Any], Any] = {}


def number(like: Array, value: float) -> Any:
    """``value`` as a 0-d array of the dtype of ``like``, kept for the next call: a bare number costs NumPy more."""
    key = (like.dtype.char, value)
    found = _numbers.get(key)
    if found is None:
        found = np.array(value, like.dtype)
        if value == value and value != 0 and len(_numbers) < 1024:  # -0.0 equals 0.0, and nan nothing
            _numbers[key] = found
    return found


_ZERO = {
    np.dtype(t).char: np.zeros((), t)
    for t in (
        np.float16,
        np.float32,
        np.float64,
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.uint8,
        np.uint16,
        np.uint32,
        np.uint64,
        np.longlong,
        np.ulonglong,
        np.complex64,
        np.complex128,
    )
}


def zero(like: Array) -> Any:
    """0 as a 0-d array of the dtype of ``like``."""
    found = _ZERO.get(like.dtype.char)
    return np.zeros((), like.dtype) if found is None else found


def zero_where(drop: Array, x: Array) -> Array:
    """A copy of ``x`` with 0 wherever ``drop`` is true, even in the place of an infinity; the shapes are equal."""
    kind = x.dtype
    if x.size < LARGE or kind.itemsize not in _INTEGER or kind.kind == "c":
        kept = x.copy()
        np.copyto(kept, zero(x), where=drop)
        return kept
    whole = _INTEGER[kind.itemsize]
    mask = drop.view(np.int8).astype(whole)
    mask -= 1
    mask &= x.view(whole)
    return mask.view(kind)


def choose(condition: Array, x: Array, y: Array) -> Array:
    """``np.where`` for arrays of one shape and one dtype (``y`` may be a 0-d array)."""
    kind = x.dtype
    if condition.size < LARGE or kind.itemsize not in _INTEGER or kind.kind == "c" or x.shape != condition.shape:
        return np.where(condition, x, y)
    whole = _INTEGER[kind.itemsize]
    mask = condition.view(np.int8).astype(whole)
    np.negative(mask, mask)
    other = y.view(whole)
    mask &= x.view(whole) ^ other
    mask ^= other
    return mask.view(kind)


def log1p(x: Array) -> Array:
    """``np.log1p`` in place, for a fresh floating point array of values in [0, 1]."""
    if x.size < LARGE // 8:
        return np.log1p(x, out=x)
    u = x + 1
    lost = u - 1
    np.subtract(x, lost, out=lost)
    lost /= u
    found = np.log(u, out=u)
    found += lost
    return found


def refuse(label: str, kind: Any) -> NotImplementedError:
    """Torch's error for a dtype that a kernel does not take."""
    return NotImplementedError(f"\"{label}\" not implemented for '{SCALAR_TYPE[of_numpy(kind)]}'")


def real_kernel(label: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for real floating point arrays, and torch's error for others.

    float16 and bfloat16 are computed in float32 and rounded once, as torch does. Every array argument is widened.
    """

    def kernel(x: Array, *rest: Any) -> Any:
        kind = x.dtype
        if kind.char in "fd":
            return body(x, *rest)
        if kind.char == "e" or kind.name == "bfloat16":
            wide = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == kind else a for a in (x, *rest)]
            found = body(*wide)
            if isinstance(found, tuple):
                return tuple([f.astype(kind) for f in found])
            return found.astype(kind)
        raise refuse(label, kind)

    return kernel
