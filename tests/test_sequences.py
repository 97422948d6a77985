"""Recurrent layers, attention and the Transformer: torch 2.13's values, gradients and random numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import livetape as torch
from livetape import nn
from livetape.nn.modules import _recurrent
from livetape.nn.utils import rnn

RECORDED = json.loads((Path(__file__).parent / "data" / "sequences.json").read_text())


def leaves(value):
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, tuple) else [value]


def agree(tensor, recorded):
    assert list(tensor.shape) == recorded[0]
    assert tensor.detach().double().reshape(-1).tolist() == pytest.approx(recorded[1], rel=2e-4, abs=2e-5)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("text", RECORDED)
def test_values_and_gradients(text):
    recorded = RECORDED[text]
    torch.manual_seed(3)
    module = eval("nn." + text, {"nn": nn})
    assert repr(module) == recorded["repr"]
    kind = recorded["kind"]
    x = (torch.randn(4, 2) if kind == 0 else torch.randn(3, 2, 2)).requires_grad_()
    out = leaves(module(*[x] * (1 if kind < 3 else 3 if kind == 3 else 2)))
    for found, expected in zip(out, recorded["out"], strict=True):
        agree(found, expected)
    sum((o * o).sum() for o in out).backward()
    agree(x.grad, recorded["x"])
    grads = {name: p.grad for name, p in module.named_parameters()}
    for name, expected in recorded["grads"].items():
        agree(grads[name], expected)


@pytest.mark.parametrize("mode", _recurrent.LAYERS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_the_node_does_what_the_operations_do(mode, reverse, bias):
    torch.manual_seed(0)
    rows = {"LSTM": 12, "GRU": 9, "RNN_TANH": 3}[mode]
    kind = {"dtype": torch.float64, "requires_grad": True}
    x, h, c = torch.randn(4, 2, 5, **kind), torch.randn(2, 3, **kind), torch.randn(2, 3, **kind)
    w = [torch.randn(rows, 5, **kind), torch.randn(rows, 3, **kind)]
    w += [torch.randn(rows, **kind), torch.randn(rows, **kind)] if bias else [None, None]
    c = c if mode == "LSTM" else None
    inputs = [t for t in (x, h, c, *w) if t is not None]

    def second(out):
        out = [o for o in out if o is not None]
        loss = sum((o.sin() * (i + 1)).sum() for i, o in enumerate(out))
        first = torch.autograd.grad(loss, inputs, create_graph=True)
        return [*out, *first, *torch.autograd.grad(sum((g * g).sum() for g in first), inputs)]

    fused = second(_recurrent.LAYERS[mode].run(x, h, c, *w, reverse))
    plain = second(_recurrent.layer_of_operations(mode, x, h, c, *w, None, reverse))
    for a, b in zip(fused, plain, strict=True):
        assert torch.allclose(a, b)
    once = torch.autograd.grad(_recurrent.LAYERS[mode].run(x, h, c, *w, reverse)[0].sum(), inputs, allow_unused=True)
    assert all(g is not None and not g.requires_grad for g in once)


def test_changed_weights_are_noticed():
    lstm = nn.LSTM(2, 3)
    out, _ = lstm(torch.ones(2, 1, 2))
    with torch.no_grad():
        lstm.weight_hh_l0.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("make", [nn.RNN, nn.LSTM, nn.GRU])
def test_packed_sequences_are_run_one_by_one(make):
    torch.manual_seed(0)
    net = make(2, 3, 2, bidirectional=True)
    sequences = [torch.randn(n, 2) for n in (2, 4, 1)]
    packed, states = net(rnn.pack_sequence(sequences, enforce_sorted=False))
    found = rnn.unpack_sequence(packed)
    for i, sequence in enumerate(sequences):
        out, state = net(sequence)
        assert torch.allclose(found[i], out, atol=1e-6)
        for a, b in zip(leaves(states), leaves(state), strict=True):
            assert torch.allclose(a[:, i], b, atol=1e-6)


def test_packing_and_padding():
    a, b = torch.arange(3.0), torch.arange(2.0) + 10
    packed = rnn.pack_sequence([a, b])
    assert packed.data.tolist() == [0.0, 10.0, 1.0, 11.0, 2.0] and packed.batch_sizes.tolist() == [2, 2, 1]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=4)
    assert padded.tolist() == [[0.0, 1.0, 2.0, -1.0], [10.0, 11.0, -1.0, -1.0]] and lengths.tolist() == [3, 2]
    assert rnn.pad_sequence([a, b], padding_side="left").tolist() == [[0.0, 0.0], [1.0, 10.0], [2.0, 11.0]]
    with pytest.raises(RuntimeError, match="`lengths` array must be sorted in decreasing order"):
        rnn.pack_sequence([b, a])


@pytest.mark.parametrize(
    "call,kind,message",
    [
        (
            lambda: nn.LSTM(2, 3, dropout=2),
            ValueError,
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed",
        ),
        (
            lambda: nn.GRU(2, 3, proj_size=1),
            ValueError,
            "proj_size argument is only supported for LSTM, not RNN or GRU",
        ),
        (
            lambda: nn.LSTM(2, 3)(torch.ones(1, 1, 3)),
            RuntimeError,
            "input.size(-1) must be equal to input_size. Expected 2, got 3",
        ),
        (
            lambda: nn.RNN(2, 3)(torch.ones(1, 1, 2), torch.ones(1, 3, 3)),
            RuntimeError,
            "Expected hidden size (1, 1, 3), got [1, 3, 3]",
        ),
        (
            lambda: nn.GRUCell(2, 3)(torch.ones(1, 3)),
            RuntimeError,
            "input has inconsistent input_size: got 3 expected 2",
        ),
        (lambda: nn.MultiheadAttention(5, 2), AssertionError, "embed_dim must be divisible by num_heads"),
        (
            lambda: nn.TransformerEncoderLayer(4, 2, activation="x"),
            RuntimeError,
            "activation should be relu/gelu, not x",
        ),
    ],
)
def test_errors_in_torchs_words(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def test_attention_masks():
    torch.manual_seed(0)
    attend = nn.functional.scaled_dot_product_attention
    q = torch.randn(2, 3, 4)
    causal = torch.ones(3, 3, dtype=torch.bool).tril()
    assert torch.allclose(attend(q, q, q, is_causal=True), attend(q, q, q, attn_mask=causal), atol=1e-6)
    assert torch.allclose(attend(q, q, q, is_causal=True)[:, 0], q[:, 0], atol=1e-6)
    m = nn.MultiheadAttention(4, 2, batch_first=True)
    padding = torch.tensor([[False, False, True], [False, True, True]])
    out, weights = m(q, q, q, key_padding_mask=padding)
    assert (weights[0, :, 2] == 0).all().item() and (weights[1, :, 1:] == 0).all().item()
    other, none = m(q, q, q, key_padding_mask=padding, need_weights=False)
    assert none is None and torch.allclose(out, other, atol=1e-6)


def test_ctc():
    torch.manual_seed(0)
    lp = torch.randn(5, 2, 4, dtype=torch.float64).log_softmax(2).requires_grad_()
    targets, lengths = torch.tensor([[1, 2], [3, 3]]), (5, 4)
    loss = nn.functional.ctc_loss(lp, targets, lengths, (2, 2), reduction="none")

    def brute(n, steps):
        """Over all paths that collapse to the target."""
        wanted, total, table = targets[n].tolist(), 0.0, lp.tolist()
        for code in range(4**steps):
            path = [code // 4**t % 4 for t in range(steps)]
            short = [k for t, k in enumerate(path) if t == 0 or path[t - 1] != k]
            if [k for k in short if k] == wanted:
                total += math.exp(sum(table[t][n][k] for t, k in enumerate(path)))
        return -math.log(total)

    assert loss.tolist() == pytest.approx([brute(0, 5), brute(1, 4)])
    x = torch.randn(5, 2, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x: nn.functional.ctc_loss(x.log_softmax(2), targets, lengths, (2, 2), zero_infinity=True), (x,)
    )
    short = nn.CTCLoss(zero_infinity=True, reduction="none")(lp, targets, (5, 2), (2, 2))
    assert short[1].item() == 0.0
    with pytest.raises(RuntimeError, match="blank must be in label range"):
        nn.CTCLoss(blank=7)(lp, targets, lengths, (2, 2))


def test_sampling_images():
    x = torch.arange(12.0).reshape(1, 1, 3, 4)
    same = nn.functional.affine_grid(torch.eye(2, 3)[None], x.shape, align_corners=False)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("border", "reflection"):
            found = nn.functional.grid_sample(x, same, mode, padding, align_corners=False)
            assert torch.allclose(found, x, atol=1e-5)
    spots = torch.tensor([[[[-1.0, -1.0], [0.0, 0.0], [0.9, 1.2], [-2.0, 0.3]]]])
    expected = {
        ("bilinear", "zeros"): [0.0, 5.5, 8.68, 0.0],
        ("bilinear", "border"): [0.0, 5.5, 10.85, 5.2],
        ("bilinear", "reflection"): [0.0, 5.5, 10.05, 6.7],
        ("bicubic", "border"): [0.0, 5.5, 11.2707, 5.557],
    }
    for (mode, padding), values in expected.items():
        found = nn.functional.grid_sample(x, spots, mode, padding, align_corners=True)
        assert found.reshape(-1).tolist() == pytest.approx(values, abs=1e-3)
    images = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    places = (torch.rand(1, 2, 2, 2, dtype=torch.float64) * 3 - 1.5).requires_grad_()
    for mode in ("bilinear", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            assert torch.autograd.gradcheck(
                lambda i, p, m=mode, q=padding: nn.functional.grid_sample(i, p, m, q, align_corners=False),
                (images, places),
            )


def test_adaptive_softmax_gives_probabilities():
    torch.manual_seed(0)
    m = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2, 5], div_value=2.0)
    x, t = torch.randn(6, 4), torch.tensor([0, 1, 3, 4, 9, 7])
    full = m.log_prob(x)
    assert full.exp().sum(1).tolist() == pytest.approx([1.0] * 6, abs=1e-5)
    out, loss = m(x, t)
    assert torch.allclose(out, full.gather(1, t[:, None])[:, 0]) and loss.item() == pytest.approx(-out.mean().item())
    assert torch.equal(m.predict(x), full.argmax(1))
