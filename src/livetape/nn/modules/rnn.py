"""Recurrent layers."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from livetape import dtypes, ops
from livetape._tape.modes import is_transformed
from livetape.nn import functional as F
from livetape.nn import init
from livetape.nn.modules._recurrent import (
    LAYERS,
    composed,
    gru_cell,
    layer_of_operations,
    lstm_cell,
    rnn_cell,
)
from livetape.nn.modules.module import Module
from livetape.nn.parameter import Parameter
from livetape.nn.utils.rnn import PackedSequence
from livetape.ops.boundary import publish_plain
from livetape.tensor import Tensor

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Layers, directions and parameters of a recurrent network."""

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        for name, flag in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        if not isinstance(input_size, int):
            raise TypeError(f"input_size should be of type int, got: {type(input_size).__name__}")
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        options = {"device": device, "dtype": dtype}
        rows, out = _GATES[mode] * hidden_size, proj_size or hidden_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(2 if bidirectional else 1):
                size = input_size if layer == 0 else out * (2 if bidirectional else 1)
                shapes: dict[str, Any] = {"weight_ih": (rows, size), "weight_hh": (rows, out)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                suffix = f"_l{layer}" + ("_reverse" if direction else "")
                for name, shape in shapes.items():
                    setattr(self, name + suffix, Parameter(ops.empty(shape, **options)))
                names = [name + suffix for name in shapes]
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_flat_weights": self._flat_weights}  # torch's saves and expects them

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({key: value for key, value in state.items() if key != "_flat_weights"})

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing to do: the parameters need no common memory here."""

    def reset_parameters(self) -> None:
        """Draw new values, uniform within 1 / sqrt(hidden_size) of 0."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # ------------------------------------------------------------ checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Errors for an input of the wrong dtype or shape."""
        kind = self._parameters.get(self._flat_weights_names[0])
        if kind is not None and input.dtype is not kind.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind.dtype}). Convert "
                f"input: input.to({kind.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _expected_size(self, input: Tensor, batch_sizes: Tensor | None, width: int) -> tuple[int, int, int]:
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the hidden state."""
        return self._expected_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError for a state of another shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Errors for arguments of forward that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its batch reordered."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # ------------------------------------------------------------ the run

    def _run(
        self, input: Tensor, h: Tensor, c: Tensor | None, sizes: list[int] | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """All layers over (T, B, I), or over packed steps: the output and the last states."""
        weights = [{name.split("_l")[0]: getattr(self, name) for name in names} for names in self._all_weights]
        directions = 2 if self.bidirectional else 1
        return run_layers(self.mode, input, h, c, weights, directions, self.dropout if self.training else 0.0, sizes)

    def _start(self, input: Tensor, batch: int, width: int) -> Tensor:
        directions = 2 if self.bidirectional else 1
        return ops.zeros((self.num_layers * directions, batch, width), dtype=input.dtype)

    def extra_repr(self) -> str:
        text = "{input_size}, {hidden_size}"
        if self.proj_size != 0:
            text += ", proj_size={proj_size}"
        if self.num_layers != 1:
            text += ", num_layers={num_layers}"
        if self.bias is not True:
            text += ", bias={bias}"
        if self.batch_first is not False:
            text += ", batch_first={batch_first}"
        if self.dropout != 0:
            text += ", dropout={dropout}"
        if self.bidirectional is not False:
            text += ", bidirectional={bidirectional}"
        return text.format(**self.__dict__)

    def _forward(self, input: Any, hx: Any, cell: bool) -> tuple[Any, Any]:
        """forward of all three kinds; ``cell`` says whether the state is a pair."""
        sizes = order = back = batch_sizes = None
        batched = True
        if isinstance(input, PackedSequence):
            input, batch_sizes, order, back = input
            sizes = [int(n) for n in batch_sizes.tolist()]
            batch = sizes[0]
            if hx is not None:
                hx = self.permute_hidden(hx, order)
        else:
            if input.dim() not in (2, 3):
                word = "tensor instead" if self.mode.startswith("RNN") else "instead"
                raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D {word}")
            batched = input.dim() == 3
            self._check_states(hx, batched, cell)
            if not batched:
                input = input.unsqueeze(0 if self.batch_first else 1)
                if hx is not None:
                    hx = tuple(s.unsqueeze(1) for s in hx) if cell else hx.unsqueeze(1)
            batch = input.size(0 if self.batch_first else 1)
        width = self.proj_size or self.hidden_size
        if hx is None:
            h = self._start(input, batch, width)
            hx = (h, self._start(input, batch, self.hidden_size)) if cell else h
        self.check_forward_args(input, hx, batch_sizes)
        h, c = hx if cell else (hx, None)
        turn = self.batch_first and sizes is None
        out, h_n, c_n = self._run(input.transpose(0, 1) if turn else input, h, c, sizes)
        if turn:
            out = out.transpose(0, 1)
        if sizes is not None:
            found: Any = PackedSequence(out, batch_sizes, order, back)
            return found, self.permute_hidden((h_n, c_n) if cell else h_n, back)
        if not batched:
            out = out.squeeze(0 if self.batch_first else 1)
            h_n = h_n.squeeze(1)
            c_n = None if c_n is None else c_n.squeeze(1)
        return out, ((h_n, c_n) if cell else h_n)

    def _check_states(self, hx: Any, batched: bool, cell: bool) -> None:
        if hx is None:
            return
        kind, dims = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
        if cell:
            if hx[0].dim() != dims or hx[1].dim() != dims:
                raise RuntimeError(
                    f"For {kind} input, hx and cx should also be {dims}-D but got "
                    f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
                )
        elif hx.dim() != dims:
            raise RuntimeError(f"For {kind} input, hx should also be {dims}-D but got {hx.dim()}-D tensor")


def run_layers(
    mode: str,
    x: Tensor,
    h: Tensor,
    c: Tensor | None,
    weights: list[dict[str, Tensor]],
    directions: int,
    dropout: float,
    sizes: list[int] | None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """All layers over (T, B, I), or over packed steps: the output and the last states.

    weights   of each direction of each layer, by name
    """
    last_h: list[Any] = []
    last_c: list[Any] = []
    run: Any = _layer if sizes is None else _packed_layer
    for which, own in enumerate(weights):
        direction = which % directions
        if direction == 0:
            outputs: list[Any] = []
        out, h_n, c_n = run(mode, x, h[which], None if c is None else c[which], own, bool(direction), sizes)
        outputs.append(out)
        last_h.append(h_n)
        last_c.append(c_n)
        if direction == directions - 1:
            x = outputs[0] if directions == 1 else ops.cat(outputs, -1)
            if dropout and which < len(weights) - 1:
                x = ops.dropout(x, dropout, True)
    return x, ops.stack(last_h, 0), None if c is None else ops.stack(last_c, 0)


def _layer(
    mode: str, x: Tensor, h: Tensor, c: Tensor | None, weights: dict[str, Tensor], reverse: bool, sizes: Any
) -> tuple[Tensor, Tensor, Tensor | None]:
    """One direction of a layer over (T, B, I)."""
    w_ih, w_hh, w_hr = weights["weight_ih"], weights["weight_hh"], weights.get("weight_hr")
    b_ih, b_hh = weights.get("bias_ih"), weights.get("bias_hh")
    fused = LAYERS.get(mode)
    if (
        fused is not None
        and w_hr is None
        and not is_transformed()
        and x.size(0) > 0
        and x.dtype in (dtypes.float32, dtypes.float64)
    ):
        out, h_n, *rest = fused.run(x, h, c, w_ih, w_hh, b_ih, b_hh, reverse)
        return out, h_n, rest[0] if rest else None
    return layer_of_operations(mode, x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, reverse)


def _packed_layer(
    mode: str, x: Tensor, h: Tensor, c: Tensor | None, weights: dict[str, Tensor], reverse: bool, sizes: list[int]
) -> tuple[Tensor, Tensor, Tensor | None]:
    """One direction of a layer over packed steps: the batch shrinks as sequences end, or grows as they begin."""
    w_hh, b_hh, w_hr = weights["weight_hh"], weights.get("bias_hh"), weights.get("weight_hr")
    steps = ops.linear(x, weights["weight_ih"], weights.get("bias_ih")).split(sizes)
    outputs: list[Any] = [None] * len(sizes)
    ended: list[tuple[Any, Any]] = []  # states of sequences that have ended, the last ones first
    now_h, now_c = (h[: sizes[-1]], None if c is None else c[: sizes[-1]]) if reverse else (h, c)
    for t in range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes)):
        size, present = sizes[t], now_h.size(0)
        if size < present:
            ended.append((now_h[size:], None if now_c is None else now_c[size:]))
            now_h, now_c = now_h[:size], None if now_c is None else now_c[:size]
        elif size > present:
            now_h = ops.cat([now_h, h[present:size]])
            now_c = None if now_c is None or c is None else ops.cat([now_c, c[present:size]])
        out, now_h, now_c = composed(mode, [steps[t]], now_h, now_c, w_hh, b_hh, w_hr)
        outputs[t] = out[0]
    ended.append((now_h, now_c))
    h_n = ops.cat([e[0] for e in reversed(ended)]) if len(ended) > 1 else now_h
    c_n = None if now_c is None else ops.cat([e[1] for e in reversed(ended)]) if len(ended) > 1 else now_c
    return ops.cat(outputs), h_n, c_n


class RNN(RNNBase):
    """``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or with relu, over sequences (source: ``torch.nn.RNN``).

    Takes (T, N, input_size), (N, T, input_size) with ``batch_first``, (T, input_size) or a PackedSequence; gives the
    outputs of the last layer and the last hidden state of each layer.
    """

    nonlinearity: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = (*args[:3], *args[4:])
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + self.nonlinearity.upper(), *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._forward(input, hx, False)


class LSTM(RNNBase):
    """Long short-term memory over sequences (source: ``torch.nn.LSTM``): outputs and (hidden, cell) states."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the cell state."""
        return self._expected_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Errors for arguments of forward that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states with their batch reordered."""
        return hx if permutation is None else tuple(s.index_select(1, permutation) for s in hx)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        return self._forward(input, hx, True)


class GRU(RNNBase):
    """Gated recurrent units over sequences (source: ``torch.nn.GRU``)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._forward(input, hx, False)


class RNNCellBase(Module):
    """Parameters of one step."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(ops.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(ops.empty((rows, hidden_size), device=device, dtype=dtype))
        if bias:
            self.bias_ih = Parameter(ops.empty(rows, device=device, dtype=dtype))
            self.bias_hh = Parameter(ops.empty(rows, device=device, dtype=dtype))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values, uniform within 1 / sqrt(hidden_size) of 0."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _prepare(self, input: Tensor, states: list[Any], names: list[str]) -> tuple[Tensor, list[Any], bool]:
        """Input and states with a batch dimension, and whether they had one; errors for what does not fit."""
        if input.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for state, name in zip(states, names):
            if state is not None and state.dim() not in (1, 2):
                raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {state.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        found = []
        for i, state in enumerate(states):
            if state is None:
                state = ops.zeros((input.size(0), self.hidden_size), dtype=input.dtype)
            elif not batched:
                state = state.unsqueeze(0)
            if input.size(1) != self.input_size:
                raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
            if state.size(0) != input.size(0):
                raise RuntimeError(
                    f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {state.size(0)}"
                )
            if state.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {state.size(1)}, expected {self.hidden_size}"
                )
            found.append(state)
        return input, found, batched


class RNNCell(RNNCellBase):
    """One step of an RNN (source: ``torch.nn.RNNCell``)."""

    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        input, (h,), batched = self._prepare(input, [hx], ["hidden"])
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        x = F.linear(input, self.weight_ih, self.bias_ih)
        found = rnn_cell(x, h, self.weight_hh, self.bias_hh, self.nonlinearity == "relu")
        return found if batched else found.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of an LSTM (source: ``torch.nn.LSTMCell``)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        states = [None, None] if hx is None else list(hx)
        input, (h, c), batched = self._prepare(input, states, ["hx[0]", "hx[1]"])
        h, c = lstm_cell(F.linear(input, self.weight_ih, self.bias_ih), h, c, self.weight_hh, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a GRU (source: ``torch.nn.GRUCell``)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        input, (h,), batched = self._prepare(input, [hx], ["hidden"])
        found = gru_cell(F.linear(input, self.weight_ih, self.bias_ih), h, self.weight_hh, self.bias_hh)
        return found if batched else found.squeeze(0)


# Classes and modes of the program may answer these.
publish_plain(globals(), ["run_layers", "lstm_cell", "gru_cell", "rnn_cell"], __name__)
