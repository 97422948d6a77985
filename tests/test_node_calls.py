"""A node of the graph is called as a function of gradients: ``y.grad_fn(grad)``."""

from __future__ import annotations

from typing import Any

import pytest

import livetape as torch
from livetape.autograd import Function


def leaf() -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_gradients_of_the_inputs() -> None:
    y = leaf().exp()
    grad = y.grad_fn(torch.ones(2))
    assert torch.equal(grad, y) and grad.grad_fn.name() == "MulBackward0"
    with torch.no_grad():
        assert not y.grad_fn(torch.ones(2)).requires_grad
    assert y.grad_fn(None) is None
    s = leaf() * torch.ones(3, 2)
    first, second = s.grad_fn(torch.ones(3, 2))
    assert first.shape == (3, 2) and second is None, "broadcasting is undone by the engine, not by the node"
    first, second = torch.cat([leaf(), leaf()]).grad_fn(torch.arange(4.0))
    assert first.tolist() == [0, 1] and second.tolist() == [2, 3]


def test_several_outputs() -> None:
    a, _ = (leaf() * 1).unbind()
    assert a.grad_fn(torch.tensor(1.0), None).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "expected 1 arguments, got 0 instead"),
        ((None, None), "expected 1 arguments, got 2 instead"),
        ((3,), "argument 0 is not a Variable"),
    ],
)
def test_arguments(args: Any, message: str) -> None:
    y = leaf().exp()
    with pytest.raises(TypeError, match=message):
        y.grad_fn(*args)
    with pytest.raises(TypeError, match="keyword arguments are not supported"):
        y.grad_fn(grad=torch.ones(2))


def test_no_hook_is_called_and_a_freed_node_refuses() -> None:
    y, log = leaf().exp(), []
    y.grad_fn.register_hook(lambda inputs, outputs: log.append("after"))
    y.grad_fn.register_prehook(lambda grads: log.append("before"))
    y.register_hook(lambda grad: log.append("tensor"))
    y.grad_fn(torch.ones(2))
    assert log == []
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.grad_fn(torch.ones(2))


def test_the_node_of_a_leaf_adds_to_its_gradient() -> None:
    x = leaf()
    node = x.exp().grad_fn.next_functions[0][0]
    assert node(torch.full((2,), 5.0)) == ()
    assert node(None) == ()
    assert x.grad.tolist() == [5, 5]


def test_functions_are_applied() -> None:
    class Both(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 2, b * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g * 2, h * 3

    x = leaf()
    node = Both.apply(x, x)[0].grad_fn
    with pytest.raises(TypeError, match="'BothBackward' object is not callable"):
        node(torch.ones(2), torch.ones(2))
    first, second = node.apply(torch.ones(2), torch.ones(2))
    assert first.tolist() == [2, 2] and second.tolist() == [3, 3]


def test_hooks_after_accumulation_give_nothing() -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda p: 3)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        x.sum().backward()
