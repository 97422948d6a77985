"""torch.utils.benchmark, what a report tells about the machine, and the project's own benchmarks."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

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
    assert 0 < found.median < 60 and found.title == "L"
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


# ---------------------------------------------------------------- benchmarks/
BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
NAMES = ("work", "rows", "models", "worker", "figures", "limits", "run")
GROUPS = [
    *("operation overhead", "small models", "graph scale", "custom Function", "optimiser step"),
    *("elementwise and reductions", "MLP", "CNN", "transformer", "recurrent", "double backward"),
]


@pytest.fixture
def benchmarks(monkeypatch):
    """The benchmarks' modules, imported as their programs do."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name in NAMES:
        sys.modules.pop(name, None)


def test_floor(benchmarks):
    work = benchmarks("work")
    both = work.Work(8, 4, {"add": 1}) + work.Work(2, 6, {"add": 2, "sum": 1}) * 2
    assert both == work.Work(12, 16, {"add": 5, "sum": 2})
    limits = work.Limits(10.0, [(0, 20.0), (1000, 5.0)], {"add": 2.0, "sum": 1.0})
    assert [limits.speed(size) for size in (0, 999, 1000, 9999)] == [20.0, 20.0, 5.0, 5.0]
    assert work.floor(work.Work(30, 40), limits) == (3.0, "operations")  # memory's 2 s are hidden behind 3
    assert work.floor(work.Work(30, 2000), limits) == (400.0, "memory")
    assert work.floor(work.Work(10, 0, {"add": 1, "sum": 1}), limits) == (1.0 + 3.0, "calls")
    assert work.linear(2, 3, 5).flops == 3 * 2 * 30 and work.linear(2, 3, 5, first=True).flops == 2 * 2 * 30
    direct, fast = (work.convolution(1, 2, 3, 3, 4, stride=stride).flops for stride in (2, 1))
    assert direct == 3 * 2 * 6 * 9 * 16 and fast == direct / 3 * 1.5
    assert work.geometric_mean([1.0, 4.0]) == 2.0


def test_rows(benchmarks):
    """Every row tells its work in calls that are measured, and what is quick of them runs."""
    models, limits = benchmarks("models"), benchmarks("limits")
    rows = sys.modules["rows"].ROWS
    assert list(dict.fromkeys(row.group for row in rows.values())) == GROUPS
    known = limits.small_calls()
    for call in known.values():
        call()
    assert sorted(limits.levels()) == limits.levels() and limits.cache_size(2) > 1000
    assert limits.fastest(lambda: None, 10, time.perf_counter, 0.001) > 0
    for row in rows.values():
        work = row.work
        assert work.flops + work.bytes + sum(work.calls.values()) > 0 and work.calls.keys() <= known.keys()
    quick = [row for row in rows.values() if row.work.bytes < 1e7 and sum(row.work.calls.values()) < 1000]
    assert len(quick) > 20
    for row in quick:
        run = row.make(torch)
        found = run()
        found = found if isinstance(found, tuple) else (found,)
        assert all(bool(torch.isfinite(value).all()) for value in found)
    net = models._gpt_work(False).flops - models._gpt_work(True).flops
    assert net == models.LAYERS * 6 * models.BATCH * models.TIME**2 * models.WIDTH


def test_worker(benchmarks):
    run = benchmarks("run")
    worker = run.Worker(sys.executable, "livetape", 1)
    assert worker.hello == {"version": torch.__version__}
    assert 10 < worker.ask(setup="4x4: a + b")["result"] < 40
    assert 1e-8 < worker.ask(sample="4x4: a + b")["seconds"] < 1
    worker.stop()
    missing = run.Worker(sys.executable, "no_such_module", 1)
    assert missing.hello == {"error": "ModuleNotFoundError: No module named 'no_such_module'"}
    missing.stop()


def test_table(benchmarks, monkeypatch, capsys):
    run, work = benchmarks("run"), benchmarks("work")
    monkeypatch.setattr(
        run, "measured_limits", lambda threads: work.Limits(1e9, [(0, 1e9), (1e5, 2e9)], {"relu": 1e-9})
    )
    arguments = ["run.py", "--rounds", "1", "--torch-python", sys.executable, "4x4: relu(a)"]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(run, "Worker", Fake)
    run.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["matrix products: 1 GFLOP/s", "memory: 1 GB/s, 2 GB/s from 100 kB", "calls: relu 1.00 ns"]
    assert [line.split() for line in lines[4:]] == [
        ["operation", "overhead", "torch", "livetape", "ratio", "floor", "x", "floor", "bound", "by"],
        ["4x4:", "relu(a):", "the", "results", "differ,", "3e-06", "and", "1.5e-06"],
        ["4x4:", "relu(a)", "3.00", "µs", "1.50", "µs", "2.00", "1.00", "ns", "1500.00", "calls"],
        [],
        ["geometric", "means", "ratio", "x", "floor"],
        ["operation", "overhead", "2.00", "1500.00"],
        [],
        ["furthest", "from", "their", "floor:", "4x4:", "relu(a)", "(1500", "times)"],
    ]
    monkeypatch.setattr(sys, "argv", ["run.py", "no such row"])
    with pytest.raises(SystemExit):
        run.main()
    assert "no such row or group: no such row" in capsys.readouterr().err
    assert [run.shown(v) for v in (2.0, 0.01234, 1.5e-6, 3e-10)] == ["2.00 s", "12.3 ms", "1.50 µs", "0.30 ns"]
    assert [run.shown(v, "B") for v in (123e6, 4500)] == ["123 MB", "4.50 kB"]


class Fake:
    """A worker that tells times instead of taking them."""

    def __init__(self, python, module, threads):
        self.hello = {"version": "0"}
        self.seconds = 3e-6 if module == "torch" else 1.5e-6

    def ask(self, **request):
        return {"seconds": self.seconds, "result": self.seconds}

    def stop(self):
        pass


def test_figures(benchmarks):
    figures = benchmarks("figures")
    requirements = ["numpy>=2.3", "a.b-c", "tqdm; extra == 'x'", "tomli<3; python_version < '3.11'"]
    assert figures.required(requirements) == ["numpy", "a.b-c"]
    assert figures.installed("livetape") > figures.installed("numpy") > 1e6
    seconds, size = figures.import_figures(sys.executable, "json")
    assert 0 < seconds < 60 and size > 1e6
