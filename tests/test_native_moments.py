"""Variance and mean in C++ against their NumPy twin and against more digits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import livetape as torch
from livetape.kernels import reductions
from livetape.kernels.compiled import NATIVE, TWINS, native

pytestmark = [
    pytest.mark.skipif(not NATIVE, reason="the C++ kernels are not built"),
    pytest.mark.usefixtures("isa"),
]

assert torch and reductions  # importing them gives the kernel its twin
FLOATS = (np.float32, np.float64)
SHAPES = [(1,), (7,), (2, 3), (1, 5), (5, 1), (33, 17), (9, 65), (3, 1, 4), (130, 3), (4, 5, 6), (2, 3, 4, 5), (600, 9)]


def draw(shape: tuple[int, ...], kind: Any, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 3 + 1).astype(kind)


def check(x: np.ndarray, axes: Any, correction: float = 1, keepdims: bool = False, root: bool = False) -> None:
    """The same shapes, dtypes, infinities and NaN as the twin's, and its values up to some roundings of these."""
    before = x.copy()
    with np.errstate(all="ignore"):
        want = TWINS["moments"](x, axes, correction, keepdims, root)
        got = native.moments(x, axes, correction, keepdims, root)
    assert isinstance(got, tuple)
    slack = 16 * float(ml_dtypes.finfo(x.dtype).eps)
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype, (g.shape, w.shape, g.dtype, w.dtype)
        g, w = np.asarray(g, np.float64), np.asarray(w, np.float64)
        np.testing.assert_allclose(g, w, rtol=slack, atol=slack * np.abs(w[np.isfinite(w)]).max(initial=0))
    np.testing.assert_array_equal(x, before)


def axes_of(ndim: int) -> Iterator[Any]:
    yield None
    for count in range(1, ndim + 1):
        yield from combinations(range(ndim), count)


@pytest.mark.parametrize("kind", [*FLOATS, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_axes_of_all_shapes(shape: tuple[int, ...], kind: Any) -> None:
    x = draw(shape, kind)
    for axes in axes_of(len(shape)):
        for keepdims in (False, True):
            check(x, axes, 1, keepdims)
            check(x, axes, 0, keepdims, root=True)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("shape", [(3, 70_001), (70_001, 3), (1100, 515), (515, 1100), (40, 33, 130)])
def test_large_arrays(shape: tuple[int, ...], kind: Any) -> None:
    x = draw(shape, kind)
    for axes in axes_of(len(shape)):
        check(x, axes)


@pytest.mark.parametrize("kind", FLOATS)
def test_any_layout(kind: Any) -> None:
    x = draw((6, 70, 8), kind)
    strange = [np.asfortranarray(x), x.transpose(1, 0, 2), x.transpose(1, 2, 0), x[::2, ::-1], x[..., ::3], x[:, 3:5]]
    strange += [np.broadcast_to(x[:1], x.shape), x.astype(x.dtype.newbyteorder()), x[..., None], x[1:2].T]
    bytes_apart = np.zeros(x.nbytes + 1, np.uint8)[1:].view(kind).reshape(x.shape)
    bytes_apart[...] = x
    for y in [*strange, bytes_apart]:
        for axes in axes_of(y.ndim):
            check(y.astype(kind, copy=False) if y.dtype.isnative else y, axes, keepdims=y is x)
            check(y, axes, keepdims=True)


@pytest.mark.parametrize("kind", FLOATS)
def test_empty_arrays_and_no_axes(kind: Any) -> None:
    for shape in [(0,), (0, 3), (3, 0), (2, 0, 3)]:
        for axes in axes_of(len(shape)):
            check(np.zeros(shape, kind), axes)
    check(np.asarray(5, kind), None)
    check(np.asarray(5, kind), ())
    check(draw((2, 3), kind), (), 0)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("shape", [(4, 3), (3, 70), (70, 3), (2, 2050), (600, 5), (2, 70_001)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(shape: tuple[int, ...], kind: Any, value: float) -> None:
    for at in {0, shape[1] // 2, shape[1] - 1}:
        x = draw(shape, kind)
        x[1, at] = value
        for axes in (None, (0,), (1,)):
            check(x, axes)
        x[0, at] = -value
        check(x, (0,))


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("correction", [0, 1, 2.5, 3, 4, 70, -1, -1.5, np.inf, np.nan])
def test_corrections(kind: Any, correction: float) -> None:
    for x in (draw((3, 70), kind), np.ones((3, 3), kind)):
        for axes in (None, (0,), (1,)):
            check(x, axes, correction)
            check(x, axes, correction, root=True)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("scale", [1e-25, 1e-44, 1e18, 1e37, 1e-170, 1e-300, 1e200, 1e307])
def test_squares_that_overflow_or_vanish(kind: Any, scale: float) -> None:
    with np.errstate(all="ignore"):
        x = (draw((5, 70), np.float64) * scale).astype(kind)
    for axes in (None, (0,), (1,)):
        check(x, axes)
        check(x, axes, root=True)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("shape", [(3, 5), (3, 100), (3, 2048), (3, 40_001)])
def test_as_accurate_as_the_numbers_allow(shape: tuple[int, ...], kind: Any) -> None:
    z = draw(shape, np.float64)
    first = np.zeros(shape)
    first[:, 0] = 1e10
    for values in (z, 1e4 + 1e-3 * z, 1e8 + z, np.sort(z * 1e3), first + z, np.exp(2 * z)):
        x = values.astype(kind)
        for y, axis in ((x, 1), (np.ascontiguousarray(x.T), 0)):
            got, centre = native.moments(y, (axis,), 1, False, False)
            exact = x.astype(np.longdouble)
            middle = exact.mean(1)
            want = np.square(exact - middle[:, None]).sum(1) / (shape[1] - 1)
            eps = np.finfo(kind).eps
            np.testing.assert_allclose(got, want, rtol=eps * (0.51 if kind == np.float32 else 16))
            np.testing.assert_allclose(centre, middle, atol=eps * 2 * np.abs(x).max(), rtol=0)


@pytest.mark.parametrize("kind", FLOATS)
def test_equal_numbers_do_not_vary(kind: Any) -> None:
    for shape in [(3, 7), (3, 100), (100, 3), (2, 70_001), (1500, 4)]:
        x = np.full(shape, 0.1, kind)
        for axes in (None, (0,), (1,)):
            spread, centre = native.moments(x, axes, 1, False, False)
            assert not np.any(spread) and np.all(centre == x[0, 0])


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    before = native.get_num_threads()
    arrays = [draw(shape, kind) for shape in [(3, 300_000), (3000, 200), (200_000, 4)] for kind in FLOATS]

    def everything() -> list[np.ndarray]:
        return [r for x in arrays for axes in (None, (0,), (1,)) for r in native.moments(x, axes, 1, False, False)]

    try:
        native.set_num_threads(1)
        alone = everything()
        native.set_num_threads(3)
        for one, other in zip(alone, everything(), strict=True):
            np.testing.assert_array_equal(one, other)
    finally:
        native.set_num_threads(before)


def test_wrong_arguments_go_to_the_twin() -> None:
    with pytest.raises(TypeError, match="moments takes 5 arguments, got 1"):
        native.moments(np.ones(3))
    x = np.ones((2, 3), np.float32)
    for axes in [(-1,), (2,), (0, 0), ("a",)]:
        with pytest.raises((ValueError, TypeError, IndexError)):
            native.moments(x, axes, "no", False, False)
