"""Datasets, samplers, loaders and their workers: torch's values, order, words and random numbers."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from loading_cases import namespace, outcome

import livetape as torch
import livetape.utils.data as data
from livetape.utils.data import DataLoader, Dataset, TensorDataset
from livetape.utils.data._utils import channel, collate, parallel
from livetape.utils.data._utils.worker import _seed_all

RECORDED = json.loads((Path(__file__).parent / "data" / "loading.json").read_text())
NAMES = namespace(torch, data)
FORKS = hasattr(os, "fork")
forking = pytest.mark.skipif(not FORKS, reason="needs fork")


def workers_of(loader):
    return [process.pid for process in loader._workers]


def gone(pids, patience=30.0):
    """Whether all these processes end in time."""
    limit = time.monotonic() + patience
    while time.monotonic() < limit:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may go between the opening and the reading
        return False


@pytest.mark.parametrize("expression", RECORDED)
def test_as_torch(expression):
    if "num_workers=2" in expression and not FORKS:
        pytest.skip("needs fork")
    assert outcome(NAMES, expression) == RECORDED[expression]


@pytest.fixture(autouse=True)
def no_workers_left():
    yield
    gc.collect()
    assert multiprocessing.active_children() == []


def test_seeds_of_a_worker():
    """torch seeds Python, itself and NumPy of each worker, NumPy with words mixed from seed and number."""
    kept = torch.get_rng_state()
    before = np.random.get_state()
    try:
        assert _seed_all(2**62 + 5, 3) == 2**62 + 8
        assert torch.initial_seed() == 2**62 + 8
        assert np.random.rand(2).tolist() == [0.7643973117765609, 0.5854029612496994]
    finally:
        torch.set_rng_state(kept)
        np.random.set_state(before)


def test_too_many_workers(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0}, raising=False)
    with pytest.warns(
        UserWarning,
        match="This DataLoader will create 3 worker processes in total. Our suggested max number "
        "of worker in current system is 1, which is smaller than what this DataLoader is going to create.",
    ):
        DataLoader([1], num_workers=3)


class Pictures(Dataset):
    """Large enough for shared memory."""

    def __init__(self, n=40, pause=0.0):
        self.n = n
        self.pause = pause

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(self.pause)
        return torch.full((64, 64), float(i)), i


@forking
def test_shared_memory():
    batches = list(DataLoader(Pictures(), 8, num_workers=2))
    assert [batch.tolist() for _, batch in batches] == [list(range(8 * k, 8 * k + 8)) for k in range(5)]
    for pictures, numbers in batches:
        assert (pictures[:, 3, 3] == numbers).all()
        pictures += 1  # it can be written
        assert pictures.storage_offset() == 0
    open_files = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    many = list(DataLoader(Pictures(300), 1, num_workers=2))
    assert [int(picture[0, 0, 0]) for picture, _ in many] == list(range(300))
    if open_files:  # each mapped message takes a descriptor, so only so many are mapped
        assert len(os.listdir("/proc/self/fd")) - open_files < 200
        del many
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) <= open_files + 1


class Kinds(Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, i):
        large = torch.arange(9000, dtype=torch.float32).to(torch.bfloat16)
        return {
            "bfloat16": large,
            "scalar": torch.tensor(3),
            "empty": torch.empty(0, 3),
            "turned": torch.ones(2, 3).t(),
            "strided": torch.arange(24).reshape(2, 3, 4).permute(1, 2, 0),
            "bool": torch.tensor([True, False]),
            "complex": torch.tensor([1j]),
            "parameter": torch.nn.Parameter(torch.ones(2)),
            "leaf": torch.ones(2, requires_grad=True),
            "array": np.arange(5),
            "size": torch.Size([1, 2]),
            "text": "a" * 100_000,
        }


@forking
@pytest.mark.parametrize("shared", [True, False])
def test_what_travels(shared, monkeypatch):
    monkeypatch.setattr(channel, "_CAN_SHARE", shared and channel._CAN_SHARE)
    (got,) = DataLoader(Kinds(), batch_size=None, num_workers=1, collate_fn=lambda sample: sample)
    for name, want in Kinds()[0].items():
        if isinstance(want, torch.Tensor):
            assert torch.equal(got[name], want) and got[name].dtype is want.dtype, name
            assert type(got[name]) is type(want) and got[name].requires_grad == want.requires_grad
        else:
            assert type(got[name]) is type(want) and np.array_equal(got[name], want)
    assert got["turned"].stride() == (1, 3)
    assert got["bfloat16"].array.flags.writeable and got["bfloat16"].array.flags.aligned


class Unsendable(Dataset):
    def __init__(self, kind):
        self.kind = kind

    def __len__(self):
        return 2

    def __getitem__(self, i):
        if self.kind == "function":
            return lambda: 0
        if self.kind == "graph":
            return torch.ones(1, requires_grad=True) * 2

        class Local(ValueError):
            pass

        raise Local("from a class nobody can find")


@forking
@pytest.mark.parametrize(
    "kind, error, words",
    [
        ("function", AttributeError, "Can't pickle local object"),
        ("graph", RuntimeError, "Cowardly refusing to serialize non-leaf tensor which requires_grad"),
        ("class", ValueError, "from a class nobody can find"),
    ],
)
def test_unsendable(kind, error, words):
    with pytest.raises(error, match=r"Caught .* in DataLoader worker process 0") as caught:
        list(DataLoader(Unsendable(kind), num_workers=1, collate_fn=lambda batch: batch))
    assert words in str(caught.value)


class Deadly(Dataset):
    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 3:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "sleep":
                time.sleep(60)
            sys.exit(3)
        return i


@forking
@pytest.mark.parametrize(
    "how, reason",
    [
        ("kill", "is killed by signal: Killed. "),
        (
            "exit",
            "exited unexpectedly with exit code 3. Details are lost due to multiprocessing. Rerunning with "
            "num_workers=0 may give better error trace.",
        ),
    ],
)
def test_death_of_a_worker(how, reason):
    with pytest.raises(RuntimeError, match=r"^DataLoader worker \(pid\(s\) \d+\) exited unexpectedly$") as caught:
        list(DataLoader(Deadly(how), 2, num_workers=2))
    assert reason in str(caught.value.__cause__)


@forking
def test_timeout(monkeypatch):
    monkeypatch.setattr(parallel, "_PATIENCE", 0.1)
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 0.2 seconds$"):
        list(DataLoader(Deadly("sleep"), 2, num_workers=1, timeout=0.2))


@forking
def test_left_early(monkeypatch):
    monkeypatch.setattr(parallel, "_PATIENCE", 60.0)  # they go because they are asked to
    for _ in DataLoader(Pictures(pause=0.01), 2, num_workers=2):
        break
    assert multiprocessing.active_children() == []
    iterator = iter(DataLoader(Pictures(), 2, num_workers=2))
    next(iterator)
    workers = list(iterator._workers)
    del iterator
    assert [worker.exitcode for worker in workers] == [0, 0]


@forking
def test_left_in_a_cycle():
    """The collector may take the lines to the workers apart before the pass: they are asked to go all the same."""
    iterator = iter(DataLoader(Pictures(), 8, num_workers=1))
    (worker,), line = iterator._workers, iterator._channels[0].connection
    iterator.itself = iterator
    box = [iterator]  # held by what is younger than the line: the collector comes to the line first
    del iterator
    gc.collect()
    del box, line
    gc.collect()
    assert worker.exitcode == 0


@forking
def test_persistent_workers():
    loader = DataLoader(Pictures(), 8, num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    pids = workers_of(iterator)
    assert len(list(iterator)) == 5
    assert iter(loader) is iterator and workers_of(iterator) == pids
    iterator._shutdown_workers()
    assert len(list(loader)) == 5 and workers_of(loader._iterator) != pids
    del loader, iterator


@forking
def test_interrupt():
    """The workers go with the pass that was interrupted; the next pass starts new ones."""
    loader = DataLoader(Pictures(1000, pause=0.02), 4, num_workers=2, persistent_workers=True)
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    try:
        with pytest.raises(KeyboardInterrupt):
            for batch, _ in enumerate(loader):
                if batch == 1:  # both workers are at work
                    signal.setitimer(signal.ITIMER_REAL, 0.1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert multiprocessing.active_children() == []
    assert next(iter(loader))[1].tolist() == [0, 1, 2, 3]
    del loader


PROGRAM = """
import time
import livetape as torch
from livetape.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i): time.sleep(0.02); return torch.ones(100, 100)
iterator = iter(DataLoader(Slow(), 4, num_workers=2))
next(iterator), next(iterator)  # one of each: both workers have started
print(*(process.pid for process in iterator._workers), flush=True)
for batch in iterator: pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("how, to_all", [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGKILL, False)])
def test_end_of_the_program(how, to_all):
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    pids = [int(word) for word in program.stdout.readline().split()]
    (os.killpg if to_all else os.kill)(program.pid, how)
    errors = program.communicate(timeout=60)[1]
    assert len(pids) == 2 and gone(pids)
    assert errors.count("Traceback") == (how == signal.SIGINT)  # the program's own


@forking
def test_several_loaders():
    """Workers hold no lines of one another, and a collection of garbage in one of them ends nothing."""

    class Collecting(Pictures):
        def __getitem__(self, i):
            gc.collect()
            return i

    first = iter(DataLoader(Pictures(), 8, num_workers=2))
    next(first)
    assert list(DataLoader(Collecting(4), batch_size=None, num_workers=2)) == [0, 1, 2, 3]
    assert len(list(first)) == 4


@forking
def test_out_of_order():
    another = multiprocessing.get_context("fork").Event()

    class First(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            if i == 0:
                another.wait(30)
            return i

    got = []
    for batch in DataLoader(First(), num_workers=2, in_order=False):
        got.append(int(batch))
        another.set()
    assert sorted(got) == list(range(8)) and got[0] != 0


def test_spawned_workers():
    loader = DataLoader(TensorDataset(torch.arange(4.0)), 2, num_workers=1, multiprocessing_context="spawn")
    assert [batch.tolist() for (batch,) in loader] == [[0.0, 1.0], [2.0, 3.0]]


def test_rows_at_once():
    """A loader takes rows of plain tensors at once: the same batches as one by one, in memory of their own."""
    x, y = torch.randn(20, 3), torch.arange(20).to(torch.bfloat16)
    rows = TensorDataset(x.t().contiguous().t(), y)
    one_by_one = DataLoader(rows, 6, collate_fn=lambda samples: data.default_collate(samples))
    for fast, slow in zip(DataLoader(rows, 6), one_by_one, strict=True):
        for a, b in zip(fast, slow, strict=True):
            assert torch.equal(a, b) and a.dtype is b.dtype and a.stride() == b.stride() and a._base is None
        fast[0].zero_()
    assert rows.tensors[0].abs().sum() > 0


def test_custom_collation(monkeypatch):
    monkeypatch.setitem(collate.default_collate_fn_map, torch.Tensor, lambda batch, *, collate_fn_map=None: len(batch))
    assert list(DataLoader(TensorDataset(torch.arange(5)), 2)) == [[2], [2], [1]]


def test_import_paths():
    program = (
        "from livetape import alias; alias.install()\n"
        "import torch.utils.data\n"
        "from torch.utils.data.dataloader import DataLoader, default_collate, _SingleProcessDataLoaderIter\n"
        "from torch.utils.data.dataset import Dataset, random_split\n"
        "from torch.utils.data.sampler import RandomSampler\n"
        "from torch.utils.data.distributed import DistributedSampler\n"
        "from torch.utils.data._utils.collate import default_convert, default_collate_fn_map\n"
        "from torch.utils.data._utils.pin_memory import pin_memory\n"
        "import sys\n"
        "print(list(DataLoader(range(2))), 'multiprocessing' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[tensor([0]), tensor([1])] False\n"
