"""torch's random numbers, states and seeds: values recorded from torch 2.13 by tests/record/random_values.py."""

from __future__ import annotations

import base64
import copy
import json
import os
import pickle
import subprocess
import sys
import threading
import warnings
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livetape import dtypes, random
from livetape.kernels import choosing, rejection, sampling
from livetape.kernels.bits import BitSource
from livetape.kernels.ties import top_order

RECORDED = json.loads((Path(__file__).parent / "data" / "random.json").read_text())
F4, F8, I8 = np.dtype("f4"), np.dtype("f8"), np.dtype("i8")
# Where a value passed through the C library's functions, another processor may round the last bit otherwise.
TOLERANCE = {
    "float64": 1e-13,
    "float32": 3e-7,
    "float16": 1e-3,
    "bfloat16": 1e-2,
    "complex64": 3e-7,
    "complex128": 1e-13,
}
APPROXIMATE = {
    "normal_",
    "normal_strided",
    "normal_mean",
    "normal_std",
    "normal_both",
    "randn",
    "exponential_",
    "cauchy_",
    "log_normal_",
    "standard_gamma",
    "dirichlet",
}


def ramp(n: int, low: float, high: float, dtype: np.dtype) -> np.ndarray:
    return sampling.narrow(np.arange(n) % 8 * ((high - low) / 8) + low, dtype)


DRAWS: dict[str, Callable[..., np.ndarray]] = {
    "rand": lambda b, n, t: sampling.uniform(b, (n,), t),
    "uniform_": lambda b, n, t, low, high: sampling.uniform(b, (n,), t, low, high),
    "randn": lambda b, n, t: sampling.normal(b, (n,), t),
    "normal_": lambda b, n, t, mean, std: sampling.normal(b, (n,), t, mean, std),
    # Of one element, a strided tensor is contiguous.
    "normal_strided": lambda b, n, t, mean, std: sampling.normal(b, (n,), t, mean, std, serial=n > 1),
    "normal_mean": lambda b, n, t, std: sampling.normal_around(b, ramp(n, -1, 1, t), std),
    "normal_std": lambda b, n, t, mean: sampling.normal_around(b, mean, ramp(n, 0, 2, t)),
    "normal_both": lambda b, n, t: sampling.normal_around(b, ramp(n, -1, 1, t), ramp(n, 0, 2, t)),
    "randint": lambda b, n, t, low, high: sampling.integers(b, (n,), t, low, high),
    "random_": lambda b, n, t: sampling.random(b, (n,), t),
    "random_from": lambda b, n, t, low: sampling.integers_from(b, (n,), t, low),
    "randperm": sampling.permutation,
    "bernoulli_": lambda b, n, t, p: sampling.bernoulli(b, (n,), p, t),
    "bernoulli": lambda b, n, t: sampling.bernoulli_from(b, ramp(n, 0, 1, t)),
    "dropout": lambda b, n, t, p: sampling.dropout_mask(b, np.ones(n, t), p),
    "exponential_": lambda b, n, t, rate: sampling.exponential(b, (n,), t, rate),
    "geometric_": lambda b, n, t, p: sampling.geometric(b, (n,), t, p),
    "cauchy_": lambda b, n, t, median, sigma: sampling.cauchy(b, (n,), t, median, sigma),
    "log_normal_": lambda b, n, t, mean, std: sampling.log_normal(b, (n,), t, mean, std),
    "multinomial": lambda b, n, t, count, again: sampling.multinomial(
        b, ramp(n, 0.125, 1.125, t), min(n, count), again
    ),
    "multinomial_rows": lambda b, n, t, count, again: sampling.multinomial(
        b, ramp(3 * n, 0.125, 1.125, t).reshape(3, n), min(n, count), again
    ),
    "poisson": lambda b, n, t, low, high: sampling.poisson(b, ramp(n, low, high, t)),
    "binomial": lambda b, n, t, count, low, high: sampling.binomial(b, np.full(n, count, t), ramp(n, low, high, t)),
    "standard_gamma": lambda b, n, t, low, high: sampling.standard_gamma(b, ramp(n, low, high, t)),
    "dirichlet": lambda b, n, t: sampling.dirichlet(b, ramp(3 * n, 0.5, 2.5, t).reshape(n, 3)),
}


def probe(count: int) -> list[int]:
    """The elements that were recorded: all of a short draw, some of a long one."""
    return list(range(count)) if count <= 33 else [0, 1, 2, *range(40, count - 17, 97), *range(count - 17, count)]


def checksum(bits: BitSource) -> int:
    return zlib.crc32(bits.state().tobytes())


def check(drawn: np.ndarray, recorded: str, tolerance: float | None = None) -> None:
    assert drawn.flags.c_contiguous
    drawn = drawn.reshape(-1)
    drawn = drawn[probe(len(drawn))]
    expected = np.frombuffer(base64.b64decode(recorded), drawn.dtype)
    if tolerance is None:
        assert drawn.tobytes() == expected.tobytes()
    else:
        wide = np.complex128 if drawn.dtype.kind == "c" else F8
        np.testing.assert_allclose(drawn.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance)


def tolerance_of(draw: str, name: str) -> float | None:
    return TOLERANCE.get(name) if draw in APPROXIMATE else None


def np_dtype(name: str) -> np.dtype:
    return dtypes.bfloat16.np if name == "bfloat16" else np.dtype(name)


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: "-".join(map(str, [*case[:2], *case[2]])))
def test_sampler_gives_torchs_numbers(case: list[Any]) -> None:
    draw, name, args, seed, values, state = case
    bits = BitSource(seed)
    for size, recorded in zip(RECORDED["sizes"], values):
        check(DRAWS[draw](bits, size, np_dtype(name), *args), recorded, tolerance_of(draw, name))
    # A spare normal is part of the state, and went through the C library.
    assert checksum(bits) == state or bits.spare is not None


def test_interleaved_draws_leave_the_stream_where_torch_leaves_it() -> None:
    bits = BitSource(-12345 % 2**64)
    for draw, name, size, args, recorded, state in RECORDED["interleaved"]:
        check(DRAWS[draw](bits, size, np_dtype(name), *args), recorded, tolerance_of(draw, name))
        assert bits.spare is not None or checksum(bits) == state, (draw, name, size)


def test_float32_normals_are_exact() -> None:
    exact = 0
    for draw, name, args, seed, values, _ in RECORDED["cases"]:
        if draw in ("randn", "normal_") and name in ("float32", "complex64"):
            bits = BitSource(seed)
            for size, recorded in zip(RECORDED["sizes"], values):
                drawn = DRAWS[draw](bits, size, np_dtype(name), *args)
                if drawn.nbytes >= 64:
                    check(drawn, recorded)
                    exact += 1
    assert exact == 30


def test_large_draws() -> None:
    bits = BitSource(5)
    permutation, normals, uniforms, scaled, state = RECORDED["large"]
    check(sampling.permutation(bits, 5000), permutation)
    check(sampling.normal(bits, (70001,), F4), normals)
    check(sampling.uniform(bits, (70001,), F4).astype(F8), uniforms)
    check(sampling.uniform(bits, (70001,), F8, -0.3, 0.9), scaled)
    assert checksum(bits) == state


# ---------------------------------------------------------------- shapes, order, arguments
def test_shapes() -> None:
    for shape in ((), (0,), (2, 3), (2, 0, 3), (1, 1)):
        bits = BitSource(1)
        for dtype in map(np_dtype, ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")):
            for drawn in (sampling.uniform(bits, shape, dtype), sampling.normal(bits, shape, dtype)):
                assert isinstance(drawn, np.ndarray) and drawn.shape == shape and drawn.dtype == dtype
        for drawn in (
            sampling.integers(bits, shape, I8, 0, 5),
            sampling.bernoulli(bits, shape, 0.5),
            sampling.random(bits, shape, I8),
            sampling.exponential(bits, shape, F4),
            sampling.bernoulli_from(bits, np.full(shape, 0.5)),
            sampling.poisson(bits, np.full(shape, 3.0)),
            sampling.normal_around(bits, np.zeros(shape), 1.0),
            sampling.geometric(bits, shape, I8, 0.5),
            sampling.standard_gamma(bits, np.ones(shape)),
            sampling.uniform(bits, shape, F4, 0.0, 2.0),
            sampling.binomial(bits, np.full(shape, 5.0), np.full(shape, 0.5)),
        ):
            assert isinstance(drawn, np.ndarray) and drawn.shape == shape


def test_memory_is_filled_in_the_order_it_lies_in() -> None:
    flat = sampling.uniform(BitSource(7), (24,), F4)
    drawn = sampling.fill(np.empty((4, 6), F4).T, flat)
    assert (drawn.T.reshape(-1) == flat).all()
    assert (sampling.fill(np.empty((4, 12), F4)[:, ::2], flat).reshape(-1) == flat).all()
    assert (sampling.fill(np.empty((12, 4), F4).T[:, ::2], flat).T.reshape(-1) == flat).all()
    like = np.empty((2, 3, 4), F4).transpose(2, 0, 1)
    copied = sampling.arranged(like, flat)
    assert copied.shape == like.shape and copied.strides == like.strides
    assert (sampling.fill(like, flat) == copied).all()


ERRORS: list[tuple[str, type[Exception], str]] = [
    (
        "uniform(b, (3,), F4, 2, 1)",
        RuntimeError,
        "uniform_ expects to return a [from, to) range, but found from=2 > to=1",
    ),
    ("uniform(b, (3,), np.dtype('f2'), 0, 1e5)", RuntimeError, "to is out of bounds for c10::Half"),
    (
        "uniform(b, (3,), F8, -1e308, 1e308)",
        RuntimeError,
        "uniform_ expects to-from <= std::numeric_limits<Double>::max(), but found to=1e+308 and from=-1e+308 which "
        "result in to-from to exceed the limit",
    ),
    ("uniform(b, (3,), I8)", NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Long'"),
    ("normal(b, (3,), F4, 0, -1)", RuntimeError, "normal expects std >= 0.0, but found std -1"),
    ("normal(b, (3,), I8)", NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"),
    ("normal_around(b, 0.0, -np.ones(3))", RuntimeError, "normal expects all elements of std >= 0.0"),
    ("normal_around(b, 0.0, np.ones(3) * 1j)", RuntimeError, "normal expects standard deviation to be non-complex"),
    (
        "integers(b, (3,), I8, 5, 5)",
        RuntimeError,
        "random_ expects 'from' to be less than 'to', but got from=5 >= to=5",
    ),
    ("integers(b, (3,), np.dtype('u1'), 0, 300)", RuntimeError, "to - 1 is out of bounds for unsigned char"),
    ("integers(b, (3,), np.dtype('u8'), -3, 2)", RuntimeError, "from is out of bounds for long unsigned int"),
    (
        "integers(b, (3,), np.dtype('c8'), 0, 5)",
        RuntimeError,
        "check_random_bounds handles only integral, floating-point and boolean types",
    ),
    (
        "integers_from(b, (3,), F4, 2**25)",
        RuntimeError,
        "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got "
        "from=33554432 > to_inc=16777216",
    ),
    ("random(b, (3,), np.dtype('u2'))", NotImplementedError, "\"random_kernel_cpu\" not implemented for 'UInt16'"),
    ("bernoulli(b, (3,), 1.5)", RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
    (
        "bernoulli_from(b, np.array([0.5, 2]))",
        RuntimeError,
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, "
        "please report an enhancement request to PyTorch.)",
    ),
    (
        "bernoulli_from(b, np.array([1, 0]))",
        NotImplementedError,
        "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'",
    ),
    ("exponential(b, (3,), F4, 0)", RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    (
        "exponential(b, (3,), I8)",
        RuntimeError,
        "Exponential distribution is a continuous probability distribution. "
        "dtype must be a floating point but you specified Long",
    ),
    ("geometric(b, (3,), F4, 1)", RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
    ("cauchy(b, (3,), F4, 0, -1)", RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=-1"),
    (
        "cauchy(b, (3,), I8)",
        RuntimeError,
        "Cauchy distribution is a continuous probability distribution. dtype must be "
        "a floating point but you specified long int",
    ),
    ("log_normal(b, (3,), F4, 1, 0)", RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    (
        "multinomial(b, np.ones(2), 3)",
        RuntimeError,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    ),
    (
        "multinomial(b, np.array([1.0, -2]), 1)",
        RuntimeError,
        "probability tensor contains either `inf`, `nan` or element < 0",
    ),
    (
        "multinomial(b, np.array([1.0, np.nan]), 1)",
        RuntimeError,
        "probability tensor contains either `inf`, `nan` or element < 0",
    ),
    ("multinomial(b, np.zeros(2), 1)", RuntimeError, "invalid multinomial distribution (sum of probabilities <= 0)"),
    ("multinomial(b, np.array(1.0), 1)", RuntimeError, "prob_dist must be 1 or 2 dim"),
    ("multinomial(b, np.ones(2), 0)", RuntimeError, "cannot sample n_sample <= 0 samples"),
    (
        "multinomial(b, np.ones(2, int), 1)",
        RuntimeError,
        "multinomial only supports floating-point dtypes for input, got: Long",
    ),
    ("poisson(b, np.array([-1.0]))", RuntimeError, "invalid Poisson rate, expected rate to be non-negative"),
    ("binomial(b, np.ones(2), np.ones(2, 'f4'))", RuntimeError, "Found dtype Float but expected Double"),
    (
        "binomial(b, np.ones(2, int), np.ones(2))",
        ValueError,
        "binomial only supports floating-point dtypes for count, got: Long",
    ),
    ("permutation(b, -1)", RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    ("permutation(b, 257, np.dtype('u1'))", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    ("permutation(b, 2050, np.dtype('f2'))", RuntimeError, "n cannot be greater than 2049 for Half type."),
    ("permutation(b, 3, np.dtype(bool))", NotImplementedError, "\"randperm\" not implemented for 'Bool'"),
]


@pytest.mark.parametrize("call, kind, message", ERRORS)
def test_bad_arguments_raise_what_torch_raises(call: str, kind: type[Exception], message: str) -> None:
    bits = BitSource(0)
    with pytest.raises(kind) as caught:
        eval("sampling." + call, {"sampling": sampling, "b": bits, "np": np, "F4": F4, "F8": F8, "I8": I8})
    assert str(caught.value) == message and type(caught.value) is kind
    assert checksum(bits) == checksum(BitSource(0))


def test_whole_numbers_beyond_the_mantissa_warn() -> None:
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]. Due to precision"):
        sampling.integers(BitSource(0), (3,), F4, 0, 2**33)


def test_probabilities_zero_and_one_are_sure() -> None:
    bits = BitSource(2)
    assert not sampling.bernoulli(bits, (1000,), 0.0).any() and sampling.bernoulli(bits, (1000,), 1.0).all()
    assert (sampling.binomial(bits, np.full(3, 7.0), np.array([0.0, 1.0, np.nan]))[:2] == [0, 7]).all()


# ---------------------------------------------------------------- ways of computing that must agree
@pytest.mark.parametrize("count", [2, 3, 10, 257, 1000, 5000])
def test_shuffles_equal_swapping_one_by_one(count: int) -> None:
    words = BitSource(3).words(count).tolist()
    places = list(range(count))
    for i in range(count - 1):
        j = i + words[i] % (count - i)
        places[i], places[j] = places[j], places[i]
    assert sampling.permutation(BitSource(3), count).tolist() == places
    targets = np.array([i + words[i] % (count - i) for i in range(count - 1)])
    assert choosing._after_swaps(targets).tolist() == places

    placed = [0] * count  # for counts near 2**32, torch shuffles from the inside out
    for i, pair in enumerate(BitSource(3).pairs(count).tolist()):
        j = pair % (i + 1)
        placed[i] = placed[j]
        placed[j] = i
    assert choosing._inside_out(BitSource(3), count).tolist() == placed


def test_equal_elements_come_in_torchs_order() -> None:
    assert top_order(np.ones(5), 3) == [2, 4, 3]
    assert top_order(np.ones(100), 3) == [67, 66, 65]
    assert top_order(np.ones(300), 3) == [0, 1, 2]
    assert top_order(np.ones(20), 20) == [11, 0, 8, 9, 7, 4, 3, 2, 1, 5, 10, 12, 13, 14, 15, 16, 17, 18, 19, 6]
    values = np.random.default_rng(0).permutation(500)
    for count in (1, 7, 100, 500):
        assert top_order(values, count) == np.argsort(-values)[:count].tolist()


def test_rejection_of_whole_arrays_equals_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw() -> list[list[float]]:
        bits = BitSource(9)
        return [
            sampling.poisson(bits, np.full(5000, 30.0)).tolist(),
            sampling.binomial(bits, np.full(5000, 50.0), np.full(5000, 0.4)).tolist(),
            [checksum(bits)],
        ]

    together = draw()
    monkeypatch.setattr(rejection, "_FEW", 10**9)
    assert draw() == together


def test_fused_rounds_once() -> None:
    values = sampling.uniform(BitSource(1), (4000,), F8)
    once = [float(Fraction(v) * Fraction(0.3) + Fraction(-0.7)) for v in values.tolist()]
    assert sampling.fused(values.copy(), 0.3, -0.7).tolist() == once
    narrow = values.astype(F4)
    scale, shift = np.float32(0.3), np.float32(-0.7)
    once = [
        float(np.float32(float(Fraction(v) * Fraction(float(scale)) + Fraction(float(shift))))) for v in narrow.tolist()
    ]
    assert sampling.fused(narrow, 0.3, -0.7).tolist() == once


# ---------------------------------------------------------------- generators and states
def test_a_new_generator_has_torchs_default_seed() -> None:
    assert random.Generator().initial_seed() == 67280421310721
    assert str(random.Generator().device) == str(random.Generator("cpu:0").device) == "cpu"
    assert repr(random.Generator()).startswith("<torch._C.Generator object at 0x")


def test_seeds() -> None:
    generator = random.Generator()
    assert generator.manual_seed(-1) is generator
    for seed, seen in ((-1, 2**64 - 1), (-(2**63), 2**63), (2**64 - 1, 2**64 - 1), (0, 0)):
        assert generator.manual_seed(seed).initial_seed() == seen
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match=r"^Overflow when unpacking long long$"):
            generator.manual_seed(seed)
    for bad, name in (
        (1.5, "float"),
        (None, "NoneType"),
        (True, "bool"),
        ("a", "str"),
        (np.float32(2), "numpy.float32"),
    ):
        with pytest.raises(RuntimeError, match=f"^manual_seed expected a long, but got {name}$"):
            generator.manual_seed(bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^an integer is required$"):
        generator.manual_seed(np.int64(3))  # type: ignore[arg-type]
    chosen = generator.seed()
    assert 0 <= chosen < 2**64 and generator.initial_seed() == chosen != generator.seed()


def test_module_functions_use_the_default_generator() -> None:
    with random.fork_rng():
        assert random.manual_seed(-2.0) is random.default_generator
        assert random.initial_seed() == 2**64 - 2
        assert random.manual_seed(True).initial_seed() == 1
        for bad, kind in (("a", ValueError), (None, TypeError), (1e30, ValueError)):
            with pytest.raises(kind):
                random.manual_seed(bad)
        assert random.seed() == random.initial_seed()
        state = random.get_rng_state()
        first = sampling.uniform(random.default_generator.bits, (5,), F4)
        random.set_rng_state(state)
        assert (sampling.uniform(random.default_generator.bits, (5,), F4) == first).all()
    assert random.thread_safe_generator() is None


def test_fork_rng_puts_the_state_back() -> None:
    bits = random.default_generator.bits
    before = checksum(bits)
    with random.fork_rng(devices=[]):
        random.manual_seed(3)
    assert checksum(bits) == before
    with pytest.raises(KeyError), random.fork_rng():
        bits.words(7)
        raise KeyError
    assert checksum(bits) == before
    with random.fork_rng(enabled=False):
        bits.words(1)
    assert checksum(bits) != before
    with (
        pytest.raises(RuntimeError, match="device type at start of device string: foo"),
        random.fork_rng(device_type="foo"),
    ):
        pass


def test_states_are_torchs_byte_for_byte() -> None:
    seed, crc = RECORDED["fresh"]
    generator = random.Generator().manual_seed(seed)
    assert zlib.crc32(generator._state_array().tobytes()) == crc
    sampling.uniform(generator.bits, (100,), F4)
    sampling.normal(generator.bits, (3,), F4)
    saved = np.frombuffer(zlib.decompress(base64.b64decode(RECORDED["saved"])), np.uint8)
    ours = generator._state_array()
    assert ours.dtype == np.uint8 and ours.shape == (5056,)
    differing = np.flatnonzero(ours != saved)
    assert set(differing) <= {5024}  # the spare normal's last bits

    loaded = random.Generator()
    loaded._load_state_array(saved)
    assert (loaded._state_array() == saved).all() and loaded.initial_seed() == seed
    normals, uniforms, crc = RECORDED["after"]
    check(sampling.normal(loaded.bits, (5,), F4), normals, 3e-7)
    check(sampling.uniform(loaded.bits, (1000,), F4), uniforms)
    assert checksum(loaded.bits) == crc


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625, 1248, 5000])
def test_states_can_be_taken_anywhere(drawn: int) -> None:
    generator = random.Generator().manual_seed(11)
    generator.bits.words(drawn)
    state = generator._state_array()
    ahead = generator.bits.words(700).tolist()
    assert random.Generator().set_state(state)._state_array().tobytes() == state.tobytes()
    assert random.Generator().set_state(generator.get_state())._state_array().tobytes() != state.tobytes()
    assert random.Generator().set_state(state).bits.words(700).tolist() == ahead


def test_bad_states() -> None:
    generator = random.Generator().manual_seed(4)
    with pytest.raises(
        RuntimeError,
        match=r"^Expected a CPUGeneratorImplState of size 5056 but found the input RNG "
        r"state size to be 10$",
    ):
        generator.set_state(np.zeros(10, np.uint8))
    with pytest.raises(RuntimeError, match=r"^Invalid mt19937 state$"):
        generator.set_state(np.zeros(5056, np.uint8))
    with pytest.raises(TypeError, match=r"^RNG state must be a torch.ByteTensor$"):
        generator.set_state(np.zeros(5056, np.float32))
    with pytest.raises(TypeError, match=r"^expected a torch.ByteTensor, but got int$"):
        generator.set_state(3)
    assert generator.initial_seed() == 4 and checksum(generator.bits) == checksum(BitSource(4))


@pytest.mark.parametrize(
    "twin_of", [random.Generator.clone_state, copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_go_their_own_way(twin_of: Callable[[random.Generator], random.Generator]) -> None:
    generator = random.Generator().manual_seed(8)
    sampling.normal(generator.bits, (3,), F8)
    twin = twin_of(generator)
    assert twin.initial_seed() == 8 and twin is not generator
    ahead = sampling.normal(generator.bits, (5,), F8).tolist()
    assert sampling.normal(twin.bits, (5,), F8).tolist() == ahead


def test_generators_without_a_device() -> None:
    for device, kind, message in (
        ("meta", RuntimeError, "META device type not an accelerator."),
        ("mps", RuntimeError, r"Cannot execute getNewGenerator\(\) without MPS backend."),
        (3, RuntimeError, "Cannot access accelerator device when none is available."),
        (1.5, TypeError, r"Generator\(\): argument 'device' \(position 1\) must be torch.device, not float"),
        ("foo", RuntimeError, "device type at start of device string: foo"),
    ):
        with pytest.raises(kind, match=message):
            random.Generator(device)
    for unsupported in (random.Generator().get_offset, lambda: random.Generator().set_offset(1)):
        with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
            unsupported()


# ---------------------------------------------------------------- processes and threads
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_inherits_the_state() -> None:
    generator = random.Generator().manual_seed(21)
    generator.bits.words(3)
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            os.write(write, generator.bits.words(4).tobytes())
        finally:
            os._exit(0)  # whatever happens: the other tests are the parent's
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        inherited = np.frombuffer(pipe.read(), np.uint32)
    assert inherited.tolist() == generator.bits.words(4).tolist()


def test_threads_share_one_stream() -> None:
    bits = BitSource(6)
    drawn: list[int] = []

    def work() -> None:
        for _ in range(50):
            drawn.extend(sampling.random(bits, (7,), I8).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = BitSource(6)
    assert sorted(drawn) == sorted(sampling.random(alone, (4 * 50 * 7,), I8).tolist())
    assert checksum(bits) == checksum(alone)


def test_nothing_is_built_before_the_first_draw() -> None:
    code = (
        "import sys, types; package = types.ModuleType('livetape'); package.__path__ = [sys.argv[1]]; "
        "sys.modules['livetape'] = package; import livetape.random as random, livetape.kernels.sampling; "
        "random.manual_seed(3); assert 'numpy.random' not in sys.modules, 'loaded early'"
    )
    package = Path(random.__file__).parent
    subprocess.run([sys.executable, "-c", code, str(package)], check=True)
