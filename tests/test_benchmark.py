"""torch.utils.benchmark, and what a report tells about the machine."""

from __future__ import annotations

import pytest

import livetape as torch
from livetape.utils import benchmark, collect_env
from livetape.utils.benchmark import Compare, Measurement, TaskSpec, Timer


def measured(times, runs=10, **spec):
    return Measurement(runs, times, TaskSpec("x + 1", "pass", **spec))


def test_timer():
    calls = []
    found = Timer("f()", globals={"f": lambda: calls.append(torch.get_num_threads())}, num_threads=2).timeit(5)
    assert len(calls) == 7 and set(calls) == {2} and found.number_per_run == 5 and len(found.times) == 1
    found = Timer("torch.ones(1)", label="L").blocked_autorange(min_run_time=0.01)
    assert 0 < found.median < 1 and found.title == "L"
    assert Timer("x", "x = 1").adaptive_autorange(max_run_time=0.05).iqr >= 0
    with pytest.raises(ValueError, match="global_setup is C"):
        Timer(global_setup="x")


def test_measurement():
    one = measured([2e-5], label="L", sub_label="s", description="d")
    assert repr(one).split("\n")[1:] == ["L: s", "d", "  2.00 us", "  1 measurement, 10 runs , 1 thread"]
    many = measured([1e-2, 2e-2, 3e-2, 4e-2, 5e-2])
    assert (many.median, many.mean, many.has_warnings) == (0.003, 0.003, True)
    assert many.iqr == pytest.approx(0.002)
    assert repr(many).split("\n")[1:] == [
        "x + 1",
        "  Median: 3.00 ms",
        "  IQR:    2.00 ms (2.00 to 4.00)",
        "  5 measurements, 10 runs per measurement, 1 thread",
        "  WARNING: Interquartile range is 66.7% of the median measurement.",
    ]
    (merged,) = Measurement.merge([measured([1.0]), measured([2.0])])
    assert merged.times == [0.1, 0.2]
    assert benchmark.select_unit(2e-4) == ("us", 1e-6) and benchmark.trim_sigfig(1234.5, 2) == 1200.0


def test_compare():
    table = Compare(
        [
            measured([1e-5], label="add", sub_label="small", description="ours"),
            measured([3e-5], label="add", sub_label="small", description="theirs"),
            measured([5e-4], label="add", sub_label="large", description="ours"),
        ]
    )
    lines = str(table).split("\n")
    assert lines[0].strip("[]-") == " add "
    assert lines[1].split() == ["|", "ours", "|", "theirs"]
    assert [line.split() for line in lines[3:5]] == [["small", "|", "1.0", "|", "3.0"], ["large", "|", "50.0", "|"]]
    assert lines[6] == "Times are in microseconds (us)."


def test_report():
    text = collect_env.get_pretty_env_info()
    assert text.startswith("PyTorch version: 2.13.0 (livetape ") and "\n[pip3] numpy: " in text
