"""Random numbers drawn in C++ against those that NumPy makes of the same words: the same numbers, the same state after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from livetape.kernels import choosing, draws, implicit, rejection, sampling
from livetape.kernels.bits import BitSource
from livetape.kernels.compiled import NATIVE, native

pytestmark = pytest.mark.skipif(not NATIVE, reason="the C++ kernels are not built")

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)
SHAPES = [(), (0,), (1,), (2, 3), (15,), (16,), (17,), (3, 16), (1000,), (50_000,)]


@pytest.fixture(params=["baseline", "v3", "v4"], autouse=True)
def isa(request: pytest.FixtureRequest) -> Iterator[None]:
    before = native.isa()
    if not native.use_isa(request.param):
        pytest.skip(f"no {request.param} here")
    yield
    native.use_isa(before)


def agree(monkeypatch: pytest.MonkeyPatch, law: Callable[[BitSource], Any], digits: float = 0.0) -> None:
    """The law twice from one seed, then once more: spares that are kept count as well."""
    one, other = BitSource(7), BitSource(7)
    found = [law(one), law(one)]
    with monkeypatch.context() as patch:
        for module in (draws, sampling, rejection, choosing):
            patch.setattr(module, "native", None)
        wanted = [law(other), law(other)]
    for got, want in zip(found, wanted):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=digits, atol=0)
    assert bytes(one.state()[:5024]) == bytes(other.state()[:5024])
    assert (one.spare is None) == (other.spare is None)
    assert one.spare is None or other.spare is None or abs(one.spare - other.spare) < 1e-13


@pytest.mark.parametrize("dtype", [F4, F8])
@pytest.mark.parametrize("shape", SHAPES)
def test_uniforms_and_normals(shape: tuple[int, ...], dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(monkeypatch, lambda bits: sampling.uniform(bits, shape, dtype))
    # NumPy's logarithm and sine of doubles are not the C library's
    digits = 0.0 if dtype == F4 else 1e-13
    agree(monkeypatch, lambda bits: sampling.normal(bits, shape, dtype), digits)
    agree(monkeypatch, lambda bits: sampling.normal(bits, shape, dtype, serial=True), 1e-6 if dtype == F4 else 1e-13)
    agree(monkeypatch, lambda bits: sampling.normal(bits, shape, dtype, 1.5, 0.25), 1e-6 if dtype == F4 else 1e-12)


def test_normals_in_half_precision_and_complex(monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype in (np.dtype(np.float16), np.dtype(np.complex64)):
        agree(monkeypatch, lambda bits, dtype=dtype: sampling.normal(bits, (37,), dtype), 1e-6)


SHAPE_VALUES = np.array([[0.0, 1e-40, 0.01, 0.3, 0.999], [1.0, 1.5, 4.0, 100.0, 1e6]])


@pytest.mark.parametrize("dtype", [F4, F8])
def test_gammas(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    alpha = np.tile(SHAPE_VALUES, (20, 1)).astype(dtype)
    digits = 1e-6 if dtype == F4 else 1e-14
    for shapes in (alpha, alpha.T, alpha[:, ::2], alpha[:0], alpha[0, 3], np.full(3, np.nan, dtype)):
        agree(monkeypatch, lambda bits, shapes=shapes: rejection.standard_gamma(bits, shapes), digits)
    agree(monkeypatch, lambda bits: rejection.dirichlet(bits, alpha + dtype.type(0.1)), digits)


@pytest.mark.parametrize("dtype", [F4, F8])
def test_poisson_counts(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = np.array([0.0, 0.1, 3.0, 9.99, 10.0, 37.0, 1e4] * 30).astype(dtype)
    for given in (rates, rates.reshape(2, -1).T, np.full(40, 12, dtype), rates[0], rates[:0]):
        agree(monkeypatch, lambda bits, given=given: rejection.poisson(bits, given))
    for wrong in (-1.0, np.nan):
        with pytest.raises(RuntimeError, match="invalid Poisson rate"):
            rejection.poisson(BitSource(0), np.array([1.0, wrong], dtype))


@pytest.mark.parametrize("dtype", [F4, F8])
def test_choices(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(0).random((300, 7)).astype(dtype)
    weights[::3, 2] = 0
    for given in (weights, weights[0], weights.T, weights[:, :1], weights[:0]):
        agree(monkeypatch, lambda bits, given=given: choosing.multinomial(bits, given, 1, True))
    for wrong in ([1.0, -1.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(RuntimeError, match="contains either `inf`, `nan` or element < 0"):
            choosing.multinomial(BitSource(0), np.array(wrong, dtype), 1)
    with pytest.raises(RuntimeError, match="sum of probabilities <= 0"):
        choosing.multinomial(BitSource(0), np.zeros((2, 3), dtype), 1)


@pytest.mark.parametrize("dtype", [F4, F8])
def test_coins(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chances = np.linspace(0, 1, 600).reshape(20, 30).astype(dtype)
    for given in (chances, chances.T, chances[0, 3], chances[:0]):
        agree(monkeypatch, lambda bits, given=given: sampling.bernoulli_from(bits, np.ascontiguousarray(given)))
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(RuntimeError, match="Expected p_in >= 0 && p_in <= 1"):
            sampling.bernoulli_from(BitSource(0), np.array([0.5, wrong], dtype))


@pytest.mark.parametrize("dtype", [F4, F8])
def test_derivatives_of_gammas_and_betas(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    alpha, beta = np.exp(rng.uniform(-4, 5, (2, 3000))).astype(dtype)
    gammas = np.maximum(rng.gamma(alpha), 1e-30).astype(dtype)
    betas = np.clip(rng.beta(alpha, beta), 1e-12, 1 - 1e-6).astype(dtype)
    odd = np.array([0.0, 1e-40, np.nan, 5.0, 9.0, 9.0], dtype), np.array([0.1, 1e-40, 1.0, np.nan, 9.0, 0.0], dtype)

    def both() -> list[np.ndarray]:
        found = [implicit.standard_gamma_grad(*pair) for pair in ((alpha, gammas), odd, (alpha[:0], alpha[:0]))]
        found.append(implicit.standard_gamma_grad(alpha[:6].reshape(2, 3).T, gammas[:2]))
        found.append(implicit.standard_gamma_grad(alpha[:0].reshape(0, 3), alpha[:3]))  # broadcast
        found.append(implicit.dirichlet_grad(betas[0], alpha[:2].reshape(2, 1), (alpha + beta)[0]))
        return [*found, implicit.dirichlet_grad(betas, alpha, alpha + beta)]

    found = both()
    monkeypatch.setattr(implicit, "native", None)
    for got, want in zip(found, both()):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        error = np.abs(got - want) / np.maximum(np.abs(want), 1e-30)
        assert np.array_equal(np.isnan(got), np.isnan(want))
        # the beta distribution's series lose digits in float32, differently with every rounding
        assert np.nanquantile(error, 0.95) < (1e-4 if dtype == F4 else 1e-12) if error.size else True
        assert not error.size or np.nanmax(error) < (0.02 if dtype == F4 else 1e-10)


def test_wrong_arguments_are_refused() -> None:
    capsule, out = BitSource(0).capsule, np.empty(4)
    for call in (
        lambda: native.units(capsule, out[::2]),
        lambda: native.units(capsule, [1.0]),
        lambda: native.units(3, out),
        lambda: native.normals(capsule, out),
        lambda: native.gammas(capsule, out, out[:2], None),
        lambda: native.coins(capsule, out, out.astype(F4)),
        lambda: native.first_arrivals(capsule, out, out),
        lambda: native.poissons(capsule, out),
        lambda: native.gamma_slopes(out, out, out, out),
        lambda: native.beta_slopes(out, out, out[:2], out, out),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()
