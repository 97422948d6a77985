"""Messages between the processes of a group of programs: over sockets, or by MPI."""

from __future__ import annotations

import os
import queue
import socket
import struct
import threading
import time
from typing import Any

from livetape.distributed.stores import DistNetworkError, Store, _hang_up

Channel = tuple[int, int, int]  # group, kind, tag: messages of one channel come in the order in which they were sent
_HEAD = struct.Struct("<iiiQ")
_HELLO = struct.Struct("<i16s")


class Transport:
    """Sends bytes to a process by its rank, and receives them."""

    rank: int
    size: int

    def send(self, to: int, channel: Channel, data: Any) -> None:
        """Send; returns when the data may be changed."""
        raise NotImplementedError

    def receive(self, source: int | None, channel: Channel, timeout: float) -> tuple[int, Any]:
        """The next message of a channel from one process, or from any: its sender and a writable buffer."""
        raise NotImplementedError

    def close(self) -> None:
        """Hang up."""


class _Boxes:
    """Messages that have come, by channel and sender."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.messages: dict[tuple[Channel, int], queue.SimpleQueue[Any]] = {}
        self.lost: dict[int, str] = {}

    def put(self, source: int, channel: Channel, data: Any) -> None:
        with self.changed:
            self.messages.setdefault((channel, source), queue.SimpleQueue()).put(data)
            self.changed.notify_all()

    def lose(self, source: int, why: str) -> None:
        with self.changed:
            self.lost[source] = why
            self.changed.notify_all()

    def take(self, sources: list[int], channel: Channel, timeout: float) -> tuple[int, Any]:
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                for source in sources:
                    box = self.messages.get((channel, source))
                    if box is not None and not box.empty():
                        return source, box.get()
                gone = [source for source in sources if source in self.lost]
                if len(gone) == len(sources):
                    raise DistNetworkError(f"Connection closed by rank {gone[0]}: {self.lost[gone[0]]}")
                left = end - time.monotonic()
                if left <= 0:
                    raise DistNetworkError(f"Timed out waiting {int(timeout * 1000)}ms for recv operation to complete")
                self.changed.wait(left)


class SocketTransport(Transport):
    """A connection to every other process, and a thread for each that reads it, so that a send never waits for long."""

    def __init__(self, store: Store, rank: int, size: int, host: str, timeout: float) -> None:
        self.rank, self.size = rank, size
        self.boxes = _Boxes()
        self.lines: dict[int, socket.socket] = {}
        self.locks = [threading.Lock() for _ in range(size)]
        self.closing = False
        # What connects must know the word that the first process has left in the store.
        if rank == 0:
            store.set("secret", os.urandom(16))
        secret = store.get("secret")
        listener = socket.create_server((host, 0))
        listener.settimeout(timeout)
        store.set(f"address/{rank}", f"{host}:{listener.getsockname()[1]}")
        try:
            for other in range(rank):  # a process calls those before it
                to_host, _, port = store.get(f"address/{other}").decode().rpartition(":")
                line = socket.create_connection((to_host, int(port)), timeout=timeout)
                line.sendall(_HELLO.pack(rank, secret))
                self._add(other, line)
            while len(self.lines) < size - 1:
                line, _ = listener.accept()
                line.settimeout(timeout)
                other, word = _HELLO.unpack(_exactly(line, _HELLO.size))
                if word != secret or not rank < other < size or other in self.lines:
                    line.close()
                    continue
                self._add(other, line)
        except OSError as error:
            raise DistNetworkError(f"rank {rank} could not reach all others: {error}") from error
        finally:
            listener.close()

    def _add(self, other: int, line: socket.socket) -> None:
        line.settimeout(None)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines[other] = line
        threading.Thread(target=self._read, args=(other, line), daemon=True, name=f"livetape rank {other}").start()

    def _read(self, other: int, line: socket.socket) -> None:
        try:
            while True:
                group, kind, tag, size = _HEAD.unpack(_exactly(line, _HEAD.size))
                self.boxes.put(other, (group, kind, tag), _exactly(line, size))
        except OSError as error:
            self.boxes.lose(other, str(error))

    def send(self, to: int, channel: Channel, data: Any) -> None:
        block = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
        if to == self.rank:
            self.boxes.put(to, channel, bytearray(block))
            return
        try:
            with self.locks[to]:
                self.lines[to].sendall(_HEAD.pack(*channel, block.nbytes))
                self.lines[to].sendall(block)
        except OSError as error:
            raise DistNetworkError(f"Connection closed by rank {to}: {error}") from error

    def receive(self, source: int | None, channel: Channel, timeout: float) -> tuple[int, Any]:
        sources = list(range(self.size)) if source is None else [source]
        return self.boxes.take(sources, channel, timeout)

    def close(self) -> None:
        _hang_up(*self.lines.values())


def _exactly(line: socket.socket, size: int) -> bytearray:
    found = bytearray(size)
    view, place = memoryview(found), 0
    while place < size:
        count = line.recv_into(view[place:])
        if count == 0:
            raise ConnectionError("it has ended")
        place += count
    return found


class MPITransport(Transport):
    """By mpi4py, of the processes that ``mpirun`` has started."""

    def __init__(self) -> None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise RuntimeError(
                "The mpi backend needs the package mpi4py, and an MPI library: pip install 'livetape[mpi]'."
            ) from error
        self.mpi = MPI
        self.world = MPI.COMM_WORLD.Dup()
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        self.boxes = _Boxes()

    def send(self, to: int, channel: Channel, data: Any) -> None:
        self.world.send((channel, bytes(memoryview(data).cast("B")) if memoryview(data).nbytes else b""), dest=to)

    def receive(self, source: int | None, channel: Channel, timeout: float) -> tuple[int, Any]:
        sources = list(range(self.size)) if source is None else [source]
        while True:
            try:
                return self.boxes.take(sources, channel, 0)
            except DistNetworkError:
                status = self.mpi.Status()
                found, data = self.world.recv(source=self.mpi.ANY_SOURCE, status=status)
                self.boxes.put(status.Get_source(), tuple(found), bytearray(data))

    def close(self) -> None:
        self.world.Free()
