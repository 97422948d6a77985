"""Event files for TensorBoard, where tensorboardX is installed; what is said where it is not."""

from __future__ import annotations

import importlib.util
import sys

import pytest

import livetape as torch

HAS_IT = importlib.util.find_spec("tensorboardX") is not None
needed = pytest.mark.skipif(not HAS_IT, reason="needs tensorboardX")


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.delitem(sys.modules, "livetape.utils.tensorboard", raising=False)
    monkeypatch.delitem(vars(torch.utils), "tensorboard", raising=False)
    with pytest.raises(ImportError, match=r"needs the library tensorboardX: pip install 'livetape\[tensorboard\]'"):
        torch.utils.tensorboard  # noqa: B018


def events(folder):
    from tensorboardX.proto import event_pb2
    from tensorboardX.record_writer import RecordWriter  # noqa: F401

    (path,) = folder.glob("events*")
    data, place, found = path.read_bytes(), 0, []
    while place < len(data):
        size = int.from_bytes(data[place : place + 8], "little")
        event = event_pb2.Event()
        event.ParseFromString(data[place + 12 : place + 12 + size])
        found.append(event)
        place += 12 + size + 4
    return found


@needed
@pytest.mark.filterwarnings("ignore")
def test_what_is_written(tmp_path):
    from livetape.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        assert writer.get_logdir() == str(tmp_path)
        writer.add_scalar("loss", torch.tensor(0.5, requires_grad=True) * 2, 3)
        writer.add_scalar("half", torch.tensor(0.5, dtype=torch.bfloat16), 4)
        writer.add_histogram("weights", torch.arange(10.0), 1)
        writer.add_tensor("tensor", torch.ones(2, 3), 2)
        writer.add_text("text", "hello")
        writer.add_pr_curve("curve", torch.tensor([0, 1]), torch.tensor([0.2, 0.7]))
        writer.add_hparams({"lr": torch.tensor(0.1)}, {"accuracy": torch.tensor(0.9)}, run_name="run")
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        writer.add_graph(net, torch.ones(1, 2))
        with pytest.raises(TypeError, match="hparam_dict and metric_dict should be dictionary"):
            writer.add_hparams([], {})
    found = events(tmp_path)
    values = {value.tag: (event.step, value) for event in found for value in event.summary.value}
    assert values["loss"][0] == 3 and values["loss"][1].simple_value == 1.0
    assert values["half"][1].simple_value == 0.5
    assert values["weights"][1].histo.num == 10 and values["weights"][1].histo.sum == 45
    assert [d.size for d in values["tensor"][1].tensor.tensor_shape.dim] == [2, 3]
    from tensorboardX.proto import graph_pb2

    (graph,) = [graph_pb2.GraphDef.FromString(event.graph_def) for event in found if event.graph_def]
    nodes = {node.name: list(node.input) for node in graph.node}
    assert {"0/weight", "0/bias", "input/0", "output/0"} < set(nodes)
    assert nodes["output/0"] == ["ReluBackward0_0"] and nodes["ReluBackward0_0"] == ["AddmmBackward0_1"]
