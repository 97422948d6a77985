"""Words of errors that depend on how a call was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import livetape as torch
import livetape.nn.functional as F

ones = torch.ones
first = torch.tensor([[0]])


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: ones(2, 3).scatter_add(1, first, ones(1, 1).double()),
            RuntimeError,
            "scatter(): Expected self.dtype to be equal to src.dtype",
        ),
        (
            lambda: ones(2, 3).scatter(0, first, ones(2)),
            IndexError,
            "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
        ),
        (
            lambda: ones(2, 3).scatter(0, first, ones(1, 1, 1)),
            RuntimeError,
            "Index tensor must have the same number of dimensions as src tensor",
        ),
        (lambda: F.pad(ones(2), (1, 1), mode="x"), NotImplementedError, "Unrecognised padding mode x"),
        (
            lambda: torch.tensordot(ones(2, 3), ones(2, 3), 1),
            RuntimeError,
            "contracted dimensions need to match, but first has size 3 in dim -1 and second has size 2 in dim 0",
        ),
        (
            lambda: torch.tensordot(ones(2, 3, 4), ones(2, 3, 4), dims=([-1], [0])),
            RuntimeError,
            "contracted dimensions need to match, but first has size 4 in dim -1 and second has size 2 in dim 0",
        ),
        (
            lambda: F.binary_cross_entropy(ones(2), ones(2), weight=ones(3)),
            RuntimeError,
            "Attempting to broadcast a dimension of length 3 at -1! Mismatching argument at index 1 had torch.Size([3]); "
            "but expected shape should be broadcastable to [2]",
        ),
        (
            lambda: ones(2, 3, 4).repeat_interleave(torch.tensor([1, 2, 3]), -1),
            RuntimeError,
            "repeats must have the same size as input along dim, but got repeats.size(0) = 3 and input.size(-1) = 4",
        ),
    ],
)
def test_words(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as failed:
        call()
    assert str(failed.value) == words


def test_requires_grad_of_results_is_not_set() -> None:
    y = ones(2, requires_grad=True) * 2
    for value, more in (
        (True, ""),
        (False, " If you want to use a computed variable in a subgraph that doesn't require "),
    ):
        with pytest.raises(RuntimeError) as failed:
            y.requires_grad = value
        text = "you can only change requires_grad flags of leaf variables." + more
        assert str(failed.value).startswith(text) and (more or str(failed.value) == text)
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        del y.requires_grad
    assert y.requires_grad_() is y


def test_einsum_of_three_to_a_number() -> None:
    t = torch.tensor([1.0, 2.0, 3.0])
    assert torch.einsum("i,i,i->", t, t, t).item() == 36.0
    assert torch.einsum("i,i->", t, t).item() == 14.0
