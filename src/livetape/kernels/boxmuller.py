"""Normals in blocks of sixteen, as torch's vectorised CPU kernel makes them, to the last bit.

torch computes float32 log, sine and cosine here with the Cephes polynomials (the coefficients of logf and sinf, by
S. L. Moshier), one fused multiply-add a step. A product of two float32 numbers is exact in float64, so a float64 sum
rounded to float32 is that fused step.
"""

from __future__ import annotations

import math

import numpy as np

F4, F8, I4 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32)
CHUNK = 32768  # values made at a time, so that scratch stays in cache; a multiple of 16
_EIGHT_FLOATS = np.dtype("V32")

_LOG = [
    np.array(np.float32(c), F8)
    for c in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
]
_LN2_LOW, _LN2_HIGH = np.array(-2.12194440e-4, F4), np.array(0.693359375)
_SQRT_HALF_BITS, _MANTISSA, _23 = np.array([0x3F3504F3, 0x007FFFFF, 23], I4)[:, None]

# Row 0 is the cosine's polynomial, row 1 the sine's.
_TRIG = [
    np.array(pair, np.float32).astype(F8).reshape(2, 1)
    for pair in (
        (2.443315711809948e-5, -1.9515295891e-4),
        (-1.388731625493765e-3, 8.3321608736e-3),
        (4.166664568298827e-2, -1.6666654611e-1),
    )
]
# Minus pi / 2 in three parts.
_QUARTER_HIGH, _QUARTER_MIDDLE = np.array([-0.78515625 * 2, -2.4187564849853515625e-4 * 2], F4)[:, None]
_QUARTER_LOW = np.array(np.float32(-3.77489497744594108e-8 * 2), F8)
# Constants are arrays, because NumPy takes three times as long to add a scalar to a short array.
_4_OVER_PI, _TWO_PI, _HALF, _ONE, _MINUS_TWO = np.array([1.27323954473516, 2 * math.pi, 0.5, 1, -2], F4)[:, None]
_1, _2, _30, _31 = np.array([1, 2, 30, 31], I4)[:, None]
_AHEAD = np.array([[1], [0]], I4)


def _radius(u: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """sqrt(-2 ln u) for float32 u in (0, 1]; ``wide`` is float64 scratch of the same length."""
    bits = u.view(I4) - _SQRT_HALF_BITS
    exponent = (bits >> _23).astype(F4)
    bits &= _MANTISSA
    bits += _SQRT_HALF_BITS
    x = bits.view(F4)  # in [sqrt(1/2), sqrt(2)), and u = x * 2**exponent
    x -= _ONE
    x_wide = x.astype(F8)
    square = x * x
    y = np.empty_like(x)
    np.multiply(x_wide, _LOG[0], wide)
    wide += _LOG[1]
    for coefficient in _LOG[2:]:
        y[...] = wide
        wide[...] = y
        wide *= x_wide
        wide += coefficient
    y[...] = wide
    y *= x
    wide[...] = y
    wide *= square
    wide += exponent * _LN2_LOW
    y[...] = wide
    square *= _HALF
    y -= square
    x += y
    wide[...] = exponent
    wide *= _LN2_HIGH
    wide += x
    x[...] = wide
    x *= _MINUS_TWO
    return np.sqrt(x, x)


def _cos_sin(theta: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """Cosine and sine of float32 angles in [0, 2 pi], as rows; ``wide`` is float64 scratch of that shape."""
    quadrant = (theta * _4_OVER_PI).astype(I4)
    quadrant += _1
    quadrant >>= _1  # the nearest multiple of pi / 2
    turns = quadrant.astype(F4)
    x = theta
    x += turns * _QUARTER_HIGH  # exact products: both constants are short, and turns is at most 4
    x += turns * _QUARTER_MIDDLE
    row = wide[0]
    row[...] = turns
    row *= _QUARTER_LOW
    row += x
    x[...] = row
    square = x * x
    square_wide = square.astype(F8)
    y = np.empty(wide.shape, F4)
    np.multiply(square_wide, _TRIG[0], wide)
    wide += _TRIG[1]
    y[...] = wide
    wide[...] = y
    wide *= square_wide
    wide += _TRIG[2]
    y[...] = wide
    y *= square
    wide[...] = y
    row *= square_wide
    square *= _HALF
    row -= square
    row = wide[1]
    row *= x
    row += x
    y[...] = wide
    y[0] += _ONE
    # In every second quadrant sine and cosine change places; then each takes its sign there.
    bits = y.view(I4)
    swap = quadrant << _31
    swap >>= _31
    swap &= bits[0] ^ bits[1]
    bits ^= swap
    signs = quadrant + _AHEAD
    signs &= _2
    signs <<= _30
    bits ^= signs
    return y


def blocks32(uniforms: np.ndarray) -> np.ndarray:
    """Standard normals from float32 uniforms in [0, 1), in place: 1-d, contiguous, a multiple of 16 long."""
    for start in range(0, len(uniforms), CHUNK):
        part = uniforms[start : start + CHUNK]
        eights = part.view(_EIGHT_FLOATS).reshape(-1, 2)  # whole runs of eight move as one item
        count = len(part) // 2
        wide = np.empty((2, count), F8)
        u, theta = np.empty(count, F4), np.empty(count, F4)
        u.view(_EIGHT_FLOATS)[...] = eights[:, 0]
        theta.view(_EIGHT_FLOATS)[...] = eights[:, 1]
        theta *= _TWO_PI
        np.subtract(_ONE, u, out=u)
        radius = _radius(u, wide[0])
        made = _cos_sin(theta, wide)
        made *= radius
        eights[:, 0] = made[0].view(_EIGHT_FLOATS)
        eights[:, 1] = made[1].view(_EIGHT_FLOATS)
    return uniforms


def blocks64(uniforms: np.ndarray) -> np.ndarray:
    """The same from float64 uniforms, with the platform's log, sine and cosine as torch has it."""
    for start in range(0, len(uniforms), CHUNK):
        eights = uniforms[start : start + CHUNK].reshape(-1, 2, 8)
        radius = 1.0 - eights[:, 0]
        np.log(radius, out=radius)
        radius *= -2.0
        np.sqrt(radius, out=radius)
        theta = eights[:, 1] * (2.0 * math.pi)
        np.multiply(radius, np.cos(theta), out=eights[:, 0])
        np.multiply(radius, np.sin(theta), out=eights[:, 1])
    return uniforms
