"""What is refused, word for word: each expression and the error that PyTorch 2.13 raises for it."""

from __future__ import annotations

from typing import Any

import livetape as torch
import livetape.nn.functional as F
import pytest
from livetape import nn


def ones(kind: Any, *size: int) -> Any:
    return torch.ones(*size, dtype=kind)


i8, i64, f16, f32, f64 = torch.int8, torch.int64, torch.float16, torch.float32, torch.float64

MIXED_PRODUCTS = {
    "ones(i64, 2, 2) @ ones(f16, 2, 2)": "expected m1 and m2 to have the same dtype, but got: long int != c10::Half",
    "ones(torch.uint16, 2, 2) @ ones(f32, 2, 2)": (
        "expected m1 and m2 to have the same dtype, but got: short unsigned int != float"
    ),
    "ones(f32, 2, 2) @ ones(f64, 2)": "addmv input tensors must have the same dtype, but got Double, Float, and Double",
    "torch.mv(ones(i64, 2, 2), ones(f16, 2))": (
        "addmv input tensors must have the same dtype, but got Half, Long, and Half"
    ),
    "torch.addmv(ones(f32, 2), ones(f64, 2, 2), ones(f64, 2))": (
        "addmv input tensors must have the same dtype, but got Float, Double, and Double"
    ),
    "torch.bmm(ones(f32, 1, 2, 2), ones(f64, 1, 2, 2))": "expected scalar type Float but found Double",
    "torch.baddbmm(ones(f32, 1, 2, 2), ones(f64, 1, 2, 2), ones(f64, 1, 2, 2))": (
        "Input dtypes must be the same, got: input float, batch1: double, batch2: double"
    ),
    "torch.addbmm(ones(f32, 2, 2), ones(f64, 1, 2, 2), ones(f64, 1, 2, 2))": (
        "self and mat2 must have the same dtype, but got Float and Double"
    ),
    "torch.addmm(ones(f32, 2), ones(f32, 2, 2), ones(f64, 2, 2))": (
        "self and mat2 must have the same dtype, but got Float and Double"
    ),
    "torch.addmm(ones(f64, 2), ones(f32, 2, 2), ones(f64, 2, 2))": (
        "mat1 and mat2 must have the same dtype, but got Float and Double"
    ),
    "F.linear(ones(f32, 2, 2), ones(f64, 2, 2))": (
        "expected m1 and m2 to have the same dtype, but got: float != double"
    ),
    "F.linear(ones(f32, 2, 2), ones(f64, 2, 2), ones(f32, 2))": (
        "self and mat2 must have the same dtype, but got Float and Double"
    ),
    "nn.Linear(2, 3)(ones(f64, 2))": "mat1 and mat2 must have the same dtype, but got Double and Float",
}


def check(expression: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as info:
        eval(expression)
    assert str(info.value) == words


@pytest.mark.parametrize("expression", MIXED_PRODUCTS)
def test_products_of_two_dtypes(expression: str) -> None:
    check(expression, RuntimeError, MIXED_PRODUCTS[expression])
