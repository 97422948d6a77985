"""The profiler: what it sees of forward and backward, its tables and files, and that it changes nothing."""

from __future__ import annotations

import gzip
import json
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import livetape as torch
from livetape import nn, profiler
from livetape._tape.modes import local, state
from livetape.autograd import Function
from livetape.autograd.profiler import profile, record_function
from livetape.autograd.profiler_util import EventList, FunctionEvent
from livetape.profiler import ProfilerAction, ProfilerActivity, schedule

RECORDED = json.loads((Path(__file__).parent / "data" / "profiler_tables.json").read_text())
ENGINE = "autograd::engine::evaluate_function: "
LEAF = "torch::autograd::AccumulateGrad"


def names(events: Any) -> list[str]:
    return [event.name for event in events if event.name != "[memory]"]


def events_of_torch() -> EventList:
    made = EventList(
        [
            FunctionEvent(i, n, 1, s, e, input_shapes=shapes, stack=calls, cpu_memory_usage=m, flops=0)
            for i, n, s, e, shapes, calls, m in RECORDED["events"]
        ],
        profile_memory=True,
    )
    made._build_tree()
    return made


# ---------------------------------------------------------------- text
@pytest.mark.parametrize("number", range(len(RECORDED["tables"])))
def test_tables_are_those_of_torch(number: int) -> None:
    kind, group, options, text = RECORDED["tables"][number]
    events = events_of_torch()
    assert (events if kind == "events" else events.key_averages(**group)).table(**options) == text


def test_operations_and_texts_of_events() -> None:
    events = events_of_torch()
    assert repr(events.total_average()) == RECORDED["total"]
    assert repr(events.key_averages()[0]) == RECORDED["average"]
    assert repr(events[0]) == RECORDED["event"]
    counted = EventList(
        [
            FunctionEvent(i, n, 1, s, e, input_shapes=[], stack=[], flops=f)
            for i, n, s, e, f in ((0, "aten::mm", 0, 5, 48000), (1, "aten::add", 6, 7, 2000), (2, "aten::t", 8, 9, 0))
        ],
        with_flops=True,
    )
    counted._build_tree()
    assert counted.key_averages().table() == RECORDED["flops"]
    assert EventList().table() == ""


def test_an_event_alone_in_one_of_its_name_is_part_of_it() -> None:
    events = EventList([FunctionEvent(i, "a", 1, i, 10 - i) for i in range(3)] + [FunctionEvent(3, "b", 1, 3, 4)])
    events._build_tree()
    assert [e.id for e in events] == [0, 3]
    assert events[1].cpu_parent is events[0]
    assert events[0].self_cpu_time_total == 9


# ---------------------------------------------------------------- what is seen
def test_forward_and_backward() -> None:
    x = torch.ones(3, requires_grad=True)
    with profile(record_shapes=True) as prof:
        (x * x).sum().backward()
    found = prof.function_events
    assert names(found) == [
        "aten::mul",
        "aten::sum",
        ENGINE + "SumBackward0",
        "SumBackward0",
        "aten::expand",
        ENGINE + "MulBackward0",
        "MulBackward0",
        "aten::mul",
        "aten::mul",
        "aten::add",
        ENGINE + LEAF,
        LEAF,
    ]
    by_name = {e.name: e for e in found}
    assert by_name["aten::sum"].input_shapes == [[3]]
    assert by_name["MulBackward0"].input_shapes == [[3]]
    assert by_name["MulBackward0"].cpu_parent.name == ENGINE + "MulBackward0"
    assert by_name["MulBackward0"].scope == 1
    assert by_name["aten::add"].cpu_parent.name == ENGINE + "MulBackward0"  # the sum of the two gradients
    assert by_name[ENGINE + LEAF].cpu_parent is None
    assert found[0].sequence_nr == by_name["MulBackward0"].sequence_nr  # the operation that made the node
    averages = {e.key: e for e in prof.key_averages()}
    assert averages["aten::mul"].count == 3
    assert sum(e.self_cpu_time_total for e in averages.values()) == pytest.approx(prof.self_cpu_time_total)
    assert averages[ENGINE + "MulBackward0"].cpu_time_total >= averages["MulBackward0"].cpu_time_total
    assert {str(e.input_shapes) for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::mul"} == {
        "[[3], [3]]"
    }
    assert prof.total_average().count == len(found)
    assert str(prof).count("\n") == prof.table(row_limit=-1).count("\n")


def test_in_place_lists_and_functions() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad + grad

    x = torch.ones(2, requires_grad=True)
    with profile(record_shapes=True) as prof:
        y = torch.cat([x, x])
        y.add_(1)
        Double.apply(y).sum().backward()
    found = prof.function_events
    assert names(found)[:5] == ["aten::cat", "aten::add_", "Double", "aten::mul", "aten::sum"]
    assert found[0].input_shapes == [[], []]
    assert found[0].structured_input_shapes[0] == [[2], [2]]
    assert found[3].cpu_parent is found[2]
    assert ENGINE + "DoubleBackward" in names(found)


def test_transforms_show_what_is_really_run() -> None:
    with profile() as prof:
        torch.vmap(torch.dot)(torch.ones(4, 3), torch.ones(4, 3))
        torch.func.grad(torch.sin)(torch.tensor(1.0))
    seen = names(prof.function_events)
    assert "aten::bmm" in seen or "aten::mul" in seen
    assert "aten::dot" not in seen
    assert ENGINE + "SinBackward0" in seen


def test_blocks() -> None:
    @record_function("thrice")
    def thrice(n: int) -> Any:
        return torch.ones(1) * 3 if n == 0 else thrice(n - 1)

    with profile() as prof, record_function("outer"):
        thrice(1)
    found = prof.function_events
    assert names(found) == ["outer", "thrice", "aten::mul"]  # a call alone in one of its name is part of it
    assert [e.is_user_annotation for e in found] == [True, True, False]
    assert found[1].cpu_parent is found[0]
    thrice(2)  # without a profile it is the function
    with pytest.raises(RuntimeError, match="Expected a value of type 'str' for argument 'name'"), record_function(3):
        pass


def test_a_block_left_by_an_exception_ends() -> None:
    with pytest.raises(ZeroDivisionError), profile() as prof, record_function("outer"):
        with record_function("inner"):
            torch.ones(1).exp()
            raise ZeroDivisionError
    assert names(prof.function_events) == ["outer", "inner", "aten::exp"]
    assert state.interposed == state.profiling == 0
    assert local.recorder is None


def test_memory() -> None:
    with profile(profile_memory=True) as prof:
        a = torch.ones(1000).exp()
        b = a[10:]
        a.add_(1)
        del a, b
        with record_function("kept"):
            c = torch.zeros(500) + 1
    found = {e.name: e for e in prof.function_events}
    assert found["aten::exp"].cpu_memory_usage == 4000
    assert found["aten::slice"].cpu_memory_usage == found["aten::add_"].cpu_memory_usage == 0
    assert found["[memory]"].cpu_memory_usage == -4000
    assert found["kept"].cpu_memory_usage == 2000
    assert found["kept"].self_cpu_memory_usage == 0
    assert "CPU Mem  Self CPU Mem" in prof.key_averages().table()
    del c


def test_flops() -> None:
    with profile(with_flops=True) as prof:
        torch.ones(20, 30) @ torch.ones(30, 40)
        nn.functional.conv2d(torch.ones(2, 3, 8, 8), torch.ones(4, 3, 3, 3))
        torch.ones(3, 4, 5).bmm(torch.ones(3, 5, 6))
        torch.ones(100) + 1
    counts = {e.name: e.flops for e in prof.function_events if e.flops}
    assert counts == {"aten::mm": 48000, "aten::convolution": 15552, "aten::bmm": 720, "aten::add": 100}
    assert "Total FLOPs" in prof.key_averages().table()


def test_lines(tmp_path: Path) -> None:
    x = torch.ones(2, requires_grad=True)
    with profile(with_stack=True) as prof:
        y = x.exp()  # the line that counts
        y.sum().backward()
    found = {e.name: e for e in prof.function_events}
    line = found["aten::exp"].stack[0]
    assert line.startswith(__file__)
    assert line.endswith("): test_lines")
    assert found["ExpBackward0"].stack == found["aten::exp"].stack
    assert found["aten::mul"].stack == found["aten::exp"].stack  # what the derivative runs
    assert "Source Location" in prof.key_averages(group_by_stack_n=1).table()
    path = tmp_path / "stacks"
    found["aten::exp"].time_range.end += 5
    prof.export_stacks(str(path))
    assert any(text.split(" ")[0].endswith("test_lines") for text in path.read_text().splitlines())
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(path), "size")
    with pytest.raises(AssertionError, match=r"export_stacks\(\) requires with_stack=True"):
        profile().export_stacks(str(path))


def test_modules_optimisers_and_loaders() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2, 2)), batch_size=2)
    with profiler.profile(with_modules=True) as prof:
        for (x,) in data:
            net(x).sum().backward()
            optimiser.step()
            optimiser.zero_grad()
    top = [n for n in names([e for e in prof.events() if e.cpu_parent is None]) if not n.startswith(ENGINE)]
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert [n for n in top if not n.startswith("aten::")] == [
        loader,
        "nn.Module: Sequential_0",
        "Optimizer.step#SGD.step",
        "Optimizer.zero_grad#SGD.zero_grad",
        loader,
    ]
    sequential = next(e for e in prof.events() if e.name == "nn.Module: Sequential_0")
    assert [e.name for e in sequential.cpu_children] == [
        "nn.Module: Linear_0",
        "nn.Module: Tanh_0",
        "nn.Module: Linear_1",
    ]
    with profile() as plain:
        net(torch.ones(1, 2))
    assert not any(n.startswith("nn.Module") for n in names(plain.function_events))


# ---------------------------------------------------------------- files
def test_chrome_trace(tmp_path: Path) -> None:
    x = torch.ones(3, 2, requires_grad=True)
    with profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        with record_function("forward"):
            loss = (x.exp() * 2).sum()
        loss.backward()
    prof.add_metadata("note", "text")
    prof.add_metadata_json("numbers", "[1, 2]")
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    trace = json.loads(path.read_text())
    assert trace["schemaVersion"] == 1
    assert (trace["record_shapes"], trace["profile_memory"], trace["with_stack"]) == (1, 1, 1)
    assert (trace["note"], trace["numbers"]) == ("text", [1, 2])
    spans = {e["name"]: e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] in ("cpu_op", "user_annotation")}
    assert spans["forward"]["cat"] == "user_annotation"
    exp, block, node = spans["aten::exp"], spans["forward"], spans["ExpBackward0"]
    assert exp["args"]["Input Dims"] == [[3, 2]]
    assert exp["args"]["Input Strides"] == [[2, 1]]
    assert exp["args"]["Input type"] == ["float"]
    assert spans["aten::sum"]["args"]["Sequence number"] == spans["SumBackward0"]["args"]["Sequence number"]
    assert block["ts"] <= exp["ts"] and exp["ts"] + exp["dur"] <= block["ts"] + block["dur"] + 1e-3
    assert exp["tid"] == node["tid"] == threading.get_native_id()
    arrows = [e for e in trace["traceEvents"] if e.get("cat") == "fwdbwd"]
    starts = {e["id"]: e["ts"] for e in arrows if e["ph"] == "s"}
    ends = {e["id"]: e["ts"] for e in arrows if e["ph"] == "f"}
    assert starts.keys() == ends.keys() and len(starts) == 3
    assert exp["ts"] in starts.values() and node["ts"] in ends.values()
    memory = [e["args"] for e in trace["traceEvents"] if e["name"] == "[memory]"]
    assert memory[0]["Bytes"] == 24 and memory[0]["Total Allocated"] == 24
    packed = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(str(packed))
    with gzip.open(packed, "rt") as file:
        assert len(json.load(file)["traceEvents"]) == len(trace["traceEvents"])
    prof.events().export_chrome_trace(str(path))
    assert [e["name"] for e in json.loads(path.read_text())] == names(prof.events())


def test_a_handler_for_tensorboard(tmp_path: Path) -> None:
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path / "logs"), "me")):
        torch.ones(1).exp()
    (found,) = (tmp_path / "logs").iterdir()
    assert found.name.startswith("me.") and found.name.endswith(".pt.trace.json")
    assert "aten::exp" in found.read_text()


# ---------------------------------------------------------------- steps
def test_schedules() -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    none, warm, record, save = ProfilerAction
    cycle = [none, warm, record, save]
    assert [plan(k) for k in range(11)] == [none, *cycle, *cycle, none, none]
    early = schedule(wait=3, warmup=1, active=1, skip_first_wait=1)
    assert [early(k) for k in range(4)] == [warm, save, none, none]
    with pytest.raises(AssertionError, match=r"Step must be non-negative. Got -1\."):
        plan(-1)
    with pytest.raises(AssertionError, match=r"active=0 \(need > 0\)"):
        schedule(wait=0, warmup=1, active=0)
    with pytest.warns(UserWarning, match="Profiler won't be using warmup"):
        schedule(wait=0, warmup=0, active=1)


def test_cycles() -> None:
    seen = []

    def ready(prof: Any) -> None:
        seen.append((prof.step_num, [e.trace_name for e in prof.events()]))

    with (
        pytest.warns(UserWarning, match="Profiler clears events at the end of each cycle"),
        profiler.profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof,
    ):
        for _ in range(9):
            torch.ones(2).exp()
            prof.step()
    assert seen == [
        (4, ["ProfilerStep#2", "aten::exp", "ProfilerStep#3", "aten::exp"]),
        (8, ["ProfilerStep#6", "aten::exp", "ProfilerStep#7", "aten::exp"]),
    ]
    assert [e.key for e in prof.key_averages()] == ["ProfilerStep*", "aten::exp"]
    with profiler.profile(schedule=schedule(wait=0, warmup=1, active=1), acc_events=True) as kept:
        for _ in range(6):
            torch.ones(2).exp()
            kept.step()
    assert [e.trace_name for e in kept.events() if e.name == "ProfilerStep*"] == [
        f"ProfilerStep#{k}" for k in (1, 3, 5)
    ]


def test_schedules_that_lose_steps_warn() -> None:
    none, warm, record, _ = ProfilerAction
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with profiler.profile(schedule=lambda k: [warm, none, record, none][min(k, 3)]) as prof:
            for _ in range(4):
                prof.step()
    assert [str(w.message) for w in found if "Incorrect" in str(w.message)] == [
        "Incorrect schedule: WARMUP followed by NONE",
        "Incorrect schedule: RECORD followed by NONE",
    ]


# ---------------------------------------------------------------- on and off
def test_misuse() -> None:
    fresh = profile()
    assert str(fresh) == repr(fresh) == "<unfinished torch.autograd.profile>"
    assert fresh.function_events == []
    assert fresh.table() == ""
    with fresh, pytest.raises(RuntimeError, match="Profiler is already enabled on this thread"), profile():
        pass
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"), fresh:
        pass
    with profile(enabled=False) as nothing:
        torch.ones(1).exp()
    assert nothing is None
    with pytest.raises(AssertionError, match="Profiler must be initialized before accessing events"):
        profiler.profile().events()
    with pytest.raises(AssertionError, match="Profiler must be initialized before stopping trace"):
        profiler.profile().stop()
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profiler.profile(activities=[])
    with pytest.raises(ValueError, match=r"Activity ProfilerActivity\.CPU specified more than once"):
        profiler.profile(activities=[ProfilerActivity.CPU] * 2)
    assert profiler.supported_activities() == {ProfilerActivity.CPU}
    with profiler.profile(activities=[ProfilerActivity.CUDA]) as nothing_seen:
        torch.ones(1).exp()
    assert nothing_seen.events() == []


def test_collection_can_pause() -> None:
    with profiler.profile() as prof:
        torch.ones(1).exp()
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        torch.ones(1).sin()
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        torch.ones(1).cos()
    assert names(prof.events()) == ["aten::exp", "aten::cos"]
    assert state.interposed == state.profiling == 0


def test_other_threads_are_not_seen() -> None:
    x = torch.ones(2, requires_grad=True)

    def work() -> None:
        x.exp().sum().backward()

    with profile() as prof:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        x.sin()
    assert names(prof.function_events) == ["aten::sin"]
    assert x.grad is not None


def test_nothing_changes_while_it_watches() -> None:
    def run() -> list[Any]:
        torch.manual_seed(3)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.LSTM(8, 3, batch_first=True))
        x = torch.randn(2, 5, 4, requires_grad=True)
        out, _ = net(x)
        order: list[str] = []
        for name, parameter in net.named_parameters():
            parameter.register_hook(lambda g, name=name: order.append(name))
        out.pow(2).mean().backward()
        more = [torch.rand(3), torch.randperm(5), torch.bernoulli(torch.full((4,), 0.5)), torch.normal(0.0, 1.0, (3,))]
        return [[p.grad.tolist() for p in net.parameters()], x.grad.tolist(), order, [m.tolist() for m in more]]

    before = run()
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        watched = run()
    assert watched == before
    assert "aten::lstm" in names(prof.function_events)  # the fused layer is still the fused layer


def test_switched_on_or_off_inside_a_backward() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    prof = profile()
    y = a * b
    y.register_hook(lambda grad: prof.__enter__() and None)
    y.sum().backward()
    prof.__exit__(None, None, None)
    assert a.grad.tolist() == b.grad.tolist() == [1, 1]
    other = profile()
    z = (a * b).exp()
    z.register_hook(lambda grad: other.__exit__(None, None, None))
    with other:
        z.sum().backward()
    assert a.grad.tolist() == pytest.approx([1 + 2.7182817] * 2)
    assert state.interposed == state.profiling == 0
