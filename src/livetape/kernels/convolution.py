"""Convolutions in one to three dimensions, on plain arrays.

Layouts are torch's: input (N, C, d...), weight (O, C / groups, k...), output (N, O, l...). float32 and float64 are the
C++ functions' (``native/conv.cpp``). Their NumPy twins make matrix products over copied windows (im2col): windows of a few
images at a time go into one buffer that stays in cache, and BLAS does the rest. Where each group has a single input
channel (depthwise), products of a few numbers would waste BLAS: there the kernel's positions are summed one by one.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from livetape.kernels.compiled import compiled, native
from livetape.kernels.select import refuse

Array = Any
Ints = tuple[int, ...]
BUFFER = 1 << 20  # elements of the windows' buffer
BLOCK = 1 << 16  # elements that a depthwise convolution works on at a time


def output_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The spatial size of a convolution's output."""
    return tuple(
        [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)]
    )


def padded(x: Array, padding: Ints) -> Array:
    """``x`` with zeros around its last dimensions."""
    if not any(padding):
        return x
    lead = x.ndim - len(padding)
    found: Array = np.zeros((*x.shape[:lead], *[n + 2 * p for n, p in zip(x.shape[lead:], padding)]), x.dtype)
    found[(..., *[slice(p, p + n) for n, p in zip(x.shape[lead:], padding)])] = x
    return found


def windows(x: Array, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Array:
    """A view (N, C, k..., l...) of the padded input (N, C, d...)."""
    steps = x.strides[2:]
    strides = (*x.strides[:2], *[b * d for b, d in zip(steps, dilation)], *[b * s for b, s in zip(steps, stride)])
    return as_strided(x, (*x.shape[:2], *kernel, *out), strides, writeable=False)


def _wide(x: Array) -> Array:
    """A dtype that products are computed in."""
    kind = x.dtype
    if kind.char in "fdFD":
        return x
    if kind.char == "e" or kind.name == "bfloat16":
        return x.astype(np.float32)
    if kind.kind == "b":
        raise refuse("slow_conv2d_cpu", kind)
    return x


def _is_pointwise(kernel: Ints, stride: Ints, x: Array) -> bool:
    return all(k == 1 for k in kernel) and all(s == 1 for s in stride) and x.flags.c_contiguous


class _Columns:
    """The windows of an input as matrices (n, groups, C / groups * k, l), for a few images at a time."""

    def __init__(self, x: Array, kernel: Ints, stride: Ints, dilation: Ints, out: Ints, groups: int) -> None:
        count, channels = x.shape[:2]
        self.rows = channels // groups * math.prod(kernel)
        self.places = math.prod(out)
        self.groups = groups
        self.flat: Array = None
        if _is_pointwise(kernel, stride, x):
            self.flat = x.reshape(count, groups, self.rows, self.places)
            self.step = count or 1
            return
        self.view = windows(x, kernel, stride, dilation, out)
        each = max(1, channels * math.prod(kernel) * self.places)
        self.step = max(1, min(count, BUFFER // each))
        self.buffer = np.empty((self.step, *self.view.shape[1:]), x.dtype)

    def part(self, start: int) -> Array:
        """The matrices of the images from ``start`` on; they last until the next call."""
        if self.flat is not None:
            return self.flat[start : start + self.step]
        view = self.view[start : start + self.step]
        buffer = self.buffer[: len(view)]
        np.copyto(buffer, view)
        return buffer.reshape(len(view), self.groups, self.rows, self.places)


class _Places:
    """Where a kernel's positions meet the padded input, so that NumPy's inner loops are long.

    With stride 1 a whole image is one line: the output, laid out as widely as the padded input, meets it shifted by a
    constant at each position. The gaps at the ends of the rows hold numbers that nobody reads.
    """

    def __init__(self, size: Ints, kernel: Ints, stride: Ints, dilation: Ints, out: Ints, flat: bool = True) -> None:
        self.size, self.out, self.kernel = size, out, kernel
        self.flat = flat and all(s == 1 for s in stride)
        steps = [math.prod(size[axis + 1 :]) for axis in range(len(size))]
        self.length = 1 + sum((o - 1) * step for o, step in zip(out, steps))
        if self.flat:
            starts = [
                sum(i * d * step for i, d, step in zip(at, dilation, steps))
                for at in product(*[range(k) for k in kernel])
            ]
            self.where = [(..., slice(start, start + self.length)) for start in starts]
        else:
            self.where = [where for _, where in _positions(kernel, stride, dilation, out)]

    def input(self, x: Array) -> Array:
        """The padded input (n, C, d...), shaped for `where`."""
        return x.reshape(*x.shape[: -len(self.size)], math.prod(self.size)) if self.flat else x

    def output(self, shape: Ints, kind: Any) -> tuple[Array, Array]:
        """New memory for outputs (..., l...), shaped for arithmetic, and a view of it that has that shape."""
        lead = shape[: -len(self.out)]
        if not self.flat:
            made = np.empty(shape, kind)
            return made, made
        wide: Array = np.zeros((*lead, *self.size), kind)
        view = wide[(..., *[slice(o) for o in self.out])]
        return wide.reshape(*lead, math.prod(self.size))[..., : self.length], view

    def spread(self, grad: Array) -> Array:
        """A gradient of the output, (..., l...), shaped for arithmetic: zeros in the gaps."""
        if not self.flat:
            return grad
        made, view = self.output(grad.shape, grad.dtype)
        view[...] = grad
        return made


# ---------------------------------------------------------------- forward
def _convolve(
    x: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The convolution, plus a bias for each channel if there is one."""
    kind = x.dtype
    x, weight = _wide(x), _wide(weight)
    if x.dtype != kind:
        bias = None if bias is None else _wide(bias)  # rounded once, with the bias
        return convolve(x, weight, bias, stride, padding, dilation, groups).astype(kind)
    x = padded(x, padding)
    kernel, outputs = weight.shape[2:], weight.shape[0]
    out = output_size(x.shape[2:], kernel, stride, (0,) * len(kernel), dilation)
    count = x.shape[0]
    found = np.empty((count, outputs, *out), x.dtype)
    if not found.size or not weight.size:
        found[...] = 0
    elif groups > 1 and groups == x.shape[1]:
        _convolve_single(x, weight, stride, dilation, groups, found)
    else:
        columns = _Columns(x, kernel, stride, dilation, out, groups)
        matrix = weight.reshape(groups, outputs // groups, columns.rows)
        result = found.reshape(count, groups, outputs // groups, columns.places)
        for start in range(0, count, columns.step):
            np.matmul(matrix, columns.part(start), out=result[start : start + columns.step])
    return _plus(found, bias)


def _plus(found: Array, bias: Array | None) -> Array:
    if bias is not None:
        found += bias.reshape(-1, *[1] * (found.ndim - 2))
    return found


def _positions(kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Any:
    """For each position in the kernel, its index and the slice of the padded input that it meets."""
    for at in product(*[range(k) for k in kernel]):
        yield at, (..., *[slice(i * d, i * d + s * (n - 1) + 1, s) for i, d, s, n in zip(at, dilation, stride, out)])


# ---------------------------------------------------------------- depthwise
def _factors(weight: Array, groups: int, dims: int) -> Any:
    """For each position in a depthwise kernel, its weights shaped to multiply (n, groups, outputs / groups, ...)."""
    table = np.ascontiguousarray(weight.reshape(groups, weight.shape[0] // groups, -1).transpose(2, 0, 1))
    return table.reshape(*table.shape, *[1] * dims)


def _image_steps(count: int, each: int) -> Any:
    """Slices of a few images, of ``each`` elements, that stay in cache together."""
    step = max(1, min(count, BLOCK // max(1, each)))
    return [slice(start, start + step) for start in range(0, count, step)]


def _convolve_single(x: Array, weight: Array, stride: Ints, dilation: Ints, groups: int, found: Array) -> None:
    """One input channel a group: ``found`` becomes the sum over the kernel's positions."""
    out = found.shape[2:]
    places = _Places(x.shape[2:], weight.shape[2:], stride, dilation, out)
    result = found.reshape(x.shape[0], groups, weight.shape[0] // groups, *out)
    factors = _factors(weight, groups, 1 if places.flat else len(out))
    for images in _image_steps(len(x), math.prod(result.shape[1:])):
        part = places.input(x[images])[:, :, None]
        total, view = places.output(result[images].shape, x.dtype)
        scratch = np.empty(total.shape, total.dtype)
        np.multiply(part[places.where[0]], factors[0], out=total)
        for where, factor in zip(places.where[1:], factors[1:]):
            np.multiply(part[where], factor, out=scratch)
            total += scratch
        result[images] = view


# ---------------------------------------------------------------- backward to the input
def scatter_windows(matrix: Array, x: Array, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> None:
    """Add windows (n, C, k..., l...) to their places in the padded ``x``, (n, C, d...): the transpose of `windows`."""
    for at, where in _positions(kernel, stride, dilation, out):
        x[where] += matrix[(slice(None), slice(None), *at)]


def _cropped(x: Array, padding: Ints) -> Array:
    if not any(padding):
        return x
    return np.ascontiguousarray(x[(..., *[slice(p, n - p) for n, p in zip(x.shape[2:], padding)])])


def _convolve_transposed(
    grad: Array,
    weight: Array,
    bias: Array | None,
    size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> Array:
    """The transpose of `convolve`: from (N, O, l...) to (N, C, size...), plus a bias for each channel if there is one."""
    kind = grad.dtype
    grad, weight = _wide(grad), _wide(weight)
    if grad.dtype != kind:
        found = convolve_transposed(grad, weight, None, size, stride, padding, dilation, groups).astype(kind)
        return _plus(found, bias)
    kernel, outputs = weight.shape[2:], weight.shape[0]
    inner = weight.shape[1]
    count, out = grad.shape[0], grad.shape[2:]
    if all(s == 1 for s in stride) and 2 * outputs <= 3 * groups * inner and inner > 1 and math.prod(kernel) > 1:
        found = _convolve_back(grad, weight, size, padding, dilation, groups)
        if found is not None:
            return _plus(found, bias)
    # The windows may end before the padded input does, or, where output padding is large, after it.
    full = tuple(
        [
            max(n + 2 * p, s * (o - 1) + d * (k - 1) + 1)
            for n, p, s, o, d, k in zip(size, padding, stride, out, dilation, kernel)
        ]
    )
    x: Array = np.zeros((count, groups * inner, *full), grad.dtype)
    if grad.size and weight.size:
        if groups > 1 and inner == 1:
            _transpose_single(grad, weight, stride, dilation, groups, x)
        elif all(k == 1 for k in kernel) and all(s == 1 for s in stride) and full == out:
            flat = np.ascontiguousarray(grad).reshape(count, groups, outputs // groups, -1)
            matrix = weight.reshape(groups, outputs // groups, inner).swapaxes(1, 2)
            np.matmul(matrix, flat, out=x.reshape(count, groups, inner, -1))
        else:
            _transpose_columns(np.ascontiguousarray(grad), weight, stride, dilation, groups, x)
    x = x[(..., *[slice(p, p + n) for n, p in zip(size, padding)])] if any(padding) or full != tuple(size) else x
    return _plus(np.ascontiguousarray(x), bias)


def _convolve_back(grad: Array, weight: Array, size: Ints, padding: Ints, dilation: Ints, groups: int) -> Array | None:
    """With stride 1 the transpose is a convolution by the reversed kernel, if the padding allows: copying windows is
    quicker than adding them."""
    kernel, inner = weight.shape[2:], weight.shape[1]
    around = tuple([d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding)])
    if min(around) < 0 or not grad.size:
        return None
    if output_size(grad.shape[2:], kernel, (1,) * len(kernel), around, dilation) != tuple(size):
        return None
    reverse = (slice(None),) * 3 + (slice(None, None, -1),) * len(kernel)
    turned = weight.reshape(groups, -1, inner, *kernel)[reverse].swapaxes(1, 2)
    return _convolve(
        grad, turned.reshape(groups * inner, -1, *kernel), None, (1,) * len(kernel), around, dilation, groups
    )


def _transpose_columns(grad: Array, weight: Array, stride: Ints, dilation: Ints, groups: int, x: Array) -> None:
    outputs, inner, kernel = weight.shape[0], weight.shape[1], weight.shape[2:]
    count, out = grad.shape[0], grad.shape[2:]
    shifts = _Places(x.shape[2:], kernel, stride, dilation, out)
    each = math.prod(kernel)
    places = shifts.length if shifts.flat else math.prod(out)
    matrix = weight.reshape(groups, outputs // groups, inner * each).swapaxes(1, 2)
    step = max(1, min(count, BUFFER // max(1, groups * inner * each * places)))
    buffer = np.empty((step, groups, inner * each, places), grad.dtype)
    for start in range(0, count, step):
        part = shifts.spread(grad[start : start + step])
        columns = np.matmul(matrix, part.reshape(len(part), groups, outputs // groups, places), out=buffer[: len(part)])
        pieces = columns.reshape(len(part), groups * inner, each, *([places] if shifts.flat else out))
        total = shifts.input(x[start : start + step])
        for at, where in enumerate(shifts.where):
            total[where] += pieces[:, :, at]


def _transpose_single(grad: Array, weight: Array, stride: Ints, dilation: Ints, groups: int, x: Array) -> None:
    out, each = grad.shape[2:], weight.shape[0] // groups
    places = _Places(x.shape[2:], weight.shape[2:], stride, dilation, out)
    grad = grad.reshape(grad.shape[0], groups, each, *out)
    factors = _factors(weight, groups, 1 if places.flat else len(out))
    for images in _image_steps(len(x), math.prod(grad.shape[1:])):
        part, total = places.spread(grad[images]), places.input(x[images])
        scratch = np.empty(part.shape, part.dtype)
        for where, factor in zip(places.where, factors):
            np.multiply(part, factor, out=scratch)
            total[where] += scratch[:, :, 0] if each == 1 else np.add.reduce(scratch, axis=2)


# ---------------------------------------------------------------- backward to the weight
def _weight_gradient(
    grad: Array, x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The gradient of the weight, (O, C / groups, k...), from that of the output and the input."""
    kind = grad.dtype
    grad, x = _wide(grad), _wide(x)
    if grad.dtype != kind:
        return weight_gradient(grad, x, kernel, stride, padding, dilation, groups).astype(kind)
    x = padded(x, padding)
    outputs, inner = grad.shape[1], x.shape[1] // groups
    count, out = grad.shape[0], grad.shape[2:]
    found = np.zeros((outputs, inner, *kernel), grad.dtype)
    if grad.size and x.size:
        if groups > 1 and inner == 1:
            _single_weight_gradient(grad, x, stride, dilation, groups, found)
        else:
            columns = _Columns(x, kernel, stride, dilation, out, groups)
            flat = np.ascontiguousarray(grad).reshape(count, groups, outputs // groups, columns.places)
            total = found.reshape(groups, outputs // groups, columns.rows)
            for start in range(0, count, columns.step):
                part = columns.part(start)
                products = np.matmul(flat[start : start + len(part)], part.swapaxes(2, 3))
                total += products[0] if len(part) == 1 else np.add.reduce(products, axis=0)
    return found


def _single_weight_gradient(grad: Array, x: Array, stride: Ints, dilation: Ints, groups: int, found: Array) -> None:
    kernel, out = found.shape[2:], grad.shape[2:]
    places = _Places(x.shape[2:], kernel, stride, dilation, out)
    if places.flat and not np.isfinite(x).all():  # the zeros in the gaps would not be neutral
        places = _Places(x.shape[2:], kernel, stride, dilation, out, False)
    grad = grad.reshape(grad.shape[0], groups, -1, *out)
    table = np.zeros((math.prod(kernel), groups * grad.shape[2]), grad.dtype)
    for images in _image_steps(len(x), math.prod(grad.shape[1:])):
        part, inputs = places.spread(grad[images]), places.input(x[images])[:, :, None]
        lines = part.reshape(*part.shape[:3], -1)
        for at, where in enumerate(places.where):
            met = inputs[where].reshape(*inputs.shape[:3], -1)
            sums = np.vecdot(met, lines) if met.dtype.kind == "f" else np.add.reduce(met * lines, axis=-1)
            table[at] += np.add.reduce(sums.reshape(len(lines), -1), axis=0)
    found[...] = table.T.reshape(found.shape)


convolve = compiled("convolve", _convolve)
convolve_transposed = compiled("convolve_transposed", _convolve_transposed)
weight_gradient = compiled("weight_gradient", _weight_gradient)


def use_winograd(mode: bool) -> bool:
    """Whether float32 convolutions of 3x3 with stride 1 may use Winograd's products; returns what held before."""
    return bool(native.use_winograd(mode)) if native is not None else False
