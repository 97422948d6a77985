"""torch's random whole numbers: ``randint`` and ``Tensor.random_``, for every dtype."""

from __future__ import annotations

import math
import warnings

import numpy as np

from livetape.kernels.bits import BitSource
from livetape.kernels.draws import CHUNK, CPP_NAME, DIGITS, I8, LARGEST, Shape, narrow, not_implemented

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def _remainder(values: np.ndarray, divisor: int) -> np.ndarray:
    """``values % divisor`` for unsigned integers, in place; NumPy divides by a constant faster than it takes modulo."""
    if divisor & (divisor - 1) == 0:
        values &= values.dtype.type(divisor - 1)
    else:
        values -= values // values.dtype.type(divisor) * values.dtype.type(divisor)
    return values


def _ranged(bits: BitSource, shape: Shape, dtype: np.dtype, base: int, span: int) -> np.ndarray:
    """Integers in [base, base + span): a word modulo the span, or two words from 2**28 on."""
    count = math.prod(shape)
    if count <= CHUNK:
        return narrow(_shifted(bits, count, base, span), dtype).reshape(shape)
    out = np.empty(count, dtype)
    with bits.lock:
        for start in range(0, count, CHUNK):
            part = out[start : start + CHUNK]
            part[...] = narrow(_shifted(bits, len(part), base, span), dtype)
    return out.reshape(shape)


def _shifted(bits: BitSource, count: int, base: int, span: int) -> np.ndarray:
    if span >= 2**28:
        drawn = bits.pairs(count)
        if span < 2**64:
            _remainder(drawn, span)
    else:
        drawn = _remainder(bits.words(count).copy(), span)
    if base:
        drawn = drawn.astype(np.uint64, copy=False)
        drawn += np.uint64(base % 2**64)
    return drawn.view(I8) if drawn.dtype.itemsize == 8 else drawn


def integers(bits: BitSource, shape: Shape, dtype: np.dtype, low: int, high: int) -> np.ndarray:
    """``torch.randint(low, high)`` and ``Tensor.random_(low, high)``: any real dtype, in [low, high).

    >>> integers(BitSource(0), (5,), I8, 0, 10).tolist()
    [4, 9, 3, 0, 3]
    """
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.name in DIGITS:
        low, high = _raise_low(dtype, low), _lower_high(dtype, high)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                f"from={low} >= to={high}"
            )
    _check_integers(dtype, low, high - 1)
    return _ranged(bits, shape, dtype, low, high - low)


def integers_from(bits: BitSource, shape: Shape, dtype: np.dtype, low: int) -> np.ndarray:
    """``Tensor.random_(low, None)``: from ``low`` to the largest value of the dtype, inclusive."""
    digits = DIGITS.get(dtype.name)
    if low == _INT64_MIN:
        if dtype.name not in ("int64", "float64", "float32", "bfloat16"):
            if math.prod(shape) == 0:
                return np.empty(shape, dtype)
            if dtype.name in ("uint8", "int8", "int16", "int32"):
                raise RuntimeError(
                    "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
                )
            raise not_implemented("random_full_64_bits_range_kernel_cpu", dtype)
        return _ranged(bits, shape, dtype, 0, 2**64)
    if digits:
        most = 2**digits
        low = _raise_low(dtype, low)
        if low >= most:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to "
                f"dtype, but got from={low} > to_inc={most}"
            )
    elif dtype.kind in "iub":
        most = 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)
        most = -1 if most > _INT64_MAX else most  # as C++ converts uint64's largest
    else:
        raise RuntimeError("random_from_to_impl handles only integral, floating-point and boolean types")
    _check_integers(dtype, low, most)
    return _ranged(bits, shape, dtype, low, most - low + 1)


def random(bits: BitSource, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """``Tensor.random_()``: integers from 0 to the largest of the dtype, or to 2**digits for floating point.

    >>> random(BitSource(0), (3,), np.dtype(np.uint8)).tolist()
    [172, 47, 117]
    """
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    digits = DIGITS.get(dtype.name)
    if digits:
        span = 2**digits + 1
    elif dtype.kind == "b":
        span = 2
    elif dtype.kind == "i" or dtype.name == "uint8":
        span = int(np.iinfo(dtype).max) + 1
    else:
        raise not_implemented("random_kernel_cpu", dtype)
    with bits.lock:
        drawn = bits.pairs(count) if dtype.itemsize == 8 else np.ascontiguousarray(bits.words(count))
    return narrow(_remainder(drawn, span).view(drawn.dtype.str.replace("u", "i")), dtype).reshape(shape)


def _as_int(dtype: np.dtype, value: int) -> int:
    """An integer rounded to a floating dtype and back, as x86 does: what does not fit becomes the least integer."""
    rounded = float(narrow(np.array([value], I8), dtype)[0])
    return int(rounded) if -(2.0**63) <= rounded < 2.0**63 else _INT64_MIN


def _raise_low(dtype: np.dtype, low: int) -> int:
    """The nearest bound that a floating dtype holds at or above ``low``."""
    rounded = _as_int(dtype, low + 1)
    if rounded < low:
        return rounded + (1 << (abs(low + 1).bit_length() - DIGITS[dtype.name]))
    return low


def _lower_high(dtype: np.dtype, high: int) -> int:
    """The nearest bound that a floating dtype holds at or below ``high``."""
    rounded = _as_int(dtype, high - 1)
    if rounded >= high:
        return rounded - (1 << (abs(high - 1).bit_length() - DIGITS[dtype.name]))
    return high


def _check_integers(dtype: np.dtype, low: int, most: int) -> None:
    digits = DIGITS.get(dtype.name)
    if digits:
        largest = LARGEST[dtype.name]
        smallest = -largest
    elif dtype.kind == "b":
        smallest, largest = 0, 1
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        smallest, largest = int(info.min), min(int(info.max), _INT64_MAX)
    else:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    for name, value in (("from", low), ("to - 1", most)):
        if not smallest <= value <= largest:
            raise RuntimeError(f"{name} is out of bounds for {CPP_NAME[dtype.name]}")
    if digits:
        for name, value in (("from", low), ("to - 1", most)):
            if abs(value) > 2**digits:
                warnings.warn(
                    f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                    f"{CPP_NAME[dtype.name]} can support discrete uniform distribution only within this "
                    "range. This warning will become an error in version 1.7 release, please fix the code in "
                    "advance",
                    stacklevel=3,
                )
