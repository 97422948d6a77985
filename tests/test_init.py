"""Initialisers: the values of torch 2.13 for the same seed, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import livetape as torch
from livetape import nn

RECORDED = json.loads((Path(__file__).parent / "data" / "modules.json").read_text())
NAMES = {name: getattr(nn, name) for name in dir(nn)} | {"torch": torch}


def agree(tensor, recorded):
    shape, values = recorded
    assert list(tensor.shape) == shape
    assert tensor.detach().double().reshape(-1).tolist() == pytest.approx(values, rel=2e-5, abs=2e-6)


@pytest.mark.parametrize("text", RECORDED["modules"])
def test_layers_print_and_start_as_in_torch(text):
    torch.manual_seed(7)
    module = eval(text, NAMES)
    recorded = RECORDED["modules"][text]
    assert repr(module) == recorded["repr"]
    state = {k: v for k, v in module.state_dict().items() if not nn.parameter.is_lazy(v)}
    assert list(state) == list(recorded["state"])
    for name, value in recorded["state"].items():
        agree(state[name], value)


@pytest.mark.parametrize("text", RECORDED["inits"])
def test_initialisers_draw_what_torch_draws(text):
    torch.manual_seed(7)
    w = torch.zeros(4, 5, requires_grad=True)
    found = eval("nn.init." + text, {"nn": nn, "w": w})
    assert found is w or text.endswith(".t()")
    assert w.grad_fn is None and w.requires_grad
    agree(found, RECORDED["inits"][text])


def test_generators():
    w, v = torch.empty(3, 3), torch.empty(3, 3)
    for init in (
        nn.init.uniform_,
        nn.init.normal_,
        nn.init.kaiming_normal_,
        nn.init.trunc_normal_,
        nn.init.orthogonal_,
    ):
        init(w, generator=torch.Generator().manual_seed(3))
        init(v, generator=torch.Generator().manual_seed(3))
        assert torch.equal(w, v)


def test_dirac_passes_its_input_on():
    w = nn.init.dirac_(torch.empty(4, 2, 3), groups=2)
    assert w.nonzero().tolist() == [[0, 0, 1], [1, 1, 1], [2, 0, 1], [3, 1, 1]]


@pytest.mark.parametrize(
    "call,kind,message",
    [
        (lambda: nn.init.calculate_gain("x"), ValueError, "Unsupported nonlinearity x"),
        (lambda: nn.init.calculate_gain("leaky_relu", True), ValueError, "negative_slope True not a valid number"),
        (
            lambda: nn.init.xavier_uniform_(torch.empty(2)),
            ValueError,
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
        ),
        (
            lambda: nn.init.kaiming_uniform_(torch.empty(2, 2), mode="x"),
            ValueError,
            "Mode x not supported, please use one of ['fan_in', 'fan_out']",
        ),
        (lambda: nn.init.eye_(torch.empty(2)), ValueError, "Only tensors with 2 dimensions are supported"),
        (lambda: nn.init.sparse_(torch.empty(2), 0.5), ValueError, "Only tensors with 2 dimensions are supported"),
        (
            lambda: nn.init.orthogonal_(torch.empty(2)),
            ValueError,
            "Only tensors with 2 or more dimensions are supported",
        ),
        (
            lambda: nn.init.dirac_(torch.empty(2, 2)),
            ValueError,
            "Only tensors with 3, 4, or 5 dimensions are supported",
        ),
        (lambda: nn.init.dirac_(torch.empty(3, 2, 3), 2), ValueError, "dim 0 must be divisible by groups"),
    ],
)
def test_errors_in_torchs_words(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def test_warnings():
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        nn.Linear(0, 2)
    with pytest.warns(UserWarning, match=r"mean is more than 2 std from \[a, b\] in nn.init.trunc_normal_"):
        nn.init.trunc_normal_(torch.empty(2), mean=10.0)
    with pytest.warns(FutureWarning, match=r"`nn.init.constant` is now deprecated in favor of `nn.init.constant_`\."):
        assert nn.init.constant(torch.empty(2), 3.0).tolist() == [3.0, 3.0]
    assert nn.init.calculate_gain("tanh") == 5 / 3 and nn.init.calculate_gain("relu") == 2**0.5
