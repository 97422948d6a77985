"""Results that may be changed in place after all, since torch saves something else for the derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import livetape as torch
import livetape.nn.functional as F


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: F.max_pool1d(x[0], 2),
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.max_pool3d(x[None], (1, 2, 2)),
    ],
)
def test_maxima_of_windows(fn: Callable[[Any], Any]) -> None:
    values = torch.arange(16.0).reshape(1, 1, 4, 4) - 8.5
    x, z = values.clone().requires_grad_(), values.clone().requires_grad_()
    weight = torch.arange(1.0, 1 + fn(values).numel()).reshape(fn(values).shape)
    (F.relu(fn(x), inplace=True) * weight).sum().backward()
    (F.relu(fn(z)) * weight).sum().backward()
    assert x.grad.tolist() == z.grad.tolist()
    assert x.grad.sum() > 0


def test_erfinv() -> None:
    x = torch.tensor([0.25, -0.5], requires_grad=True)
    x.erfinv().mul_(2).sum().backward()
    assert torch.allclose(x.grad, torch.tensor([1.8647565842, 2.2251698971]))


def test_the_error_names_vectors_of_an_outer_product() -> None:
    x = torch.tensor([[0.5, 1.0], [1.5, 2.0]], requires_grad=True) * 1
    y = torch.outer(x[0], x[1])
    x.mul_(2)
    with pytest.raises(
        RuntimeError, match=r"\[torch.FloatTensor \[2\]\], which is output 0 of AsStrided, is at version 1"
    ):
        y.sum().backward()
