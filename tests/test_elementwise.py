"""Elementwise functions against values, gradients and errors recorded from torch by record/elementwise_values.py."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

import livetape as torch

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "elementwise.json").read_text())
CASES = DATA["cases"]
DIGITS = {"torch.float16": 1e-3, "torch.bfloat16": 1e-2, "torch.float32": 1e-6, "torch.complex64": 1e-6}


def listed(tensor: Any) -> Any:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return np.array(tensor.tolist(), np.float64)


def compare(found: Any, values: Any, name: str) -> None:
    digits = DIGITS.get(name, 1e-9)
    np.testing.assert_allclose(listed(found), np.array(values, np.float64), rtol=digits, atol=digits)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["call"])
def test_as_torch(case: dict[str, Any]) -> None:
    names = {name: eval(text, {"torch": torch}) for name, text in DATA["inputs"].items()}
    leaves = {name: t.requires_grad_() for name, t in names.items() if t.dtype in (torch.float64, torch.complex128)}
    scope = {"torch": torch, **names}
    if "error" in case:
        with pytest.raises(Exception) as caught:
            eval(case["call"], scope)
        assert type(caught.value).__name__ == case["error"]
        assert str(caught.value).split("\n")[0] == case["message"]
        return
    found = eval(case["call"], scope)
    if "plain" in case:
        assert repr(found) == case["plain"]
        return
    assert str(found.dtype) == case["dtype"]
    compare(found.detach(), case["values"], case["dtype"])
    assert found.requires_grad == ("node" in case)
    if "node" not in case:
        return
    assert type(found.grad_fn).__name__ == case["node"]
    if "backward_error" in case:
        with pytest.raises(RuntimeError) as caught:
            torch.autograd.grad(found, list(leaves.values()), torch.ones_like(found), allow_unused=True)
        assert str(caught.value).split("\n")[0] == case["backward_error"]
        return
    grads = torch.autograd.grad(found, list(leaves.values()), torch.ones_like(found), allow_unused=True)
    for (name, leaf), grad in zip(leaves.items(), grads):
        if name in case["grads"]:
            assert grad is not None
            assert grad.dtype is leaf.dtype
            compare(grad, case["grads"][name], str(leaf.dtype))
        else:
            assert grad is None
