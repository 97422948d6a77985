"""Elements that share memory: what may be written to them, and the gradients of views of them. Values are torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import livetape as torch

ONE_CELL = "more than one element of the written-to tensor refers to a single memory location"
OTHERS_CELL = "some elements of the input tensor and the written-to tensor refer to a single memory location"


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y.cos_(),
        lambda y: y.add_(torch.ones(3)),
        lambda y: y.copy_(torch.arange(3.0)),
        lambda y: y.uniform_(),
        lambda y: y.scatter_(0, torch.arange(3), torch.ones(3)),
        lambda y: torch.add(torch.arange(3.0), 1, out=y),
        lambda y: torch.cat([torch.ones(1), torch.zeros(2)], out=y),
        lambda y: torch.sort(torch.arange(3.0), out=(y, torch.arange(3))),
    ],
)
def test_expanded_elements_are_not_overwritten(change: Callable[[Any], Any]) -> None:
    y = torch.tensor(0.5).expand(3)
    with pytest.raises(RuntimeError, match=ONE_CELL):
        change(y)
    assert y.tolist() == [0.5, 0.5, 0.5]


def test_expanded_elements_may_all_be_set_to_one_value() -> None:
    y = torch.tensor(0.5).expand(3)
    assert y.fill_(2).tolist() == [2, 2, 2]
    assert y.zero_().tolist() == [0, 0, 0]
    y[1] = 3
    assert y.tolist() == [3, 3, 3]
    assert torch.zeros(1, 1).expand(1, 3).squeeze_(0).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b[1:].add_(b[:-1]),
        lambda b: b[1:].copy_(b[:-1]),
        lambda b: torch.add(b[:-1], 1, out=b[1:]),
        lambda b: b.view(2, 2).mul_(b.view(2, 2).t()),
    ],
)
def test_an_input_that_overlaps_in_part_is_refused(change: Callable[[Any], Any]) -> None:
    b = torch.arange(4.0)
    with pytest.raises(RuntimeError, match=OTHERS_CELL):
        change(b)
    assert b.tolist() == [0, 1, 2, 3]


def test_an_input_that_is_the_target_or_apart_from_it_is_not() -> None:
    b = torch.arange(4.0)
    assert b.add_(b).tolist() == [0, 2, 4, 6]
    assert b[2:].add_(b[:2]).tolist() == [4, 8]
    assert b[::2].add_(b[1::2]).tolist() == [2, 12]


def test_as_strided_views_of_expanded_tensors_count_each_cell_once() -> None:
    t = torch.zeros(2, requires_grad=True)
    e = t.expand(3, 2)
    (e.as_strided((3, 2), e.stride()) * torch.arange(6.0).view(3, 2)).sum().backward()
    assert t.grad.tolist() == [6, 9]
    x = torch.arange(5.0, requires_grad=True)
    weights = torch.arange(1.0, 10.0).view(3, 3)
    (x.unfold(0, 3, 1).as_strided((3, 3), (1, 1)) * weights).sum().backward()
    assert x.grad.tolist() == [1, 6, 15, 14, 9]


def test_numpy_of_a_tensor_that_requires_grad_needs_no_grad_mode() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1]
    with torch.no_grad():
        assert x.numpy() is x.numpy()


def test_hooks_are_called_without_a_gradient() -> None:
    a = torch.ones(2, requires_grad=True)
    first, second = a.unbind()
    seen: list[Any] = []
    first.register_hook(seen.append)
    second.backward()
    assert seen == [None]
    assert a.grad.tolist() == [0, 1]

    first, second = a.unbind()
    first.register_hook(lambda grad: torch.ones(()))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        second.backward()


def test_hooks_of_a_leaf_are_called_without_a_gradient() -> None:
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None

    a = torch.ones(2, requires_grad=True)
    seen: list[Any] = []
    a.register_hook(seen.append)
    a.register_post_accumulate_grad_hook(lambda leaf: seen.append("after"))
    Nothing.apply(a).sum().backward()
    assert seen == [None, "after"]
    assert a.grad is None
