"""Convolutions in C++ against their NumPy twins and against plain sums in double precision."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import livetape as torch
from livetape.kernels import convolution
from livetape.kernels.compiled import NATIVE, TWINS, native

pytestmark = [
    pytest.mark.skipif(not NATIVE, reason="the C++ kernels are not built"),
    pytest.mark.usefixtures("isa"),
]

FLOATS = (np.float32, np.float64)


def draw(shape: tuple[int, ...], kind: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def close(got: np.ndarray, want: np.ndarray, terms: int) -> None:
    """Equal up to the roundings of a sum of so many products of standard normal numbers; NaN and infinities alike."""
    assert got.shape == want.shape and got.dtype == want.dtype
    eps = float(ml_dtypes.finfo(want.dtype).eps)
    got, want = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=8 * eps, atol=64 * eps * max(1, terms) ** 0.5)


def check(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> None:
    """The convolution, its transpose and the gradient of its weight."""
    kernel, size = weight.shape[2:], x.shape[2:]
    rest = (stride, padding, dilation, groups)
    bias = draw((weight.shape[0],), x.dtype, 3)
    taps = int(np.prod(kernel))
    with np.errstate(all="ignore"):
        for b in (None, bias):
            args = (x, weight, b, *rest)
            want = TWINS["convolve"](*args)
            close(native.convolve(*args), want, weight.shape[1] * taps)
        grad = draw(want.shape, x.dtype, 4)
        for b in (None, draw((x.shape[1],), x.dtype, 5)):
            back = (grad, weight, b, size, *rest)
            close(
                native.convolve_transposed(*back), TWINS["convolve_transposed"](*back), weight.shape[0] * taps // groups
            )
        both = (grad, x, kernel, *rest)
        close(native.weight_gradient(*both), TWINS["weight_gradient"](*both), grad.size // max(1, grad.shape[1]))


CASES = [
    # size, kernel, stride, padding, dilation
    ((11,), (3,), (1,), (1,), (1,)),
    ((600,), (5,), (2,), (3,), (2,)),
    ((6, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((9, 5), (2, 3), (2, 1), (0, 2), (1, 2)),
    ((8, 8), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((9, 7), (1, 1), (2, 3), (1, 1), (1, 1)),
    ((5, 4), (3, 2), (3, 3), (4, 2), (1, 1)),  # more padding than kernel; strides that leave places out
    ((4, 5, 6), (3, 2, 3), (1, 2, 1), (1, 0, 2), (1, 1, 1)),
    ((3, 9, 8), (1, 3, 3), (2, 1, 1), (1, 1, 1), (1, 1, 1)),
]
CHANNELS = [
    (1, 1, 1),
    (3, 5, 1),
    (17, 20, 1),
    (16, 8, 2),
    (6, 6, 3),
    (5, 5, 5),
    (3, 6, 3),
]  # those of depthwise ones last


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("inner, outer, groups", CHANNELS)
@pytest.mark.parametrize("size, kernel, stride, padding, dilation", CASES)
def test_against_twins(
    kind: Any, inner: int, outer: int, groups: int, size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    x, weight = draw((2, inner, *size), kind), draw((outer, inner // groups, *kernel), kind, 1)
    check(x, weight, stride, padding, dilation, groups)


@pytest.mark.parametrize("size", [(3, 3), (4, 4), (8, 12), (14, 7), (33, 5), (2, 150)])
@pytest.mark.parametrize("inner, outer, groups", [(16, 16, 1), (17, 40, 1), (64, 32, 2)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 1), (2, 0)])
def test_winograd(size: Any, inner: int, outer: int, groups: int, padding: Any) -> None:
    """Sizes that fill whole pieces of 4x4, and others; those where it does not pay go the plain way."""
    if size[0] + 2 * padding[0] < 3:
        pytest.skip("too small")
    x, weight = draw((3, inner, *size), np.float32), draw((outer, inner // groups, 3, 3), np.float32, 1)
    check(x, weight, (1, 1), padding, (1, 1), groups)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_winograd_is_nearly_as_exact(shift: float, isa: str) -> None:
    """Root mean squares of errors are at most 2.5 times those of plain sums, and the largest at most 4 times."""
    x, weight = draw((2, 64, 16, 16), np.float64) + shift, draw((32, 64, 3, 3), np.float64, 1) + shift
    grad = draw((2, 32, 16, 16), np.float64, 2) + shift
    rest = ((1, 1), (1, 1), (1, 1), 1)
    x32, weight32, grad32 = (a.astype(np.float32) for a in (x, weight, grad))
    for name, single in (
        ("convolve", (x32, weight32, None, *rest)),
        ("convolve_transposed", (grad32, weight32, None, (16, 16), *rest)),
        ("weight_gradient", (grad32, x32, (3, 3), *rest)),
    ):
        call = getattr(native, name)
        exact = call(*[a.astype(np.float64) if isinstance(a, np.ndarray) else a for a in single])
        quick = call(*single)
        native.use_winograd(False)
        try:
            plain = call(*single)
        finally:
            native.use_winograd(True)
        assert (quick != plain).any()
        for norm, factor in ((lambda a: np.sqrt((a**2).mean()), 2.5), (lambda a: np.abs(a).max(), 4)):
            assert norm(quick - exact) <= factor * norm(plain - exact), (name, shift)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_numbers_that_are_not_finite_stay_where_they_are(value: float) -> None:
    x, weight = draw((2, 16, 12, 12), np.float32), draw((16, 16, 3, 3), np.float32, 1)
    x[1, 3, 5, 6] = value
    check(x, weight, (1, 1), (1, 1), (1, 1), 1)
    x[1, 3, 5, 6], weight[2, 3, 1, 1] = 1, value
    check(x, weight, (1, 1), (1, 1), (1, 1), 1)
    for kind in FLOATS:
        x, weight = draw((2, 5, 7, 7), kind), draw((3, 5, 3, 3), kind, 1)
        x[0, 1, 0, 6] = value
        check(x, weight, (2, 1), (1, 1), (1, 1), 1)
        deep = draw((5, 1, 3, 3), kind)
        check(x, deep, (1, 1), (0, 1), (1, 1), 5)


def test_switches() -> None:
    x, weight = torch.randn(1, 16, 8, 8), torch.randn(16, 16, 3, 3)
    quick = torch.nn.functional.conv2d(x, weight)
    try:
        torch.set_winograd(False)
        plain = torch.nn.functional.conv2d(x, weight)
        torch.set_winograd(True)
        torch.use_deterministic_algorithms(True)
        assert torch.equal(torch.nn.functional.conv2d(x, weight), plain)
        torch.set_winograd(True)
        assert torch.equal(torch.nn.functional.conv2d(x, weight), plain)
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.equal(torch.nn.functional.conv2d(x, weight), quick) and not torch.equal(quick, plain)


def test_other_memory_and_dtypes() -> None:
    x, weight = draw((2, 6, 8, 8), np.float32), draw((4, 6, 3, 3), np.float32, 1)
    rest = ((1, 1), (1, 1), (1, 1), 1)
    want = native.convolve(x, weight, None, *rest)
    for odd in (
        np.asfortranarray(x),
        x[:, ::-1, :, ::-1][:, ::-1, :, ::-1],
        x.astype(">f4"),
        np.repeat(x, 2, 3)[..., ::2],
    ):
        np.testing.assert_array_equal(native.convolve(odd, weight, None, *rest), want)
        np.testing.assert_array_equal(
            native.weight_gradient(want, odd, (3, 3), *rest), native.weight_gradient(want, x, (3, 3), *rest)
        )
    for half in (np.float16, ml_dtypes.bfloat16):
        args = (x.astype(half), weight.astype(half), draw((4,), half, 2), *rest)
        close(native.convolve(*args), TWINS["convolve"](*args), 54)
    whole = np.arange(2 * 6 * 25).reshape(2, 6, 5, 5)
    args = (whole, np.ones((4, 6, 3, 3), int), None, *rest)
    np.testing.assert_array_equal(native.convolve(*args), TWINS["convolve"](*args))


@pytest.mark.parametrize(
    "shape, weight", [((0, 2, 5, 5), (3, 2, 3, 3)), ((2, 0, 5, 5), (3, 0, 3, 3)), ((2, 2, 5, 5), (0, 2, 3, 3))]
)
def test_nothing(shape: Any, weight: Any) -> None:
    check(draw(shape, np.float32), draw(weight, np.float32), (1, 1), (1, 1), (1, 1), 1)


@pytest.mark.parametrize("shape, weight, groups", [((5, 16, 20, 20), (32, 16, 3, 3), 1), ((5, 16, 20, 20), (16, 1, 3, 3), 16),
                                                   ((3, 8, 33, 9), (24, 4, 5, 2), 2)])  # fmt: skip
def test_results_do_not_depend_on_the_number_of_threads(shape: Any, weight: Any, groups: int) -> None:
    x, w = draw(shape, np.float32), draw(weight, np.float32, 1)
    rest = ((1, 1), (1, 1), (1, 1), groups)
    before = torch.get_num_threads()
    found = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            y = convolution.convolve(x, w, None, *rest)
            found.append(
                (y, convolution.convolve_transposed(y, w, None, x.shape[2:], *rest),
                 convolution.weight_gradient(y, x, w.shape[2:], *rest))
            )  # fmt: skip
    finally:
        torch.set_num_threads(before)
    for one, three in zip(*found):
        np.testing.assert_array_equal(one, three)
