"""Batch norm, group norm and pooling in C++ against their NumPy twins."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import livetape as torch
from livetape.kernels import normalization, pooling
from livetape.kernels.compiled import NATIVE, TWINS, native

pytestmark = [
    pytest.mark.skipif(not NATIVE, reason="the C++ kernels are not built"),
    pytest.mark.usefixtures("isa"),
]

FLOATS = (np.float32, np.float64)


def draw(shape: tuple[int, ...], kind: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def close(got: Any, want: Any, slack: float) -> None:
    """Shapes, dtypes and places of NaN are the same, values up to ``slack`` roundings of the largest."""
    if isinstance(want, tuple):
        for g, w in zip(got, want, strict=True):
            close(g, w, slack)
        return
    assert got.shape == want.shape and got.dtype == want.dtype
    eps = float(ml_dtypes.finfo(want.dtype).eps) * slack if want.dtype.kind != "i" else 0
    got, want = got.astype(np.float64), want.astype(np.float64)
    largest = np.abs(want[np.isfinite(want)]).max(initial=1)
    np.testing.assert_allclose(got, want, rtol=eps, atol=eps * largest)


def check(name: str, *args: Any, slack: float = 32) -> Any:
    with np.errstate(all="ignore"):
        want = TWINS[name](*args)
        close(getattr(native, name)(*args), want, slack)
    return want


# ---------------------------------------------------------------- normalisation
SHAPES = [(4, 3), (130, 17), (2, 5, 7), (3, 8, 6, 6), (8, 16, 33), (1, 4, 5, 2, 3), (5, 2, 1, 1)]


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm(kind: Any, shape: tuple[int, ...], training: bool, affine: bool) -> None:
    channels = shape[1]
    x, grad = draw(shape, kind) + kind(2), draw(shape, kind, 1)
    weight, bias = (draw((channels,), kind, 2), draw((channels,), kind, 3)) if affine else (None, None)
    running = [draw((channels,), kind, 4), np.abs(draw((channels,), kind, 5)) + kind(0.5)]
    theirs = [a.copy() for a in running]
    got = native.batch_norm(x, weight, bias, *running, training, 0.1, 1e-5)
    want = TWINS["batch_norm"](x, weight, bias, *theirs, training, 0.1, 1e-5)
    close(got, want, 32)
    close(tuple(running), tuple(theirs), 32)
    for wanted in ([True] * 3, [True, False, False], [False, True, True], [True, False, True, False, False]):
        check("batch_norm_backward", grad, x, weight, *running, *want[1:], training, 1e-5, wanted, slack=64)


def test_batch_norm_of_others() -> None:
    x = draw((4, 6, 5), np.float32)
    rest = (None, None, True, 0.1, 1e-5)
    for odd in (np.asfortranarray(x), x[::-1], x.transpose(0, 2, 1)):
        check("batch_norm", odd, None, None, *rest)
    for half in (np.float16, ml_dtypes.bfloat16):
        check("batch_norm", x.astype(half), None, None, *rest)
    check("batch_norm", x, draw((6,), np.float64), None, *rest)
    check("batch_norm", x[:0], None, None, None, None, True, 0.1, 1e-5)
    for value in (np.nan, np.inf):
        x[1, 2, 3] = value
        check("batch_norm", x, None, None, *rest)
    mean = draw((6,), np.float32)
    mean.flags.writeable = False
    check("batch_norm", x, None, None, mean, np.abs(mean), False, 0.1, 1e-5)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(
    "shape, groups", [((2, 6), 2), ((3, 8, 5), 4), ((2, 6, 3, 3), 1), ((2, 6, 3, 3), 6), ((1, 4, 2, 2, 2), 2)]
)
def test_group_norm(kind: Any, shape: tuple[int, ...], groups: int) -> None:
    channels = shape[1]
    x, grad = draw(shape, kind) + kind(2), draw(shape, kind, 1)
    sizes = (shape[0], channels, int(np.prod(shape[2:])), groups)
    for affine in (True, False):
        weight, bias = (draw((channels,), kind, 2), draw((channels,), kind, 3)) if affine else (None, None)
        _, mean, rstd = check("group_norm", x, weight, bias, *sizes, 1e-5, slack=64)
        for wanted in ([True] * 3, [True, False, False], [False, True, True]):
            check("group_norm_backward", grad, x, mean, rstd, weight, *sizes, wanted, slack=256)
    check("group_norm", np.asfortranarray(x), None, None, *sizes, 1e-5, slack=64)
    check("group_norm", x.astype(np.float16), None, None, *sizes, 1e-5)


# ---------------------------------------------------------------- pooling
WINDOWS = [
    # size, kernel, stride, padding, dilation
    ((17,), (3,), (2,), (1,), (1,)),
    ((8, 40), (2, 2), (2, 2), (0, 0), (1, 1)),  # side by side
    ((7, 9), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((4, 5, 12), (1, 2, 2), (1, 2, 2), (0, 0, 0), (1, 1, 1)),
    ((9, 21), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((9, 21), (3, 2), (1, 1), (1, 1), (2, 2)),
    ((5, 6, 7), (2, 3, 2), (2, 1, 3), (1, 1, 0), (1, 1, 1)),
    ((3, 3), (3, 3), (3, 3), (0, 0), (1, 1)),
]


def strange(shape: tuple[int, ...], kind: Any) -> Iterator[np.ndarray]:
    """Numbers with many ties; with NaN; with windows of -inf alone."""
    numbers = np.random.default_rng(0)
    x = numbers.integers(-2, 3, shape).astype(kind)
    yield x
    y = x.copy()
    y[numbers.random(shape) < 0.15] = np.nan
    yield y
    x[numbers.random(shape) < 0.6] = -np.inf
    yield x


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("ceil_mode", [True, False])
@pytest.mark.parametrize("size, kernel, stride, padding, dilation", WINDOWS)
def test_max_pool(kind: Any, ceil_mode: bool, size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> None:
    out = tuple(pooling.pooled_size(*a, ceil_mode) for a in zip(size, kernel, stride, padding, dilation))
    rest = (kernel, stride, padding, dilation, out)
    for x in strange((2, 3, *size), kind):
        result = check("max_pool", x, *rest, slack=0)
        places = check("max_pool_indices", x, *rest)
        grad = draw(result.shape, kind, 1)
        check("max_pool_backward", grad, x, result, *rest)
        check("max_pool_backward", np.asfortranarray(grad), x, result, *rest)
        check("scatter_places", grad, places, size)
        check("max_pool", np.asfortranarray(x), *rest, slack=0)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("ceil_mode", [True, False])
@pytest.mark.parametrize("size, kernel, stride, padding, dilation", WINDOWS)
def test_avg_pool(kind: Any, ceil_mode: bool, size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> None:
    padding = tuple(min(p, k // 2) for p, k in zip(padding, kernel))
    out = tuple(pooling.pooled_size(n, k, s, p, 1, ceil_mode) for n, k, s, p in zip(size, kernel, stride, padding))
    x = draw((2, 3, *size), kind)
    for with_padding, override in product((True, False), (None, 3, -2)):
        rest = (kernel, stride, padding, out, with_padding, override)
        result = check("avg_pool", x, *rest)
        check("avg_pool_backward", draw(result.shape, kind, 1), size, *rest)
    check("avg_pool_backward", np.broadcast_to(kind(1), result.shape), size, *rest)


def test_pools_of_others() -> None:
    whole = np.arange(2 * 16).reshape(2, 4, 4)
    rest = ((2, 2), (2, 2), (0, 0))
    check("max_pool", whole, *rest, (1, 1), (2, 2))
    check("avg_pool", whole, *rest, (2, 2), True, None)
    check("max_pool", whole.astype(np.float16), *rest, (1, 1), (2, 2))
    check("max_pool", np.zeros((0, 4, 4), np.float32), *rest, (1, 1), (2, 2))
    with pytest.raises(IndexError):
        native.scatter_places(np.ones((1, 1, 1), np.float32), np.array([[[99]]]), (2, 2))


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x, grad = draw((64, 30, 9, 9), np.float32), draw((64, 30, 9, 9), np.float32, 1)
    window = ((3, 3), (2, 2), (1, 1), (1, 1), (5, 5))
    before = torch.get_num_threads()
    found = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            y, mean, rstd = normalization.batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
            back = normalization.batch_norm_backward(grad, x, None, None, None, mean, rstd, True, 1e-5, [True] * 3)
            top = pooling.max_pool(x, *window)
            found.append((y, mean, *back, top, pooling.max_pool_backward(top, x, top, *window)))
    finally:
        torch.set_num_threads(before)
    for one, three in zip(*found):
        np.testing.assert_array_equal(one, three)
