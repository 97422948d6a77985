"""Arguments of grad that are no plain switches, tuples of tensors or batches."""

from __future__ import annotations

from typing import Any

import pytest

import livetape as torch
from livetape.autograd import grad


def leaf() -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize("name", ["retain_graph", "create_graph", "allow_unused"])
def test_switches_are_small_numbers(name: str) -> None:
    x = leaf()
    for value, kind, words in (
        ("a", TypeError, "'str' object cannot be interpreted as an integer"),
        (1.5, TypeError, "'float' object cannot be interpreted as an integer"),
        (x, TypeError, "only integer tensors of a single element can be converted to an index"),
        (300, OverflowError, "unsigned byte integer is greater than maximum"),
        (-1, OverflowError, "unsigned byte integer is less than minimum"),
    ):
        with pytest.raises(kind, match=f"^{words}"):
            grad((x * x).sum(), x, **{name: value})
    assert grad((x * x).sum(), x, **{name: 1})[0].tolist() == [2.0, 4.0]


def test_a_dictionary_of_inputs() -> None:
    x, z = leaf(), leaf()
    found = grad((x * z).sum(), {"x": x, "z": z})
    assert {name: g.tolist() for name, g in found.items()} == {"x": [1.0, 2.0], "z": [1.0, 2.0]}
    with pytest.raises(RuntimeError, match=r"^all inputs have to be Tensors or GradientEdges, but got int"):
        grad((x * x).sum(), {"x": 3})


def test_batches_of_gradients_that_do_not_fit() -> None:
    x = leaf()
    words = r"grad_output\[0\] has a shape of torch.Size\(\[\]\) and output\[0\] has a shape of torch.Size\(\[2\]\)"
    for given in (torch.ones(2), torch.ones(3, 3)):
        with pytest.raises(RuntimeError, match=words):
            grad(x * 1, x, given, is_grads_batched=True)
    with pytest.raises(IndexError, match=r"^invalid index of a 0-dim tensor. Use `tensor.item"):
        grad(x.sum(), x, torch.tensor(1.0), is_grads_batched=True)
