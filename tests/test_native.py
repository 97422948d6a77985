"""Each kernel in C++ against its NumPy twin, with the loops for every instruction set that this processor has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import livetape
from livetape.kernels import recurrent
from livetape.kernels.compiled import NATIVE, TWINS, native
from livetape.optim import _kernels

pytestmark = [
    pytest.mark.skipif(not NATIVE, reason="the C++ kernels are not built"),
    pytest.mark.usefixtures("isa"),
]

assert livetape and _kernels and recurrent  # importing them gives every kernel its twin
FLOATS = (np.float32, np.float64)
ROWS = [(1, 1), (8, 2), (3, 1), (1, 7), (5, 10), (33, 3), (2, 3, 4), (4, 32), (3, 33), (2, 250), (2, 1031), (6,)]
SIZES = [(), (0,), (1,), (3, 5), (4, 0), (16,), (257,), (40, 53)]
EXACT = {"sum_all", "nll", "nll_backward"}
SUMS = {
    "matmul",
    "matmul_nt",
    "matmul_tn",
    "affine",
    "row_sums",
    "sum_rows",
    "softmax_backward",
    "log_softmax_backward",
    "layer_norm_backward",  # the gradients of weight and bias: over all rows
}  # their terms may cancel
HALF = (np.float16, ml_dtypes.bfloat16)
OWN = {
    "Boundary",
    "shorten",
    "offer_to",
    "arm",
    "set_twin",
    "isa",
    "use_isa",
    "get_num_threads",
    "set_num_threads",
    "use_winograd",
} | {"buffers_" + name for name in ("start", "info", "limit", "trim", "empty")}  # what has no twin
DRAWS = {
    "units",
    "normals",
    "serial_normals",
    "gammas",
    "poissons",
    "first_arrivals",
    "coins",
    "gamma_slopes",
    "beta_slopes",
}  # test_native_draws.py


def draw(shape: tuple[int, ...], kind: Any, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(kind)


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.copy("K") if isinstance(a, np.ndarray) else a for a in args)


def same(name: str, got: Any, want: Any) -> None:
    """Equal shapes, dtypes, infinities and NaN, and values within some roundings of the larger ones."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want):
            same(name, g, w)
        return
    if want is None:
        assert got is None
        return
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype, want.dtype)
    if name in EXACT or want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
        return
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    slack = 16 * float(ml_dtypes.finfo(want.dtype).eps)
    got, want = got.astype(wide), want.astype(wide)
    largest = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    atol = slack * max(1.0, largest) if name in SUMS else slack * min(1.0, largest) / 4
    np.testing.assert_allclose(got, want, rtol=slack, atol=atol)


def check(name: str, *args: Any) -> None:
    """The C++ function and its twin agree, and change the same arguments in the same way."""
    mine, its = copies(args), copies(args)
    with np.errstate(all="ignore"):
        want = TWINS[name](*its)
        got = getattr(native, name)(*mine)
    same(name, got, want)
    for m, i in zip(mine, its):
        if isinstance(m, np.ndarray):
            np.testing.assert_array_equal(m.view(np.uint16) if m.dtype.kind == "V" else m,
                                          i.view(np.uint16) if i.dtype.kind == "V" else i)  # fmt: skip


def strange(x: np.ndarray) -> Iterator[np.ndarray]:
    """The values of a matrix in memory that the C++ functions leave to their twins."""
    yield np.asfortranarray(x)
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield x[::-1]
    yield x.astype(x.dtype.newbyteorder())
    yield np.broadcast_to(x[:1], x.shape)


def test_every_function_has_a_twin() -> None:
    functions = {name for name in dir(native) if callable(getattr(native, name))}
    assert functions - OWN - DRAWS == set(TWINS)


def test_wrong_numbers_of_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="softmax takes 2 arguments, got 1"):
        native.softmax(np.ones(3))
    with pytest.raises(KeyError):
        native.set_twin("nobody", len)


# ---------------------------------------------------------------- views
@pytest.mark.parametrize("name", ["reshaped", "viewed"])
@pytest.mark.parametrize("shape", [(), (0,), (6,), (2, 3), (4, 0), (2, 3, 4)])
def test_reshaped(name: str, shape: tuple[int, ...]) -> None:
    x = np.asarray(draw(shape, np.float32))
    fixed = np.empty(shape, np.float32)
    fixed.flags.writeable = False
    asked = [(), (-1,), (0,), (6,), (3, 2), (3, -1), (-1, -1), (-2, 3), (2, 12), (0, -1), (24, 1, 1), (2**70,), (5, -1)]
    for sizes in asked:
        for array in (
            x,
            fixed,
            x.T,
            x[..., None],
            x.astype(">f4"),
            np.asarray(x > 0),
            [*strange(x)][-1] if shape else x,
        ):
            for given in (sizes, (sizes,), (list(sizes),), ([np.int64(n) for n in sizes if n < 2**60],)):
                want, got = TWINS[name](array, given), getattr(native, name)(array, given)
                assert (want is None) == (got is None), given
                if want is not None:
                    assert got.shape == want.shape and got.dtype == want.dtype
                    assert got.strides == want.strides or not want.size
                    assert got.base is want.base and got.flags.writeable == array.flags.writeable
                    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1), (2, 1), (1, 3), (2, 3), (0, 1), (2, 1, 4)])
def test_expanded(shape: tuple[int, ...]) -> None:
    x = np.asarray(draw(shape, np.float32))
    fixed = x.copy()
    fixed.flags.writeable = False
    sizes = [shape, (1, *shape), (5, *shape), (5, 1, *shape), (1, 5, 1, *shape), (0, *shape), (1, 0, 1, *shape)]
    sizes += [tuple([7 if n == 1 else n for n in size]) for size in sizes]
    for size in sizes:
        for array in (x, fixed, x.T.copy().T, x[..., None][..., 0], np.asarray(x > 0), x.astype(">f4"), x.astype("D")):
            for given in (size, livetape.Size(size), tuple([np.int64(n) for n in size])):
                want, got = TWINS["expanded"](array, given), native.expanded(array, given)
                assert got.shape == want.shape and got.dtype == want.dtype
                assert got.strides == want.strides or not want.size
                assert got.base is want.base and got.flags.writeable == array.flags.writeable
                assert got.flags.c_contiguous == want.flags.c_contiguous
                np.testing.assert_array_equal(got, want)


def test_what_does_not_expand_is_left_to_the_twin() -> None:
    for shape, size in [((2,), (3,)), ((2, 3), (3,)), ((2, 1), (3, 4))]:
        with pytest.raises((ValueError, TypeError)):
            native.expanded(np.ones(shape).T, size)


# ---------------------------------------------------------------- arrays put together
@pytest.mark.parametrize("shape", [(), (1,), (3,), (0, 2), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_, np.complex64, ">f4"])
@pytest.mark.parametrize("count", [1, 2, 40])
def test_stacked(shape: tuple[int, ...], dtype: Any, count: int) -> None:
    arrays = [np.asarray(draw(shape, np.float32, i)).astype(dtype) for i in range(count)]
    kind = arrays[0].dtype
    arrays = [a.view(kind) for a in arrays]
    mixed = [*arrays[1:], arrays[0].astype(np.complex128)]
    lists = [arrays, [a.T for a in arrays], mixed, [np.broadcast_to(a, shape) for a in arrays]]
    lists.append([a[..., None][..., 0] for a in arrays])
    for given in lists:
        want, got = TWINS["stacked"](given), native.stacked(given)
        assert (want is None) == (got is None)
        if want is not None:
            assert got.dtype == want.dtype and got.shape == want.shape and got.flags.c_contiguous
            np.testing.assert_array_equal(got, want)
            assert not any(np.shares_memory(got, a) for a in given)


def test_what_cannot_be_stacked_is_left_to_the_twin() -> None:
    with pytest.raises(ValueError):
        native.stacked([np.ones(2), np.ones(3)])
    with pytest.raises((ValueError, IndexError)):
        native.stacked([])


# ---------------------------------------------------------------- threads
@pytest.mark.parametrize("shape", [(700, 300), (5000, 40), (3, 70_000), (4001, 3)])
def test_rows_do_not_depend_on_the_number_of_threads(shape: tuple[int, ...]) -> None:
    x, grad, weight = draw(shape, np.float32), draw(shape, np.float32, 1), draw(shape[1:], np.float32, 2)

    def everything() -> list[np.ndarray]:
        y, mean, rstd = native.layer_norm(x, shape[1:], weight, weight, 1e-5)
        found = [y, mean, rstd, *native.layer_norm_backward(grad, x, shape[1:], mean, rstd, weight, [True] * 3)]
        found += [native.row_sums(x), native.row_sums(x.reshape(1, -1)), native.row_largest(x.reshape(1, -1))]
        for name in ("softmax", "log_softmax"):
            result = getattr(native, name)(x, 1)
            found += [result, getattr(native, name + "_backward")(grad, result, 1)]
        return found

    before = native.get_num_threads()
    try:
        native.set_num_threads(1)
        alone = everything()
        native.set_num_threads(3)
        for _ in range(3):
            for one, other in zip(alone, everything()):
                np.testing.assert_array_equal(one, other)
    finally:
        native.set_num_threads(before)


# ---------------------------------------------------------------- rows
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", ["row_sums", "row_largest", "row_smallest"])
def test_reductions_of_rows(name: str, kind: Any) -> None:
    for shape in [(1, 1), (3, 7), (5, 31), (2, 1000), (700, 33), (3, 20_011), (1, 100_003), (0, 3), (40, 2048)]:
        x = draw(shape, kind)
        check(name, x)
        if x.size > 20:
            for at in (0, x.shape[1] // 2, x.shape[1] - 1):
                for value in (np.nan, np.inf, -np.inf):
                    odd = x.copy()
                    odd[-1, at] = value
                    check(name, odd)
    for x in strange(draw((5, 6), kind)):
        check(name, x)
    check(name, np.full((2, 40), -np.inf, kind))


def test_sums_of_many_numbers_stay_accurate() -> None:
    x = np.abs(draw((1, 3_000_001), np.float32))
    np.testing.assert_allclose(native.row_sums(x)[0], x.sum(dtype=np.float64), rtol=3e-7)


# ---------------------------------------------------------------- softmax
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("kind", FLOATS)
def test_softmax(name: str, kind: Any) -> None:
    for shape in ROWS:
        for dim in range(len(shape)):
            check(name, draw(shape, kind, scale=4), dim)
    for shape in [(0, 3), (3, 0), ()]:
        check(name, draw(shape, kind), 0)
    for x in strange(draw((5, 6), kind)):
        check(name, x, 1)
    for half in HALF:
        check(name, draw((5, 6), half), 1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("width", [1, 3, 17, 40, 129])
def test_softmax_of_special_values(name: str, kind: Any, width: int) -> None:
    inf, nan = np.inf, np.nan
    for values in ([nan], [inf], [-inf], [inf, -inf], [nan, inf], [1e30, -1e30], [88.7, -88.7, -104.0], [-700.0, 9.0]):
        for place in {0, width // 2, max(width - len(values), 0)}:
            x = draw((3, width), kind)
            x[1, place : place + len(values)] = values[: width - place]
            check(name, x, 1)
    for value in (nan, inf, -inf, 0.0, -0.0, 1e38):
        check(name, np.full((2, width), value, kind), 1)


@pytest.mark.parametrize("name", ["softmax_backward", "log_softmax_backward"])
@pytest.mark.parametrize("kind", FLOATS)
def test_softmax_backward(name: str, kind: Any) -> None:
    for shape in ROWS:
        for dim in range(len(shape)):
            with np.errstate(all="ignore"):
                result = TWINS[name[:-9]](draw(shape, kind, 1, 3), dim)
            check(name, draw(shape, kind, 2), result, dim)
            if len(shape) == 2:
                grad = draw(shape, kind, 2)
                grad[0, 0], grad[-1, -1] = np.nan, np.inf
                check(name, grad, result, dim)
    x = draw((5, 6), kind)
    for grad in strange(x):
        check(name, grad, TWINS[name[:-9]](x, 1), 1)
    check(name, draw((0, 3), kind), draw((0, 3), kind), 1)


# ---------------------------------------------------------------- negative log likelihood
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("rows, classes", [(1, 1), (8, 2), (5, 10), (300, 7), (1000, 3)])
def test_nll(kind: Any, reduction: int, rows: int, classes: int) -> None:
    x = draw((rows, classes), kind)
    x[0, 0], x[-1, -1] = np.inf, -np.inf
    target = np.random.default_rng(3).integers(0, classes, rows)
    ignored = target.copy()
    ignored[::2] = -100
    grad = draw((rows,) if reduction == 0 else (), kind)
    weight = draw((classes,), kind)
    for t, ignore, w in product((target, ignored, np.full(rows, -100)), (-100, 0), (None, weight)):
        if t is not target and ignore == 0:
            continue
        check("nll", x, t, w, reduction, ignore)
        check("nll_backward", grad, x.shape, t, w, reduction, ignore)
    for t in (target.astype(np.uint8), np.repeat(target, 2)[::2], target.astype(">i8")):
        check("nll", x, t, None, reduction, -100)
        check("nll_backward", grad, x.shape, t, None, reduction, -100)
    check("nll", np.asfortranarray(x), target, None, reduction, -100)


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_nll_of_other_shapes(reduction: int) -> None:
    nothing = np.zeros(0, np.int64)
    check("nll", draw((0, 3), np.float32), nothing, None, reduction, -100)
    check("nll_backward", draw((0,) if reduction == 0 else (), np.float32), (0, 3), nothing, None, reduction, -100)
    check("nll", draw((4,), np.float32), np.array(2), None, reduction, -100)
    check("nll_backward", draw((), np.float32), (4,), np.array(2), None, reduction, -100)
    places = np.random.default_rng(0).integers(0, 3, (2, 4, 5))
    check("nll", draw((2, 3, 4, 5), np.float32), places, None, reduction, -100)


@pytest.mark.parametrize("bad", [-1, 3, 1 << 40, -(1 << 63)])
def test_classes_out_of_range(bad: int) -> None:
    target = np.array([0, bad, 2])
    for call in (
        lambda: native.nll(draw((3, 3), np.float32), target, None, 1, -100),
        lambda: native.nll_backward(draw((), np.float32), (3, 3), target, None, 1, -100),
    ):
        with pytest.raises(IndexError, match=f"Target {bad} is out of bounds"):
            call()


# ---------------------------------------------------------------- layer norm
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("shape, last", [((1, 1), 1), ((8, 16), 1), ((3, 5), 1), ((2, 3, 7), 2), ((70, 33), 1), ((2, 1031), 1),
                                         ((4,), 1), ((0, 3), 1), ((3, 0), 1)])  # fmt: skip
def test_layer_norm(kind: Any, shape: tuple[int, ...], last: int) -> None:
    normalized = shape[len(shape) - last :]
    x, weight, bias = draw(shape, kind, 1, 3) + kind(2), draw(normalized, kind, 2), draw(normalized, kind, 3)
    grad = draw(shape, kind, 4)
    for w, b in product((None, weight), (None, bias)):
        check("layer_norm", x, normalized, w, b, 1e-5)
    _, mean, rstd = TWINS["layer_norm"](x, normalized, weight, bias, 1e-5)
    for w in (None, weight):
        for wanted in product((True, False), repeat=3):
            check("layer_norm_backward", grad, x, normalized, mean, rstd, w, list(wanted))


def test_layer_norm_of_others() -> None:
    x = draw((6, 8), np.float32)
    weight = draw((8,), np.float32)
    grad = draw((6, 8), np.float32, 1)
    for odd in strange(x):
        check("layer_norm", odd, (8,), weight, None, 1e-5)
    for value in (np.nan, np.inf, -np.inf):
        special = x.copy()
        special[2, 3] = value
        check("layer_norm", special, (8,), weight, weight, 1e-5)
    check("layer_norm", np.full((3, 8), 5, np.float64), (8,), None, None, 0.0)
    for half in HALF:
        check("layer_norm", x.astype(half), (8,), weight.astype(half), None, 1e-5)
    _, mean, rstd = TWINS["layer_norm"](x, (8,), None, None, 1e-5)
    check("layer_norm_backward", np.broadcast_to(grad[:1], x.shape), x, (8,), mean, rstd, weight, [True, True, True])


# ---------------------------------------------------------------- exponentials
@pytest.mark.parametrize("kind", FLOATS)
def test_exponentials_are_accurate(kind: Any) -> None:
    """Within 2 units in the last place of e**x itself, subnormal results included."""
    low = -104.0 if kind is np.float32 else -745.0
    x = np.concatenate([np.linspace(low, -0.001, 40001), draw((2000,), np.float64, scale=0.1)]).astype(kind)
    rows = np.stack([x, np.full_like(x, -np.inf)], axis=1)
    grad = np.zeros_like(rows)
    grad[:, 1] = -1
    got = native.log_softmax_backward(grad, rows, 1)[:, 0]
    exact = np.exp(x.astype(np.longdouble))
    assert np.abs(got - exact).max() > 0  # computed, not copied
    assert np.all(np.abs(got - exact) <= 2 * np.spacing(exact.astype(kind)))


# ---------------------------------------------------------------- sums and products of small arrays
@pytest.mark.parametrize("kind", [*FLOATS, *HALF, np.int64])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1, 1), (7, 5), (33, 4), (700, 9)])
def test_sums(kind: Any, shape: tuple[int, ...]) -> None:
    x = draw(shape, kind, scale=3)
    if x.size:
        check("sum_all", x)
    check("sum_rows", x)
    if x.size > 4 and np.dtype(kind).kind == "f":
        x[0, 0] = np.inf
        check("sum_rows", x)
        x[1, 0] = -np.inf
        check("sum_all", x)


def test_sums_of_half_precision_are_wide() -> None:
    ones = np.ones((600, 2), ml_dtypes.bfloat16)
    assert native.sum_rows(ones).tolist() == [600, 600] and float(native.sum_all(ones)) == 1200


def sides(rows: int, columns: int, kind: Any, seed: int) -> Iterator[np.ndarray]:
    """Matrices of one shape in several layouts."""
    x = draw((rows, columns), kind, seed)
    yield x
    yield np.asfortranarray(x)
    yield np.repeat(x, 3, axis=1)[:, ::3]
    yield x[::-1, ::-1]
    if x.size:
        yield np.broadcast_to(x[:, :1], x.shape)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("n, k, m", [(8, 4, 16), (8, 16, 2), (1, 1, 1), (0, 3, 2), (3, 0, 2), (2, 3, 0), (5, 7, 33), (3, 2, 70),
                                     (30, 30, 30)])  # fmt: skip
def test_products(kind: Any, n: int, k: int, m: int) -> None:
    for a, b in product(sides(n, k, kind, 0), sides(k, m, kind, 1)):
        check("matmul", a, b)
        check("affine", draw((m,), kind, 2), a, b)
        check("matmul_nt", a, b.T)
        check("matmul_tn", a.T, b)


def test_products_of_others() -> None:
    for half in HALF:
        a, b = draw((3, 4), half), draw((4, 5), half, 1)
        check("matmul_nt", a, b.T)
        check("matmul_tn", a.T, b)
    whole = np.arange(12).reshape(3, 4)
    for name, a, b in (("matmul", whole, whole.T), ("matmul_nt", whole, whole), ("matmul_tn", whole, whole)):
        check(name, a, b)
    for name in ("matmul", "matmul_nt", "matmul_tn"):
        with pytest.raises(ValueError):
            getattr(native, name)(draw((2, 3), np.float32), draw((4, 5), np.float32))
    check("affine", draw((1,), np.float32), draw((2, 3), np.float32), draw((3, 4), np.float32))


# ---------------------------------------------------------------- steps of optimisers
STEPS: dict[str, tuple[int, list[tuple[Any, ...]]]] = {  # arrays of a parameter, and numbers
    "sgd": (2, [(0.1, None, False), (0.1, 0.01, True)]),
    "sgd_momentum": (3, [(0.1, None, 0.9, 1.0, False, False), (0.1, 0.01, 0.9, 0.7, True, True)]),
    "adam": (
        5,
        [(0.1, 0.1, 0.99, 0.01, 1e-8, 0.3, None, None, False), (0.1, 0.1, 0.99, 0.01, 1e-3, 0.3, 0.2, 0.9, True)],
    ),
    "rmsprop": (5, [(0.1, 0.9, 0.1, 1e-8, None, 0.0, False, False), (0.1, 0.9, 0.1, 1e-3, 0.2, 0.9, True, True)]),
    "adagrad": (3, [(0.1, 1e-8, None, False), (0.1, 1e-3, 0.2, True)]),
}


def check_step(name: str, flat: list[Any], numbers: tuple[Any, ...]) -> None:
    """Both change the same arrays to the same values, to the bit."""
    mine, its = list(copies(tuple(flat))), list(copies(tuple(flat)))
    with np.errstate(all="ignore"):
        TWINS[name](its, *numbers)
        assert getattr(native, name)(mine, *numbers) is None
    for m, i, before in zip(mine, its, flat):
        if before is not None:
            np.testing.assert_array_equal(m, i)
    if flat[0].size:
        assert (mine[0] != flat[0]).any()


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("kind", FLOATS)
def test_steps(name: str, kind: Any) -> None:
    width, choices = STEPS[name]
    for numbers in choices:
        flat: list[Any] = []
        for k, shape in enumerate([(2,), (3, 5), (0,), (40000,), (), (17,)]):
            arrays = [np.array(draw(shape, kind, 7 * k + i)) for i in range(width)]
            arrays[2:] = [np.abs(a, out=...) for a in arrays[2:]]
            check_step(name, arrays, numbers)
            flat += arrays
        check_step(name, flat, numbers)
        if width == 5:
            check_step(name, [*flat[:4], None], numbers)


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_others(name: str) -> None:
    width, choices = STEPS[name]
    plain = [np.abs(draw((6, 7), np.float32, i)) for i in range(width)]
    for at in range(width):
        for odd in list(strange(plain[at]))[:3]:
            check_step(name, [*plain, *plain[:at], odd, *plain[at + 1 :]], choices[1])
    wide = [a.astype(np.float64) for a in plain]
    check_step(name, [*plain, *wide], choices[0])
    special = [np.where(a > 1, np.nan, a).astype(np.float32) for a in plain]
    special[1][0, 0] = np.inf
    check_step(name, special, choices[0])
    with pytest.raises(TypeError, match="a list of"):
        getattr(native, name)(plain + plain[:1], *choices[0])
    with pytest.raises(TypeError):
        getattr(native, name)(plain, "much", *choices[0][1:])


def test_a_parameter_that_is_given_twice_steps_twice() -> None:
    param, grad = np.zeros(100_000, np.float32), np.ones(100_000, np.float32)
    before = native.get_num_threads()
    native.set_num_threads(3)
    try:
        for _ in range(20):
            native.sgd([param, grad] * 5, 1.0, None, False)
    finally:
        native.set_num_threads(before)
    assert (param == -100).all()


def test_losses_of_nothing_have_torchs_sign() -> None:
    sure, target = np.zeros((2, 2), np.float32), np.array([0, -100])
    for nll in (native.nll, TWINS["nll"]):
        assert np.signbit(nll(sure, target, None, 0, -100)).tolist() == [True, False]
        assert not np.signbit(nll(sure, target, None, 2, -100))
