"""Operations of networks against values, gradients, warnings and errors recorded by record/network_values.py."""

from __future__ import annotations

import json
import pathlib
import re
import warnings
from typing import Any

import numpy as np
import pytest

import livetape as torch
import livetape.nn.functional as F

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "networks.json").read_text())
CASES = DATA["cases"]
DIGITS = {"torch.float16": 2e-3, "torch.float32": 2e-6, "torch.complex64": 2e-6}


def listed(tensor: Any) -> Any:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return np.array(tensor.detach().flatten().tolist(), np.float64)


def compare(found: Any, values: Any, name: str) -> None:
    digits = DIGITS.get(name, 1e-8)
    size = max([abs(v) for v in values if np.isfinite(v)], default=1.0)
    np.testing.assert_allclose(listed(found), np.array(values, np.float64), rtol=digits, atol=digits * max(1.0, size))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["call"])
def test_as_torch(case: dict[str, Any]) -> None:
    used = set(re.findall(r"\w+", case["call"]))
    names = {name: eval(text, {"torch": torch}) for name, text in DATA["inputs"].items() if name in used}
    leaves = {name: names[name].requires_grad_() for name in DATA["leaves"] if name in used}
    torch.manual_seed(7)
    found: Any = None
    error: Any = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = eval(case["call"], {"torch": torch, "F": F, **names})
        except Exception as raised:
            error = raised
    assert [str(w.message)[:60] for w in caught] == case.get("warnings", [])
    if "error" in case or error is not None:
        assert (type(error).__name__, str(error).split("\n")[0]) == (case.get("error"), case.get("message"))
        return
    if "plain" in case:
        assert repr(found) == case["plain"]
        return
    outs = found if isinstance(found, tuple) else (found,)
    assert len(outs) == len(case["outs"])
    for out, want in zip(outs, case["outs"]):
        assert (list(out.shape), str(out.dtype)) == (want["shape"], want["dtype"])
        compare(out, want["values"], want["dtype"])
        assert (type(out.grad_fn).__name__ if out.grad_fn is not None else None) == want.get("node")
    if not outs[0].requires_grad:
        assert "grads" not in case
        assert "backward_error" not in case
        return
    weights = torch.linspace(0.5, 1.5, outs[0].numel(), dtype=torch.float64).reshape(outs[0].shape).to(outs[0].dtype)
    if "backward_error" in case:
        with pytest.raises(RuntimeError) as failed:
            torch.autograd.grad(outs[0], list(leaves.values()), weights, allow_unused=True)
        assert str(failed.value).split("\n")[0] == case["backward_error"]
        return
    grads = torch.autograd.grad(outs[0], list(leaves.values()), weights, allow_unused=True)
    for (name, leaf), grad in zip(leaves.items(), grads):
        assert (grad is None) == (name not in case["grads"])
        if grad is not None:
            assert grad.dtype is leaf.dtype
            coarse = max((str(leaf.dtype), str(outs[0].dtype)), key=lambda kind: DIGITS.get(kind, 0))
            compare(grad, case["grads"][name], coarse)
