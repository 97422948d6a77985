"""Messages between the loader and a worker: pickled, with large arrays in shared memory.

Each worker has a connection of its own, so that one that dies in the middle of a message, or holding a lock, harms no
other. The arrays of a message travel outside the pickle: if they are large, and the system has it, in a piece of anonymous shared
memory, which the receiver maps and no process has to delete; behind the pickle otherwise.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import struct
from collections.abc import Iterator, Sequence
from multiprocessing import reduction
from typing import Any
from weakref import WeakSet

import numpy as np

from livetape import dtypes
from livetape._tape.tensor import TensorBase, from_array
from livetape._tape.views import needs_gradient
from livetape.size import Size, size_of
from livetape.tensor import Tensor

_INLINE = 1 << 14  # bytes: smaller arrays cost less in the message than a mapping does
_ALIGNMENT = 64
_MOST_MAPPED = 128  # messages mapped at a time: each takes a file descriptor, of which a process has few
_CAN_SHARE = hasattr(os, "memfd_create") and hasattr(reduction, "send_handle")
_COWARD = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
    "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
    "(e.g., putting it on the queue)."
)

_mapped: WeakSet[mmap.mmap] = WeakSet()


def rebuild(cls: Any, array: Any, name: str, requires_grad: bool, state: Any) -> Any:
    """A tensor that came through a channel."""
    made = from_array(array.view(dtypes.by_name(name).np))
    if cls is not None:
        made = Tensor._make_subclass(cls, made)
    made.recorded = requires_grad
    if state:
        made.__dict__.update(state)
    return made


class _Pickler(reduction.ForkingPickler):
    """Writes the elements of a tensor apart, where they lie together in memory."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, TensorBase):
            return _reduce_tensor(obj)
        if type(obj) is Size:
            return size_of, (tuple(obj),)
        return NotImplemented


def _reduce_tensor(tensor: Any) -> Any:
    kind = type(tensor)
    if kind.__reduce_ex__ is not Tensor.__reduce_ex__:
        return NotImplemented
    if tensor.node is not None and needs_gradient(tensor):
        raise RuntimeError(_COWARD)
    array = tensor.array
    if array.dtype.kind == "V":  # bfloat16, which NumPy does not lay open as a buffer
        array = array.view(np.uint16)
    if not array.flags.forc:
        array = array.copy("C")
    return rebuild, (
        None if kind is Tensor else kind,
        array,
        tensor.dtype.name,
        needs_gradient(tensor),
        tensor.__dict__ or None,
    )


class Packed:
    """A message ready to be sent. Making it can fail, as pickling can; sending it can not, short of a broken line."""

    __slots__ = ("blocks", "data", "handle")

    def __init__(self, message: Any) -> None:
        self.blocks: list[memoryview] = []
        self.handle: int | None = None
        stream = io.BytesIO()
        _Pickler(stream, 5, True, self._keep).dump(message)
        body = stream.getbuffer()
        sizes = [block.nbytes for block in self.blocks]
        if _CAN_SHARE and sum(sizes) >= _INLINE:
            self._share(sizes)
        head = struct.pack(f"<?I{len(sizes)}Q", self.handle is not None, len(sizes), *sizes)
        self.data = b"".join([head, struct.pack("<Q", len(body)), body, *self._padded()])

    def _keep(self, buffer: pickle.PickleBuffer) -> bool:
        block = buffer.raw()
        if block.nbytes == 0:
            return True  # into the pickle: nothing can be mapped of it
        self.blocks.append(block)
        return False

    def _padded(self) -> Iterator[Any]:
        for block in self.blocks:
            yield block
            yield bytes(-block.nbytes % _ALIGNMENT)

    def _share(self, sizes: Sequence[int]) -> None:
        handle = os.memfd_create("livetape")
        try:
            for block, place in zip(self.blocks, _places(sizes)):
                while block.nbytes:
                    written = os.pwrite(handle, block, place)
                    block, place = block[written:], place + written
        except BaseException:
            os.close(handle)
            raise
        self.handle = handle
        self.blocks = []

    def close(self) -> None:
        """Let go of the shared memory, on this side."""
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None


def _places(sizes: Sequence[int]) -> list[int]:
    """Where blocks begin in shared memory."""
    places, place = [], 0
    for size in sizes:
        places.append(place)
        place += -(-size // _ALIGNMENT) * _ALIGNMENT
    return places


class Channel:
    """One end of a two-way line."""

    __slots__ = ("connection",)

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def send(self, packed: Packed) -> None:
        """Send a message, waiting while the line is full. OSError if the other end is gone."""
        try:
            self.connection.send_bytes(packed.data)
            if packed.handle is not None:
                reduction.send_handle(self.connection, packed.handle, None)  # type: ignore[arg-type]
        finally:
            packed.close()

    def receive(self) -> Any:
        """The next message, waiting for it. EOFError or OSError if the other end is gone."""
        data = self.connection.recv_bytes()
        shared, count = struct.unpack_from("<?I", data)
        sizes = struct.unpack_from(f"<5x{count}Q", data)
        start = 5 + 8 * count + 8
        (length,) = struct.unpack_from("<Q", data, start - 8)
        places = _places(sizes)
        if shared:
            memory = self._map(places[-1] + sizes[-1])
        else:
            copied: Any = np.frombuffer(data, np.uint8, -1, start + length).copy()  # writable, and aligned
            memory = memoryview(copied)
        buffers = [memory[place : place + size] for place, size in zip(places, sizes)]
        return pickle.loads(memoryview(data)[start : start + length], buffers=buffers)

    def _map(self, size: int) -> memoryview:
        handle = reduction.recv_handle(self.connection)
        try:
            if len(_mapped) < _MOST_MAPPED:
                memory = mmap.mmap(handle, size)
                _mapped.add(memory)
                return memoryview(memory)
            empty: Any = np.empty(size, np.uint8)
            copied = memoryview(empty)
            place = 0
            while place < size:
                place += os.preadv(handle, [copied[place:]], place)
            return copied
        finally:
            os.close(handle)

    def close(self) -> None:
        """Hang up."""
        self.connection.close()
