"""Shortcuts give what the functions that they stand before give, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

import livetape as torch
from livetape.shortcuts import SHORTCUTS

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("relu", ()),
    ("relu", (False,)),
    ("relu", (True,)),
    ("sum", ()),
    ("sum", (0,)),
    ("reshape", ()),
    ("reshape", (6,)),
    ("reshape", (-1, 2)),
    ("reshape", ((3, 2),)),
    ("reshape", (torch.Size([6]),)),
    ("reshape", ([1, 6],)),
    ("reshape", (4,)),
    ("reshape", ("6",)),
    ("view", (6,)),
    ("view", (-1, 2)),
    ("view", (torch.int32,)),
    ("view", (-1, -1)),
]


def outcome(call: Any, *args: Any) -> Any:
    """What a call gives: None if nothing or an error."""
    try:
        result = call(*args)
    except Exception:
        return None
    if result is None:
        return None
    node = result.grad_fn
    return result.tolist(), result.dtype, result.requires_grad, type(node), getattr(node, "_saved_self_sym_sizes", None)


@pytest.mark.parametrize("name, args", CALLS)
@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).reshape(2, 3).requires_grad_(),
        torch.arange(6.0).reshape(3, 2).t() * 1,
        torch.arange(6.0).reshape(3, 2).t().requires_grad_(),
        torch.arange(6).reshape(2, 3),
    ],
    ids=["leaf", "plain", "transposed", "integers"],
)
def test_with_and_without(name: str, args: tuple[Any, ...], tensor: Any) -> None:
    function, shortcut, limit = {f.__name__: (f, s, n) for f, s, n in SHORTCUTS}[name]
    expected = outcome(function, tensor.clone(), *args)
    assert outcome(getattr(torch.Tensor, name), tensor.clone(), *args) == expected
    if len(args) < limit:
        assert outcome(shortcut, tensor.clone(), *args) in (expected, None)


def test_the_usual_calls_take_them() -> None:
    x = torch.ones(2, 3)
    usual = {"relu": (), "sum": (), "reshape": (3, 2), "view": (6,)}
    for function, shortcut, _ in SHORTCUTS:
        assert shortcut(x, *usual[function.__name__]) is not None


@pytest.mark.parametrize("name, args", CALLS)
def test_what_is_no_tensor_gets_nothing(name: str, args: tuple[Any, ...]) -> None:
    _, shortcut, limit = {f.__name__: (f, s, n) for f, s, n in SHORTCUTS}[name]
    if len(args) < limit:
        for value in (1.0, None, [1.0]):
            assert shortcut(value, *args) is None
