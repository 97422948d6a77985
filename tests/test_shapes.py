"""Shape, index and creation functions against what record/shape_values.py wrote down of torch."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from shape_cases import run

import livetape as torch

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "shapes.json").read_text())
WRONG_IN_TORCH = {  # a value that another one overwrote has a gradient there
    "y[[0,0],[1,1]]=v[:2]; y",
    "x.put(J,s[:2,:2])",
    "(x*1).put_(J,s[:2,:2])",
}
CASES = [
    pytest.param(family["inputs"], call, outcome, id=f"{name}: {call}"[:90])
    for name, family in DATA.items()
    for call, outcome in family["calls"].items()
]


def close(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key in wanted:
            close(found[key], wanted[key])
    elif isinstance(wanted, list) and any(isinstance(v, float) for v in wanted):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for f, w in zip(found, wanted):
            close(f, w)
    else:
        assert found == wanted


@pytest.mark.parametrize(("inputs", "call", "outcome"), CASES)
def test_as_torch(inputs: str, call: str, outcome: dict[str, Any]) -> None:
    with torch.set_compat("torch" if call in WRONG_IN_TORCH else "exact"):
        found = run(torch, inputs, call)
    once = outcome.pop("warnings", None)  # some warnings are given once a process
    said = found.pop("warnings", None)
    assert said is None or set(said) <= set(once or said)
    close(found, outcome)
