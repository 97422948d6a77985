"""The steps of recurrent layers on plain arrays, forward and backward, given the products of inputs and weights.

Arrays of steps are (T, B, ...), and those of states (T + 1, B, H): the state before all steps is the first of them. With
``reverse`` the last step is taken first, and that state is the last of them. The C++ functions (``native/rnn.cpp``) take
each sequence through all steps at once; their NumPy twins take all sequences step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled

Array = Any


def before(states: Array, reverse: bool) -> Array:
    """The states before each step."""
    return states[1:] if reverse else states[:-1]


def after(states: Array, reverse: bool) -> Array:
    """The states after each step."""
    return states[:-1] if reverse else states[1:]


def _states(first: Array, steps: int, reverse: bool) -> tuple[Array, Array]:
    """Memory for all states, which holds the first one, and for those after each step."""
    states = np.empty((steps + 1, *first.shape), first.dtype)
    states[-1 if reverse else 0] = first
    return states, after(states, reverse)


def _order(steps: int, reverse: bool) -> range:
    return range(steps - 1, -1, -1) if reverse else range(steps)


# ---------------------------------------------------------------- LSTM
def _lstm_steps(
    gates: Array, bias: Array | None, h: Array, c: Array, weight: Array, reverse: bool
) -> tuple[Array, Array, Array]:
    """The states, the cell states and the tanh of those after each step; ``gates`` become those of the steps.

    Gates are in the order input, forget, cell, output.
    """
    size, kind = h.shape[1], gates.dtype
    # The logistic function is (1 + tanh(x / 2)) / 2: halving the rows of its gates lets one tanh serve all four.
    half = np.ones(4 * size, kind)
    half[: 2 * size] = half[3 * size :] = 0.5
    shift = np.where(half == 0.5, kind.type(0.5), kind.type(0))
    if bias is not None:
        gates += bias
    gates *= half
    step_weight = (weight * half[:, None]).T
    steps, batch = gates.shape[:2]
    (states, hs), (cells, cs) = _states(h, steps, reverse), _states(c, steps, reverse)
    squashed = np.empty((steps, batch, size), kind)
    part, held = np.empty((batch, 4 * size), kind), np.empty((batch, size), kind)
    for t in _order(steps, reverse):
        gate, next_h, next_c, tanh_c = gates[t], hs[t], cs[t], squashed[t]
        np.matmul(h, step_weight, part)
        np.add(gate, part, gate)
        np.tanh(gate, gate)
        np.multiply(gate, half, gate)
        np.add(gate, shift, gate)
        np.multiply(gate[:, size : 2 * size], c, next_c)
        np.multiply(gate[:, :size], gate[:, 2 * size : 3 * size], held)
        np.add(next_c, held, next_c)
        np.tanh(next_c, tanh_c)
        np.multiply(gate[:, 3 * size :], tanh_c, next_h)
        h, c = next_h, next_c
    return states, cells, squashed


def _lstm_steps_backward(
    by_out: Array,
    dh: Array,
    dc: Array,
    gates: Array,
    cells: Array,
    squashed: Array,
    weight: Array,
    reverse: bool,
) -> tuple[Array, Array, Array]:
    """The gradients of the gates and of the first states, from those of the outputs and of the last states."""
    steps, batch, size = squashed.shape
    i, f, g, o = (gates[:, :, k * size : (k + 1) * size] for k in range(4))
    # What the gradient of the cell state is multiplied with to give those of three gates, and what that of the
    # output is multiplied with to give those of the output gate and of the cell state.
    to_gates = np.empty((steps, batch, 3, size), gates.dtype)
    np.multiply(g, i - i * i, to_gates[:, :, 0])
    np.multiply(before(cells, reverse), f - f * f, to_gates[:, :, 1])
    np.multiply(i, 1 - g * g, to_gates[:, :, 2])
    to_output = squashed * (o - o * o)
    to_cell = o * (1 - squashed * squashed)
    by_gates = np.empty((steps, batch, 4, size), gates.dtype)
    dh, dc = dh.copy(), dc.copy()
    for t in _order(steps, not reverse):
        np.add(dh, by_out[t], dh)
        np.add(dc, dh * to_cell[t], dc)
        now = by_gates[t]
        np.multiply(dc[:, None], to_gates[t], now[:, :3])
        np.multiply(dh, to_output[t], now[:, 3])
        dh = np.matmul(now.reshape(batch, 4 * size), weight)
        np.multiply(dc, f[t], dc)
    return by_gates.reshape(steps, batch, 4 * size), dh, dc


# ---------------------------------------------------------------- GRU
def _gru_steps(
    gates: Array, bias: Array | None, h: Array, weight: Array, state_bias: Array | None, reverse: bool
) -> tuple[Array, Array]:
    """The states, and what the reset gate is multiplied with; ``gates`` become those of the steps.

    Gates are in the order reset, update, new.
    """
    size, kind = h.shape[1], gates.dtype
    if bias is not None:
        gates += bias
    steps, batch = gates.shape[:2]
    (states, hs), parts = _states(h, steps, reverse), np.empty((steps, batch, 3 * size), kind)
    half, held = kind.type(0.5), np.empty((batch, size), kind)
    for t in _order(steps, reverse):
        gate, part, found = gates[t], parts[t], hs[t]
        np.matmul(h, weight.T, part)
        if state_bias is not None:
            np.add(part, state_bias, part)
        both, new = gate[:, : 2 * size], gate[:, 2 * size :]
        np.add(both, part[:, : 2 * size], both)
        np.multiply(both, half, both)
        np.tanh(both, both)
        np.multiply(both, half, both)
        np.add(both, half, both)
        np.multiply(gate[:, :size], part[:, 2 * size :], held)
        np.add(new, held, new)
        np.tanh(new, new)
        np.subtract(h, new, found)
        np.multiply(found, gate[:, size : 2 * size], found)
        np.add(found, new, found)
        h = found
    return states, np.ascontiguousarray(parts[:, :, 2 * size :])


def _gru_steps_backward(
    by_out: Array, dh: Array, gates: Array, states: Array, state_new: Array, weight: Array, reverse: bool
) -> tuple[Array, Array, Array]:
    """The gradients of the gates by their input part and by their state part, and that of the first state."""
    steps, batch, size = state_new.shape
    r, z, n = (gates[:, :, k * size : (k + 1) * size] for k in range(3))
    to_new = (1 - z) * (1 - n * n)
    to_update = (before(states, reverse) - n) * (z - z * z)
    to_reset = state_new * (r - r * r)
    by_input, by_state = (np.empty((steps, batch, 3, size), gates.dtype) for _ in range(2))
    dh = dh.copy()
    for t in _order(steps, not reverse):
        np.add(dh, by_out[t], dh)
        now, state = by_input[t], by_state[t]
        np.multiply(dh, to_new[t], now[:, 2])
        np.multiply(now[:, 2], to_reset[t], now[:, 0])
        np.multiply(dh, to_update[t], now[:, 1])
        state[:, :2] = now[:, :2]
        np.multiply(now[:, 2], r[t], state[:, 2])
        dh = dh * z[t] + np.matmul(state.reshape(batch, 3 * size), weight)
    shape = (steps, batch, 3 * size)
    return by_input.reshape(shape), by_state.reshape(shape), dh


# ---------------------------------------------------------------- plain layers
def _rnn_steps(gates: Array, bias: Array | None, h: Array, weight: Array, reverse: bool) -> Array:
    """The states: each is tanh of the sum of ``gates`` and of its product with the one before."""
    steps = len(gates)
    states, hs = _states(h, steps, reverse)
    for t in _order(steps, reverse):
        found = hs[t]
        np.matmul(h, weight.T, found)
        np.add(found, gates[t], found)
        if bias is not None:
            np.add(found, bias, found)
        np.tanh(found, found)
        h = found
    return states


def _rnn_steps_backward(by_out: Array, dh: Array, states: Array, weight: Array, reverse: bool) -> tuple[Array, Array]:
    """The gradients of the sums under tanh, and that of the first state."""
    hs = after(states, reverse)
    slope = 1 - hs * hs
    by_gates = np.empty(hs.shape, hs.dtype)
    for t in _order(len(hs), not reverse):
        np.multiply(np.add(dh, by_out[t]), slope[t], by_gates[t])
        dh = np.matmul(by_gates[t], weight)
    return by_gates, dh


lstm_steps = compiled("lstm_steps", _lstm_steps)
lstm_steps_backward = compiled("lstm_steps_backward", _lstm_steps_backward)
gru_steps = compiled("gru_steps", _gru_steps)
gru_steps_backward = compiled("gru_steps_backward", _gru_steps_backward)
rnn_steps = compiled("rnn_steps", _rnn_steps)
rnn_steps_backward = compiled("rnn_steps_backward", _rnn_steps_backward)
