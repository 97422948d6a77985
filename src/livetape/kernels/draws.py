"""The pieces that torch's samplers share: uniforms, fused multiply-add, C++'s conversions, and the order of memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape.kernels.bits import BitSource
from livetape.kernels.compiled import native

Shape = tuple[int, ...]

CHUNK = 32768  # values made at a time, so that scratch stays in cache; a multiple of 16
BOOL, F4, F8, I4, I8 = (np.dtype(name) for name in ("bool", "float32", "float64", "int32", "int64"))

BITS_24, _2_24 = np.uint32(0xFFFFFF), np.float32(2.0**-24)
BITS_53, _2_53 = np.uint64(2**53 - 1), 2.0**-53

# How C++ names the types: the compiler's spelling, and torch's.
CPP_NAME = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
    "bfloat16": "c10::BFloat16",
    "bool": "bool",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
SCALAR_NAME = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "bfloat16": "BFloat16",
    "bool": "Bool",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": float(np.finfo(F4).max),
    "float64": float(np.finfo(F8).max),
}
REAL_OF = {"complex64": F4, "complex128": F8}


def not_implemented(kernel: str, dtype: np.dtype) -> NotImplementedError:
    """torch's error for a dtype that a kernel does not know."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_NAME[dtype.name]}'")


def number(value: float) -> str:
    """A number as C++ streams it: six significant digits."""
    return f"{value:.6g}"


# ---------------------------------------------------------------- order
def memory_order(array: np.ndarray) -> Shape:
    """The axes of an array from the slowest to the fastest in memory: the order in which torch fills it.

    >>> memory_order(np.empty((2, 3)).T)
    (1, 0)
    """
    axes = range(array.ndim)
    if array.flags.c_contiguous:
        return tuple(axes)
    return tuple(sorted(axes, key=lambda axis: -abs(array.strides[axis])))


def fill(target: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Write draws (any shape, taken in C order) into an array as torch's in-place samplers would."""
    view = target.transpose(memory_order(target))
    view[...] = drawn.reshape(view.shape)
    return target


def arranged(like: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """View draws as an array with the shape and the memory order of ``like``: what torch's ``*_like`` give."""
    order = memory_order(like)
    return drawn.reshape([like.shape[axis] for axis in order]).transpose(np.argsort(order))


def plain(array: np.ndarray) -> np.ndarray:
    """The same array in C order, of native bytes, of no subclass: what C++ reads."""
    flags = array.flags
    if type(array) is np.ndarray and flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C", subok=False)


# ---------------------------------------------------------------- uniforms
def filled(function: Any, bits: BitSource, out: np.ndarray) -> np.ndarray:
    """``out``, after ``function`` in C++ has drawn into it."""
    with bits.lock:
        function(bits.capsule, out)
    return out


def unit32(bits: BitSource, count: int) -> np.ndarray:
    """24-bit uniforms in [0, 1): float32, of shape (count,), one word each."""
    if native is not None:
        return filled(native.units, bits, np.empty(count, F4))
    if count <= CHUNK:
        out = (bits.words(count) & BITS_24).view(I4).astype(F4)
        out *= _2_24
        return out
    out = np.empty(count, F4)
    with bits.lock:
        for start in range(0, count, CHUNK):
            part = out[start : start + CHUNK]
            part[...] = (bits.words(len(part)) & BITS_24).view(I4)
            part *= _2_24
    return out


def unit64(bits: BitSource, count: int) -> np.ndarray:
    """53-bit uniforms in [0, 1): float64, of shape (count,), two words each."""
    if native is not None:
        return filled(native.units, bits, np.empty(count, F8))
    if count <= CHUNK:
        out = (bits.pairs(count) & BITS_53).view(I8).astype(F8)
        out *= _2_53
        return out
    out = np.empty(count, F8)
    with bits.lock:
        for start in range(0, count, CHUNK):
            part = out[start : start + CHUNK]
            pairs = bits.pairs(len(part))
            pairs &= BITS_53
            part[...] = pairs.view(I8)  # processors convert signed integers faster
            part *= _2_53
    return out


def unit(bits: BitSource, shape: Shape, dtype: np.dtype = F8) -> np.ndarray:
    """Uniforms in [0, 1) before any rounding to less than float32: 53 bits for float64, else 24 bits in float32."""
    count = math.prod(shape)
    return (unit64(bits, count) if dtype == F8 else unit32(bits, count)).reshape(shape)


def fused(values: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """``values * scale + shift`` in place with one rounding, as torch's builds fuse it: float32 or float64."""
    if values.dtype == F4:
        scale4, shift4 = np.float32(scale), np.float32(shift)
        if shift4 == 0 or _is_power_of_two(float(scale4)):
            if scale4 != 1:
                values *= scale4
            if shift4 != 0:
                values += shift4
            return values
        flat = values.reshape(-1)
        for start in range(0, len(flat), CHUNK):
            part = flat[start : start + CHUNK]
            wide = part.astype(F8)
            wide *= float(scale4)  # exact: 24 bits by 24 bits
            wide += float(shift4)
            part[...] = wide
        return values
    if shift == 0 or _is_power_of_two(scale):
        if scale != 1:
            values *= scale
        if shift != 0:
            values += shift
        return values
    flat = values.reshape(-1)
    for start in range(0, len(flat), CHUNK):
        _fused64(flat[start : start + CHUNK], scale, shift)
    return values


def _is_power_of_two(value: float) -> bool:
    return abs(math.frexp(value)[0]) == 0.5


def _fused64(x: np.ndarray, scale: float, shift: float) -> None:
    """Dekker's exact product, then an exact sum (Knuth), then the one rounding."""
    splitter = 134217729.0  # 2**27 + 1
    scale_high = scale * splitter
    scale_high -= scale_high - scale
    scale_low = scale - scale_high
    high = x * splitter
    high -= high - x
    low = x - high
    product = x * scale
    error = high * scale_high
    error -= product
    error += high * scale_low
    error += low * scale_high
    error += low * scale_low
    total = product + shift
    kept = total - product
    product -= total - kept
    product += shift - kept  # what the sum lost
    product += error
    np.add(total, product, out=x)


def narrow(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert as C++ does: to half precision by way of float32, to integers by cutting off."""
    kind = values.dtype.kind
    if values.dtype == dtype:
        return values
    if (kind == "f" and dtype == F8) or (kind in "iub" and dtype.kind in "iubf" and dtype.itemsize >= 4):
        return values.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.itemsize == 2 and dtype.kind not in "iu" and values.dtype != F4:
            values = values.astype(F4)
        return values.astype(dtype)
