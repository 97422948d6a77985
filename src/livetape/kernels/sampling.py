"""torch's CPU random numbers on plain arrays: the same words, the same arithmetic, the same numbers.

Every sampler takes a ``BitSource`` first, moves it on by as many words as torch moves its generator, and returns a
fresh C-contiguous array. Bad arguments raise what torch raises. A draw into an existing array goes through ``fill``,
because torch fills memory in the order it lies in, not in the order of the indices.

This module has the laws of one or two uniforms a value, and names the rest: whole numbers are in ``integers``,
shuffles and choices in ``choosing``, laws that draw a varying number of words in ``rejection``.
"""

from __future__ import annotations

import math

import numpy as np

from livetape.kernels import boxmuller
from livetape.kernels.bits import BitSource
from livetape.kernels.choosing import multinomial, permutation
from livetape.kernels.compiled import native
from livetape.kernels.draws import (
    BITS_53,
    BOOL,
    CHUNK,
    CPP_NAME,
    DIGITS,
    F4,
    F8,
    I8,
    LARGEST,
    REAL_OF,
    SCALAR_NAME,
    Shape,
    arranged,
    fill,
    fused,
    memory_order,
    narrow,
    not_implemented,
    number,
    plain,
    unit,
    unit32,
    unit64,
)
from livetape.kernels.integers import integers, integers_from, random
from livetape.kernels.rejection import binomial, dirichlet, poisson, standard_gamma

__all__ = [
    "BitSource",
    "arranged",
    "bernoulli",
    "bernoulli_from",
    "binomial",
    "cauchy",
    "dirichlet",
    "dropout_mask",
    "exponential",
    "fill",
    "geometric",
    "integers",
    "integers_from",
    "log_normal",
    "memory_order",
    "multinomial",
    "normal",
    "normal_around",
    "permutation",
    "poisson",
    "random",
    "standard_gamma",
    "uniform",
    "unit",
]


def uniform(bits: BitSource, shape: Shape, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """``torch.rand`` and ``Tensor.uniform_``: floating point or complex, in [low, high).

    >>> [f"{value:.4f}" for value in uniform(BitSource(0), (3,), F4)]
    ['0.4963', '0.7682', '0.0885']
    """
    plain = low == 0.0 and high == 1.0
    if plain and (dtype == F4 or dtype == F8):
        return unit(bits, shape, dtype)
    real = REAL_OF.get(dtype.name)
    if real is not None:
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        return uniform(bits, (*shape, 2), real, low, high).view(dtype).reshape(shape)
    if dtype.name not in DIGITS:
        raise not_implemented("check_uniform_bounds", dtype)
    if plain:
        lowest, span = 0.0, 1.0
    else:
        _check_uniform(dtype, low, high)
        lowest, span = low, high - low
        if dtype != F8:
            lowest, span = float(np.float32(low)), float(np.float32(high) - np.float32(low))
    values = narrow(fused(unit(bits, shape, dtype), span, lowest), dtype)
    # Where rounding reaches ``high``, torch returns ``low``. The largest uniform shows whether it can.
    most = math.nextafter(lowest + span * (1.0 - (2.0**-53 if dtype == F8 else 2.0**-24)), math.inf)
    if dtype != F8:
        most, high = _rounded(most, dtype), _rounded(high, dtype)
    if most >= high:
        np.copyto(values, narrow(np.array(low), dtype)[()], where=values == dtype.type(high))
    return values


def _rounded(value: float, dtype: np.dtype) -> float:
    """A number rounded to float32, or by way of it to half precision."""
    if dtype == F4:
        return float(np.float32(value))
    return float(narrow(np.array([value], F8), dtype)[0])


def _check_uniform(dtype: np.dtype, low: float, high: float) -> None:
    most = LARGEST[dtype.name]
    for name, value in (("from", low), ("to", high)):
        if not -most <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {CPP_NAME[dtype.name]}")
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={number(low)} > to={number(high)}"
        )
    if not high - low <= most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{SCALAR_NAME[dtype.name]}>::max(), but "
            f"found to={number(high)} and from={number(low)} which result in to-from to exceed the "
            "limit"
        )


# ---------------------------------------------------------------- normals
def _few_normals(bits: BitSource, count: int) -> list[float]:
    """What ``serial_normals`` gives, as a list: for a few values plain Python is faster."""
    values: list[float] = []
    with bits.lock:
        if count and bits.spare is not None:
            values.append(bits.spare)
            bits.spare = None
        pairs = (count - len(values) + 1) // 2
        if pairs:
            uniforms = iter(unit64(bits, 2 * pairs).tolist())
            for turn, height in zip(uniforms, uniforms):
                radius, theta = math.sqrt(-2.0 * math.log1p(-height)), 2.0 * math.pi * turn
                values += (radius * math.cos(theta), radius * math.sin(theta))
        if len(values) > count:
            bits.spare = values.pop()
    return values


def serial_normals(bits: BitSource, count: int) -> np.ndarray:
    """Standard normals one by one, float64: pairs from two 53-bit uniforms, the second kept for the next call."""
    if native is not None:
        return _standard_normals(bits, (count,), F8, True)
    if count < 16:
        return np.array(_few_normals(bits, count), F8)
    with bits.lock:
        start = bits.spare is not None
        pairs = (count - start + 1) // 2
        made = np.empty(start + 2 * pairs, F8)
        if start:
            made[0], bits.spare = bits.spare, None
        drawn = unit64(bits, 2 * pairs)
        radius = np.sqrt(-2.0 * np.log1p(-drawn[1::2]))
        theta = 2.0 * math.pi * drawn[0::2]
        np.multiply(radius, np.cos(theta), out=made[start::2])
        np.multiply(radius, np.sin(theta), out=made[start + 1 :: 2])
        if len(made) > count:
            bits.spare = float(made[-1])
    return made[:count]


def _standard_normals(bits: BitSource, shape: Shape, dtype: np.dtype, serial: bool) -> np.ndarray:
    """By C++: float32 or float64."""
    out = np.empty(shape, dtype)
    with bits.lock:
        if serial or out.size < 16:
            bits.spare = native.serial_normals(bits.capsule, out, bits.spare)
        else:
            native.normals(bits.capsule, out)
    return out


def normal(
    bits: BitSource, shape: Shape, dtype: np.dtype, mean: float = 0.0, std: float = 1.0, serial: bool = False
) -> np.ndarray:
    """``torch.randn`` and ``Tensor.normal_``: floating point or complex.

    ``serial`` says that the draw is meant for an array that is not C-contiguous: torch then draws one by one.

    >>> [f"{value:.4f}" for value in normal(BitSource(0), (3,), F4)]
    ['1.5410', '-0.2934', '-2.1788']
    """
    if native is not None and std == 1.0 and mean == 0.0 and dtype.char in "fd":
        return _standard_normals(bits, shape, dtype, serial)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {number(std)}")
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    real = REAL_OF.get(dtype.name)
    if real is not None:
        return normal(bits, (*shape, 2), real, mean, std / math.sqrt(2.0), serial).view(dtype).reshape(shape)
    if dtype.name not in DIGITS:
        raise not_implemented("normal_kernel_cpu", dtype)
    if count < 16 or serial:
        values = serial_normals(bits, count)
    elif native is not None and dtype.itemsize >= 4:
        values = _standard_normals(bits, (count,), dtype, False)
    else:
        draw, blocks = (unit64, boxmuller.blocks64) if dtype == F8 else (unit32, boxmuller.blocks32)
        whole = count - count % 16
        if whole == count:
            values = blocks(draw(bits, count))
        else:
            # torch makes the last sixteen anew rather than a shorter block. In half precision it draws nothing for the
            # shorter block; else its uniforms are drawn and lost.
            values = draw(bits, (whole if dtype.itemsize == 2 else count) + 16)
            values[whole : whole + 16] = values[-16:].copy()
            blocks(values[: whole + 16])
            last = values[whole : whole + 16].copy()
            values = values[:count]
            values[-16:] = last
    if std != 1.0 or mean != 0.0:
        fused(values, std, mean)
    return narrow(values, dtype).reshape(shape)


def normal_around(bits: BitSource, mean: np.ndarray | float, std: np.ndarray | float) -> np.ndarray:
    """``torch.normal`` with an array for the mean, the deviation or both; they broadcast."""
    if isinstance(std, np.ndarray):
        if std.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.size and not bool(std.min() >= 0):
            raise RuntimeError("normal expects all elements of std >= 0.0")
        like = mean if isinstance(mean, np.ndarray) else std
        shape = std.shape if like.shape == std.shape else np.broadcast_shapes(like.shape, std.shape)
        values = normal(bits, shape, like.dtype)
        if values.dtype == std.dtype:
            np.multiply(values, std, values)
        else:
            values[...] = values * std
    else:
        assert isinstance(mean, np.ndarray)
        values = normal(bits, mean.shape, mean.dtype, 0.0, std)
    if isinstance(mean, np.ndarray) and values.dtype == mean.dtype:
        return np.add(values, mean, values)
    values[...] = values + (mean if isinstance(mean, np.ndarray) else values.dtype.type(mean))
    return values


# ---------------------------------------------------------------- coins
def bernoulli(bits: BitSource, shape: Shape, p: float, dtype: np.dtype = BOOL) -> np.ndarray:
    """``Tensor.bernoulli_(p)``: ones with one probability, by 53-bit uniforms."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={number(p)}")
    if math.prod(shape) and (dtype.name in ("uint16", "uint32", "uint64") or dtype.kind == "c"):
        raise not_implemented("bernoulli_scalar_cpu_", dtype)
    count = math.prod(shape)
    threshold = np.uint64(math.ceil(p * 2.0**53))  # u * 2**-53 < p, without leaving the integers
    if count <= CHUNK:
        return ((bits.pairs(count) & BITS_53) < threshold).astype(dtype, copy=False).reshape(shape)
    out = np.empty(count, dtype)
    with bits.lock:
        for start in range(0, count, CHUNK):
            part = out[start : start + CHUNK]
            pairs = bits.pairs(len(part))
            pairs &= BITS_53
            part[...] = pairs < threshold
    return out.reshape(shape)


def bernoulli_from(bits: BitSource, probabilities: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    """``torch.bernoulli(p)`` and ``Tensor.bernoulli_(p)`` with an array of probabilities: the result's shape is theirs.

    Float64 probabilities are compared with 53-bit uniforms, all others with 24-bit ones.
    """
    if native is not None and (dtype is None or dtype == probabilities.dtype) and probabilities.dtype.char in "fd":
        out = np.empty(probabilities.shape, probabilities.dtype)
        with bits.lock:
            if native.coins(bits.capsule, plain(probabilities), out):
                return out
    dtype = probabilities.dtype if dtype is None else dtype
    if not probabilities.size:
        return np.empty(probabilities.shape, dtype)
    if dtype.name in ("uint16", "uint32", "uint64") or dtype.kind == "c":
        raise not_implemented("bernoulli_tensor_cpu_self_", dtype)
    if probabilities.dtype.name not in DIGITS:
        raise not_implemented("bernoulli_tensor_cpu_p_", probabilities.dtype)
    if not (probabilities.min() >= 0 and probabilities.max() <= 1):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if probabilities.dtype.itemsize == 2:
        probabilities = probabilities.astype(F4)
    drawn = unit(bits, probabilities.shape, probabilities.dtype)
    return np.asarray(drawn < probabilities, dtype)


def dropout_mask(bits: BitSource, like: np.ndarray, p: float) -> np.ndarray:
    """What ``torch.nn.functional.dropout(x, p)`` keeps: booleans with the shape and memory order of ``like``.

    Torch draws nothing for p == 0 and p == 1; neither should the caller.
    """
    return arranged(like, bernoulli(bits, (like.size,), 1.0 - p))


# ---------------------------------------------------------------- other laws of one uniform
def exponential(bits: BitSource, shape: Shape, dtype: np.dtype, lambd: float = 1.0) -> np.ndarray:
    """``Tensor.exponential_``: -log1p(-u) / lambda."""
    if dtype.name not in DIGITS and math.prod(shape) > 0:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {SCALAR_NAME[dtype.name]}"
        )
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={number(lambd)}")
    values = unit(bits, shape)
    np.negative(values, values)
    np.log1p(values, values)
    values *= -1.0 / lambd
    return narrow(values, dtype)


def geometric(bits: BitSource, shape: Shape, dtype: np.dtype, p: float) -> np.ndarray:
    """``Tensor.geometric_``: ceil(log(u) / log1p(-p)), of any real dtype but bool."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={number(p)}")
    if math.prod(shape) and (dtype.kind in "bc" or dtype.name in ("uint16", "uint32", "uint64")):
        raise not_implemented("geometric_cpu", dtype)
    values = unit(bits, shape)
    with np.errstate(divide="ignore"):
        np.log(values, out=values)
    values /= math.log1p(-p)
    np.ceil(values, out=values)
    return narrow(narrow(values, I8) if dtype.kind in "iu" else values, dtype)


def cauchy(bits: BitSource, shape: Shape, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """``Tensor.cauchy_``: median + sigma * tan(pi * (u - 1/2))."""
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={number(sigma)}")
    if dtype.name not in DIGITS:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating "
            f"point but you specified {CPP_NAME[dtype.name]}"
        )
    values = unit(bits, shape)
    values -= 0.5
    values *= math.pi
    np.tan(values, out=values)
    return narrow(fused(values, sigma, median), dtype)


def log_normal(bits: BitSource, shape: Shape, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """``Tensor.log_normal_``: exp of normals drawn one by one."""
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={number(std)}")
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    if dtype.name not in DIGITS:
        raise not_implemented("log_normal_cpu", dtype)
    values = fused(serial_normals(bits, count), std, mean)
    with np.errstate(over="ignore"):
        np.exp(values, out=values)
    return narrow(values, dtype).reshape(shape)
