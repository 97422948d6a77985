"""Elements that a result does not use get the gradient 0, also where a derivative on the way is infinite or undefined."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import livetape as torch
import livetape.nn.functional as F

T, where = torch.tensor, torch.where


def changed(y: Any, index: Any, value: float) -> Any:
    y[index] = value
    return y


def gradient(f: Callable[[Any], Any], values: Any) -> Any:
    x = T(values, requires_grad=True)
    f(x).sum().backward()
    return x.grad.tolist()


# what is computed, at which values, and the gradient; torch has NaN for each 0 where `unused` says so
CASES: list[tuple[Callable[[Any], Any], Any, Any]] = [
    (lambda x: where(x <= 0, x.exp(), 1 + x), 100.0, 1.0),
    (lambda x: where(x == 0, x / 2, x.sqrt() + 1), [4.0, 0.0], [0.25, 0.5]),
    (lambda x: where(x > 0, x.sqrt(), x), [-1.0, -4.0], [1.0, 1.0]),
    (lambda x: where(x > 0, x.sqrt() * 3 / x, -x), [-1.0, -4.0], [-1.0, -1.0]),
    (lambda x: where(x < 1, x * x, x.cos()), [inf, 0.5], None),
    (lambda x: where(x < 9, 2 * x, (x - x).log().reshape(1, 2).T.sum(1)), [0.0, 5.0], [2.0, 2.0]),
    (lambda x: where(T([[False], [False]]), x.sqrt(), x), [0.0, 4.0], [2.0, 2.0]),
    (lambda x: where(T(False), x / 0, torch.ones(())), 2.0, 0.0),
    (lambda x: where(x.norm() != 0, x / x.norm(), 0), [0.0, 0.0], [0.0, 0.0]),
    (lambda x: x.log().masked_fill(x <= 0, 0), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: torch.zeros(2).masked_scatter(T([True, False]), x.log().flip(0)), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log()[x > 0], [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log()[-1], [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log()[T([1])], [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log().masked_select(x > 0), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log().gather(0, T([1])), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log().split(1)[1], [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log().unbind()[1], [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log().max(), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log().max(0)[0], [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log().topk(1)[0], [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log().clamp(min=-5), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: F.relu(x.log()), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: torch.maximum(x.log(), T(-1.0)), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x[:, None].expand(2, 2).log().tril()[1], [0.0, 2.0], None),
    (lambda x: changed(x.log(), 0, 1.0), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: changed(x.log(), x == 0, 1.0), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: x.log().index_fill(0, T([0]), 1.0), [0.0, 2.0], [0.0, 0.5]),
    (lambda x: (x * T([nan, 3.0])).nansum(), [1.0, 2.0], [0.0, 3.0]),
    (lambda x: (x * T([nan, 3.0])).nan_to_num(), [1.0, 2.0], [0.0, 3.0]),
    (lambda x: F.mse_loss(x, T([nan, 1.0]), reduction="none")[1], [0.0, 2.0], [0.0, 2.0]),
    (lambda x: F.huber_loss(x, T([nan, 1.0]), reduction="none")[1], [0.0, 2.0], [0.0, 1.0]),
    (lambda x: where(T([[True], [False]]), torch.stack([x, x * -inf]).softmax(1)[:, :1], 0), [1.0, 1.0], [0.25, -0.25]),
    (lambda x: where(T([True, False]), torch.stack([x, x * inf], 1).norm(dim=1), 0), [2.0, 0.0], None),
    (lambda x: torch.stack([x, x * nan]).prod(1)[0], [2.0, 3.0], [3.0, 2.0]),
]


@pytest.mark.parametrize(("f", "values", "expected"), [case for case in CASES if case[2] is not None])
def test_gradients(f: Callable[[Any], Any], values: Any, expected: Any) -> None:
    assert gradient(f, values) == expected
    with torch.set_compat("torch"):
        assert T(gradient(f, values)).isnan().any()


@pytest.mark.parametrize("layer", [lambda x, w: x @ w, lambda x, w: F.linear(x, w.T, torch.zeros(2)), torch.matmul])
@pytest.mark.parametrize("mask", [lambda y: y.masked_fill(y.isnan(), 0), lambda y: y[~y.isnan()], torch.nansum])
def test_rows_that_are_masked_do_not_reach_the_weights(layer: Any, mask: Any) -> None:
    x = T([[1.0, 2.0], [nan, 1.0], [3.0, inf]])
    w = torch.ones(2, 2, requires_grad=True)
    mask(F.relu(layer(x[:2], w))).sum().backward()
    assert w.grad.tolist() == [[1, 1], [2, 2]]


def test_what_is_used_stays_undefined() -> None:
    x = T([[1.0, 2.0], [nan, 1.0]])
    w = torch.ones(2, 2, requires_grad=True)
    (x @ w).masked_fill(T([True, False]), 0).sum().backward()  # uses the row with NaN
    assert str(w.grad.tolist()) == "[[0.0, nan], [0.0, 3.0]]"


def test_a_factor_of_zero_is_a_use() -> None:
    assert str(gradient(lambda x: x.sqrt() * T([0.0, 1.0]), [0.0, 4.0])) == "[nan, 0.25]"
    assert str(gradient(lambda x: (x.sqrt() * x.sqrt())[0], [0.0, 4.0])) == "[nan, 0.0]"


def test_another_use_counts() -> None:
    assert str(gradient(lambda x: (lambda y: y[1] + y[0])(x.sqrt()), [0.0, 4.0])) == "[inf, 0.25]"
    assert str(gradient(lambda x: (lambda y: y[1] + y[0] * 0)(x.sqrt()), [0.0, 4.0])) == "[nan, 0.25]"


def test_at_the_border_of_the_condition_both_sides_are_neighbours() -> None:
    """There is no derivative where the other side's is infinite; torch has NaN, too."""
    for f in (lambda x: where(x > 0, x.sqrt(), torch.zeros_like(x)), lambda x: where(x <= 0, x, x.sqrt())):
        assert str(gradient(f, [0.0, 4.0])) == "[nan, 0.25]"
        assert gradient(f, [-1.0, 4.0])[1] == 0.25
    assert gradient(lambda x: where(x > 0, x * x, torch.zeros_like(x)), [0.0]) == [0.0]


def test_second_derivatives() -> None:
    x = T([0.0, 4.0], requires_grad=True)
    (first,) = torch.autograd.grad(where(x == 0, x * x, x.sqrt()).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [0, 0.25]
    assert second.tolist() == [2, -1 / 32]


def test_transforms() -> None:
    def f(x: Any) -> Any:
        return where(x == 0, x / 2, x.sqrt()).sum()

    assert torch.func.grad(f)(T([0.0, 4.0])).tolist() == [0.5, 0.25]
    assert torch.func.vmap(torch.func.grad(f))(T([0.0, 4.0])).tolist() == [0.5, 0.25]
    assert torch.func.jvp(f, (T([0.0, 4.0]),), (T([1.0, 0.0]),))[1].item() == 0.5


def test_anomaly_mode_does_not_mind() -> None:
    with torch.autograd.set_detect_anomaly(True):
        assert gradient(lambda x: where(x == 0, x / 2, x.sqrt()), [0.0, 4.0]) == [0.5, 0.25]


def test_hooks_see_the_gradient_before_and_may_replace_it() -> None:
    x = T([0.0, 4.0], requires_grad=True)
    y = x.sqrt()
    y.register_hook(lambda grad: grad * T([1.0, 2.0]))
    where(x == 0, x, y).sum().backward()
    assert str(x.grad.tolist()) == "[nan, 0.5]"  # what a hook returns is used

    x.grad = None
    y = x.sqrt()
    y.register_hook(lambda grad: None)
    y.retain_grad()
    where(x == 0, x, y).sum().backward()
    assert x.grad.tolist() == [1, 0.25]
    assert y.grad.tolist() == [0, 1]


def test_long_ways_are_freed_without_recursion() -> None:
    x = T([0.0, 4.0], requires_grad=True)
    y = x.log()
    for _ in range(3000):
        y = y.view(2)
    y[1].backward()
    assert str(x.grad.tolist()) == "[nan, 0.25]"  # too far for the notes, as in torch
