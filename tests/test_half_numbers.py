"""Numbers beside float16 and bfloat16: PyTorch multiplies and divides by the number itself, and rounds once."""

from __future__ import annotations

import pytest

import livetape as torch

VALUES = [1.0, 0.3, 7.0]


@pytest.mark.parametrize(
    ("kind", "products", "quotients", "sums"),
    [
        (
            torch.float16,
            [0.7001953125, 0.2100830078125, 4.8984375],
            [1.4287109375, 0.4287109375, 10.0],
            [1.2998046875, 0.39013671875, 9.1015625],
        ),
        (
            torch.bfloat16,
            [0.69921875, 0.2109375, 4.90625],
            [1.4296875, 0.4296875, 10.0],
            [1.296875, 0.390625, 9.125],
        ),
    ],
)
def test_numbers_are_not_rounded_first(
    kind: torch.dtype, products: list[float], quotients: list[float], sums: list[float]
) -> None:
    x = torch.tensor(VALUES, dtype=kind)
    assert (x * 0.7).tolist() == (0.7 * x).tolist() == x.clone().mul_(0.7).tolist() == products
    assert (x * torch.tensor(0.7)).tolist() == products
    assert (x / 0.7).tolist() == x.clone().div_(0.7).tolist() == (x / torch.tensor(0.7)).tolist() == quotients
    assert x.add(x, alpha=0.3).tolist() == x.clone().add_(x, alpha=0.3).tolist() == sums


def test_whole_vectors_of_a_multiple_are_rounded_once() -> None:
    x = torch.full((33,), 1.0, dtype=torch.bfloat16)
    y = torch.full((33,), 0.84765625, dtype=torch.bfloat16)
    found = y.add(x * 1.5, alpha=-0.1).tolist()
    assert found[:32] == [0.69921875] * 32
    assert found[32] == 0.6953125
    assert y[::2].add(x[::2] * 1.5, alpha=-0.1).tolist() == [0.6953125] * 17
