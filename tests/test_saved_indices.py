"""Changes of what an operation selected by: indices given or returned are checked like every other saved tensor."""

from __future__ import annotations

from typing import Any

import pytest

import livetape as torch
import livetape.nn.functional as F


def index() -> Any:
    return torch.tensor([0, 1])


def changed(select: Any, chosen: Any) -> Any:
    """The result of a selection by ``chosen``, which is changed afterwards."""
    result = select(torch.ones(2, 3, requires_grad=True) * 1, chosen)
    chosen.zero_()
    return result.sum()


def assigned(x: Any, i: Any) -> Any:
    x[i] = torch.zeros(2, 3)
    return x


GIVEN = [
    (lambda x, i: x[i], index, "torch.LongTensor"),
    (lambda x, m: x[m], lambda: torch.ones(2, 3) > 0, "CPUBoolType"),
    (lambda x, i: x[i, i], index, "torch.LongTensor"),
    (assigned, index, "torch.LongTensor"),
    (lambda x, i: torch.zeros(2, 3).index_put((i,), x), index, "torch.LongTensor"),
    (lambda x, i: x.index_select(0, i), index, "torch.LongTensor"),
    (lambda x, m: torch.where(m, x, 0.0), lambda: torch.ones(2, 3) > 0, "CPUBoolType"),
]


@pytest.mark.parametrize(("select", "make", "kind"), GIVEN)
def test_an_index_that_was_changed(select, make, kind) -> None:
    with pytest.raises(RuntimeError, match=rf"\[{kind} .*\] is at version 1; expected version 0"):
        changed(select, make()).backward()


@pytest.mark.parametrize(("select", "make", "kind"), GIVEN)
def test_an_index_that_had_been_changed_before_is_fine(select, make, kind) -> None:
    chosen = make()
    chosen[-1] = chosen[-1].clone()
    select(torch.ones(2, 3, requires_grad=True) * 1, chosen).sum().backward()


@pytest.mark.parametrize(
    "select",
    [
        lambda x: x.max(1),
        lambda x: x.sort(1),
        lambda x: x.topk(2),
        lambda x: x.cummax(1),
        lambda x: x.mode(1),
        lambda x: F.max_pool1d(x, 2, return_indices=True),
    ],
)
def test_returned_indices_that_were_changed(select) -> None:
    values, indices = select(torch.arange(6.0).reshape(2, 3).requires_grad_() * 1)
    values.sum().backward()
    values, indices = select(torch.arange(6.0).reshape(2, 3).requires_grad_() * 1)
    indices.zero_()
    with pytest.raises(RuntimeError, match=r"\[torch.LongTensor .*\] is at version 1; expected version 0 instead"):
        values.sum().backward()
