"""What a worker process does: fetch what it is asked for until it is told to stop (source: torch's module of that name)."""

from __future__ import annotations

import os
import queue
import random
import threading
from typing import Any

import numpy as np

from livetape.random import manual_seed
from livetape.threads import set_num_threads
from livetape.utils.data._utils.channel import Packed
from livetape.utils.data._utils.errors import ExceptionWrapper
from livetape.utils.data._utils.info import Here, WorkerInfo, _DatasetKind, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]

_CHECK = 5.0  # seconds between looks whether the loader's process still lives


class Ended:
    """Sent back in place of a batch: this worker's stream of samples has ended."""

    __slots__ = ("worker_id",)

    def __init__(self, worker_id: int) -> None:
        self.worker_id = worker_id


class Resume:
    """Sent to a worker that persists, and back by it: a new epoch begins."""

    __slots__ = ()


class Task:
    """What a worker process is given when it starts."""

    __slots__ = (
        "auto_collation",
        "base_seed",
        "channel",
        "collate_fn",
        "dataset",
        "drop_last",
        "init_fn",
        "kind",
        "num_workers",
        "parent",
        "strangers",
        "worker_id",
    )

    def __init__(
        self,
        *,
        kind: int,
        dataset: Any,
        auto_collation: bool,
        collate_fn: Any,
        drop_last: bool,
        base_seed: int,
        init_fn: Any,
        worker_id: int,
        num_workers: int,
        channel: Any,
        strangers: list[Any],
    ) -> None:
        self.kind = kind
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.base_seed = base_seed
        self.init_fn = init_fn
        self.worker_id = worker_id
        self.num_workers = num_workers
        self.channel = channel
        self.strangers = strangers  # the loader's ends of the lines: copies of them would hide its end from workers
        self.parent = os.getpid()


class _Inbox:
    """Takes messages off the line as they come, so that the loader never waits to send one."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.stopped = False
        threading.Thread(target=self._listen, daemon=True, name="livetape_inbox").start()

    def _listen(self) -> None:
        connection = self.task.channel.connection
        try:
            while True:
                while not connection.poll(_CHECK):
                    if os.getppid() != self.task.parent:
                        raise EOFError
                message = self.task.channel.receive()
                if message is None:
                    break
                self.messages.put(message)
        except (EOFError, OSError):
            pass  # the loader is gone
        except BaseException as fault:  # an index that cannot be read here
            self.messages.put(fault)
        self.stopped = True
        self.messages.put(None)


def _seed_all(base_seed: int, worker_id: int) -> int:
    """Seed every generator of this process, as torch does; returns the seed."""
    seed = base_seed + worker_id
    random.seed(seed)
    manual_seed(seed)
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))
    return seed


def _worker_loop(task: Task) -> None:
    """The life of a worker process."""
    try:
        for channel in task.strangers:
            channel.close()
        set_num_threads(1)
        seed = _seed_all(task.base_seed, task.worker_id)
        Here.worker = WorkerInfo(task.worker_id, task.num_workers, seed, task.dataset)
        inbox = _Inbox(task)
        fault: Any = None
        try:
            if task.init_fn is not None:
                task.init_fn(task.worker_id)
            fetcher = _fetcher(task)
        except Exception:
            fault = ExceptionWrapper(where=_where(task))
        ended = False
        while (message := inbox.messages.get()) is not None and not inbox.stopped:
            if isinstance(message, BaseException):
                raise message
            if isinstance(message, Resume):
                _send(task, message, None)
                ended = False
                fetcher = _fetcher(task)
                continue
            if ended:
                continue
            number, index = message
            data = fault
            if fault is None:
                try:
                    data = fetcher.fetch(index)
                except Exception as error:
                    if isinstance(error, StopIteration) and task.kind == _DatasetKind.Iterable:
                        data = Ended(task.worker_id)
                        ended = True
                    else:
                        data = ExceptionWrapper(where=_where(task))
            fault = None
            _send(task, number, data)
            del data, index, message  # a batch can be large
    except KeyboardInterrupt:
        pass  # the loader's process is interrupted too, and tells
    except (BrokenPipeError, ConnectionResetError):
        pass  # the loader went away while this worker was sending


def _fetcher(task: Task) -> Any:
    return _DatasetKind.create_fetcher(task.kind, task.dataset, task.auto_collation, task.collate_fn, task.drop_last)


def _where(task: Task) -> str:
    return f"in DataLoader worker process {task.worker_id}"


def _send(task: Task, number: Any, data: Any) -> None:
    """Send a result; what cannot be pickled is answered with the reason."""
    try:
        packed = Packed((number, data))
    except Exception:
        packed = _explained(
            number, data if isinstance(data, ExceptionWrapper) else ExceptionWrapper(where=_where(task))
        )
    task.channel.send(packed)


def _explained(number: Any, wrapped: ExceptionWrapper) -> Any:
    """An exception whose class the loader's process can find: the nearest base class, if not its own."""
    for kind in wrapped.exc_type.__mro__:
        wrapped.exc_type = kind
        try:
            return Packed((number, wrapped))
        except Exception:  # a class made inside a function, mostly
            continue
    raise RuntimeError(wrapped.exc_msg)
