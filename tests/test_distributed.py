"""Several processes: stores, collective operations, and training with averaged gradients."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from datetime import timedelta

import pytest

import livetape as torch
import livetape.distributed as dist
from livetape import nn
from livetape.multiprocessing import start_processes
from livetape.nn.parallel import DistributedDataParallel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")
SECONDS = timedelta(seconds=30)


def begin(rank, size, place):
    dist.init_process_group("gloo", f"file://{place}", timeout=SECONDS, world_size=size, rank=rank)


def in_processes(check, tmp_path, size=3):
    """Run ``check(rank, size)`` in processes that know each other; what one raises is raised here."""
    start_processes(_in_one, (size, str(tmp_path / "store"), check), nprocs=size, start_method="fork")


def _in_one(rank, size, place, check):
    begin(rank, size, place)
    check(rank, size)
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture
def alone(tmp_path):
    begin(0, 1, tmp_path / "store")
    yield
    dist.destroy_process_group()


# ---------------------------------------------------------------- stores


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def stores(request, tmp_path):
    """The same store twice."""
    if request.param == "hash":
        made = dist.HashStore()
        return made, made
    if request.param == "file":
        return dist.FileStore(str(tmp_path / "f")), dist.FileStore(str(tmp_path / "f"))
    if request.param == "tcp":
        first = dist.TCPStore("127.0.0.1", 0, 1, True)
        return first, dist.TCPStore("127.0.0.1", first.port)
    made = dist.HashStore()
    return dist.PrefixStore("p", made), dist.PrefixStore("p", made)


def test_stores(stores):
    one, other = stores
    one.set("a", "text")
    one.set("b", b"\x00\xff")
    assert (other.get("a"), other.get("b")) == (b"text", b"\x00\xff")
    assert (one.add("n", 3), other.add("n", 2), one.add("n", -1), other.get("n")) == (3, 5, 4, b"4")
    other.append("a", " more")
    assert one.get("a") == b"text more"
    assert one.check(["a", "b"]) and not other.check(["a", "c"])
    assert one.compare_set("c", "", "first") == other.compare_set("c", "x", "second") == b"first"
    assert other.compare_set("c", "first", "second") == one.get("c") == b"second"
    assert one.delete_key("c") and not other.delete_key("c") and not other.check(["c"])
    one.multi_set(["x", "y"], ["1", "2"])
    assert other.multi_get(["x", "y"]) == [b"1", b"2"]
    with pytest.raises(dist.DistStoreError, match="wait timeout after 20ms, keys: z"):
        other.wait(["z"], timedelta(seconds=0.02))


# ---------------------------------------------------------------- collective operations


def _collectives(rank, size):
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (rank, size, "gloo")
    mine = torch.arange(4.0) + 10 * rank

    x = mine.clone()
    dist.all_reduce(x)
    assert x.tolist() == [30.0, 33.0, 36.0, 39.0] and x._version == 1
    for op, want in (("MAX", 20), ("MIN", 0), ("PRODUCT", 0), ("AVG", 10)):
        x = mine.clone()
        dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
        assert x[0] == want, op
    for kind in (torch.bfloat16, torch.int64, torch.bool, torch.complex64):
        x = torch.ones(2, 2).to(kind).t()
        dist.all_reduce(x)
        assert x.dtype is kind and x.to(torch.float64 if kind is not torch.complex64 else kind).sum() == (
            4 if kind is torch.bool else 12
        )
    bits = torch.tensor([1 << rank])
    dist.all_reduce(bits, dist.ReduceOp.BOR)
    assert bits.item() == 7

    x = mine.clone()
    dist.broadcast(x, 1)
    assert x.tolist() == [10.0, 11.0, 12.0, 13.0]
    x = mine.clone()
    dist.reduce(x, 2)
    assert x[0] == (30 if rank == 2 else 10 * rank)

    rows = [torch.empty(4) for _ in range(size)]
    dist.all_gather(rows, mine)
    assert [row[0].item() for row in rows] == [0.0, 10.0, 20.0]
    whole = torch.empty(size * 4)
    dist.all_gather_into_tensor(whole, mine)
    assert whole[::4].tolist() == [0.0, 10.0, 20.0]
    out = [torch.empty(4) for _ in range(size)] if rank == 0 else None
    dist.gather(mine, out)
    assert rank or [row[0].item() for row in out] == [0.0, 10.0, 20.0]
    x = torch.empty(2)
    dist.scatter(x, [torch.full((2,), float(k)) for k in range(size)] if rank == 1 else None, src=1)
    assert x.tolist() == [rank, rank]

    x = torch.empty(2)
    dist.reduce_scatter(x, [torch.full((2,), float(k + rank)) for k in range(size)])
    assert x.tolist() == [3.0 * rank + 3] * 2
    x = torch.empty(2)
    dist.reduce_scatter_tensor(x, torch.arange(6.0))
    assert x.tolist() == [6.0 * rank, 6.0 * rank + 3]
    out = [torch.empty(1) for _ in range(size)]
    dist.all_to_all(out, [torch.tensor([10.0 * rank + k]) for k in range(size)])
    assert [t.item() for t in out] == [10.0 * k + rank for k in range(size)]
    x = torch.empty(3)
    dist.all_to_all_single(x, torch.arange(3.0) + 10 * rank)
    assert x.tolist() == [rank, 10.0 + rank, 20.0 + rank]

    works = []
    for _ in range(5):
        works.append((x := mine.clone(), dist.all_reduce(x, async_op=True)))
    for x, work in works:
        assert work.wait() and x[0] == 30 and work.is_completed() and work.get_future().wait()[0] is x

    # single messages: in a ring, from anybody, by tag
    x, left, right = torch.empty(1), (rank - 1) % size, (rank + 1) % size
    for work in dist.batch_isend_irecv(
        [dist.P2POp(dist.irecv, x, left), dist.P2POp(dist.isend, torch.tensor([float(rank)]), right)]
    ):
        work.wait()
    assert x.item() == left
    if rank == 0:
        seen = {dist.recv(torch.empty(1)) for _ in range(size - 1)}
        assert seen == set(range(1, size))
        first, second = torch.empty(1), torch.empty(1)
        dist.recv(second, 1, tag=2)
        dist.recv(first, 1, tag=1)
        assert (first.item(), second.item()) == (1.0, 2.0)
    else:
        dist.send(torch.zeros(1), 0)
        if rank == 1:
            dist.send(torch.tensor([1.0]), 0, tag=1)
            dist.send(torch.tensor([2.0]), 0, tag=2)

    found = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    assert found == [{"rank": k} for k in range(size)]
    found = ["a", rank] if rank == 2 else [None, None]
    dist.broadcast_object_list(found, 2)
    assert found == ["a", 2]
    dist.scatter_object_list(found, ["x", "y", "z"] if rank == 0 else None)
    assert found[0] == "xyz"[rank]
    found = [None] * size if rank == 0 else None
    dist.gather_object(str(rank), found)
    assert rank or found == ["0", "1", "2"]

    group = dist.new_group([0, 2])
    x = mine.clone()
    dist.all_reduce(x, group=group)
    if rank == 1:
        assert group == dist.GroupMember.NON_GROUP_MEMBER and x[0] == 10 and dist.get_rank(group) == -1
    else:
        assert x[0] == 20 and dist.get_process_group_ranks(group) == [0, 2]
        assert dist.get_rank(group) == rank // 2 == dist.get_group_rank(group, rank)
        dist.broadcast(x, 2, group=group)
    dist.monitored_barrier(timeout=SECONDS)


def test_collective_operations(tmp_path):
    in_processes(_collectives, tmp_path)


def _unequal(rank, size):
    x = torch.ones(2 if rank else 3)
    if rank == 0:
        with pytest.raises(RuntimeError, match="the tensors of the processes differ in size"):
            dist.all_reduce(x)
        dist.broadcast(torch.ones(2), 0)  # what the other waits for
    else:
        dist.all_reduce(x)


def test_tensors_of_different_sizes(tmp_path):
    in_processes(_unequal, tmp_path, size=2)


def _leaving(rank, size, place):
    begin(rank, size, place)
    if rank == 0:
        with pytest.raises(dist.DistNetworkError, match="Connection closed by rank 1"):
            dist.all_reduce(torch.ones(1))


def test_a_process_that_is_gone(tmp_path):
    start_processes(_leaving, (2, str(tmp_path / "s")), nprocs=2, start_method="fork")


def test_errors(alone):
    with pytest.raises(ValueError, match="trying to initialize the default process group twice!"):
        dist.init_process_group("gloo")
    with pytest.raises(TypeError, match="Expected parameter `tensor` of type"):
        dist.all_reduce(3)
    with pytest.raises(RuntimeError, match="BAND with non-integral dtype"):
        dist.all_reduce(torch.ones(1), dist.ReduceOp.BAND)
    with pytest.raises(RuntimeError, match="invalid root rank: 1"):
        dist.broadcast(torch.ones(1), 1)
    with pytest.raises(RuntimeError, match=r"invalid tensor size at index 0 \(expected \(2\), got \(3\)\)"):
        dist.all_gather([torch.ones(3)], torch.ones(2))
    with pytest.raises(ValueError, match="Rank 1 is out of range"):
        dist.new_group([1])
    x = torch.ones(1, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="can not change a tensor that is recorded"):
        dist.all_reduce(x)
    assert dist.group.WORLD is dist.GroupMember.WORLD is not None and dist.is_initialized()


@pytest.mark.parametrize(
    "arguments, kind, text",
    [
        (("nccl", "file:///x"), ValueError, "rank parameter missing"),
        (("gloo", "tcp://localhost"), ValueError, "port number missing"),
        (("gloo", "what://x"), RuntimeError, "No rendezvous handler for what://"),
        (("gloo",), ValueError, "environment variable RANK expected, but not set"),
    ],
)
def test_beginning_wrong(arguments, kind, text, monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(kind, match=text):
        dist.init_process_group(*arguments)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()


def test_no_such_backend(tmp_path):
    with pytest.raises(RuntimeError, match="Distributed package doesn't have NCCL built in"):
        dist.init_process_group("nccl", f"file://{tmp_path}/s", rank=0, world_size=1)


# ---------------------------------------------------------------- averaged gradients


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.BatchNorm1d(4), nn.Linear(4, 2))
        self.spare = nn.Linear(4, 2)

    def forward(self, x, spare=False):
        h = self.body[:3](x)
        return self.spare(h) if spare else self.body[3](h)


def _training(rank, size):
    torch.manual_seed(rank)  # the first process's weights count
    net = Net().eval()
    ddp = DistributedDataParallel(net, find_unused_parameters=True, bucket_cap_mb=1e-5)
    torch.manual_seed(7)
    alone = copy.deepcopy(net)
    weights = [None] * size
    dist.all_gather_object(weights, net.body[0].weight.tolist())
    assert weights[0] == weights[1]
    data, target = torch.randn(8, 3), torch.randn(8, 2)
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.1) for m in (ddp, alone)]
    for step in range(4):
        spare = step == 2
        half = slice(4 * rank, 4 * rank + 4)
        for optimizer, model, part in ((optimizers[0], ddp, half), (optimizers[1], alone, slice(None))):
            optimizer.zero_grad()
            ((model(data[part], spare) - target[part]) ** 2).mean().backward()
            optimizer.step()
        assert (net.spare.weight.grad is None) == (not spare)
    for one, other in zip(net.parameters(), alone.parameters()):
        assert torch.allclose(one, other, atol=1e-5)

    with ddp.no_sync():
        ddp(data[:4] + rank).sum().backward()
    grads = [None] * size
    dist.all_gather_object(grads, net.body[0].weight.grad.tolist())
    assert grads[0] != grads[1]

    net.body[2].running_mean.fill_(float(rank))
    ddp(data)
    assert net.body[2].running_mean.tolist() == [0.0] * 4


def test_training_in_two_processes_is_training_in_one(tmp_path):
    in_processes(_training, tmp_path, size=2)


def _forgetting(rank, size):
    ddp = DistributedDataParallel(Net().eval())
    ddp(torch.ones(2, 3)).sum().backward()
    with pytest.raises(RuntimeError, match="Expected to have finished reduction in the prior iteration"):
        ddp(torch.ones(2, 3))


def test_forgotten_parameters(tmp_path):
    in_processes(_forgetting, tmp_path, size=2)


def _hooked(rank, size):
    ddp = DistributedDataParallel(nn.Linear(2, 2, bias=False))
    seen = []

    def hook(state, bucket):
        seen.append((state, bucket.index(), bucket.is_last(), [tuple(g.shape) for g in bucket.gradients()]))
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future()

    ddp.register_comm_hook("state", hook)
    ddp(torch.full((1, 2), rank + 1.0)).sum().backward()
    assert ddp.module.weight.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert seen == [("state", 0, True, [(2, 2)])]


def test_communication_hook(tmp_path):
    in_processes(_hooked, tmp_path, size=2)


def _other_model(rank, size):
    if rank:
        with pytest.raises(RuntimeError, match="expects same model across all ranks"):
            DistributedDataParallel(nn.Linear(2, 3))
        dist.broadcast(torch.empty(2, 2), 0)  # what the other gives
        dist.broadcast(torch.empty(2), 0)
    else:
        DistributedDataParallel(nn.Linear(2, 2))


def test_other_models(tmp_path):
    in_processes(_other_model, tmp_path, size=2)


def test_one_process(alone):
    ddp = DistributedDataParallel(nn.Linear(2, 2))
    assert list(ddp.state_dict()) == ["module.weight", "module.bias"]
    ddp(torch.ones(1, 2)).sum().backward()
    assert ddp.module.bias.grad.tolist() == [1.0, 1.0]
    for twin in (copy.deepcopy(ddp), pickle.loads(pickle.dumps(ddp))):
        assert torch.equal(twin(torch.ones(1, 2)), ddp(torch.ones(1, 2)))
    for wrong, kind, text in (
        (lambda: DistributedDataParallel(nn.ReLU()), RuntimeError, "is not needed when a module doesn't have any"),
        (lambda: DistributedDataParallel(nn.LazyLinear(1)), RuntimeError, "Modules with uninitialized parameters"),
        (lambda: DistributedDataParallel(nn.Linear(1, 1), device_ids=[0]), ValueError, "only work with single-device"),
    ):
        with pytest.raises(kind, match=text):
            wrong()


PROGRAM = """
import torch
import torch.distributed as dist
dist.init_process_group()
x = torch.ones(1)
dist.all_reduce(x)
if dist.get_rank() == 0:
    print(int(x), dist.get_world_size())
dist.destroy_process_group()
"""


def test_launcher(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "livetape.distributed.run", "--nproc-per-node", "2", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), timeout=120)
    assert done.stdout == "2 2\n" and done.returncode == 0, done.stderr
    program.write_text("import os, sys\nsys.exit(int(os.environ['RANK']) + 3)")
    assert subprocess.run(command, capture_output=True, timeout=120).returncode in (3, 4)
