"""Small programs that once gave something else than torch; the expected values are torch's."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import livetape as torch


def test_deepcopy_keeps_shared_memory_shared() -> None:
    a = torch.ones(4)
    base, head, turned = copy.deepcopy([a, a[:2], a.view(2, 2).t()])
    base[0] = 5
    assert head.tolist() == [5.0, 1.0]
    assert turned.tolist() == [[5.0, 1.0], [1.0, 1.0]] and turned.stride() == (1, 2)
    assert a[0].item() == 1.0


@pytest.mark.parametrize("value", ["x", 1])
def test_requires_grad_takes_a_bool_only(value: Any) -> None:
    with pytest.raises(TypeError, match=r"requires_grad_\(\): argument 'requires_grad' \(position 1\) must be bool"):
        torch.ones(2).requires_grad_(value)
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        torch.ones(2).requires_grad = value
    with pytest.raises(TypeError, match="must be bool, not"):
        torch.set_grad_enabled(value)
    assert torch.is_grad_enabled()


def test_keywords_of_backward_and_grad() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(TypeError, match="'float' object is not iterable"):
        (x * 2).backward(3.0)
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        x.sum().backward(inputs=3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got int"):
        torch.autograd.grad(x.sum(), [3])
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        torch.autograd.backward(x.sum(), grad_variables=torch.ones(()))
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="both passed to `backward"):
        torch.autograd.backward(x.sum(), torch.ones(()), grad_variables=torch.ones(()))
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        torch.autograd.grad(x.sum(), x, only_inputs=False)
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_create_graph_in_backward_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livetape.gradients._warned", set())
    x = torch.ones((), requires_grad=True)
    with pytest.warns(UserWarning, match="will create a reference cycle"):
        (x * x).backward(create_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x * x).backward(create_graph=True)
    x.grad = None


def test_node_hooks_return_tuples() -> None:
    x = torch.ones(3, requires_grad=True)
    for register in ("register_hook", "register_prehook"):
        y = x.exp()
        getattr(y.grad_fn, register)(lambda grads, *outputs: grads[0] * 2)
        with pytest.raises(TypeError, match="expected tuple, but hook returned 'Tensor'"):
            y.sum().backward()
    assert x.grad is None


def test_saved_values_have_torchs_names() -> None:
    x = torch.ones(3, requires_grad=True)
    times = (x * 3).grad_fn
    assert [name for name in dir(times) if name.startswith("_saved")] == ["_saved_other", "_saved_self"]
    assert repr(times._saved_other) == "tensor(3)"
    assert (x + 3).grad_fn._saved_alpha == 1
    assert repr(x.max(0).values.grad_fn._saved_indices) == "tensor(0)"
    assert x.split(2)[0].grad_fn._saved_split_size == 2
    assert x.sum().grad_fn._saved_self_sym_sizes == (3,)


def test_function_gradients_and_views() -> None:
    class Imaginary(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 1j

    class Views(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view(2), x.view(1, 2)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0]

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Expected isFloatingType\(grad.scalar_type\(\)\)"):
        Imaginary.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="the output of a function that returns multiple views"):
        Views.apply(x.clone())[0].add_(1)


def test_inference_tensors_stay_as_they_are() -> None:
    with torch.inference_mode():
        a = torch.ones(3)
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        torch.nn.Parameter(a)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        torch.add(torch.ones(3), 1, out=a)
    assert a.tolist() == [1.0, 1.0, 1.0]


def test_integer_powers() -> None:
    base, exponent = torch.tensor([0, 1, -1, 2, -1, 3]), torch.tensor([-1, -1, -2, -2, -3, 2])
    assert base.pow(exponent).tolist() == [0, 1, 1, 0, -1, 9]
    assert (2 ** torch.tensor([-1, 3])).tolist() == [0, 8]
    with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
        base.pow(-1)


def test_floor_divide_has_no_derivative() -> None:
    y = torch.tensor([5.0], requires_grad=True) // 2
    assert repr(y) == "tensor([2.], grad_fn=<NotImplemented>)"
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
        y.sum().backward()


def test_dtypes_of_results() -> None:
    assert torch.tensor([True]).square().dtype is torch.int64
    assert torch.ones(2, 2, dtype=torch.uint8).trace().dtype is torch.int64
    assert repr(torch.add(1, 2)) == "tensor(3)" and repr(torch.div(1, 2)) == "tensor(0.5000)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.median(), "median_cpu"),
        (lambda b: b.median(0), "median_out"),
        (lambda b: b.kthvalue(1), "kthvalue_cpu"),
        (lambda b: b % b, "remainder_cpu"),
        (lambda b: b.fmod(True), "fmod_cpu"),
        (lambda b: b // b, "div_floor_cpu"),
    ],
)
def test_refused_for_bool(call: Any, message: str) -> None:
    with pytest.raises(NotImplementedError, match=f"\"{message}\" not implemented for 'Bool'"):
        call(torch.tensor([True]))


def test_refusals_in_torchs_words() -> None:
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="topk does not support bool"):
        torch.tensor([True]).topk(1)
    with pytest.raises(TypeError, match="unsupported operand type"):
        2 @ x
    with pytest.raises(TypeError, match=r"add\(\): argument 'alpha' must be Number, not str"):
        torch.add(x, x, alpha="a")
    with pytest.raises(RuntimeError, match=r"The expanded size of the tensor \(4\) must match the existing size \(5\)"):
        torch.nn.functional.linear(x, torch.ones(4, 3), torch.ones(5))
    with pytest.raises(RuntimeError, match="requiring a storage size of 36 are out of bounds for storage of size 24"):
        x.as_strided((9,), (1,))
    with pytest.raises(RuntimeError, match="value cannot be converted to type double without overflow"):
        float(torch.tensor(1j))
    assert float(torch.tensor([1 + 0j])) == 1.0


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_half_precision_rounds_once_after_the_bias(kind: str) -> None:
    dtype = getattr(torch, kind)
    small = 0.00390625 if kind == "bfloat16" else 0.00029
    x, weight = torch.tensor([[1.0, small]], dtype=dtype), torch.ones(1, 2, dtype=dtype)
    bias = torch.tensor([-1.0], dtype=dtype)
    expected = torch.tensor([[small]], dtype=dtype)
    for got in (torch.nn.functional.linear(x, weight, bias), torch.addmm(bias, x, weight.t())):
        assert got.dtype is dtype
        assert got.item() == expected.item()
