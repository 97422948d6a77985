"""The steps of recurrent layers in C++ against their NumPy twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import livetape as torch
from livetape.kernels import recurrent
from livetape.kernels.compiled import NATIVE, TWINS, native

pytestmark = [
    pytest.mark.skipif(not NATIVE, reason="the C++ kernels are not built"),
    pytest.mark.usefixtures("isa"),
]

FLOATS = (np.float32, np.float64)
SIZES = [(1, 1, 1), (3, 2, 5), (5, 16, 8), (4, 7, 33), (2, 13, 64)]  # steps, batch, size


def draw(shape: tuple[int, ...], kind: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def copies(args: Any) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def check(name: str, *args: Any) -> Any:
    """Both give the same, and change their arguments alike."""
    mine, its = copies(args), copies(args)
    want, got = TWINS[name](*its), getattr(native, name)(*mine)
    alone = not isinstance(want, tuple)
    pairs = [(got, want)] if alone else list(zip(got, want, strict=True))
    if name in ("lstm_steps", "gru_steps"):
        pairs.append((mine[0], its[0]))
    for g, w in pairs:
        assert g.shape == w.shape and g.dtype == w.dtype
        eps = 64 * float(np.finfo(w.dtype).eps)
        np.testing.assert_allclose(g, w, rtol=eps, atol=eps * max(1, float(np.abs(w).max(initial=0))))
    return (want, its[0])


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("steps, batch, size", SIZES)
def test_steps(kind: Any, reverse: bool, bias: bool, steps: int, batch: int, size: int) -> None:
    h, c, by_out = draw((batch, size), kind, 1), draw((batch, size), kind, 2), draw((steps, batch, size), kind, 3)
    dh, dc = draw((batch, size), kind, 4), draw((batch, size), kind, 5)

    def inputs(kinds: int) -> tuple[Any, Any, Any]:
        gates, weight = draw((steps, batch, kinds * size), kind, 6), draw((kinds * size, size), kind, 7) * kind(0.3)
        return gates, weight, draw((kinds * size,), kind, 8) if bias else None

    gates, weight, b = inputs(4)
    (_, cells, squashed), gates = check("lstm_steps", gates, b, h, c, weight, reverse)
    check("lstm_steps_backward", by_out, dh, dc, gates, cells, squashed, weight, reverse)
    gates, weight, b = inputs(3)
    (states, new), gates = check("gru_steps", gates, b, h, weight, b, reverse)
    check("gru_steps_backward", by_out, dh, gates, states, new, weight, reverse)
    gates, weight, b = inputs(1)
    states, _ = check("rnn_steps", gates, b, h, weight, reverse)
    check("rnn_steps_backward", by_out, dh, states, weight, reverse)


def test_other_memory() -> None:
    gates, weight = draw((3, 4, 20), np.float32), draw((20, 5), np.float32, 1)
    h, c = draw((4, 5), np.float32, 2), draw((4, 5), np.float32, 3)
    want = native.lstm_steps(gates.copy(), None, h, c, weight, False)
    for odd in (np.asfortranarray(h), np.repeat(h, 2, 1)[:, ::2], h[::-1][::-1]):
        got = native.lstm_steps(gates.copy(), None, odd, c, np.asfortranarray(weight), False)
        for g, w in zip(got, want):
            np.testing.assert_array_equal(g, w)
    ones = np.broadcast_to(np.float32(1), (3, 4, 5))  # such as the gradient of a sum
    made = gates.copy()
    _, cells, squashed = native.lstm_steps(made, None, h, c, weight, False)
    check("lstm_steps_backward", ones, h, c, made, cells, squashed, weight, False)


@pytest.mark.parametrize("kind", FLOATS)
def test_tanh_is_accurate(kind: Any) -> None:
    """Within 3 units in the last place, for small and large numbers and the special ones."""
    x = np.concatenate(
        [np.linspace(-12, 12, 4001), np.geomspace(1e-30, 1, 500), [0.0, np.inf, -np.inf, np.nan]]
    ).astype(kind)
    got = native.rnn_steps(
        x.reshape(1, 1, -1).copy(), None, np.zeros((1, len(x)), kind), np.zeros((len(x), len(x)), kind), False
    )
    want = np.tanh(x.astype(np.longdouble))
    got = got[1, 0]
    assert np.array_equal(np.isnan(got), np.isnan(x)) and np.array_equal(np.signbit(got[:-1]), np.signbit(x[:-1]))
    assert np.all(np.abs(got - want)[:-1] <= 3 * np.spacing(np.abs(want).astype(kind))[:-1])


def test_numbers_that_are_not_finite() -> None:
    gates, weight = draw((4, 3, 24), np.float32), draw((24, 6), np.float32, 1)
    gates[1, 0, 3], gates[2, 1, 7], gates[0, 2, 20] = np.nan, np.inf, -np.inf
    state = np.zeros((3, 6), np.float32)
    check("lstm_steps", gates, None, state, state, weight, False)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    gates, weight = draw((5, 19, 160), np.float32), draw((160, 40), np.float32, 1)
    state, out = draw((19, 40), np.float32, 2), draw((5, 19, 40), np.float32, 3)
    before = torch.get_num_threads()
    found = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            made = gates.copy()
            states, cells, squashed = recurrent.lstm_steps(made, None, state, state, weight, False)
            back = recurrent.lstm_steps_backward(out, state, state, made, cells, squashed, weight, False)
            found.append((states, cells, *back))
    finally:
        torch.set_num_threads(before)
    for one, three in zip(*found):
        np.testing.assert_array_equal(one, three)
