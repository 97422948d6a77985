"""`set_compat`: the right answers by default, torch's on request, and docs/differences.md in step with both."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compat_cases import PRELUDE, PROGRAMS

import livetape as torch
from livetape.ops.table import DIFFERS, TABLE

sys.path.insert(0, str(Path(__file__).parent / "corpus"))
import compare
import runner

TESTS = Path(__file__).parent
RECORDED = json.loads((TESTS / "data" / "compat.json").read_text("utf-8"))
REPORTS = {case["id"]: case for case in runner.load_cases() if case["id"] in RECORDED["reports"]}
TORCH_MODE = "import livetape; livetape.set_compat('torch')\n"

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the runner forks")


@pytest.fixture(scope="module")
def worker() -> Iterator[runner.Worker]:
    worker = runner.Worker()
    yield worker
    worker.stop()


def printed(worker: runner.Worker, program: str) -> str:
    outcome = worker.run(program)
    assert not outcome.get("failure") and outcome["error"] is None, outcome
    return str(outcome["stdout"])


# ---------------------------------------------------------------- the switch
def test_the_switch() -> None:
    assert torch.get_compat() == "exact"
    with torch.set_compat("torch"):
        assert torch.get_compat() == "torch"
        with torch.set_compat("exact"):
            assert torch.get_compat() == "exact"
        assert torch.get_compat() == "torch"
    assert torch.get_compat() == "exact"
    torch.set_compat("torch")
    try:
        assert torch.get_compat() == "torch"
    finally:
        torch.set_compat("exact")
    with pytest.raises(ValueError, match="mode must be one of 'exact', 'torch', not 'fast'"):
        torch.set_compat("fast")
    assert torch.get_compat() == "exact"


def test_it_holds_for_all_threads_and_ends_with_an_error() -> None:
    seen: list[str] = []
    with pytest.raises(ZeroDivisionError), torch.set_compat("torch"):
        thread = threading.Thread(target=lambda: seen.append(torch.get_compat()))
        thread.start()
        thread.join()
        1 / 0  # noqa: B018
    assert seen == ["torch"]
    assert torch.get_compat() == "exact"


def test_what_counts_is_when_the_derivative_is_computed() -> None:
    x = torch.zeros(1, requires_grad=True)
    with torch.set_compat("torch"):
        y = torch.hypot(x, x)
    y.backward()
    assert x.grad.tolist() == [0]


# ---------------------------------------------------------------- both answers
@needs_fork
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_by_default(name: str, worker: runner.Worker) -> None:
    program, right = PROGRAMS[name]
    found = printed(worker, PRELUDE + program)
    assert compare.text_difference(right + "\n", found) is None, found


@needs_fork
@pytest.mark.parametrize("name", PROGRAMS)
def test_torch_on_request(name: str, worker: runner.Worker) -> None:
    found = printed(worker, TORCH_MODE + PRELUDE + PROGRAMS[name][0])
    assert compare.text_difference(RECORDED["programs"][name], found) is None, found


def test_torch_is_right_in_two() -> None:
    same = {name for name, (_, right) in PROGRAMS.items() if RECORDED["programs"][name] == right + "\n"}
    assert same == {"where, at its border", "a factor of 0"}


@needs_fork
@pytest.mark.parametrize("name", [name for name, outcome in RECORDED["reports"].items() if outcome is not None])
def test_reports_that_torch_does_not_meet(name: str, worker: runner.Worker) -> None:
    outcome = worker.run(TORCH_MODE + REPORTS[name]["source"])
    assert compare.difference(RECORDED["reports"][name], outcome) is None, outcome


def test_every_report_that_torch_does_not_meet_is_recorded() -> None:
    groups = {"report_right", "report_wording"}
    wrong = {case["id"] for case in runner.load_cases() if case["group"] in groups}
    assert wrong == set(RECORDED["reports"])
    crashed = [name for name, outcome in RECORDED["reports"].items() if outcome is None]
    assert [REPORTS[name]["title"] for name in crashed] == [
        "F.pdist backward on zero rows kills the interpreter (pytorch/pytorch#197099)"
    ]


# ---------------------------------------------------------------- the document
def test_the_document_lists_every_row_that_differs() -> None:
    text = (TESTS.parent / "docs" / "differences.md").read_text("utf-8")
    section = text.split("## The rows that look at the switch\n")[1]
    listed = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert {row.strip("`"): where for row, where in listed} == DIFFERS
    assert set(DIFFERS) <= set(TABLE)


def test_every_row_that_differs_is_tested() -> None:
    words = " ".join(program for program, _ in PROGRAMS.values())
    called: dict[str, Any] = {"sgn": "abs()", "euclidean_dist": "cdist", "linalg_vector_norm": "norm("}
    called |= {"binary_cross_entropy_with_logits": "binary_cross_entropy_with_logits"}
    for key in DIFFERS:
        name = key.split(".")[0]
        assert called.get(name, name.removeprefix("linalg_").removeprefix("special_")) in words, key
