"""Process groups: the collective operations, on arrays."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future as PoolFuture
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import numpy as np

from livetape.distributed._transport import Channel, Transport
from livetape.futures import Future

_COLLECTIVE, _POINT = 0, 1


class RedOpType(enum.Enum):
    """How the values of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """The reductions by name: ``ReduceOp.SUM`` and so on (source: ``torch.distributed.ReduceOp``)."""

    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM
    RedOpType = RedOpType


_REDUCTIONS: dict[RedOpType, Any] = {
    RedOpType.SUM: np.add,
    RedOpType.AVG: np.add,
    RedOpType.PRODUCT: np.multiply,
    RedOpType.MIN: np.minimum,
    RedOpType.MAX: np.maximum,
    RedOpType.BAND: np.bitwise_and,
    RedOpType.BOR: np.bitwise_or,
    RedOpType.BXOR: np.bitwise_xor,
}


class Work:
    """An operation that runs behind the program's back (source: ``torch.distributed.Work``)."""

    def __init__(self, pending: PoolFuture[Any], result: Any = None, source: Callable[[], int] | None = None) -> None:
        self._pending = pending
        self._result = result
        self._source = source

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the end; True, or the operation's exception."""
        self._pending.result(timeout.total_seconds() if timeout else None)
        return True

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return self._pending.done()

    def is_success(self) -> bool:
        """Whether it has ended well."""
        return self._pending.done() and self._pending.exception() is None

    def exception(self) -> BaseException | None:
        """The operation's exception, if it has ended with one."""
        return self._pending.exception() if self._pending.done() else None

    def synchronize(self) -> None:
        """Wait for the end."""
        self.wait()

    def result(self) -> Any:
        """The tensors that the operation fills."""
        self.wait()
        return self._result

    def source_rank(self) -> int:
        """Where a message came from."""
        self.wait()
        return -1 if self._source is None else self._source()

    def get_future(self) -> Future[Any]:
        """A future of `result`."""
        future: Future[Any] = Future()

        def finish(done: PoolFuture[Any]) -> None:
            error = done.exception()
            if error is None:
                future.set_result(self._result)
            else:
                future._finish(None, error)

        self._pending.add_done_callback(finish)
        return future


class ProcessGroup:
    """Some of the processes, which act together (source: ``torch.distributed.ProcessGroup``)."""

    def __init__(
        self, number: int, ranks: Sequence[int], transport: Transport, backend: str, timeout: timedelta
    ) -> None:
        self.number = number
        self.ranks = list(ranks)
        self.transport = transport
        self.backend = backend
        self.timeout = timeout
        self.group_name = str(number)
        self._channel: Channel = (number, _COLLECTIVE, 0)
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._last: PoolFuture[Any] | None = None

    def rank(self) -> int:
        """This process's number in the group."""
        return self.ranks.index(self.transport.rank)

    def size(self) -> int:
        """The number of processes."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend."""
        return self.backend

    # ------------------------------------------------------------ running

    def run(self, operation: Callable[[], Any], asynchronous: bool, result: Any = None) -> Work | None:
        """Run an operation after all earlier ones: now, or in a thread."""
        if asynchronous:
            with self._lock:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(1, thread_name_prefix="livetape group")
                self._last = self._pool.submit(operation)
                return Work(self._last, result)
        if self._last is not None:
            self._last.exception()  # waits
            self._last = None
        operation()
        return None

    def close(self) -> None:
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown()

    # ------------------------------------------------------------ messages

    def post(self, to: int, array: Any, channel: Channel | None = None) -> None:
        """Send an array to the process of this number in the group."""
        data = np.ascontiguousarray(array)
        if data.dtype.kind == "V":  # bfloat16, which NumPy does not lay open as a buffer
            data = data.view(np.uint16)
        self.transport.send(self.ranks[to], channel or self._channel, data.reshape(-1).view(np.uint8))

    def take(self, source: int, like: Any, channel: Channel | None = None) -> Any:
        """Receive an array of the dtype and shape of ``like``."""
        rank = self.ranks[source]
        _, data = self.transport.receive(rank, channel or self._channel, self.timeout.total_seconds())
        return self._fit(data, like)

    def _fit(self, data: Any, like: Any) -> Any:
        if len(data) != like.nbytes:
            raise RuntimeError(
                f"{len(data)} bytes arrived where {like.nbytes} fit: the tensors of the processes differ in size"
            )
        return np.frombuffer(data, np.uint8).view(like.dtype).reshape(like.shape)

    def take_bytes(self, source: int, channel: Channel | None = None) -> bytearray:
        """Receive what `post_bytes` has sent."""
        rank = self.ranks[source]
        return self.transport.receive(rank, channel or self._channel, self.timeout.total_seconds())[1]  # type: ignore[no-any-return]

    def post_bytes(self, to: int, data: bytes, channel: Channel | None = None) -> None:
        """Send bytes."""
        self.transport.send(self.ranks[to], channel or self._channel, data)

    def point(self, tag: int) -> Channel:
        """The channel of single messages with a tag."""
        return (self.number, _POINT, tag)

    def take_any(self, like: Any, tag: int) -> tuple[int, Any]:
        """The next single message from any process: its rank, and the array."""
        while True:
            source, data = self.transport.receive(None, self.point(tag), self.timeout.total_seconds())
            return source, self._fit(data, like)

    # ------------------------------------------------------------ collective operations

    def broadcast(self, array: Any, root: int) -> None:
        """Give all the root's values."""
        if self.rank() == root:
            for other in self._others():
                self.post(other, array)
        else:
            array[...] = self.take(root, array)

    def reduce(self, array: Any, op: RedOpType, root: int) -> None:
        """Give the root the reduction of all values, from the first process to the last."""
        if self.rank() != root:
            self.post(root, array)
            return
        parts = [array if other == root else self.take(other, array) for other in range(self.size())]
        combine = _REDUCTIONS[op]
        total = parts[0].copy()
        for part in parts[1:]:
            combine(total, part, out=total)
        if op is RedOpType.AVG:
            total = (total / self.size()).astype(total.dtype)
        array[...] = total

    def all_reduce(self, array: Any, op: RedOpType) -> None:
        """Give all the reduction; every process gets the same bits."""
        if self.size() > 1 or op is RedOpType.AVG:
            self.reduce(array, op, 0)
            self.broadcast(array, 0)

    def gather(self, array: Any, out: Sequence[Any] | None, root: int) -> None:
        """Give the root the values of all."""
        if self.rank() != root:
            self.post(root, array)
            return
        assert out is not None
        for other in range(self.size()):
            out[other][...] = array if other == root else self.take(other, out[other])

    def all_gather(self, array: Any, out: Sequence[Any]) -> None:
        """Give all the values of all."""
        for other in self._others():
            self.post(other, array)
        for other in range(self.size()):
            out[other][...] = array if other == self.rank() else self.take(other, out[other])

    def scatter(self, array: Any, parts: Sequence[Any] | None, root: int) -> None:
        """Give each process its part of the root's."""
        if self.rank() == root:
            assert parts is not None
            for other in self._others():
                self.post(other, parts[other])
            array[...] = parts[root]
        else:
            array[...] = self.take(root, array)

    def all_to_all(self, out: Sequence[Any], parts: Sequence[Any]) -> None:
        """Give each process its part of everybody's."""
        for other in self._others():
            self.post(other, parts[other])
        for other in range(self.size()):
            out[other][...] = parts[other] if other == self.rank() else self.take(other, out[other])

    def reduce_scatter(self, out: Any, parts: Sequence[Any], op: RedOpType) -> None:
        """Give each process the reduction of its parts."""
        found = [np.empty_like(out) for _ in range(self.size())]
        self.all_to_all(found, parts)
        total = found[0]
        for part in found[1:]:
            _REDUCTIONS[op](total, part, out=total)
        out[...] = (total / self.size()).astype(total.dtype) if op is RedOpType.AVG else total

    def barrier(self) -> None:
        """Wait until all have come here."""
        self.all_reduce(np.zeros(1, np.int8), RedOpType.SUM)

    def _others(self) -> list[int]:
        return [other for other in range(self.size()) if other != self.rank()]
