"""Sums over some or all dimensions of an array, quick and accurate, and what is made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape.compat import compat
from livetape.kernels.compiled import compiled

SMALL = 2048  # up to so many elements NumPy's own loops are as good as any
LONG = 1024  # elements that one dot product adds
TALL = 256  # rows that one vector-matrix product adds
SHORT = 128  # rows of fewer elements are added by a matrix-vector product

# typed loosely: NumPy's stubs have no bool for keepdims
add: Any = np.add
multiply: Any = np.multiply
maximum: Any = np.maximum
minimum: Any = np.minimum

_ones: dict[Any, Any] = {}


def ones(count: int, kind: Any) -> Any:
    """``count`` ones, at most LONG: adding by BLAS needs them."""
    found = _ones.get(kind)
    if found is None:
        found = _ones[kind] = np.ones(LONG, kind)
    return found[:count]


def is_half(array: Any) -> bool:
    """Whether an array is float16 or bfloat16."""
    return bool(array.itemsize == 2 and array.dtype.kind in "fV")


def wide(array: Any) -> Any:
    """float16 and bfloat16 as float32, for computing; others as they are."""
    return array.astype(np.float32) if array.itemsize == 2 and array.dtype.kind in "fV" else array


def sum_kind(array: Any) -> Any:
    """The dtype of a sum: integers and bool give int64."""
    return np.dtype(np.int64) if array.dtype.kind in "biu" else array.dtype


def total(x: Any, axes: Any = None, keepdims: bool = False, kind: Any = None) -> Any:
    """The sum over ``axes`` (None: all), computed and returned as ``kind`` (default: as torch's sum).

    Partial sums are of few elements each, so that the error grows with the logarithm of their number. The order of the
    additions does not depend on the number of threads.
    """
    if axes is None and kind is None and x.dtype.kind == "f" and x.size <= SMALL and not keepdims and x.itemsize > 2:
        return add.reduce(x, axis=None)
    if kind is None:
        kind = sum_kind(x)
    if kind.itemsize == 2 and kind.kind in "fV":
        return total(x.astype(np.float32), axes, keepdims).astype(kind)
    if x.dtype != kind:
        if kind.kind in "biu":
            if x.dtype.kind in "fc":
                x = x.astype(kind)
            elif x.dtype.kind == "b" and axes is None and not keepdims:
                return np.array(np.count_nonzero(x), kind)
            return add.reduce(x, axis=axes, keepdims=keepdims, dtype=kind)
        x = x.astype(kind)
    if x.size <= SMALL or kind.kind not in "fc":
        return add.reduce(x, axis=axes, keepdims=keepdims, dtype=kind)
    axes = tuple(range(x.ndim)) if axes is None else axes
    return finish(_total(x, axes), axes, keepdims)


def _sum_all(x: Any) -> Any:
    if x.size <= SMALL and x.dtype.kind == "f" and x.itemsize > 2:
        return add.reduce(x, axis=None)
    return total(x)


sum_all = compiled("sum_all", _sum_all)
sum_rows = compiled("sum_rows", lambda x: total(x, (0,)))  # over the first dimension


def finish(kept: Any, axes: Any, keepdims: bool) -> Any:
    """Drop the dimensions of size 1 in the places of ``axes``, unless they are to be kept."""
    if keepdims:
        return kept
    return kept.reshape(tuple([n for i, n in enumerate(kept.shape) if i not in axes]))


def _total(x: Any, axes: tuple[int, ...]) -> Any:
    """The sum of a large array of floats; ``axes`` are kept as dimensions of size 1."""
    shape = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    repeated = [i for i, n in enumerate(x.shape) if n > 1 and x.strides[i] == 0] if 0 in x.strides else []
    if repeated:  # expanded: each element counts as often as it is repeated
        times = math.prod([x.shape[i] for i in repeated if i in axes])
        once = x[tuple([slice(0, 1) if i in repeated else slice(None) for i in range(x.ndim)])]
        found = total(once, axes, True, x.dtype)
        return np.multiply(np.broadcast_to(found, shape), x.dtype.type(times))
    if not x.flags.c_contiguous:
        order = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))
        turned = np.ascontiguousarray(x.transpose(order))
        found = _total(turned, tuple([i for i, n in enumerate(order) if n in axes]))
        return found.transpose(np.argsort(order))
    if x.dtype.kind == "c":
        pairs = x.view(x.real.dtype).reshape(*x.shape, 2)
        return _contiguous(pairs, axes).reshape(-1).view(x.dtype).reshape(shape)
    return _contiguous(x, axes).reshape(shape)


def _contiguous(x: Any, axes: tuple[int, ...]) -> Any:
    """The sums of a contiguous array, run by run of neighbouring dimensions, the last run first."""
    runs: list[list[Any]] = []  # [is it added, how many elements]
    for i, n in enumerate(x.shape):
        if n == 1:
            continue
        if runs and runs[-1][0] == (i in axes):
            runs[-1][1] *= n
        else:
            runs.append([i in axes, n])
    inner = 1
    while runs:
        added, count = runs.pop()
        if added:
            outer = math.prod([n for _, n in runs])
            if inner == 1:
                x = (row_sums if count >= SHORT else _rows)(x.reshape(outer, count))
            else:
                x = _columns(x.reshape(outer, count, inner))
        else:
            inner *= count
    return x


def _rows(x: Any) -> Any:
    """The sum of each row."""
    rows, count = x.shape
    if count < SHORT:
        return np.matmul(x, ones(count, x.dtype)) if rows > 16 else add.reduce(x, axis=1)
    if count <= LONG:
        return np.vecdot(x, ones(count, x.dtype))
    whole = count // LONG * LONG
    parts = np.vecdot(x[:, :whole].reshape(rows, -1, LONG), ones(LONG, x.dtype))
    found = _rows(np.ascontiguousarray(parts))
    if whole < count:
        found += add.reduce(x[:, whole:], axis=1)
    return found


row_sums = compiled("row_sums", _rows)


def _columns(x: Any) -> Any:
    """The sums over the middle dimension of three."""
    outer, count, inner = x.shape
    if count <= TALL:
        if outer * 16 > x.size:  # little to do for each of many
            return add.reduce(x, axis=1)
        return np.matmul(ones(count, x.dtype), x)
    whole = count // TALL * TALL
    parts = np.matmul(ones(TALL, x.dtype), x[:, :whole].reshape(outer, -1, TALL, inner))
    found = _columns(parts)
    if whole < count:
        found += add.reduce(x[:, whole:], axis=1)
    return found


# ---------------------------------------------------------------- extremes
row_largest = compiled("row_largest", lambda x: maximum.reduce(x, axis=1))
row_smallest = compiled("row_smallest", lambda x: minimum.reduce(x, axis=1))


def largest(x: Any, axes: Any, keepdims: bool = False) -> Any:
    """The largest over ``axes`` (one, several, or None for all), NaN if there is one."""
    return _extreme(maximum, row_largest, x, axes, keepdims)


def smallest(x: Any, axes: Any, keepdims: bool = False) -> Any:
    """The smallest over ``axes`` (one, several, or None for all), NaN if there is one."""
    return _extreme(minimum, row_smallest, x, axes, keepdims)


def _extreme(function: Any, of_rows: Any, x: Any, axes: Any, keepdims: bool) -> Any:
    if x.size > SMALL and x.dtype.char in "fd" and x.flags.c_contiguous:
        several = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
        first = x.ndim - len(several)
        if {a % x.ndim for a in several} == set(range(first, x.ndim)):
            found = of_rows(x.reshape(math.prod(x.shape[:first]), -1))
            return found.reshape(x.shape[:first] + (1,) * len(several) * keepdims)
    return function.reduce(x, axis=axes, keepdims=keepdims)


# ---------------------------------------------------------------- means and moments
def count_over(shape: Any, axes: Any) -> int:
    """How many elements each result of a reduction is made of."""
    return math.prod(shape if axes is None else [shape[i] for i in axes])


def mean(x: Any, axes: Any = None, keepdims: bool = False, kind: Any = None) -> Any:
    """The mean over ``axes``; float16 and bfloat16 are added in float32."""
    if kind is None and x.dtype.kind == "f" and 0 < x.size <= SMALL and x.itemsize > 2:
        found = add.reduce(x, axis=axes, keepdims=keepdims)
        if not found.size:
            return found
        found = found / x.dtype.type(x.size / found.size)
        return found if compat.torch or is_finite(found) else _mean_of_parts(x, axes, keepdims)
    kind = x.dtype if kind is None else kind
    if kind.itemsize == 2 and kind.kind in "fV":
        return mean(x.astype(np.float32), axes, keepdims).astype(kind)
    found = np.true_divide(total(x, axes, keepdims, kind), kind.type(count_over(x.shape, axes)))
    if compat.torch or not x.size or is_finite(found):
        return found
    return _mean_of_parts(x.astype(kind, copy=False), axes, keepdims)


def _mean_of_parts(x: Any, axes: Any, keepdims: bool) -> Any:
    """The mean where the sum overflows: each element is divided first."""
    return total(x / x.dtype.type(count_over(x.shape, axes)), axes, keepdims)


def is_finite(found: Any) -> bool:
    """Whether all elements of what a reduction found are finite."""
    if found.ndim == 0 and found.dtype.kind == "f":
        return math.isfinite(found)
    if found.dtype.kind == "f" and math.isfinite(np.vdot(found, found)):  # quick, but it may overflow itself
        return True
    return bool(np.isfinite(found).all())


def _moments(x: Any, axes: Any, correction: float, keepdims: bool, root: bool) -> tuple[Any, Any]:
    if is_half(x):
        spread, centre = moments(x.astype(np.float32), axes, correction, keepdims, root)
        return spread.astype(x.dtype), centre.astype(x.dtype)
    spread, centre = _plain_moments(x, axes, correction, keepdims, root)
    if x.size == 0 or _in_range(spread, 1e-30) or (compat.torch and x.itemsize > 4):
        return spread, centre
    # the squares are too large or too small: torch adds those of single precision in double
    if x.dtype == np.float32:
        wider = _plain_moments(x.astype(np.float64), axes, correction, keepdims, root)
        return np.asarray(wider[0]).astype(x.dtype), np.asarray(wider[1]).astype(x.dtype)
    scale = _largest(x, axes)
    spread, centre = _plain_moments(x / scale, axes, correction, True, root)
    spread, centre = np.asarray(spread * (scale if root else scale * scale)), np.asarray(centre * scale)
    axes = tuple(range(x.ndim)) if axes is None else axes
    return finish(spread, axes, keepdims), finish(centre, axes, keepdims)


# (array, axes or None, correction, keepdims, root): variance and mean over the axes: the squared distances from the mean,
# divided by their count - correction. With ``root``, the standard deviation instead of the variance.
moments = compiled("moments", _moments)


def _in_range(found: Any, low: float) -> bool:
    """Whether all elements are finite and not so small that squares below have vanished."""
    if found.ndim == 0:
        return bool(low < found < math.inf)
    return bool(low < minimum.reduce(found, axis=None) and maximum.reduce(found, axis=None) < math.inf)


def _largest(x: Any, axes: Any) -> Any:
    """The largest absolute value over ``axes``, which are kept; 1 where it is 0 or not finite."""
    size = np.absolute(x)
    size = np.asarray(maximum.reduce(size, axis=axes, keepdims=True) if size.size else np.ones_like(size))
    return np.where(np.isfinite(size) & (size > 0), size, size.dtype.type(1))


def _plain_moments(x: Any, axes: Any, correction: float, keepdims: bool, root: bool) -> tuple[Any, Any]:
    kind = x.dtype
    if kind.kind == "f" and x.size <= SMALL and x.itemsize > 2:
        count, one = count_over(x.shape, axes), kind.type
        centre = add.reduce(x, axis=axes, keepdims=True) / one(count)
        spread = add.reduce(np.square(x - centre), axis=axes, keepdims=keepdims) / one(max(0.0, count - correction))
        return np.sqrt(spread) if root else spread, centre if keepdims else centre.reshape(spread.shape)
    count = count_over(x.shape, axes)
    centre = mean(x, axes, True)
    apart = x - centre
    if apart.dtype.kind == "c":
        squares = np.square(apart.real) + np.square(apart.imag)
    else:
        squares = np.square(apart, out=apart if isinstance(apart, np.ndarray) else None)
    axes = tuple(range(x.ndim)) if axes is None else axes
    spread = total(squares, axes, keepdims)
    spread = np.true_divide(spread, spread.dtype.type(max(0.0, count - correction)))
    if root:
        spread = np.sqrt(spread)
    return spread, finish(centre, axes, keepdims)


def product(x: Any, axes: Any, keepdims: bool, kind: Any) -> Any:
    """The product over ``axes`` (None: all), computed in ``kind``; halves of long rows are multiplied side by side."""
    x = x.astype(kind, copy=False)
    if x.size > SMALL and kind.kind in "fc" and x.flags.c_contiguous:
        if axes is None:
            return np.asarray(_row_products(x.reshape(-1))).reshape((1,) * x.ndim if keepdims else ())
        if axes == (x.ndim - 1,):
            found = _row_products(x)
            return found.reshape(*x.shape[:-1], 1) if keepdims else found
    return multiply.reduce(x, axis=axes, keepdims=keepdims, dtype=kind)


def _row_products(x: Any) -> Any:
    while x.shape[-1] > 32:
        half = x.shape[-1] // 2
        halves = x[..., :half] * x[..., half : 2 * half]
        if x.shape[-1] % 2:
            halves[..., 0] *= x[..., -1]
        x = halves
    return multiply.reduce(x, axis=-1)


# ---------------------------------------------------------------- norms and log-sum-exp
def vector_norm(x: Any, order: float, axes: Any, keepdims: bool) -> Any:
    """(sum of |x|**order) ** (1 / order) over ``axes``, with its limits for 0 and the infinities; real."""
    found = _vector_norm(x, order, axes, keepdims)
    if compat.torch or order in (0, 1) or math.isinf(order) or not x.size or _in_range(found, 1e-15):
        return found
    # the powers are too large or too small for their sum
    x = np.absolute(wide(x))
    scale = _largest(x, axes) if order > 0 else 1 / _largest(1 / x, axes)
    found = _vector_norm(x / scale, order, axes, True) * scale
    return finish(np.asarray(found), tuple(range(x.ndim)) if axes is None else axes, keepdims)


def _vector_norm(x: Any, order: float, axes: Any, keepdims: bool) -> Any:
    x = wide(x)
    if order == 2:
        if x.dtype.kind == "c":
            x = np.hypot(x.real, x.imag)
        if axes is None and x.flags.c_contiguous:
            found = np.sqrt(sum_of_squares(x.reshape(-1)))
            return found.reshape((1,) * x.ndim) if keepdims else found
        if axes == (x.ndim - 1,) and x.flags.c_contiguous and x.shape[-1] <= LONG:
            found = np.sqrt(np.vecdot(x, x))
            return found.reshape(*x.shape[:-1], 1) if keepdims else found
        return np.sqrt(total(np.square(x), axes, keepdims))
    size = np.absolute(x)
    if order == math.inf:
        return maximum.reduce(size, axis=axes, keepdims=keepdims)
    if order == -math.inf:
        return minimum.reduce(size, axis=axes, keepdims=keepdims)
    if order == 0:
        return total((x != 0).astype(size.dtype), axes, keepdims)
    if order == 1:
        return total(size, axes, keepdims)
    if order == 3:
        return np.cbrt(total(size * size * size, axes, keepdims))
    one = size.dtype.type
    return np.power(total(np.power(size, one(order)), axes, keepdims), one(1.0 / order))


def sum_of_squares(x: Any) -> Any:
    """The sum of the squares of a real 1-D array."""
    if x.size <= LONG:
        return np.vecdot(x, x)
    whole = x.size // LONG * LONG
    blocks = x[:whole].reshape(-1, LONG)
    return total(np.vecdot(blocks, blocks)) + np.vecdot(x[whole:], x[whole:])


def logsumexp(x: Any, axes: Any, keepdims: bool) -> Any:
    """log(sum of exp(x)) over ``axes``, without overflow."""
    kind = x.dtype
    x = wide(x)
    axes = tuple(range(x.ndim)) if axes is None else axes
    if count_over(x.shape, axes):
        real = x.real if x.dtype.kind == "c" else x
        top = maximum.reduce(real, axis=axes, keepdims=True)
        unbounded = np.isinf(top)
        if unbounded.any():
            top = np.where(unbounded, np.zeros((), top.dtype), top)
        parts = np.asarray(x - top)
        np.exp(parts, out=parts)
        found = np.log(total(parts, axes, True)) + top
    else:
        found = np.log(total(x, axes, True))
    return finish(found, axes, keepdims).astype(kind, copy=False)
