"""The judgement of `make perf-guard`: what costs over 3 % more fails, and what changed is told."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
spec = importlib.util.spec_from_file_location("guard", FOLDER / "guard.py")
assert spec is not None and spec.loader is not None
guard = importlib.util.module_from_spec(spec)
spec.loader.exec_module(guard)


def record(python: str = "3.11.7", **instructions: int) -> dict[str, Any]:
    return {"environment": {"python": python}, "instructions": instructions}


@pytest.mark.parametrize("now, good", [(1000, True), (1030, True), (1031, False), (900, True)])
def test_limit(now: int, good: bool) -> None:
    assert guard.compare(record(add=1000, step=500), record(add=now, step=500))[1] is good


def test_table() -> None:
    lines, good = guard.compare(record(add=1000, step=500), record(add=1100, step=400))
    assert lines[1].split() == ["add", "1000", "1100", "+10.00", "%"]
    assert lines[2].split() == ["step", "500", "400", "-20.00", "%"]
    assert not good and lines[3] == "FAILED: over 3 % more instructions: add" and "--update" in lines[4]


def test_a_gain_is_to_be_recorded() -> None:
    lines, good = guard.compare(record(add=1000), record(add=900))
    assert good and lines[-1] == "Over 3 % fewer instructions: record the gain by make perf-guard ARGS=--update."
    assert len(guard.compare(record(add=1000), record(add=980))[0]) == 2


def test_other_paths_fail() -> None:
    lines, good = guard.compare(record(add=1000), record(step=10))
    assert not good and "FAILED: the paths are not those of the file" in lines
    assert lines[1].split() == ["add", "1000", "-", "removed"] and lines[2].split() == ["step", "-", "10", "added"]


def test_another_environment_is_told() -> None:
    lines, good = guard.compare(record(add=1000), record("3.12.1", add=1000))
    assert good and lines[-1] == "Recorded with python 3.11.7, now 3.12.1: counts may differ by that alone."


def test_start_cancels() -> None:
    loops = [[7, 1], [9, 100 + 50 * 4], [9, 100 + 100 * 4]]  # before each loop, and in it
    assert guard.per_walk([n for loop in loops for n in loop] * 2, ["a", "b"], 50) == {"a": 4, "b": 4}
    with pytest.raises(SystemExit, match="5 parts instead of 6"):
        guard.per_walk([1] * 5, ["a"], 50)


def test_totals_of_parts_in_order(tmp_path: Path) -> None:
    for part in range(1, 12):
        (tmp_path / f"out.{part}").write_text(f"events: Ir\ntotals: {part * 10}\n")
    assert guard.totals(tmp_path) == [part * 10 for part in range(1, 12)]
