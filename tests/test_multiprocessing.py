"""Shared memory, and tensors on their way between processes."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time

import pytest

import livetape as torch
from livetape import multiprocessing as mp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")
FORK = mp.get_context("fork") if sys.platform != "win32" else mp


def test_a_module_in_shared_memory_is_trained_by_other_processes():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).share_memory()
    assert all(tensor.is_shared() for tensor in net.state_dict().values())
    assert not torch.ones(1).is_shared()
    assert [type(p) for p in net.parameters()] == [torch.nn.Parameter] * 4
    before = net[0].weight.detach().clone()

    def train():
        net[0].weight.grad = torch.ones(2, 2)
        torch.optim.SGD(net.parameters(), lr=1.0).step()
        net[1].num_batches_tracked += 5

    process = FORK.Process(target=train)
    process.start()
    process.join()
    assert torch.equal(net[0].weight, before - 1) and net[1].num_batches_tracked == 5


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).reshape(2, 3)[:, 1:],
        torch.arange(6).reshape(2, 3).t(),
        torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        torch.tensor([1 + 2j]),
        torch.tensor(False),
        torch.empty(0, 2),
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(1, requires_grad=True),
        torch.ones(4).expand(2, 4),
    ],
    ids=lambda t: f"{t.dtype}{list(t.shape)}",
)
def test_what_arrives_is_what_was_sent_and_its_memory(tensor):
    values, queue = tensor.tolist(), FORK.SimpleQueue()
    queue.put(tensor)
    got = queue.get()
    assert type(got) is type(tensor) and got.dtype is tensor.dtype and got.requires_grad == tensor.requires_grad
    assert got.tolist() == tensor.tolist() == values
    assert tensor.numel() == 0 or got.stride() == tensor.stride()
    if tensor.numel():
        with torch.no_grad():
            got[(0,) * got.dim()] = 5
        assert tensor.is_shared() and got.tolist() == tensor.tolist() != values


def test_a_recorded_result_is_not_sent():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        FORK.SimpleQueue().put(torch.ones(1, requires_grad=True) * 2)


def test_descriptors_are_given_back():
    def count():
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("looks into /proc")
    queue = FORK.SimpleQueue()

    def send():
        queue.put(torch.ones(100))
        assert queue.get().sum() == 100

    send()  # the first one starts the thread that hands descriptors over, which keeps a socket
    before = count()
    for _ in range(20):
        send()
    limit = time.monotonic() + 20  # that thread closes its side of the last one when it gets to it
    while count() > before and time.monotonic() < limit:
        time.sleep(0.01)
    assert count() <= before


def failing(i, how):
    if i == 0:
        time.sleep(60)
    if how == "raise":
        raise ValueError("from process 1")
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    "how, kind, text, code",
    [
        ("raise", mp.ProcessRaisedException, "-- Process 1 terminated with the following error:\nTraceback", None),
        ("exit", mp.ProcessExitedException, "process 1 terminated with exit code 3", 3),
        ("kill", mp.ProcessExitedException, "process 1 terminated with signal SIGKILL", -9),
    ],
)
def test_a_process_that_fails_ends_the_others(how, kind, text, code):
    with pytest.raises(kind, match=text) as caught:
        mp.start_processes(failing, (how,), nprocs=2, start_method="fork")
    assert caught.value.error_index == 1 and getattr(caught.value, "exit_code", None) == code
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.error_pid == caught.value.error_pid
    if how == "raise":
        assert "from process 1" in str(caught.value)


def noting(i, tensor):
    tensor[i] = i + 1


def test_spawned_processes_share_what_they_are_given():
    tensor = torch.zeros(2)
    assert mp.spawn(noting, (tensor,), nprocs=2) is None
    assert tensor.tolist() == [1.0, 2.0]


def test_names():
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="invalid sharing strategy 'x', expected one of"):
        mp.set_sharing_strategy("x")
    context = mp.start_processes(noting, (torch.zeros(1),), nprocs=1, join=False, start_method="fork")
    assert len(context.pids()) == 1
    while not context.join():
        pass
    assert context.join()
