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
from livetape.kernels import recurrent as kernels
from livetape.tensor import Tensor

Array = Any


# ---------------------------------------------------------------- the layers, made of operations


def lstm_cell(
    x: Tensor, h: Tensor, c: Tensor, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """One step; ``x`` is the product of input and weight already (Hochreiter & Schmidhuber 1997)."""
    i, f, g, o = (ops.linear(h, w_hh, b_hh) + x).unsafe_chunk(4, 1)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    h = ops.sigmoid(o) * ops.tanh(c)
    return (h if w_hr is None else ops.linear(h, w_hr)), c


def gru_cell(x: Tensor, h: Tensor, w_hh: Tensor, b_hh: Tensor | None) -> Tensor:
    """One step; ``x`` is the product of input and weight already (Cho et al. 2014)."""
    x_r, x_z, x_n = x.unsafe_chunk(3, 1)
    h_r, h_z, h_n = ops.linear(h, w_hh, b_hh).unsafe_chunk(3, 1)
    r, z = ops.sigmoid(h_r + x_r), ops.sigmoid(h_z + x_z)
    n = ops.tanh(x_n + h_n * r)
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
    if not steps:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
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


def _leaf(tensor: Any) -> Any:
    if tensor is None:
        return None
    twin = tensor.detach()
    twin.requires_grad = tensor.requires_grad
    return twin


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
                x, h, c, w_ih, w_hh, b_ih, b_hh = [_leaf(t) for t in (x, h, c, w_ih, w_hh, b_ih, b_hh)]
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
        found = (
            np.matmul(by_input.reshape(-1, by_input.shape[-1]), w_ih).reshape(x.shape) if need[0] else None,
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


def _copies(reverse: bool, *states: Array) -> tuple[Any, ...]:
    """The output, and the last of each kind of states: what is kept must not change with them."""
    last = [from_array(s[0 if reverse else -1].copy()) for s in states]
    return from_array(kernels.after(states[0], reverse).copy()), *last


class LSTMLayer(_Layer):
    """An LSTM layer: gates in the order input, forget, cell, output."""

    mode = "LSTM"

    @staticmethod
    def forward(ctx: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, reverse: Any) -> Any:
        ctx.save_for_backward(x, h, c, w_ih, w_hh, b_ih, b_hh)
        ctx.reverse = reverse
        X, H, C, Wi, Wh, bi, bh = _arrays(ctx, x, h, c, w_ih, w_hh, b_ih, b_hh)
        gates = _products(X, Wi)
        states, cells, squashed = kernels.lstm_steps(gates, None if bi is None else bi + bh, H, C, Wh, reverse)
        ctx.kept = (gates, states, cells, squashed)
        return _copies(reverse, states, cells)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if is_recording() or is_transformed():
            return LSTMLayer.differentiable(ctx, grads)
        saved = ctx.saved_tensors
        X, Wi, Wh = _arrays(ctx, saved[0], saved[3], saved[4])
        gates, states, cells, squashed = ctx.kept
        by_out, dh, dc = _arrays(ctx, *grads)
        by_gates, dh, dc = kernels.lstm_steps_backward(by_out, dh, dc, gates, cells, squashed, Wh, ctx.reverse)
        return _Layer.collect(ctx, X, kernels.before(states, ctx.reverse), Wi, by_gates, by_gates, dh, dc)


class GRULayer(_Layer):
    """A GRU layer: gates in the order reset, update, new."""

    mode = "GRU"

    @staticmethod
    def forward(ctx: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, reverse: Any) -> Any:
        ctx.save_for_backward(x, h, c, w_ih, w_hh, b_ih, b_hh)
        ctx.reverse = reverse
        X, H, Wi, Wh, bi, bh = _arrays(ctx, x, h, w_ih, w_hh, b_ih, b_hh)
        gates = _products(X, Wi)
        states, state_new = kernels.gru_steps(gates, bi, H, Wh, bh, reverse)
        ctx.kept = (gates, states, state_new)
        return _copies(reverse, states)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if is_recording() or is_transformed():
            return GRULayer.differentiable(ctx, grads)
        saved = ctx.saved_tensors
        X, Wi, Wh = _arrays(ctx, saved[0], saved[3], saved[4])
        gates, states, state_new = ctx.kept
        by_out, dh = _arrays(ctx, *grads)
        by_input, by_state, dh = kernels.gru_steps_backward(by_out, dh, gates, states, state_new, Wh, ctx.reverse)
        return _Layer.collect(ctx, X, kernels.before(states, ctx.reverse), Wi, by_input, by_state, dh, None)


class RNNLayer(_Layer):
    """A plain recurrent layer with tanh."""

    mode = "RNN_TANH"

    @staticmethod
    def forward(ctx: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, reverse: Any) -> Any:
        ctx.save_for_backward(x, h, c, w_ih, w_hh, b_ih, b_hh)
        ctx.reverse = reverse
        X, H, Wi, Wh, bi, bh = _arrays(ctx, x, h, w_ih, w_hh, b_ih, b_hh)
        ctx.kept = kernels.rnn_steps(_products(X, Wi), None if bi is None else bi + bh, H, Wh, reverse)
        return _copies(reverse, ctx.kept)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if is_recording() or is_transformed():
            return RNNLayer.differentiable(ctx, grads)
        saved = ctx.saved_tensors
        X, Wi, Wh = _arrays(ctx, saved[0], saved[3], saved[4])
        by_out, dh = _arrays(ctx, *grads)
        by_gates, dh = kernels.rnn_steps_backward(by_out, dh, ctx.kept, Wh, ctx.reverse)
        return _Layer.collect(ctx, X, kernels.before(ctx.kept, ctx.reverse), Wi, by_gates, by_gates, dh, None)


LAYERS: dict[str, Any] = {"LSTM": LSTMLayer, "GRU": GRULayer, "RNN_TANH": RNNLayer}
for _layer, _name, _function in (
    (LSTMLayer, "MkldnnRnnLayerBackward0", "aten::lstm"),
    (GRULayer, "StackBackward0", "aten::gru"),
    (RNNLayer, "StackBackward0", "aten::rnn_tanh"),
):
    _layer._backward_cls.__name__ = _name  # the names that torch's nodes have here
    _layer.profiled_as = _function  # type: ignore[union-attr] # and profiles
