"""Whole recurrent layers in one node: loops over time on plain arrays, forward and backward.

Everything that does not depend on the order of the steps is done at once for all of them: the products with the inputs,
the slopes of the gates, the gradients of the weights. Higher derivatives go through the same layer made of operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import gradients, ops
from livetape._tape.modes import is_recording, is_transformed
from livetape._tape.tensor import from_array
from livetape.autograd.function import Function
from livetape.autograd.grad_mode import enable_grad
from livetape.tensor import Tensor

Array = Any


# ---------------------------------------------------------------- the layers, made of operations


def lstm_cell(
    x: Tensor, h: Tensor, c: Tensor, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """One step; ``x`` is the product of input and weight already (Hochreiter & Schmidhuber 1997)."""
    i, f, g, o = (ops.linear(h, w_hh, b_hh) + x).chunk(4, 1)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    h = ops.sigmoid(o) * ops.tanh(c)
    return (h if w_hr is None else ops.linear(h, w_hr)), c


def gru_cell(x: Tensor, h: Tensor, w_hh: Tensor, b_hh: Tensor | None) -> Tensor:
    """One step; ``x`` is the product of input and weight already (Cho et al. 2014)."""
    x_r, x_z, x_n = x.chunk(3, 1)
    h_r, h_z, h_n = ops.linear(h, w_hh, b_hh).chunk(3, 1)
    r, z = ops.sigmoid(h_r + x_r), ops.sigmoid(h_z + x_z)
    n = ops.tanh(h_n * r + x_n)
    return (h - n) * z + n


def rnn_cell(x: Tensor, h: Tensor, w_hh: Tensor, b_hh: Tensor | None, relu: bool) -> Tensor:
    """One step; ``x`` is the product of input and weight already (Elman 1990)."""
    found = ops.linear(h, w_hh, b_hh) + x
    return ops.relu(found) if relu else ops.tanh(found)


def composed(
    mode: str, steps: Any, h: Tensor, c: Tensor | None, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None
) -> tuple[list[Tensor], Tensor, Tensor | None]:
    """The outputs of all steps, and the state after the last."""
    outputs = []
    for x in steps:
        if mode == "LSTM":
            h, c = lstm_cell(x, h, c, w_hh, b_hh, w_hr)  # type: ignore[arg-type]
        elif mode == "GRU":
            h = gru_cell(x, h, w_hh, b_hh)
        else:
            h = rnn_cell(x, h, w_hh, b_hh, mode == "RNN_RELU")
        outputs.append(h)
    return outputs, h, c


def layer_of_operations(
    mode: str,
    x: Tensor,
    h: Tensor,
    c: Tensor | None,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    w_hr: Tensor | None,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Output (T, B, H) and last state of a layer."""
    steps = ops.linear(x, w_ih, b_ih).unbind(0)
    outputs, h, c = composed(mode, steps[::-1] if reverse else steps, h, c, w_hh, b_hh, w_hr)
    return ops.stack(outputs[::-1] if reverse else outputs, 0), h, c


# ---------------------------------------------------------------- the layers, on arrays


def _products(x: Array, weight: Array) -> Array:
    """(T, B, I) times (G, I) transposed."""
    steps, batch, size = x.shape
    return np.matmul(x.reshape(steps * batch, size), weight.T).reshape(steps, batch, len(weight))


def _weight_gradient(by_gates: Array, x: Array) -> Array:
    """The gradient of a weight from those of its products with ``x``, summed over steps and batch."""
    return np.matmul(by_gates.reshape(-1, by_gates.shape[-1]).T, x.reshape(-1, x.shape[-1]))


def _before(h0: Array, hs: Array) -> Array:
    """The states before each step."""
    return np.concatenate([h0[None], hs[:-1]])


class _Layer(Function):
    """What the three layers share: the bookkeeping of inputs, directions and gradients."""

    mode = ""

    @classmethod
    def run(
        cls,
        x: Tensor,
        h: Tensor,
        c: Tensor | None,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None,
        b_hh: Tensor | None,
        reverse: bool,
    ) -> tuple[Any, ...]:
        """Output (T, B, H) and last state."""
        return cls.apply(x, h, c, w_ih, w_hh, b_ih, b_hh, reverse)  # type: ignore[no-any-return]

    @classmethod
    def differentiable(cls, ctx: Any, grads: Any) -> Any:
        """The gradients by operations: on the tape if it records, and for batches."""
        x, h, c, w_ih, w_hh, b_ih, b_hh = ctx.saved_tensors
        recording = is_recording()
        with enable_grad():
            if not recording:
                x, h, c, w_ih, w_hh, b_ih, b_hh = [
                    None if t is None else t.detach().requires_grad_(t.requires_grad)
                    for t in (x, h, c, w_ih, w_hh, b_ih, b_hh)
                ]
            found = layer_of_operations(cls.mode, x, h, c, w_ih, w_hh, b_ih, b_hh, None, ctx.reverse)
        pairs = [(out, grad) for out, grad in zip(found, grads) if out is not None and grad is not None]
        inputs = [x, h, c, w_ih, w_hh, b_ih, b_hh]
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad[:7]) if needed]
        results: list[Any] = [None] * 8
        for i, grad in zip(
            wanted,
            gradients.grad(
                [p[0] for p in pairs],
                [inputs[i] for i in wanted],
                [p[1] for p in pairs],
                create_graph=recording,
                allow_unused=True,
            ),
        ):
            results[i] = grad
        return tuple(results)

    @staticmethod
    def collect(
        ctx: Any, x: Array, before: Array, w_ih: Array, by_input: Array, by_state: Array, dh: Array, dc: Array | None
    ) -> tuple[Any, ...]:
        """All gradients, from those of the gates (by their input part and by their state part)."""
        need = ctx.needs_input_grad
        dx = np.matmul(by_input.reshape(-1, by_input.shape[-1]), w_ih).reshape(x.shape) if need[0] else None
        if dx is not None and ctx.reverse:
            dx = dx[::-1]
        found = (
            dx,
            dh if need[1] else None,
            dc if need[2] else None,
            _weight_gradient(by_input, x) if need[3] else None,
            _weight_gradient(by_state, before) if need[4] else None,
            by_input.sum((0, 1)) if need[5] else None,
            by_state.sum((0, 1)) if need[6] else None,
        )
        return (*[None if g is None else from_array(np.ascontiguousarray(g)) for g in found], None)


def _arrays(ctx: Any, *tensors: Any) -> list[Any]:
    return [None if t is None else t.array for t in tensors]


class LSTMLayer(_Layer):
    """An LSTM layer: gates in the order input, forget, cell, output."""

    mode = "LSTM"

    @staticmethod
    def forward(ctx: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, reverse: Any) -> Any:
        ctx.save_for_backward(x, h, c, w_ih, w_hh, b_ih, b_hh)
        ctx.reverse = reverse
        X, H, C, Wi, Wh, bi, bh = _arrays(ctx, x, h, c, w_ih, w_hh, b_ih, b_hh)
        if reverse:
            X = X[::-1]
        size, kind = H.shape[1], X.dtype
        # The logistic function is (1 + tanh(x / 2)) / 2: halving the rows of its gates lets one tanh serve all four.
        half = np.ones(4 * size, kind)
        half[: 2 * size] = half[3 * size :] = 0.5
        shift = np.where(half == 0.5, kind.type(0.5), kind.type(0))
        gates = _products(X, Wi * half[:, None])
        if bi is not None:
            gates += (bi + bh) * half
        step_weight = (Wh * half[:, None]).T
        steps, batch = X.shape[:2]
        hs, cs = np.empty((steps, batch, size), kind), np.empty((steps, batch, size), kind)
        squashed = np.empty((steps, batch, size), kind)
        part, held = np.empty((batch, 4 * size), kind), np.empty((batch, size), kind)
        now_h, now_c = H, C
        for gate, next_h, next_c, tanh_c in zip(gates, hs, cs, squashed):
            np.matmul(now_h, step_weight, part)
            np.add(gate, part, gate)
            np.tanh(gate, gate)
            np.multiply(gate, half, gate)
            np.add(gate, shift, gate)
            np.multiply(gate[:, size : 2 * size], now_c, next_c)
            np.multiply(gate[:, :size], gate[:, 2 * size : 3 * size], held)
            np.add(next_c, held, next_c)
            np.tanh(next_c, tanh_c)
            np.multiply(gate[:, 3 * size :], tanh_c, next_h)
            now_h, now_c = next_h, next_c
        ctx.kept = (gates, hs, cs, squashed)
        out = hs[::-1] if reverse else hs
        return from_array(np.ascontiguousarray(out)), from_array(now_h.copy()), from_array(now_c.copy())

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if is_recording() or is_transformed():
            return LSTMLayer.differentiable(ctx, grads)
        X, H, C, Wi, Wh = _arrays(ctx, *ctx.saved_tensors[:5])
        gates, hs, cs, squashed = ctx.kept
        by_out, dh, dc = _arrays(ctx, *grads)
        if ctx.reverse:
            X, by_out = X[::-1], by_out[::-1]
        steps, batch, size = hs.shape
        i, f, g, o = (gates[:, :, k * size : (k + 1) * size] for k in range(4))
        # What the gradient of the cell state is multiplied with to give those of three gates, and what that of the
        # output is multiplied with to give those of the output gate and of the cell state.
        to_gates = np.empty((steps, batch, 3, size), gates.dtype)
        np.multiply(g, i - i * i, to_gates[:, :, 0])
        np.multiply(_before(C, cs), f - f * f, to_gates[:, :, 1])
        np.multiply(i, 1 - g * g, to_gates[:, :, 2])
        to_output = squashed * (o - o * o)
        to_cell = o * (1 - squashed * squashed)
        by_gates = np.empty((steps, batch, 4, size), gates.dtype)
        dh, dc = dh.copy(), dc.copy()
        for t in range(steps - 1, -1, -1):
            np.add(dh, by_out[t], dh)
            np.add(dc, dh * to_cell[t], dc)
            now = by_gates[t]
            np.multiply(dc[:, None], to_gates[t], now[:, :3])
            np.multiply(dh, to_output[t], now[:, 3])
            dh = np.matmul(now.reshape(batch, 4 * size), Wh)
            np.multiply(dc, f[t], dc)
        by_gates = by_gates.reshape(steps, batch, 4 * size)
        return _Layer.collect(ctx, X, _before(H, hs), Wi, by_gates, by_gates, dh, dc)


class GRULayer(_Layer):
    """A GRU layer: gates in the order reset, update, new."""

    mode = "GRU"

    @staticmethod
    def forward(ctx: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, reverse: Any) -> Any:
        ctx.save_for_backward(x, h, c, w_ih, w_hh, b_ih, b_hh)
        ctx.reverse = reverse
        X, H, Wi, Wh, bi, bh = _arrays(ctx, x, h, w_ih, w_hh, b_ih, b_hh)
        if reverse:
            X = X[::-1]
        size, kind = H.shape[1], X.dtype
        gates = _products(X, Wi)
        if bi is not None:
            gates += bi
        steps, batch = X.shape[:2]
        hs, state_parts = np.empty((steps, batch, size), kind), np.empty((steps, batch, 3 * size), kind)
        half, held = kind.type(0.5), np.empty((batch, size), kind)
        now = H
        for gate, part, after in zip(gates, state_parts, hs):
            np.matmul(now, Wh.T, part)
            if bh is not None:
                np.add(part, bh, part)
            both, new = gate[:, : 2 * size], gate[:, 2 * size :]
            np.add(both, part[:, : 2 * size], both)
            np.multiply(both, half, both)
            np.tanh(both, both)
            np.multiply(both, half, both)
            np.add(both, half, both)
            np.multiply(gate[:, :size], part[:, 2 * size :], held)
            np.add(new, held, new)
            np.tanh(new, new)
            np.subtract(now, new, after)
            np.multiply(after, gate[:, size : 2 * size], after)
            np.add(after, new, after)
            now = after
        ctx.kept = (gates, hs, np.ascontiguousarray(state_parts[:, :, 2 * size :]))
        return from_array(np.ascontiguousarray(hs[::-1] if reverse else hs)), from_array(now.copy())

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if is_recording() or is_transformed():
            return GRULayer.differentiable(ctx, grads)
        saved = ctx.saved_tensors
        X, H, Wi, Wh = _arrays(ctx, saved[0], saved[1], saved[3], saved[4])
        gates, hs, state_new = ctx.kept
        by_out, dh = _arrays(ctx, *grads)
        if ctx.reverse:
            X, by_out = X[::-1], by_out[::-1]
        steps, batch, size = hs.shape
        r, z, n = (gates[:, :, k * size : (k + 1) * size] for k in range(3))
        before = _before(H, hs)
        to_new = (1 - z) * (1 - n * n)
        to_update = (before - n) * (z - z * z)
        to_reset = state_new * (r - r * r)
        by_input, by_state = (np.empty((steps, batch, 3, size), gates.dtype) for _ in range(2))
        dh = dh.copy()
        for t in range(steps - 1, -1, -1):
            np.add(dh, by_out[t], dh)
            now, state = by_input[t], by_state[t]
            np.multiply(dh, to_new[t], now[:, 2])
            np.multiply(now[:, 2], to_reset[t], now[:, 0])
            np.multiply(dh, to_update[t], now[:, 1])
            state[:, :2] = now[:, :2]
            np.multiply(now[:, 2], r[t], state[:, 2])
            dh = dh * z[t] + np.matmul(state.reshape(batch, 3 * size), Wh)
        shape = (steps, batch, 3 * size)
        return _Layer.collect(ctx, X, before, Wi, by_input.reshape(shape), by_state.reshape(shape), dh, None)


class RNNLayer(_Layer):
    """A plain recurrent layer with tanh."""

    mode = "RNN_TANH"

    @staticmethod
    def forward(ctx: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, reverse: Any) -> Any:
        ctx.save_for_backward(x, h, c, w_ih, w_hh, b_ih, b_hh)
        ctx.reverse = reverse
        X, H, Wi, Wh, bi, bh = _arrays(ctx, x, h, w_ih, w_hh, b_ih, b_hh)
        if reverse:
            X = X[::-1]
        hs = _products(X, Wi)
        if bi is not None:
            hs += bi + bh
        part = np.empty(hs.shape[1:], hs.dtype)
        now = H
        for after in hs:
            np.matmul(now, Wh.T, part)
            np.add(after, part, after)
            np.tanh(after, after)
            now = after
        ctx.kept = hs
        return from_array(np.ascontiguousarray(hs[::-1] if reverse else hs)), from_array(now.copy())

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if is_recording() or is_transformed():
            return RNNLayer.differentiable(ctx, grads)
        saved = ctx.saved_tensors
        X, H, Wi, Wh = _arrays(ctx, saved[0], saved[1], saved[3], saved[4])
        hs = ctx.kept
        by_out, dh = _arrays(ctx, *grads)
        if ctx.reverse:
            X, by_out = X[::-1], by_out[::-1]
        slope = 1 - hs * hs
        by_gates = np.empty(hs.shape, hs.dtype)
        for t in range(len(hs) - 1, -1, -1):
            np.multiply(np.add(dh, by_out[t]), slope[t], by_gates[t])
            dh = np.matmul(by_gates[t], Wh)
        return _Layer.collect(ctx, X, _before(H, hs), Wi, by_gates, by_gates, dh, None)


LAYERS: dict[str, Any] = {"LSTM": LSTMLayer, "GRU": GRULayer, "RNN_TANH": RNNLayer}
for _layer, _name, _function in (
    (LSTMLayer, "MkldnnRnnLayerBackward0", "aten::lstm"),
    (GRULayer, "StackBackward0", "aten::gru"),
    (RNNLayer, "StackBackward0", "aten::rnn_tanh"),
):
    _layer._backward_cls.__name__ = _name  # the names that torch's nodes have here
    _layer.profiled_as = _function  # type: ignore[union-attr] # and profiles
