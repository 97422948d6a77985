"""Functions of corresponding elements in C++: against their NumPy twins, and against the exact values."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import livetape as torch
from livetape.kernels.compiled import NATIVE, TWINS, native

pytestmark = [
    pytest.mark.skipif(not NATIVE, reason="the C++ kernels are not built"),
    pytest.mark.usefixtures("isa"),
]

assert torch  # importing it gives every kernel its twin
FLOATS = (np.float32, np.float64)
NAMES = native.elements if NATIVE else ()
NUMBERS = {  # what each takes beside arrays, in several choices
    "add_scaled": [(0.3,), (-2,)],
    "lerp": [(0.3,), (0.8,)],
    "addcmul": [(1,), (0.7,)],
    "addcdiv": [(1,), (0.7,)],
    "threshold": [(0.1, 20.0)],
    "threshold_backward": [(0,), (0.3,)],
    "clamp_backward": [(-0.5, 1.0), (-math.inf, 0.0)],
    "leaky_relu": [(0.01,), (-0.5,)],
    "leaky_relu_backward": [(0.01,)],
    "hardtanh": [(-1.0, 0.5), (0, 6)],
    "hardtanh_backward": [(-1.0, 0.5)],
    "hardshrink": [(0.5,)],
    "softshrink": [(0.5,)],
    "shrink_backward": [(0.5,)],
    "elu": [(1.0, 1.0, 1.0), (1.7, 1.05, 0.5)],
    "elu_backward": [(1.0, 1.0, 1.0, False), (1.7, 1.05, 0.5, False), (1.7, 1.05, 0.5, True)],
    "softplus": [(1.0, 20.0), (2.0, 3.0)],
    "softplus_backward": [(1.0, 20.0), (2.0, 3.0)],
}
THREE = {"addcmul", "addcdiv"}
TWO = {
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "add_scaled", "lerp", "arctan2", "hypot", "fmod", "remainder",
} | {name for name in NAMES if name.endswith("_backward")}  # fmt: skip
EXACT = {
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "negative", "absolute", "square", "sqrt", "reciprocal", "sign",
    "relu", "threshold", "threshold_backward", "clamp_backward", "hardtanh", "hardtanh_backward", "hardshrink", "shrink_backward",
    "fmod",
}  # fmt: skip
SIZES = [(), (0,), (1,), (3, 5), (4, 0), (16,), (257,), (40, 53)]
SPECIAL = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-40,
    -1e-40,
    88.0,
    -88.0,
    89.0,
    104.0,
    -104.0,
    1e30,
    -1e30,
]


def arrays_of(name: str) -> int:
    return 3 if name in THREE else 2 if name in TWO else 1


def draw(name: str, shape: tuple[int, ...], kind: Any, seed: int = 0) -> np.ndarray:
    """Values from where the function is real."""
    x = np.random.default_rng(seed).standard_normal(shape)
    if name in ("arcsin", "arccos", "arctanh", "erfinv"):
        x = np.tanh(x)
    elif name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt"):
        x = np.abs(x) + 1e-3
    elif name == "arccosh":
        x = 1 + np.abs(x)
    return np.array(x, kind)


def near(name: str, got: Any, want: Any) -> None:
    assert isinstance(got, np.ndarray)
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype, want.dtype)
    if name in EXACT:
        np.testing.assert_array_equal(got, want)
        return
    slack = 16 * float(ml_dtypes.finfo(want.dtype).eps) if want.dtype.kind in "fV" else 0
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=slack, atol=slack)


def check(name: str, arrays: list[Any], numbers: tuple[Any, ...]) -> None:
    with np.errstate(all="ignore"):
        want = TWINS[name](*arrays, *numbers)
    near(name, getattr(native, name)(*arrays, *numbers), want)


def choices(name: str) -> list[tuple[Any, ...]]:
    return NUMBERS.get(name, [()])


# ---------------------------------------------------------------- against the twins
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_shapes(name: str, kind: Any) -> None:
    for numbers in choices(name):
        for shape in SIZES:
            check(name, [draw(name, shape, kind, i) for i in range(arrays_of(name))], numbers)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", ["add", "lerp", "addcmul", "maximum", "arctan2"])
def test_shapes_that_broadcast(name: str, kind: Any) -> None:
    numbers, count = choices(name)[0], arrays_of(name)
    for first, second in [
        ((4, 5), ()), ((), (4, 5)), ((4, 5), (5,)), ((5,), (4, 5)), ((4, 5), (1, 5)), ((4, 5), (4, 1)), ((2, 3, 4), (3, 4)),
        ((2, 3, 4), (2, 3, 1)), ((2, 3, 4), (2, 1, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 3, 4), (1, 3, 1)), ((3, 1), (1, 4)),
        ((1, 1), (3,)), ((0, 3), (3,)), ((0, 3), (1, 3)), ((2, 0), (2, 1)), ((1, 3), (1, 1)), ((300, 40), (40,)),
        ((3, 400), (3, 1)), ((1,), ()),
    ]:  # fmt: skip
        shapes = [first, second, first][:count]
        check(name, [draw(name, shape, kind, i) for i, shape in enumerate(shapes)], numbers)
    with pytest.raises(ValueError):
        getattr(native, name)(*[np.ones(n, kind) for n in (2, 3, 2)[:count]], *numbers)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_other_layouts(name: str, kind: Any) -> None:
    count, numbers = arrays_of(name), choices(name)[0]
    x = draw(name, (6, 7), kind)
    odd = [
        np.asfortranarray(x),
        np.repeat(x, 2, axis=1)[:, ::2],
        x[::-1],
        x[:, ::-1],
        x.astype(x.dtype.newbyteorder()),
        np.broadcast_to(x[:1], x.shape),
        np.broadcast_to(x[:1, :1], x.shape),
    ]
    for at in range(count):
        for array in odd:
            check(name, [array if i == at else draw(name, (6, 7), kind, i) for i in range(count)], numbers)
    for array in odd:
        check(name, [array] * count, numbers)
    turned = getattr(native, name)(*[np.asfortranarray(x)] * count, *numbers)
    assert turned.flags.f_contiguous  # the result's memory has the order of the arguments'


@pytest.mark.parametrize("name", NAMES)
def test_other_types(name: str) -> None:
    count, numbers = arrays_of(name), choices(name)[0]
    for half in (np.float16, ml_dtypes.bfloat16):
        check(name, [draw(name, (5, 6), half, i) for i in range(count)], numbers)
    whole = [np.arange(1, 7).reshape(2, 3)] * count
    try:
        with np.errstate(all="ignore"):
            want = TWINS[name](*whole, *numbers)
    except Exception as error:
        with pytest.raises(type(error)):
            getattr(native, name)(*whole, *numbers)
    else:
        got = getattr(native, name)(*whole, *numbers)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str, kind: Any) -> None:
    # where the twin's powers overflow, the other knows better
    special = np.array(SPECIAL[:-2] if name == "gelu_tanh_backward" else SPECIAL, kind)
    for numbers in choices(name):
        if arrays_of(name) == 1:
            check(name, [special], numbers)
        elif arrays_of(name) == 2:
            check(name, [np.ones_like(special), special], numbers)
            if not name.endswith("_backward") and name != "lerp":
                left, right = (np.ascontiguousarray(a) for a in np.broadcast_arrays(special[:, None], special))
                check(name, [left, right], numbers)


@pytest.mark.parametrize("kind", FLOATS)
def test_signs_of_zero(kind: Any) -> None:
    zeros = np.array([0.0, -0.0, 1e-30, -1e-30], kind)
    for name in (
        "negative",
        "absolute",
        "sin",
        "tan",
        "arcsin",
        "arctan",
        "sinh",
        "tanh",
        "arcsinh",
        "arctanh",
        "expm1",
        "log1p",
    ):
        with np.errstate(all="ignore"):
            want = TWINS[name](zeros)
        np.testing.assert_array_equal(np.signbit(getattr(native, name)(zeros)), np.signbit(want), name)


# ---------------------------------------------------------------- a place for the result
@pytest.mark.parametrize("name", ["exp", "add", "threshold_backward", "addcmul", "clamp_backward"])
def test_results_in_a_given_place(name: str) -> None:
    count, numbers = arrays_of(name), choices(name)[0]
    arrays = [draw(name, (9, 11), np.float32, i) for i in range(count)]
    with np.errstate(all="ignore"):
        want = TWINS[name](*arrays, *numbers)
    function = getattr(native, name)
    out = np.empty((9, 11), np.float32)
    assert function(*arrays, *numbers, out) is out
    near(name, out, want)
    turned = np.empty((11, 9), np.float32).T
    assert function(*arrays, *numbers, turned) is turned
    near(name, turned, want)
    for at in range(count):
        mine = [a.copy() for a in arrays]
        function(*mine, *numbers, mine[at])
        near(name, mine[at], want)
    half = np.empty((9, 11), np.float16)
    function(*[a.astype(np.float16) for a in arrays], *numbers, half)
    np.testing.assert_allclose(half, want, atol=0.02, rtol=0.02)


def test_results_over_their_own_arguments() -> None:
    memory = np.arange(1, 100, dtype=np.float32)
    want = memory[1:] + memory[:-1]
    native.add(memory[1:], memory[:-1], memory[1:])
    np.testing.assert_array_equal(memory[1:], want)
    square = np.arange(16, dtype=np.float32).reshape(4, 4)
    want = square + square.T
    native.add(square, square.T, square)
    np.testing.assert_array_equal(square, want)
    want = square + square[0]
    native.add(square, square[0], square)
    np.testing.assert_array_equal(square, want)


def test_the_rest_of_an_array_is_like_the_others() -> None:
    """A value does not depend on where its element stands, nor on the number of threads."""
    before = native.get_num_threads()
    try:
        for name in NAMES:
            x = draw(name, (300_011,), np.float32, 3)
            args = [x] * arrays_of(name)
            native.set_num_threads(1)
            want = getattr(native, name)(*args, *choices(name)[0])
            native.set_num_threads(3)
            np.testing.assert_array_equal(getattr(native, name)(*args, *choices(name)[0]), want)
            for start in (1, 100_003, 300_000):
                part = [a[start : start + 13].copy() for a in args]
                np.testing.assert_array_equal(getattr(native, name)(*part, *choices(name)[0]), want[start : start + 13])
    finally:
        native.set_num_threads(before)


# ---------------------------------------------------------------- against the exact values
def sweep(low: float, high: float) -> np.ndarray:
    """Numbers of either sign from ``low`` to ``high`` in size, evenly on a logarithmic scale."""
    size = np.exp(np.linspace(math.log(low), math.log(high), 20_001))
    return np.concatenate([size, -size])


def normal(x: np.ndarray) -> np.ndarray:
    return 0.5 * scipy.special.erfc(-x / math.sqrt(2))


TRUE: dict[str, tuple[Any, np.ndarray]] = {
    "exp": (np.exp, sweep(1e-3, 104)),
    "expm1": (np.expm1, sweep(1e-10, 88)),
    "exp2": (np.exp2, sweep(1e-3, 149)),
    "log": (np.log, np.abs(sweep(1e-44, 1e38))),
    "log2": (np.log2, np.abs(sweep(1e-44, 1e38))),
    "log10": (np.log10, np.abs(sweep(1e-37, 1e38))),
    "log1p": (np.log1p, np.concatenate([sweep(1e-30, 0.999), np.abs(sweep(1, 1e38))])),
    "sin": (np.sin, sweep(1e-10, 3e6)),
    "cos": (np.cos, sweep(1e-10, 3e6)),
    "tan": (np.tan, sweep(1e-10, 3e6)),
    "arcsin": (np.arcsin, sweep(1e-10, 1)),
    "arccos": (np.arccos, sweep(1e-10, 1)),
    "arctan": (np.arctan, sweep(1e-10, 1e30)),
    "sinh": (np.sinh, sweep(1e-10, 89)),
    "cosh": (np.cosh, sweep(1e-10, 89)),
    "tanh": (np.tanh, sweep(1e-10, 30)),
    "arcsinh": (np.arcsinh, sweep(1e-10, 1e38)),
    "arccosh": (np.arccosh, 1 + np.abs(sweep(1e-6, 1e38))),
    "arctanh": (np.arctanh, sweep(1e-10, 0.9999999)),
    "erf": (scipy.special.erf, sweep(1e-10, 10)),
    "erfc": (scipy.special.erfc, sweep(1e-10, 9)),
    "erfinv": (scipy.special.erfinv, sweep(1e-10, 0.9999999)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), np.abs(sweep(1e-37, 1e38))),
    "sigmoid": (scipy.special.expit, sweep(1e-5, 100)),
    "silu": (lambda x: x * scipy.special.expit(x), sweep(1e-5, 87)),
    "mish": (lambda x: x * np.tanh(np.logaddexp(0, x)), sweep(1e-5, 80)),
    "log_sigmoid": (lambda x: -np.logaddexp(0, -x), sweep(1e-5, 87)),
    "gelu": (lambda x: x * normal(x), sweep(1e-5, 12.5)),
    "gelu_tanh": (
        lambda x: x * scipy.special.expit(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
        sweep(1e-5, 9),
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_accuracy(name: str) -> None:
    """Within 4 units in the last place of float32."""
    function, places = TRUE[name]
    x = places.astype(np.float32)
    with np.errstate(all="ignore"):
        want = function(x.astype(np.float64))
    got = getattr(native, name)(x)
    unit = np.spacing(np.maximum(np.abs(want.astype(np.float32)), np.float32(np.finfo(np.float32).tiny)))
    finite = np.isfinite(want.astype(np.float32))
    np.testing.assert_array_equal(np.isfinite(got), finite)
    assert (np.abs(got.astype(np.float64) - want)[finite] <= 4 * unit[finite]).all()


@pytest.mark.parametrize(
    "name", ["exp", "expm1", "log", "log1p", "tanh", "sinh", "cosh", "sigmoid", "silu", "log_sigmoid"]
)
def test_accuracy_of_double_precision(name: str) -> None:
    function, places = TRUE[name]
    x = places[np.abs(places) > 1e-12]
    wide = {"sigmoid": lambda v: 1 / (1 + np.exp(-v)), "silu": lambda v: v / (1 + np.exp(-v))}.get(name, function)
    with np.errstate(all="ignore"):
        want = wide(x.astype(np.longdouble))
    got = getattr(native, name)(x)
    assert (np.abs(got - want) <= 4 * np.spacing(np.abs(want.astype(np.float64)))).all()


def test_whole_powers_have_whole_logarithms() -> None:
    assert native.log2(np.exp2(np.arange(-126, 128), dtype=np.float32)).tolist() == list(range(-126, 128))
    assert native.log10(np.array([1, 10, 100, 1000, 1e6], np.float32)).tolist() == [0, 1, 2, 3, 6]
    assert native.exp2(np.arange(-126, 128, dtype=np.float32)).tolist() == [2.0**n for n in range(-126, 128)]


def test_remainders_are_exact() -> None:
    rng = np.random.default_rng(0)
    x = (np.exp(rng.uniform(-60, 60, 20_000)) * rng.choice([-1, 1], 20_000)).astype(np.float32)
    y = (np.exp(rng.uniform(-20, 20, 20_000)) * rng.choice([-1, 1], 20_000)).astype(np.float32)
    np.testing.assert_array_equal(native.fmod(x, y), np.fmod(x, y))


def test_arguments() -> None:
    with pytest.raises(TypeError, match="exp takes 1 arguments, got 0"):
        native.exp()
    with pytest.raises(TypeError, match="hardtanh takes 3 arguments, got 2"):
        native.hardtanh(np.ones(3), 1)
