"""Operations of networks against values, gradients, warnings and errors recorded by record/network_values.py."""

from __future__ import annotations

import json
import pathlib
import re
import warnings
from typing import Any

import numpy as np
import pytest

import livetape as torch
import livetape.nn.functional as F

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "networks.json").read_text())
CASES = DATA["cases"]
DIGITS = {"torch.float16": 2e-3, "torch.float32": 2e-6, "torch.complex64": 2e-6}


def listed(tensor: Any) -> Any:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return np.array(tensor.detach().flatten().tolist(), np.float64)


def compare(found: Any, values: Any, name: str) -> None:
    digits = DIGITS.get(name, 1e-8)
    size = max([abs(v) for v in values if np.isfinite(v)], default=1.0)
    np.testing.assert_allclose(listed(found), np.array(values, np.float64), rtol=digits, atol=digits * max(1.0, size))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["call"])
def test_as_torch(case: dict[str, Any]) -> None:
    used = set(re.findall(r"\w+", case["call"]))
    names = {name: eval(text, {"torch": torch}) for name, text in DATA["inputs"].items() if name in used}
    leaves = {name: names[name].requires_grad_() for name in DATA["leaves"] if name in used}
    torch.manual_seed(7)
    found: Any = None
    error: Any = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = eval(case["call"], {"torch": torch, "F": F, **names})
        except Exception as raised:
            error = raised
    assert [str(w.message)[:60] for w in caught] == case.get("warnings", [])
    if "error" in case or error is not None:
        assert (type(error).__name__, str(error).split("\n")[0]) == (case.get("error"), case.get("message"))
        return
    if "plain" in case:
        assert repr(found) == case["plain"]
        return
    outs = found if isinstance(found, tuple) else (found,)
    assert len(outs) == len(case["outs"])
    for out, want in zip(outs, case["outs"]):
        assert (list(out.shape), str(out.dtype)) == (want["shape"], want["dtype"])
        compare(out, want["values"], want["dtype"])
        assert (type(out.grad_fn).__name__ if out.grad_fn is not None else None) == want.get("node")
    if not outs[0].requires_grad:
        assert "grads" not in case
        assert "backward_error" not in case
        return
    weights = torch.linspace(0.5, 1.5, outs[0].numel(), dtype=torch.float64).reshape(outs[0].shape).to(outs[0].dtype)
    if "backward_error" in case:
        with pytest.raises(RuntimeError) as failed:
            torch.autograd.grad(outs[0], list(leaves.values()), weights, allow_unused=True)
        assert str(failed.value).split("\n")[0] == case["backward_error"]
        return
    grads = torch.autograd.grad(outs[0], list(leaves.values()), weights, allow_unused=True)
    for (name, leaf), grad in zip(leaves.items(), grads):
        assert (grad is None) == (name not in case["grads"])
        if grad is not None:
            assert grad.dtype is leaf.dtype
            coarse = max((str(leaf.dtype), str(outs[0].dtype)), key=lambda kind: DIGITS.get(kind, 0))
            compare(grad, case["grads"][name], coarse)


# ---------------------------------------------------------------- the cross-entropy of a linear layer


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("rows", [None, 1, 7, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_cross_entropy_in_pieces(reduction: str, rows: int | None, weighted: bool) -> None:
    """In pieces it is what it is as a whole; ignored rows count nowhere."""
    torch.manual_seed(3)
    weight = torch.rand(30, dtype=torch.float64) if weighted else None
    options = torch.nn.LinearCrossEntropyOptions(
        batch_chunk_size=rows, chunking_method=None if rows else "aspect_ratio:2"
    )
    layer = torch.nn.LinearCrossEntropyLoss(
        5, 30, bias=True, weight=weight, reduction=reduction, dtype=torch.float64, options=options
    )
    x = torch.randn(20, 5, dtype=torch.float64, requires_grad=True)
    target = torch.randint(0, 30, (20,))
    target[4] = -100
    leaves = [x, *layer.parameters()]
    found = layer(x, target)
    found_grads = torch.autograd.grad((found**2).sum(), leaves)
    want = F.cross_entropy(F.linear(x, *layer.linear.parameters()), target, weight=weight, reduction=reduction)
    for one, other in zip((found, *found_grads), (want, *torch.autograd.grad((want**2).sum(), leaves))):
        np.testing.assert_allclose(listed(one), listed(other), rtol=1e-12, atol=1e-14)


def test_linear_cross_entropy_again() -> None:
    def loss(**options: Any) -> Any:
        made = torch.nn.LinearCrossEntropyOptions(**options)
        return F.linear_cross_entropy(weight[:3], weight, torch.tensor([0, 1, 2]), options=made)

    weight = torch.ones(9, 4, requires_grad=True)
    once = loss()
    once.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="linear_cross_entropy chunked backward called twice"):
        once.backward()
    twice = loss(allow_retain_graph=True)
    for expected in (1, 2):
        weight.grad = None if expected == 1 else weight.grad
        twice.backward(retain_graph=True)
        assert torch.allclose(weight.grad[0], torch.full((4,), expected * -2 / 9))
    with pytest.raises(ValueError, match="give different chunk sizes"):
        loss(batch_chunk_size=3, chunking_method="aspect_ratio:4")


# ---------------------------------------------------------------- convolutions of tensors that do not go together
_MKLDNN = "Input type (torch.FloatTensor) and {0} type ({1}) should be the same or input should be a MKLDNN tensor and "
TYPES = [  # input, weight, bias; transposed; torch's words
    ("float64", "float32", "float32", False, "Input type (double) and bias type (float) should be the same"),
    ("float64", "float32", None, False, "expected scalar type Double but found Float"),
    ("float32", "bfloat16", None, False, _MKLDNN.format("weight", "CPUBFloat16Type") + "weight is a dense tensor"),
    ("float32", "float32", "float64", True, _MKLDNN.format("bias", "torch.DoubleTensor") + "bias is a dense tensor"),
    (
        "complex64",
        "float32",
        None,
        False,
        "Input type (CPUComplexFloatType) and weight type (torch.FloatTensor) should be the same",
    ),
    ("float16", "float32", "float32", True, "expected scalar type Half but found Float"),
    ("int64", "int64", "float32", True, "result type Float can't be cast to the desired output type Long"),
    ("int32", "int32", None, True, "\"slow_conv_transpose2d_out_cpu\" not implemented for 'Int'"),
]


@pytest.mark.parametrize("case", TYPES)
def test_types_that_convolutions_refuse(case: Any) -> None:
    input, weight, bias, transposed, words = case
    convolve = F.conv_transpose2d if transposed else F.conv2d
    x = torch.ones(1, 3, 4, 4).to(getattr(torch, input))
    w = torch.ones(3, 3, 2, 2).to(getattr(torch, weight))
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        convolve(x, w, None if bias is None else torch.ones(3).to(getattr(torch, bias)))
    assert str(caught.value) == words


def test_transposed_convolutions_take_a_bias_of_another_type() -> None:
    bias = torch.ones(3, requires_grad=True)
    found = F.conv_transpose2d(torch.ones(1, 3, 4, 4).double(), torch.ones(3, 3, 2, 2).double(), bias)
    assert found.dtype is torch.float64 and found[0, 0, 0, 0].item() == 4
    found.sum().backward()
    assert bias.grad.tolist() == [25, 25, 25]


def test_what_modules_of_convolution_do_not_take() -> None:
    with pytest.raises(TypeError) as caught:
        torch.nn.Conv1d(1, 1, 1)([1.0])
    form = (
        "(Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, {}, tuple of ints dilation = 1, "
    )
    why = (
        "      didn't match because some of the arguments have invalid types: (!list of [float]!, !Parameter!, "
        "!Parameter!, !tuple of (int,)!, !tuple of (int,)!, !tuple of (int,)!, !int!)\n"
    )
    assert str(caught.value) == (
        "conv1d() received an invalid combination of arguments - got (list, Parameter, Parameter, tuple, tuple, tuple, "
        f"int), but expected one of:\n * {form.format('tuple of ints padding = 0')}int groups = 1)\n{why}"
        f" * {form.format('str padding = ' + chr(34) + 'valid' + chr(34))}int groups = 1)\n{why}"
    )
    with pytest.raises(
        TypeError, match=r"^conv_transpose1d\(\): argument 'input' \(position 1\) must be Tensor, not None"
    ):
        torch.nn.ConvTranspose1d(1, 1, 1)(None)
    for module, where in (
        (torch.nn.Conv1d(1, 1, 1), "Conv1d"),
        (torch.nn.ConvTranspose3d(1, 1, 1), "ConvTranspose3d"),
        (torch.nn.ReflectionPad1d(1), "_ReflectionPadNd"),
    ):
        with pytest.raises(TypeError, match=rf"^{where}.forward\(\) missing 1 required positional argument: 'input'$"):
            module()


# ---------------------------------------------------------------- what is no tensor, or not of a type that is taken
NO_TENSOR = {
    "dropout2d": ((), "dim"),
    "embedding_bag": ((torch.ones(2, 2),), "dim"),
    "group_norm": ((2,), "dim"),
    "local_response_norm": ((2,), "dim"),
    "log_softmax": ((1,), "log_softmax"),
    "margin_ranking_loss": ((torch.ones(2), torch.ones(2)), "dim"),
    "adaptive_avg_pool2d": (((2, None),), "size"),
    "adaptive_max_pool3d": ((2,), "size"),
    "fractional_max_pool2d": ((2, None, 0.5), "size"),
    "fractional_max_pool3d": ((2, 2), "dim"),
    "gaussian_nll_loss": ((torch.ones(2), torch.ones(2)), "size"),
    "instance_norm": ((), "size"),
    "max_unpool2d": ((torch.ones(2), 2), "size"),
    "hinge_embedding_loss": ((torch.ones(2),), ("input", 1)),
    "kl_div": ((torch.ones(2), None, None, "sum"), ("input", 1)),
    "poisson_nll_loss": ((torch.ones(2),), ("input", 1)),
    "triplet_margin_loss": ((torch.ones(2), torch.ones(2)), ("anchor", 1)),
    "cosine_embedding_loss": ((torch.ones(2), torch.ones(())), ("input1", 1)),
    "cosine_similarity": ((torch.ones(2),), ("x1", 1)),
    "pairwise_distance": ((torch.ones(2),), ("x1", 1)),
    "multi_margin_loss": ((torch.ones(2),), ("input", 1)),
    "multilabel_margin_loss": ((torch.ones(2),), ("input", 1)),
    "soft_margin_loss": ((torch.ones(2),), ("input", 1)),
    "one_hot": ((), ("input", 1)),
}


@pytest.mark.parametrize("name", NO_TENSOR)
def test_what_is_no_tensor(name: str) -> None:
    rest, expected = NO_TENSOR[name]
    with pytest.raises((AttributeError, TypeError)) as caught:
        getattr(F, name)([1.0], *rest)
    if isinstance(expected, str):
        assert type(caught.value) is AttributeError
        assert str(caught.value) == f"'list' object has no attribute '{expected}'"
    else:
        assert (
            str(caught.value) == f"{name}(): argument '{expected[0]}' (position {expected[1]}) must be Tensor, not list"
        )


X4 = torch.ones(2, 3, 4, 4)
REFUSED = [
    (lambda: F.layer_norm(torch.ones(2, 3).long(), (4,), torch.ones(4)), "mixed dtype (CPU): all inputs must share same"),
    (lambda: F.layer_norm(torch.ones(2, 3).half(), (3,), torch.ones(3).half(), torch.ones(3)), "expected scalar type Half"),
    (lambda: F.group_norm(X4.double(), 3, torch.ones(3), torch.ones(3).double()), "mixed dtype (CPU): expect parameter"),
    (lambda: F.group_norm(X4.long(), 3), "\"GroupNormKernelImpl\" not implemented for 'Long'"),
    (lambda: F.fold(torch.ones(4, 3), 2, 2), "Given output_size=(2, 2), kernel_size=(2, 2), dilation=(1, 1), padding=(0, 0), "
     "stride=(1, 1), expected size of input's dimension 2 to match the calculated number of sliding blocks 1 * 1 = 1, but "
     "got input.size(2)=3."),
    (lambda: F.unfold(torch.ones(2, 3), 2), "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    (lambda: F.unfold(X4, (2,)), "It is expected kernel_size equals to 2, but got size 1"),
    (lambda: F.unfold(X4.long(), 2), "\"im2col_out_cpu\" not implemented for 'Long'"),
    (lambda: F.avg_pool2d(X4[None], 2), "Expected 3D or 4D (batch mode) tensor with optional 0 dim"),
    (lambda: F.max_pool1d(X4[0].long(), 2), "\"max_pool1d_impl\" not implemented for 'Long'"),
    (lambda: F.fractional_max_pool2d(X4[None], 2, 2), "fractional_max_pool2d(): Expected 3D or 4D tensor, but got: [1, 2"),
    (lambda: F.rrelu(X4.half(), training=True), "\"rrelu_with_noise_out_cpu\" not implemented for 'Half'"),
    (lambda: torch.nn.GRU(3, 2)(torch.ones(0, 2, 3)), "Expected sequence length to be larger than 0 in RNN"),
    (lambda: torch.nn.LSTM(3, 2, batch_first=True)(torch.ones(2, 0, 3)), "Expected sequence length to be larger than 0 in RNN"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_types_and_sizes_that_are_refused(case: int) -> None:
    call, words = REFUSED[case]
    with pytest.raises((RuntimeError, IndexError, NotImplementedError)) as caught:
        call()
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("options", "shape", "words"),
    [
        ({}, (3, 2), "Expected key_padded_mask.shape[0] to be 2, but got 3"),
        ({}, (2, 4), "Expected key_padded_mask.shape[1] to be 3, but got 4"),
        ({"add_zero_attn": True}, (2, 4), "Expected key_padded_mask.shape[1] to be 4, but got 5"),
    ],
)
def test_masks_of_padding_that_do_not_fit(options: Any, shape: Any, words: str) -> None:
    attention, x = torch.nn.MultiheadAttention(8, 2, batch_first=True, **options), torch.ones(2, 3, 8)
    with pytest.raises(AssertionError) as caught:
        attention(x, x, x, key_padding_mask=torch.zeros(shape))
    assert str(caught.value) == words


def test_nothing_to_pad() -> None:
    with pytest.raises(RuntimeError, match=r"^received an empty list of sequences$"):
        torch.nn.utils.rnn.pad_sequence([])
