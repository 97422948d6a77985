"""The corpus of recorded PyTorch programs: every one must do here what it did there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "corpus"))
import compare
import runner

CASES = runner.load_cases()
KNOWN_FAILURES = runner.load_known_failures()


@pytest.fixture(scope="module")
def worker() -> Iterator[runner.Worker]:
    worker = runner.Worker()
    yield worker
    worker.stop()


def parameter(case: dict[str, Any]) -> Any:
    reason = KNOWN_FAILURES.get(case["id"])
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason is not None else []
    return pytest.param(case, id=case["id"], marks=marks)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the runner forks")
@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_case(case: dict[str, Any], worker: runner.Worker) -> None:
    outcome = worker.run(case["source"])
    reason = compare.difference(case, outcome)
    assert reason is None, f"{case['title']}\n{case['source']}\n{reason}"


def test_known_failures_are_cases_with_a_reason() -> None:
    assert set(KNOWN_FAILURES) <= {case["id"] for case in CASES}
    assert all(KNOWN_FAILURES.values())


@pytest.mark.parametrize(
    ("want", "got", "agree"),
    [
        ("tensor([1.0000, 2.0000])", "tensor([1.0001, 2.0000])", True),
        ("tensor([1.0000])", "tensor([1.0100])", False),
        ("2.", "2.0000", False),
        ("tensor([-0., 1.])", "tensor([0., 1.])", True),
        ("<AddBackward0 object at 0x7f0000000001>", "<AddBackward0 object at 0x7f0000000002>", True),
        ("a\nb\n", "a\n", False),
    ],
)
def test_comparison(want: str, got: str, agree: bool) -> None:
    reason = compare.difference({"stdout": want}, {"stdout": got})
    assert (reason is None) == agree
