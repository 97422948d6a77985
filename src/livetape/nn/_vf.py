"""Recurrent layers and losses as functions of ``torch`` itself: ``torch.lstm``, ``torch.gru_cell``, ``torch.ctc_loss``.

The layers come in two forms, told apart by their second argument:
    (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional), for packed sequences
params   of each direction of each layer: weight_ih, weight_hh, then bias_ih, bias_hh, then weight_hr if there are any
"""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.nn import _ctc
from livetape.nn.modules import rnn
from livetape.nn.modules._recurrent import gru_cell as gru_step
from livetape.nn.modules._recurrent import lstm_cell as lstm_step
from livetape.nn.modules._recurrent import rnn_cell as rnn_step
from livetape.ops.boundary import publish
from livetape.tensor import Tensor

_REDUCTIONS = {1: "mean", 2: "sum"}


# ---------------------------------------------------------------- layers
def _weights(params: Any, has_biases: bool, count: int) -> list[dict[str, Tensor]]:
    """The parameters of each direction of each layer, by name."""
    names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if has_biases else [])]
    each = len(params) // count
    if each > len(names):
        names.append("weight_hr")
    return [dict(zip(names, params[i * each : (i + 1) * each])) for i in range(count)]


def _run(mode: str, args: Any, cell: bool) -> tuple[Any, ...]:
    packed = isinstance(args[1], Tensor) and args[1].dim() == 1 and not isinstance(args[2], bool) and len(args) == 9
    packed = packed and not args[1].is_floating_point()
    if packed:
        x, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = args
        sizes, turn = [int(n) for n in batch_sizes.tolist()], False
    else:
        x, hx, params, has_biases, num_layers, dropout, train, bidirectional, turn = args
        sizes = None
    directions = 2 if bidirectional else 1
    h, c = hx if cell else (hx, None)
    weights = _weights(params, has_biases, num_layers * directions)
    x = x.transpose(0, 1) if turn else x
    out, h_n, c_n = rnn.run_layers(mode, x, h, c, weights, directions, dropout if train else 0.0, sizes)
    out = out.transpose(0, 1) if turn else out
    return (out, h_n, c_n) if cell else (out, h_n)


def lstm(*args: Any) -> tuple[Any, ...]:
    """The output, and the last states h and c (source: ``torch.lstm``)."""
    return _run("LSTM", args, True)


def gru(*args: Any) -> tuple[Any, ...]:
    """The output and the last state (source: ``torch.gru``)."""
    return _run("GRU", args, False)


def rnn_tanh(*args: Any) -> tuple[Any, ...]:
    """The output and the last state (source: ``torch.rnn_tanh``)."""
    return _run("RNN_TANH", args, False)


def rnn_relu(*args: Any) -> tuple[Any, ...]:
    """The output and the last state (source: ``torch.rnn_relu``)."""
    return _run("RNN_RELU", args, False)


# ---------------------------------------------------------------- cells
def lstm_cell(
    input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """One step: the next h and c (source: ``torch.lstm_cell``)."""
    return lstm_step(ops.linear(input, w_ih, b_ih), hx[0], hx[1], w_hh, b_hh)


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step: the next state (source: ``torch.gru_cell``)."""
    return gru_step(ops.linear(input, w_ih, b_ih), hx, w_hh, b_hh)


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step: the next state (source: ``torch.rnn_tanh_cell``)."""
    return rnn_step(ops.linear(input, w_ih, b_ih), hx, w_hh, b_hh, False)


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step: the next state (source: ``torch.rnn_relu_cell``)."""
    return rnn_step(ops.linear(input, w_ih, b_ih), hx, w_hh, b_hh, True)


# ---------------------------------------------------------------- a loss
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss` with the reduction as a number: 0 none, 1 mean, 2 sum (source: ``torch.ctc_loss``)."""
    word = _REDUCTIONS.get(reduction, "none")
    return _ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, word, zero_infinity)


publish(
    globals(),
    ["ctc_loss", "gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"],
    "livetape",
)
