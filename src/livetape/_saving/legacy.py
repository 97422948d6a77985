"""The format that torch wrote before version 1.6: pickles one after another, then the elements of the storages."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape import dtypes
from livetape._saving.archive import read_array
from livetape._saving.pickler import dump
from livetape._saving.storages import LoadedStorage
from livetape.storage import UntypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def save(obj: Any, file: Any, pickle_module: Any, protocol: int) -> None:
    """Write an object."""
    head = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, head):
        pickle_module.dump(part, file, protocol=protocol)
    data, pieces = dump(obj, pickle_module, protocol, more=(None,))
    file.write(data)
    pieces = sorted(pieces, key=lambda piece: piece.key)
    pickle_module.dump([piece.key for piece in pieces], file, protocol=protocol)
    for piece in pieces:
        file.write(struct.pack("<q", piece.nbytes // piece.dtype.itemsize))
        file.write(memoryview(piece.memory()))


class _Storages:
    """The storages that a pickle asks for. Their elements follow it."""

    def __init__(self, file: Any, restore: Callable[[Any, str], Any]) -> None:
        here = file.tell()
        self.most = (file.seek(0, os.SEEK_END) or file.tell()) - here
        file.seek(here)
        self.restore = restore
        self.found: dict[Any, LoadedStorage] = {}
        self.views: dict[Any, LoadedStorage] = {}
        self.later: list[Callable[[], None]] = []

    def persistent_load(self, saved_id: Any) -> Any:
        """The storage, or the class of a module, of an id."""
        if not isinstance(saved_id, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved_id).__name__}")
        kind, *data = saved_id
        kind = _text(kind)
        if kind == "module":
            return data[0]  # with its source, for comparison
        if kind != "storage":
            raise RuntimeError(f"Unknown saved id type: {saved_id[0]}")
        storage_type, key, location, numel, view = data
        dtype = dtypes.uint8 if storage_type is UntypedStorage else storage_type.dtype
        storage = self.found.get(key)
        if storage is None:
            size = numel * dtype.itemsize
            if not 0 <= size <= self.most:
                raise RuntimeError(f"the file is too short for a storage of {size} bytes")
            memory = self.restore(UntypedStorage.of(np.zeros(size, np.uint8)), _text(location))
            storage = self.found[key] = LoadedStorage(memory.untyped(), dtype, self.later)
        if view is None:
            return storage
        view_key, offset, count = view
        if view_key not in self.views:
            part = storage.untyped()[offset * dtype.itemsize : (offset + count) * dtype.itemsize]
            self.views[view_key] = LoadedStorage(part, dtype, self.later)
        return self.views[view_key]

    def fill(self, file: Any, keys: list[Any], swap: bool) -> None:
        """Read the elements."""
        for key in keys:
            if key not in self.found:
                raise AssertionError(f"storage key {key!r} not found in deserialized_objects")
            storage = self.found[key]
            head = file.read(8)
            if len(head) < 8 or struct.unpack("<q", head)[0] * storage.dtype.itemsize != storage.nbytes():
                raise RuntimeError(f"the file has another number of elements than it tells for storage {key}")
            data = read_array(file, storage.nbytes())
            if data.size != storage.nbytes():
                raise RuntimeError("unexpected EOF, the file might be corrupted.")
            storage.untyped().memory[...] = swapped(data, storage.dtype) if swap else data
        for step in self.later:
            step()


def _text(value: Any) -> Any:
    return value.decode("ascii") if isinstance(value, bytes) else value


def swapped(memory: Any, dtype: Any) -> Any:
    """Bytes with the order within each number reversed; the parts of a complex number are numbers."""
    return memory.view(f"u{dtype.to_real().itemsize}").byteswap().view(np.uint8)


def load(file: Any, restore: Callable[[Any, str], Any], load_pickle: Callable[[Any, Any], Any], skip_data: bool) -> Any:
    """Read an object. ``load_pickle(file, persistent_load)`` reads one pickle."""
    if load_pickle(file, None) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = load_pickle(file, None)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    head = load_pickle(file, None)
    storages = _Storages(file, restore)
    result = load_pickle(file, storages.persistent_load)
    keys = load_pickle(file, None)
    if not skip_data:
        little = head.get("little_endian", True) if isinstance(head, dict) else True
        storages.fill(file, keys, swap=little != (sys.byteorder == "little"))
    return result
