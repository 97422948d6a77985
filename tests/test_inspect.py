"""inspect: why a gradient is missing, the tape as text, what is alive, where nan comes from."""

from __future__ import annotations

import contextlib
import doctest
import gc
import re
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from samples import everything
from test_table import function_of, to_tensors

import livetape as torch
from livetape import nn
from livetape._tape.modes import state
from livetape.autograd import Function
from livetape.autograd.anomaly_mode import is_anomaly_enabled
from livetape.inspect import (
    audit,
    explain_grad,
    graph_svg,
    graph_text,
    live_graphs,
    memory_report,
    nan_trace,
    nan_trace_backward,
    record_lines,
)
from livetape.inspect.tape import Tape, edge_to, shapes_of


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def lines_of(report: Any) -> list[str]:
    return str(report).splitlines()


def evidence(report: Any) -> str:
    return lines_of(report)[1].strip()


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Square.calls += 1
        return None

    calls = 0


# ---------------------------------------------------------------- explain_grad: None
def test_integers_and_frozen_tensors() -> None:
    assert explain_grad(torch.arange(3)).reason == "dtype"
    assert "torch.int64 has no gradients" in explain_grad(torch.arange(3))
    assert explain_grad(torch.ones(2)).reason == "requires_grad is False"
    assert explain_grad(nn.Parameter(torch.ones(2), requires_grad=False)).reason == "frozen"
    with torch.inference_mode():
        made = torch.ones(2) * 2
    assert explain_grad(made).reason == "inference_mode"


def test_a_result_is_no_leaf_unless_it_retains_its_gradient() -> None:
    x = leaf(1.0, 2.0)
    h = x * 2
    report = explain_grad(h, h.sum())
    assert report.reason == "non-leaf"
    assert "the result of MulBackward0" in report and "retain_grad()" in report
    h.retain_grad()
    assert explain_grad(h, h.exp().sum()).reason == "no backward"
    assert "the loss does not depend on it" in explain_grad(x * 3, (x * x).sum())


def test_a_twin_of_a_result_was_detached() -> None:
    h = leaf(1.0, 2.0) * 2
    assert "as detach() gives it" in explain_grad(h.detach())
    assert "as .data, numpy() or from_numpy() gives it" in explain_grad(h.data)
    assert evidence(explain_grad(h.detach())).startswith("it shares its memory with the result [2] of MulBackward0")


def test_no_backward_yet_and_gone_since() -> None:
    x = leaf(1.0, 2.0)
    loss = x.exp().sum()
    assert explain_grad(x, loss).reason == "no backward"
    assert explain_grad(x).reason == "no backward"  # the loss is found
    loss.backward()
    assert explain_grad(x, loss).reason == "ok"
    x.grad = None
    report = explain_grad(x, loss)
    assert report.reason == "gradient gone"
    assert "2 nodes, 1 of them freed" in report


def test_a_graph_that_saves_nothing_does_not_tell() -> None:
    x = leaf(1.0)
    report = explain_grad(x, x + 1)
    assert report.reason == "no backward"
    assert "save nothing, so the tape does not show which" in report


def test_a_function_that_returned_none_is_named() -> None:
    x = leaf(1.0)
    loss = Square.apply(x).sum()
    loss.backward()
    assert "SquareBackward returned None for it" in explain_grad(x, loss)


def test_detached_between_two_nodes() -> None:
    w, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with record_lines():
        h = (w * 3).relu()
        loss = (h.detach() * b).sum()
    report = explain_grad(w, loss)
    assert report.reason == "detached"
    used, made, cut = re.findall(r"test_inspect\.py:(\d+)", str(report))
    assert "MulBackward0" in report and "the result of ReluBackward0" in report
    assert int(made) + 1 == int(used) == int(cut)


def test_the_mark_that_detach_leaves_is_shown_where_the_rest_is_gone() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(2, 3), nn.Linear(3, 1)

        def forward(self, x: Any) -> Any:
            return self.two(self.one(x).detach())

    net = Net()
    loss = net(torch.ones(4, 2)).sum()
    report = explain_grad(net.one.weight, loss, net)
    assert report.reason == "unused"
    assert "no live node uses it" in report
    assert "depends on 2 leaves: two.weight [1, 3] and two.bias [1]" in report
    assert "looks detached (it shares its version counter) enters at AddmmBackward0 (its mat1, [4, 3])" in report
    loss.backward()
    assert "backward() has freed what the nodes saved" in explain_grad(net.one.weight, loss, net)


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (lambda w: w.detach(), "as detach() gives it"),
        (lambda w: w.data, "as .data or numpy() gives it"),
        (lambda w: w.detach().requires_grad_(), "a detached twin of it"),
    ],
)
def test_the_memory_of_a_leaf_without_its_history(cut: Any, words: str) -> None:
    w, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    report = explain_grad(w, (cut(w) * b).sum())
    assert report.reason == "detached"
    assert words in report


def test_a_view_made_under_no_grad() -> None:
    w = leaf(1.0, 2.0)
    with torch.no_grad():
        view = w.view(2)
    found = explain_grad(w, view.exp().sum())
    assert "there is a view of it made under no_grad()" in found and found.reason == "detached"
    assert "it is a view made under no_grad()" in explain_grad(view, view.exp().sum())
    view.requires_grad_()
    assert "another leaf with the same memory: a view that was told to require grad" in explain_grad(
        w, view.exp().sum()
    )


def test_used_as_a_constant() -> None:
    w, b = torch.ones(2), leaf(3.0, 4.0)
    loss = (w * b).sum()
    w.requires_grad_()
    assert evidence(explain_grad(w, loss)) == "MulBackward0 used it as a constant: it did not require grad then"


def test_a_loss_that_is_not_on_the_tape() -> None:
    w = leaf(1.0)
    with torch.no_grad():
        loss = (w * 2).sum()
    assert explain_grad(w, loss).reason == "loss not recorded"
    assert explain_grad(w).reason == "unused"
    with pytest.raises(TypeError, match="expected a tensor"):
        explain_grad(w, 3.0)


def test_another_live_tape_uses_it() -> None:
    w, b = leaf(1.0), leaf(2.0)
    other = (w * 2).exp()
    assert "another live tape uses it, which ends at ExpBackward0" in explain_grad(w, b.exp())
    del other


def test_what_a_reentrant_checkpoint_hides() -> None:
    from livetape.utils.checkpoint import checkpoint

    layer = nn.Linear(1, 1)
    loss = checkpoint(layer, leaf(1.0), use_reentrant=True).sum()
    assert "CheckpointFunctionBackward hides what is inside" in explain_grad(layer.weight, loss)


# ---------------------------------------------------------------- explain_grad: zero and nan
def zero_of(fn: Any, *values: float) -> Any:
    x = leaf(*values)
    loss = fn(x).sum()
    loss.backward(retain_graph=True)
    return explain_grad(x, loss)


@pytest.mark.parametrize(
    ("fn", "values", "node", "next"),
    [
        (lambda x: (x * 2).relu() * 3, (-1.0, -2.0), "ReluBackward0", "dead ReLU"),
        (lambda x: x.clamp(0, 1), (5.0, 7.0), "ClampBackward1", "outside of its bounds"),
        (lambda x: torch.where(torch.tensor([False, False]), x, 1.0), (1.0, 2.0), "WhereBackward0", "other branch"),
        (
            lambda x: x.masked_fill(torch.tensor([True, True]), 0.0),
            (1.0, 2.0),
            "MaskedFillBackward0",
            "the mask covers",
        ),
        (lambda x: x.round(), (1.0, 2.0), "RoundBackward0", "straight-through"),
        (lambda x: x * torch.zeros(2), (1.0, 2.0), "MulBackward0", "the other factor is 0"),
        (lambda x: (x * 1e4).sigmoid(), (1.0, 2.0), "SigmoidBackward0", "saturated"),
        (lambda x: (x * 1).zero_(), (1.0, 2.0), "ZeroBackward0", "overwrites its input"),
    ],
)
def test_zero_gradients_are_followed_to_the_operation(fn: Any, values: Any, node: str, next: str) -> None:
    report = zero_of(fn, *values)
    assert report.reason == "zero"
    assert evidence(report).startswith(f"{node} got a gradient and handed on 0")
    assert next in report


def test_zero_by_cancelling_and_by_what_came_later() -> None:
    report = zero_of(lambda x: x * 2 - x - x, 1.0, 2.0)
    assert "add up to 0" in report
    x = leaf(1.0)
    loss = x.exp().sum()
    loss.backward(retain_graph=True)
    x.grad.zero_()
    assert "this loss gives it a gradient that is not 0" in explain_grad(x, loss)


def test_a_freed_graph_cannot_tell_but_names_the_gates() -> None:
    x = leaf(-1.0)
    loss = (x * 2).relu().sum()
    loss.backward()
    report = explain_grad(x, loss)
    assert "backward() has freed the saved values" in report
    assert "what may have stopped it: ReluBackward0" in report
    assert "retain_graph=True" in report


def test_nan_behind_a_mask() -> None:
    report = zero_of(lambda x: torch.where(x > 0, x.sqrt(), 0.0), 0.0, 1.0)
    assert report.reason == "not finite"
    assert lines_of(report)[0] == ".grad is 0.5, with 1 nan in 2"
    assert evidence(report).startswith(
        "SqrtBackward0 got a finite gradient and handed on nan or inf: result [2] is 0 to 1"
    )
    assert "0 times an infinite slope" in report


def test_nan_of_an_earlier_backward_and_of_the_loss() -> None:
    x = leaf(1.0)
    loss = x.exp().sum()
    x.grad = torch.tensor([float("nan")])
    assert "an earlier backward()" in explain_grad(x, loss)
    loss = (x - 1).log().sum() * 0
    assert "the loss is all nan already" in explain_grad(x, loss)


def test_nothing_is_changed_and_no_code_of_the_program_runs() -> None:
    x = leaf(-1.0, 2.0)
    called: list[Any] = []
    h = x * 0
    h.register_hook(called.append)
    loss = h.exp().sum()
    loss.backward(retain_graph=True)
    before, sequence = list(called), loss.grad_fn._sequence_nr()
    report = explain_grad(x, loss)
    assert evidence(report) == "MulBackward0 got a gradient and handed on 0: other is 0"
    assert called == before and x.grad.tolist() == [0.0, 0.0] and loss.grad_fn._sequence_nr() == sequence
    loss.backward()  # nothing was freed

    x = leaf(0.0)
    loss = Square.apply(x).sum()
    x.grad = torch.zeros(1)
    calls = Square.calls
    assert "SquareBackward is a Function, whose backward is not run for this" in explain_grad(x, loss)
    assert Square.calls == calls


def test_packed_values_are_left_alone() -> None:
    x = leaf(-1.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: pytest.fail("unpacked")):
        loss = x.relu().sum()
    x.grad = torch.zeros(1)
    assert "saved-tensor hooks keep the values of ReluBackward0" in explain_grad(x, loss)
    assert "packed by hooks" not in graph_text(loss)  # a tensor that a hook made has bytes to show
    assert nan_trace(loss).reason == "finite"


def test_recurrent_layers_are_replayed() -> None:
    net = nn.LSTM(2, 3)
    loss = net(torch.ones(2, 1, 2))[0].sum() * 0
    loss.backward(retain_graph=True)
    assert evidence(explain_grad(net.weight_ih_l0, loss)) == "MulBackward0 got a gradient and handed on 0: other is 0"


# ---------------------------------------------------------------- audit
def test_audit_has_a_line_for_each_parameter() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.dead, self.spare = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)
            self.scale = nn.Parameter(torch.ones(1), requires_grad=False)

        def forward(self, x: Any) -> Any:
            return self.used(x) + self.dead(x).clamp(min=100.0) * self.scale

    net = Net()
    loss = net(torch.ones(1, 2)).sum()
    loss.backward(retain_graph=True)
    report = audit(net, loss)
    rows = {line.split()[0]: line for line in lines_of(report)[:7]}
    assert list(rows) == [name for name, _ in net.named_parameters()]
    assert rows["used.weight"].split()[3:5] == ["ok", "norm"]
    assert "zero    ClampBackward1 got a gradient and handed on 0" in rows["dead.bias"]
    assert rows["spare.weight"].endswith("None    not on any path to the loss; no live node uses it")
    assert rows["scale"].endswith("frozen  requires_grad is False")
    assert "2 parameters have a finite gradient, 4 have none or a bad one, 1 is frozen" in report
    assert str(audit(dict(net.named_parameters()), loss)) == str(report)
    assert lines_of(audit(net))[0].startswith(
        "for AddBackward0" if "AddBackward0" in audit(net) else "for SumBackward0"
    )


def test_audit_without_a_backward() -> None:
    net = nn.Linear(2, 1)
    assert audit(net).reason == "unused"
    loss = net(torch.ones(3, 2)).pow(2).sum()
    assert audit(net, loss).reason == "no backward"
    loss.backward()
    assert audit(net, loss).reason == "ok"


# ---------------------------------------------------------------- graph_text
def test_graph_text_of_a_network() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    loss = net(torch.ones(2, 3)).pow(2).mean()
    assert lines_of(graph_text(loss, net)) == [
        "MeanBackward0 []",
        "PowBackward0 [2, 1], saves self 8 B",
        "AddmmBackward0 [2, 1], saves mat2 (a view of a leaf), mat1 32 B",
        "├─ self = leaf 2.bias [1]",
        "├─ mat2 = TBackward0 [4, 1]",
        "│  leaf 2.weight [1, 4]",
        "ReluBackward0 [2, 4], saves result 32 B",
        "AddmmBackward0 [2, 4], saves mat1 24 B",
        "├─ self = leaf 0.bias [4]",
        "TBackward0 [3, 4]",
        "leaf 0.weight [4, 3]",
        "7 nodes, 4 leaves, 64 B saved",
    ]


def test_shared_nodes_are_shown_once() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = x * w
    text = lines_of(graph_text(h.exp() + h, {"x": x, "w": w}))
    assert text == [
        "AddBackward0 [2]",
        "├─ other = #1 MulBackward0 [2], shown below",
        "ExpBackward0 [2], saves result 8 B",
        "#1 MulBackward0 [2], saves other (is w), self (is x)",
        "├─ self = leaf x [2]",
        "└─ other = leaf w [2]",
        "3 nodes, 2 leaves, 8 B saved",
    ]


def test_several_outputs_hooks_changes_in_place_and_freed_nodes() -> None:
    x = leaf(1.0, 2.0, 3.0, 4.0)
    part = x.split(2)[1]
    assert lines_of(graph_text(part))[0] == "output 1 of SplitBackward0 [2]"
    base = x * 1
    base[0] = leaf(5.0).sum()
    text = lines_of(graph_text(base))
    assert text[:3] == ["CopySlices [4]", "├─ SumBackward0 []", "│  leaf (1) [1]"]
    y = x.exp()
    y.register_hook(lambda g: g)
    assert "has hooks" in graph_text(y)
    y.sum().backward()
    assert "ExpBackward0 [4], freed, has hooks" in graph_text(y)
    assert lines_of(graph_text(y.grad_fn))[0].startswith("ExpBackward0")
    assert lines_of(graph_text(x)) == ["leaf (1) [4]", "0 nodes, 1 leaf, 0 B saved"]
    assert "nothing is recorded" in graph_text(torch.ones(2))


class Shapes:
    """Stands in anomaly mode's place, and notes the shape of every gradient that a node receives."""

    def __init__(self) -> None:
        self.seen: dict[tuple[int, int], Any] = {}

    def note(self, node: Any, frame: Any) -> None:
        pass

    def guard(self, walk: Any, node: Any, slot: Any) -> None:
        for nr, grad in enumerate([slot.grad] if slot.grads is None else slot.grads):
            if grad is not None:
                self.seen[id(node), nr] = tuple(grad.shape)
        walk.evaluate(node, slot)

    def look(self, node: Any, grads: Any) -> None:
        pass


@pytest.mark.filterwarnings("ignore")
def test_shapes_that_are_found_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    known = wrong = total = 0
    for sample in everything()[::7]:
        arguments = [to_tensors(a, True) for a in sample.args]
        given = [leaf * 1 if isinstance(leaf, torch.Tensor) and leaf.requires_grad else leaf for leaf in arguments]
        made = function_of(sample)(*given, **{name: to_tensors(a, True) for name, a in sample.kwargs.items()})
        results = [one for one in (made if isinstance(made, tuple) else [made]) if isinstance(one, torch.Tensor)]
        loss = sum(one.abs().sum() for one in results if one.requires_grad)
        if not isinstance(loss, torch.Tensor):
            continue
        shapes = shapes_of(Tape(edge_to(loss)), loss)
        watch = Shapes()
        monkeypatch.setattr(state, "anomaly", watch)
        with contextlib.suppress(RuntimeError):  # some derivatives do not exist
            loss.backward()
        monkeypatch.setattr(state, "anomaly", None)
        total += len(watch.seen)
        known += sum(key in shapes for key in watch.seen)
        wrong += sum(shapes.get(key, shape) != shape for key, shape in watch.seen.items())
    assert wrong == 0 and known > 0.9 * total > 900


def test_limits_and_lines() -> None:
    x = leaf(1.0)
    with record_lines():
        y = x.exp().log().sin()
    assert re.search(r"SinBackward0 \[1\], saves self 4 B  \S*test_inspect\.py:\d+$", lines_of(graph_text(y))[0])
    assert lines_of(graph_text(y, depth=2))[2:4] == ["ExpBackward0 [1] ...", "... and 1 more node"]
    assert lines_of(graph_text(y, limit=1))[1] == "... and 2 more nodes"


def deep(x: Any, count: int) -> Any:
    for _ in range(count):
        x = x * 1.0
    return x


def test_deep_graphs() -> None:
    x = leaf(1.0)
    y = deep(x, 100_000)
    assert lines_of(graph_text(y, limit=3))[3:] == ["... and 99,997 more nodes", "100,000 nodes, 1 leaf, 0 B saved"]
    y = deep(x, 5_000)
    assert "5,000 nodes" in memory_report(100)
    assert explain_grad(x, y).reason == "no backward"
    assert nan_trace(y * float("inf")).reason == "found"
    loss = y * 0
    loss.backward(retain_graph=True)
    assert "MulBackward0 got a gradient and handed on 0" in explain_grad(x, loss)


def test_long_sums_stay_narrow() -> None:
    x = leaf(1.0)
    total = x.sum()
    for _ in range(1_000):
        total = total + x.sum()
    assert max(len(line) for line in lines_of(graph_text(total, limit=4_000))) < 60


def test_graph_svg(tmp_path: Path) -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = x * w
    picture = graph_svg(h.exp().sin() + h, {"x": x, "w": w})
    picture.save(tmp_path / "graph.svg")
    svg = ElementTree.parse(tmp_path / "graph.svg").getroot()
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("MulBackward0") == 1 and {"x", "w", "[2]"} <= set(texts)
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}path"))) == 8  # six edges, one of them with two bends
    assert "4,995 older nodes not drawn" in str(graph_svg(deep(x, 5_000), limit=5))
    assert picture._repr_svg_() == str(picture)
    with pytest.raises(ValueError, match="nothing to draw"):
        graph_svg(torch.ones(1))


# ---------------------------------------------------------------- memory_report
def test_running_loss_shows_up() -> None:
    gc.collect()
    w = torch.ones(1000, requires_grad=True)
    running_loss = torch.zeros(())
    for step in range(5):
        loss = (w * (step + 1)).exp().sum()
        loss.backward()
        running_loss += loss
    report = str(memory_report(100))
    line = next(line for line in report.splitlines() if "running_loss" in line)
    assert (
        "AddBackward0 [], 20 nodes, 10 freed by backward(); held by running_loss in test_running_loss_shows_up()"
        in line
    )
    assert "a sum of 5 results of separate forward passes through the same leaves: total += loss.item()" in report


def test_a_sum_of_terms_of_one_step_is_no_running_loss() -> None:
    gc.collect()
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    penalty = sum((p * p).sum() for p in net.parameters())
    assert "penalty" in str(memory_report(100)) and "separate forward passes" not in memory_report(100)
    del penalty


def test_graphs_by_bytes_and_holder() -> None:
    gc.collect()
    w = torch.ones(50_000, requires_grad=True)
    kept = [(w * 2).exp().sum() for _ in range(4)]

    class Trainer:
        pass

    trainer = Trainer()
    trainer.state = {"hidden": w.exp().exp()}  # type: ignore[attr-defined]
    graphs = [graph for graph in live_graphs() if graph.bytes >= 200_000]
    assert [(graph.nodes, graph.bytes) for graph in graphs] == [(2, 400_000)] + [(3, 200_000)] * 4
    del graphs
    report = memory_report(100)
    assert (
        "781.2 KiB  in 4 graphs alike: SumBackward0 [], 3 nodes each; held by kept (a list of 4) in test_graphs"
        in report
    )
    assert "'hidden' of a dict" in report
    w.grad = None
    kept.clear()
    trainer.state = None  # type: ignore[attr-defined]
    assert not [graph for graph in live_graphs() if graph.bytes >= 200_000]


def test_a_gradient_with_a_graph_is_held_by_its_leaf() -> None:
    gc.collect()
    w = torch.ones(30_000, requires_grad=True)
    with warnings.catch_warnings(action="ignore"):
        (w**3).sum().backward(create_graph=True)
    assert "w.grad in test_a_gradient_with" in memory_report(100)
    w.grad = None


# ---------------------------------------------------------------- nan_trace
def test_the_first_operation_with_finite_inputs() -> None:
    x = leaf(-1.0, 2.0)
    with record_lines():
        y = x.log() * x
    report = nan_trace(y.sum(), {"x": x})
    assert report.reason == "found"
    assert re.match(
        r"LogBackward0 \(\S*\.py:\d+\) made it; its inputs are finite: self \(x\) \[2\] is -1 to 2", evidence(report)
    )


def test_what_was_not_saved_is_said() -> None:
    x = leaf(-1.0, 2.0)
    y = (x.log() * 2).sum()
    report = nan_trace(y)
    assert report.reason == "not saved"
    assert evidence(report) == "not saved: the results of LogBackward0 and MulBackward0"
    y.backward()
    assert "backward() has freed what the nodes saved" in nan_trace(y)


def test_results_that_are_alive_are_used() -> None:
    x = leaf(100.0, 2.0)
    hidden = x * 2
    big = hidden.exp()
    report = nan_trace((big * 2).sum())
    assert report.reason == "found"
    assert evidence(report) == "ExpBackward0 made it; its inputs are finite: self [2] is 4 to 200"
    big = hidden = None


def test_values_from_outside() -> None:
    x = leaf(1.0, 2.0)
    data = torch.tensor([float("nan"), 1.0])
    assert evidence(nan_trace((x * data).sum())).startswith(
        "MulBackward0 was given it from outside of the tape: other [2]"
    )
    bad = leaf(1.0, float("inf"))
    assert evidence(nan_trace((x * bad).sum(), {"bad": bad})) == "the leaf bad [2] is 1, with 1 inf in 2"
    assert nan_trace(bad).reason == "leaf"
    assert nan_trace(data).reason == "not recorded"
    assert nan_trace(x).reason == "finite"


def test_the_node_whose_backward_made_nan() -> None:
    x = leaf(0.0, 4.0)
    with nan_trace_backward() as trace:
        torch.where(x > 0, x.sqrt(), 0.0).sum().backward()
    assert trace.reason == "nan"
    assert re.match(
        r"SqrtBackward0 \(\S*test_inspect\.py:\d+\) got a finite gradient and made 1 nan of it\n", str(trace)
    )
    assert "result [2] is 0 to 2, with 1 zero in 2" in str(trace) and "f(where(mask, x, safe))" in str(trace)
    assert not is_anomaly_enabled() and torch.isnan(x.grad).tolist() == [True, False]


def test_inf_comes_before_nan() -> None:
    x = leaf(0.0, 4.0)
    with nan_trace_backward() as trace:
        (x * 0).sqrt().sum().backward()
    assert str(trace).startswith("MulBackward0") and "got a gradient with inf and made 2 nan of it" in str(trace)
    assert "before that, SqrtBackward0" in str(trace)


def test_backwards_without_nan() -> None:
    x = leaf(1.0)
    with nan_trace_backward() as trace:
        pass
    assert (trace.reason, str(trace)) == ("no backward", "no backward() ran")
    with nan_trace_backward() as trace:
        x.exp().sum().backward()
    assert (trace.reason, str(trace)) == ("finite", "2 nodes ran, and all gradients are finite")
    with nan_trace_backward() as trace:
        x.exp().backward(torch.tensor([float("nan")]))
    assert trace.reason == "nan given"


def test_beside_anomaly_mode() -> None:
    x = leaf(0.0)
    with torch.autograd.set_detect_anomaly(True), nan_trace_backward() as trace:
        y = (x.sqrt() * 0).sum()
        with (
            pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
            pytest.raises(RuntimeError, match="nan"),
        ):
            y.backward()
        assert is_anomaly_enabled()
    assert trace.reason == "nan"


# ---------------------------------------------------------------- the guide
def test_the_guide() -> None:
    guide = Path(__file__).parent.parent / "docs" / "inspect.md"
    failed, tried = doctest.testfile(
        str(guide), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert tried > 10 and not failed
