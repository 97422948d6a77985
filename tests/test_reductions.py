"""Reductions, extremes, sorts and scans: values, errors, printed text and gradients as torch 2.13 gives them."""

from __future__ import annotations

import json
import pathlib
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from reduction_cases import outcome

import livetape as torch
from livetape.kernels import reductions

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "reductions.json").read_text())
WRONG_IN_TORCH = {  # see docs/differences.md
    "torch.tensor([1e20]).expand(2).norm()",
    "torch.tensor([1e20]*4).norm()",
    "torch.tensor([1e20]*4).norm(3)",
    "grads(lambda x:x.logsumexp(0),[-inf,-inf])",
    "grads(lambda x:x.logsumexp(0),[inf,1.])",
}


@pytest.mark.parametrize("expression", CASES)
def test_outcome_is_the_recorded_one(expression: str) -> None:
    mode = "torch" if expression in WRONG_IN_TORCH else "exact"
    with warnings.catch_warnings(), torch.set_compat(mode):
        warnings.simplefilter("ignore")
        assert outcome(torch, expression) == CASES[expression]


@pytest.mark.parametrize("shape", [(100_000,), (20_000, 7), (7, 20_000), (30, 40, 50), (3, 2, 5, 1300)])
def test_sums_of_float32_are_accurate_in_every_layout(shape: tuple[int, ...]) -> None:
    x = (np.random.default_rng(0).random(shape) + 0.1).astype(np.float32)
    for array in (x, x.T, x[..., ::2], np.broadcast_to(x, (2, *shape))):
        for axes in (None, *[(i,) for i in range(array.ndim)], (0, array.ndim - 1)[: array.ndim]):
            exact = np.add.reduce(array.astype(np.float64), axis=axes)
            np.testing.assert_allclose(reductions.total(array, axes), exact, rtol=1e-6)


def test_half_precision_is_added_in_single() -> None:
    x = torch.full((3000,), 1.0, dtype=torch.float16)
    assert x.sum().item() == 3000
    assert x.mean().item() == 1
    assert x.sum().dtype is torch.float16


def test_gradient_of_a_product_is_exact_at_zeros_to_third_order() -> None:
    x = torch.tensor([0.0, 2.0, 3.0], requires_grad=True)
    (first,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    assert first.tolist() == [6, 0, 0]
    (second,) = torch.autograd.grad(first[1], x, create_graph=True)  # d/dx (x0 * x2)
    assert second.tolist() == [3, 0, 0]
    (third,) = torch.autograd.grad(second[0], x)
    assert third.tolist() == [0, 0, 1]


def test_second_gradient_of_a_norm_is_finite_at_zero() -> None:
    x = torch.zeros(3, requires_grad=True)
    (first,) = torch.autograd.grad(x.norm(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == second.tolist() == [0, 0, 0]


def test_logcumsumexp_keeps_its_gradient_over_a_wide_range() -> None:
    x = torch.tensor([1000.0, -1000.0, 1001.0], dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(x.logcumsumexp(0).sum(), x)
    share = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(grad.numpy(), [2 + (1 - share), 0, share])


def test_results_are_named_tuples_that_pickle() -> None:
    found = torch.max(torch.tensor([[1.0, 2.0]]), 1)
    values, indices = found
    assert found.values is values
    assert found[1] is indices
    assert isinstance(found, tuple)
    again = pickle.loads(pickle.dumps(torch.return_types.max((1, 2))))
    assert type(again) is torch.return_types.max
    assert again == (1, 2)
    with pytest.raises(TypeError, match=r"torch.return_types.max\(\) takes a 2-sequence \(1-sequence given\)"):
        torch.return_types.max((1,))


def test_out_receives_the_results() -> None:
    x = torch.tensor([[1.0, 4.0], [3.0, 2.0]])
    total = torch.empty(2)
    assert torch.sum(x, 0, out=total) is total
    assert total.tolist() == [4, 6]
    values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
    found = torch.max(x, 1, out=(values, indices))
    assert found.values is values
    assert indices.tolist() == [1, 0]


def test_in_place_scans_change_the_tensor_and_its_history() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    assert y.cumprod_(0) is y
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [9, 4, 2]


@pytest.mark.parametrize("count", [1, 2, 17, 100, 3000])
def test_sort_orders_and_stable_keeps_equals(count: int) -> None:
    x: Any = np.random.default_rng(count).integers(0, 9, (3, count)).astype(np.float32)
    for descending in (False, True):
        values, indices = torch.sort(torch.from_numpy(x), descending=descending, stable=True)
        want = np.argsort(-x if descending else x, axis=1, kind="stable")
        np.testing.assert_array_equal(indices.numpy(), want)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, want, 1))
        default = torch.sort(torch.from_numpy(x), descending=descending)
        np.testing.assert_array_equal(default.values.numpy(), values.numpy())
        np.testing.assert_array_equal(np.take_along_axis(x, default.indices.numpy(), 1), values.numpy())


@pytest.mark.parametrize("k", [1, 5, 40, 400])
def test_topk_agrees_with_sort_on_long_rows(k: int) -> None:
    x = torch.from_numpy(np.random.default_rng(k).permutation(4000.0 * 3 * np.arange(4000.0)).reshape(2, 2000))
    for largest in (True, False):
        found, ordered = torch.topk(x, k, largest=largest), torch.sort(x, descending=largest)
        assert found.values.tolist() == ordered.values[:, :k].tolist()
        assert found.indices.tolist() == ordered.indices[:, :k].tolist()
