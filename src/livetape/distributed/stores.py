"""Where processes leave values for one another by name (source: ``torch.distributed.Store``)."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

__all__ = [
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "HashStore",
    "PrefixStore",
    "Store",
    "TCPStore",
]

_POLL = 0.01  # seconds between two looks at a file


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistNetworkError(DistError):
    """A connection could not be made, or was lost."""


class DistStoreError(DistError):
    """A store did not answer in time."""


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """Values by name. Values are bytes; texts are stored as UTF-8."""

    def __init__(self) -> None:
        self._timeout = timedelta(seconds=300)

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait."""
        self._timeout = timeout

    def _call(self, operation: str, *args: bytes) -> bytes | None:
        """Do one of the operations of `_Table`."""
        raise NotImplementedError

    def set(self, key: str, value: str | bytes) -> None:
        """Set a value."""
        self._call("set", _bytes(key), _bytes(value))

    def get(self, key: str) -> bytes:
        """A value; waits for it to be set."""
        self.wait([key])
        found = self._call("get", _bytes(key))
        return b"" if found is None else found

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which begins as 0; the sum."""
        return int(self._call("add", _bytes(key), b"%d" % amount) or b"0")

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a value."""
        self._call("append", _bytes(key), _bytes(value))

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Set a value if it is the expected one (or if neither exists); the value then."""
        return self._call("compare_set", _bytes(key), _bytes(expected_value), _bytes(desired_value)) or b""

    def delete_key(self, key: str) -> bool:
        """Delete a value; whether there was one."""
        return self._call("delete", _bytes(key)) == b"1"

    def num_keys(self) -> int:
        """The number of values."""
        return int(self._call("count") or b"0")

    def check(self, keys: list[str]) -> bool:
        """Whether all of the values are there."""
        return all(self._call("has", _bytes(key)) == b"1" for key in keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait for the values; DistStoreError if the time runs out."""
        seconds = (self._timeout if timeout is None else timeout).total_seconds()
        end = time.monotonic() + seconds
        pause = _POLL / 10
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(f"wait timeout after {int(seconds * 1000)}ms, keys: {', '.join(keys)}")
            time.sleep(pause)
            pause = min(2 * pause, _POLL)

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """Several values."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Set several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """True: there are `append` and operations on several values."""
        return True


class _Table:
    """The values, and what can be done with them at once."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.lock = threading.Lock()

    def call(self, operation: str, *args: bytes) -> bytes | None:
        """One operation."""
        done: Callable[..., bytes | None] = getattr(self, "do_" + operation)
        with self.lock:
            return done(*args)

    def do_set(self, key: bytes, value: bytes) -> None:
        self.values[key] = value

    def do_get(self, key: bytes) -> bytes | None:
        return self.values.get(key)

    def do_add(self, key: bytes, amount: bytes) -> bytes:
        self.values[key] = b"%d" % (int(self.values.get(key, b"0")) + int(amount))
        return self.values[key]

    def do_append(self, key: bytes, value: bytes) -> None:
        self.values[key] = self.values.get(key, b"") + value

    def do_compare_set(self, key: bytes, expected: bytes, wanted: bytes) -> bytes:
        if self.values.get(key, b"") == expected:
            self.values[key] = wanted
        return self.values.get(key, expected)

    def do_delete(self, key: bytes) -> bytes:
        return b"0" if self.values.pop(key, None) is None else b"1"

    def do_count(self) -> bytes:
        return b"%d" % len(self.values)

    def do_has(self, key: bytes) -> bytes:
        return b"1" if key in self.values else b"0"


class HashStore(Store):
    """A store for the threads of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._table = _Table()

    def _call(self, operation: str, *args: bytes) -> bytes | None:
        return self._table.call(operation, *args)


class PrefixStore(Store):
    """A part of another store: its names begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix = prefix
        self.underlying_store = store
        self._timeout = store.timeout

    def _call(self, operation: str, *args: bytes) -> bytes | None:
        if not args:
            return self.underlying_store._call(operation)
        return self.underlying_store._call(operation, f"{self.prefix}/".encode() + args[0], *args[1:])


class FileStore(Store):
    """A store in a file that all processes see: a record of operations, done again by every reader."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self._table = _Table()
        self._read = 0
        self._lock = threading.Lock()
        Path(file_name).touch()

    def _call(self, operation: str, *args: bytes) -> bytes | None:
        with self._lock, open(self.path, "r+b") as file, _Locked(file):
            file.seek(self._read)
            data = file.read()
            place = 0
            while place < len(data):
                name, *rest, size = _unframe(data, place)
                self._table.call(name.decode(), *rest)
                place += size
            self._read += place
            if operation not in ("get", "count", "has"):
                record = _frame(operation.encode(), *args)
                file.write(record)
                self._read += len(record)
            return self._table.call(operation, *args)


class _Locked:
    """Holds a file's lock, where the system has such."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> None:
        if fcntl is not None:
            fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *exc: object) -> None:
        self.file.flush()
        if fcntl is not None:
            fcntl.flock(self.file, fcntl.LOCK_UN)


fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


# ---------------------------------------------------------------- over a network


def _frame(*parts: bytes) -> bytes:
    return struct.pack(f"<I{len(parts)}I", len(parts), *map(len, parts)) + b"".join(parts)


def _unframe(data: bytes, start: int) -> tuple[Any, ...]:
    """The parts of a frame, and its size."""
    (count,) = struct.unpack_from("<I", data, start)
    sizes = struct.unpack_from(f"<{count}I", data, start + 4)
    place = start + 4 + 4 * count
    parts = []
    for size in sizes:
        parts.append(data[place : place + size])
        place += size
    return (*parts, place - start)


def _receive(line: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = line.recv(min(size, 1 << 20))
        if not part:
            raise ConnectionError("the other end has closed the connection")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _receive_frame(line: socket.socket) -> list[bytes]:
    (count,) = struct.unpack("<I", _receive(line, 4))
    sizes = struct.unpack(f"<{count}I", _receive(line, 4 * count))
    return [_receive(line, size) for size in sizes]


class TCPStore(Store):
    """A store that one process, the master, keeps, and others reach over the network."""

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self.host = host_name
        self._timeout = timeout
        self._server: _Server | None = None
        if is_master:
            self._server = _Server(host_name, port)
            port = self._server.port
        self.port = port
        self._lock = threading.Lock()
        self._line = _connect(host_name, port, timeout)
        weakref.finalize(self, _hang_up, self._line, *([self._server.listener] if self._server else []))
        if wait_for_workers and world_size:
            self.add("worker-count", 1)
            if is_master:
                self._wait_for_workers(world_size)

    def _wait_for_workers(self, world_size: int) -> None:
        end = time.monotonic() + self._timeout.total_seconds()
        while (found := self.add("worker-count", 0)) < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {int(self._timeout.total_seconds()) + 1} seconds waiting for clients. "
                    f"{found}/{world_size} clients joined."
                )
            time.sleep(_POLL)

    def _call(self, operation: str, *args: bytes) -> bytes | None:
        with self._lock:
            try:
                self._line.sendall(_frame(operation.encode(), *args))
                found, *value = _receive_frame(self._line)
            except OSError as error:
                raise DistNetworkError(f"the store at {self.host}:{self.port} is gone: {error}") from error
        return value[0] if found == b"1" else None

    def __repr__(self) -> str:
        return f"TCPStore({self.host}:{self.port}{', master' if self._server else ''})"


def _hang_up(*lines: socket.socket) -> None:
    for line in lines:
        with contextlib.suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)  # wakes who waits for it
        line.close()


def _connect(host: str, port: int, timeout: timedelta) -> socket.socket:
    """A connection, once somebody listens."""
    end = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            line = socket.create_connection((host, port), timeout=max(0.1, end - time.monotonic()))
        except OSError as error:
            if time.monotonic() > end:
                raise DistNetworkError(
                    f"The client socket has timed out after {int(timeout.total_seconds() * 1000)}ms while trying to "
                    f"connect to ({host}, {port})."
                ) from error
            time.sleep(_POLL)
        else:
            line.settimeout(None)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return line


class _Server:
    """Answers the operations of all processes, until the program ends."""

    def __init__(self, host: str, port: int) -> None:
        self.table = _Table()
        try:
            self.listener = socket.create_server((host, port))
        except OSError as error:
            raise DistNetworkError(
                f"The server socket has failed to listen on any local network address. port: {port}, useIpv6: false, "
                f"code: {error.errno}, message: {error.strerror}"
            ) from error
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True, name="livetape store").start()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self.listener.accept()
            except OSError:
                return
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(line,), daemon=True, name="livetape store").start()

    def _serve(self, line: socket.socket) -> None:
        try:
            while True:
                operation, *args = _receive_frame(line)
                found = self.table.call(operation.decode(), *args)
                line.sendall(_frame(b"0") if found is None else _frame(b"1", found))
        except OSError:
            pass  # it has hung up
        finally:
            line.close()
