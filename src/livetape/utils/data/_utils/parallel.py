"""A pass made by worker processes.

Every worker has a line of its own to the loader (see `channel`) and answers its tasks in order, so the batch that is due
next is read from the worker that was given it: nothing has to be sorted, and nothing is shared between workers that one
of them could leave locked. A worker that dies is noticed at once, by its sentinel.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import sys
import time
import warnings
import weakref
from multiprocessing.connection import wait
from pickle import PicklingError
from typing import Any

from livetape.utils.data._utils.channel import Channel, Packed
from livetape.utils.data._utils.errors import ExceptionWrapper
from livetape.utils.data._utils.iterators import _BaseDataLoaderIter
from livetape.utils.data._utils.worker import Ended, Resume, Task, _worker_loop

_PATIENCE = 5.0  # seconds that workers get to finish what they are at, before they are made to
_NOT_PICKLED = (
    "Got pickle error when attempting to start a worker Process. This might be because the worker Process arguments are "
    "not picklable. Python 3.14+ changed the multiprocessing start method in non-Mac POSIX platforms to 'forkserver', "
    "which requires the worker Process arguments to be picklable. You can also try "
    "multiprocessing.set_start_method('fork')."
)


def _context(loader: Any) -> Any:
    """How to start processes: as the loader says, else as the program says, else by fork where that is safe."""
    if loader.multiprocessing_context is not None:
        return loader.multiprocessing_context
    if sys.platform == "linux" and multiprocessing.get_start_method(allow_none=True) is None:
        return multiprocessing.get_context("fork")
    return multiprocessing


def _cause_of_death(process: Any) -> RuntimeError:
    code = process.exitcode
    text = f"DataLoader worker (pid {process.pid}) "
    if code is not None and code < 0:
        return RuntimeError(text + f"is killed by signal: {signal.strsignal(-code)}. ")
    return RuntimeError(
        text + f"exited unexpectedly with exit code {code}. Details are lost due to multiprocessing. "
        "Rerunning with num_workers=0 may give better error trace."
    )


def _tell(channel: Channel, message: Any) -> None:
    try:
        channel.send(Packed(message))
    except (BrokenPipeError, ConnectionResetError):
        pass  # the worker has died: waiting for its answer will tell


def _stop(workers: list[Any], channels: list[Channel], owner: int) -> None:
    """Stop the workers: ask them, wait a little, then insist. In a fork of the loader's process, do nothing."""
    if os.getpid() != owner:
        return
    for process, channel in zip(workers, channels):
        if process.is_alive():
            _tell(channel, None)
    for channel in channels:
        channel.close()
    limit = time.monotonic() + _PATIENCE
    for process in workers:
        process.join(max(0.0, limit - time.monotonic()))
    for stop in ("terminate", "kill"):
        for process in workers:
            if process.is_alive():
                getattr(process, stop)()
                process.join(1.0)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass made by worker processes; with persistent workers, one pass after another."""

    def __init__(self, loader: Any) -> None:
        self._workers: list[Any] = []
        self._channels: list[Channel] = []
        self._shutdown = False
        # Not by __del__: of a pass that dies in a cycle, the collector may have closed the lines first.
        self._stop = weakref.finalize(self, _stop, self._workers, self._channels, os.getpid())
        self._stop.atexit = False  # daemons end with the program
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._worker_init_fn = loader.worker_init_fn
        if self._num_workers <= 0:
            raise AssertionError("num_workers must be greater than 0 for MultiProcessingDataLoaderIter")
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        try:
            self._start_workers(_context(loader))
            self._reset(loader, first_iter=True)
        except BaseException:
            self._shutdown_workers()
            raise

    def _start_workers(self, context: Any) -> None:
        forks = context.get_start_method() == "fork"
        if forks:
            import threadpoolctl  # noqa: F401 - every worker wants it: better to load it once
        for number in range(self._num_workers):
            ours, theirs = context.Pipe(duplex=True)
            self._channels.append(Channel(ours))
            task = Task(
                kind=self._dataset_kind,
                dataset=self._dataset,
                auto_collation=self._auto_collation,
                collate_fn=self._collate_fn,
                drop_last=self._drop_last,
                base_seed=self._base_seed,
                init_fn=self._worker_init_fn,
                worker_id=number,
                num_workers=self._num_workers,
                channel=Channel(theirs),
                strangers=list(self._channels) if forks else [],
            )
            process = context.Process(target=_worker_loop, args=(task,), daemon=True)
            try:
                process.start()
            except (TypeError, AttributeError, PicklingError):
                warnings.warn(_NOT_PICKLED, stacklevel=5)
                raise
            finally:
                theirs.close()
            self._workers.append(process)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._send_idx = 0  # the next task to hand out
        self._rcvd_idx = 0  # the next task to return the result of
        self._task_info: dict[int, int] = {}  # a task that was handed out: its worker
        self._workers_status = [True] * self._num_workers  # whether a worker's stream of samples goes on
        self._workers_num_tasks = [0] * self._num_workers
        self._worker_queue_idx_cycle = itertools.cycle(range(self._num_workers))
        if not first_iter:
            self._resume()
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _resume(self) -> None:
        """Tell the workers that a new pass begins, and drop what is still to come of the last one."""
        for number in range(self._num_workers):
            _tell(self._channels[number], Resume())
        for number in range(self._num_workers):
            while not isinstance(self._receive([number])[1], Resume):
                pass

    # ------------------------------------------------------------ tasks out
    def _try_put_index(self) -> None:
        """Hand out the next indices, if there are any, to the next worker in turn that can take them."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        room = self._prefetch_factor * self._num_workers
        for worker in itertools.islice(self._worker_queue_idx_cycle, self._num_workers):
            if self._workers_status[worker] and (
                self._in_order or self._workers_num_tasks[worker] < room // sum(self._workers_status)
            ):
                break
        else:
            return
        _tell(self._channels[worker], (self._send_idx, index))
        self._task_info[self._send_idx] = worker
        self._workers_num_tasks[worker] += 1
        self._send_idx += 1

    # ------------------------------------------------------------ results in
    def _receive(self, workers: list[int]) -> tuple[int, Any, Any]:
        """The next message of one of these workers: (worker, number of the task, result)."""
        lines = {self._channels[worker].connection: worker for worker in workers}
        sentinels = {
            process.sentinel: process
            for process, alive in zip(self._workers, self._workers_status)
            if alive or self._persistent_workers
        }
        ready = wait([*lines, *sentinels], self._timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        for line in ready:
            if line in lines:
                worker = lines[line]  # type: ignore[index]
                try:
                    return (worker, *self._channels[worker].receive())
                except (EOFError, ConnectionResetError):
                    self._report_deaths([self._workers[worker]])
                except BaseException:  # in the middle of a message, maybe: nothing more can be understood
                    self._shutdown_workers()
                    raise
        self._report_deaths([sentinels[sentinel] for sentinel in ready])  # type: ignore[index]
        raise AssertionError("unreachable")

    def _report_deaths(self, dead: list[Any]) -> None:
        for process in dead:
            process.join(_PATIENCE)
        cause = _cause_of_death(dead[0])
        self._shutdown_workers()
        raise RuntimeError(
            f"DataLoader worker (pid(s) {', '.join(str(process.pid) for process in dead)}) exited unexpectedly"
        ) from cause

    def _due(self) -> list[int]:
        """The workers of whom the next result may come; none at the end."""
        if not self._in_order:
            return sorted({worker for worker in self._task_info.values() if self._workers_status[worker]})
        while self._rcvd_idx < self._send_idx:
            worker = self._task_info[self._rcvd_idx]
            if self._workers_status[worker]:
                return [worker]
            del self._task_info[self._rcvd_idx]  # its worker's stream has ended
            self._rcvd_idx += 1
        return []

    def _next_data(self) -> Any:
        try:
            return self._next_result()
        except KeyboardInterrupt:  # a message may have been cut short; and it is time to go
            self._shutdown_workers()
            raise

    def _next_result(self) -> Any:
        if self._shutdown and self._task_info:
            raise AssertionError("Invalid iterator state: shutdown or no outstanding tasks when fetching next data")
        while workers := self._due():
            worker, number, data = self._receive(workers)
            if isinstance(data, Ended):
                self._workers_status[worker] = False
                if not self._persistent_workers:
                    _tell(self._channels[worker], None)
                self._try_put_index()
                continue
            del self._task_info[number]
            if self._in_order:
                self._rcvd_idx += 1
            self._workers_num_tasks[worker] -= 1
            self._try_put_index()
            if isinstance(data, ExceptionWrapper):
                data.reraise()
            return data
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    # ------------------------------------------------------------ the end
    def _shutdown_workers(self) -> None:
        self._shutdown = True
        self._stop()
