"""The zip files that torch writes: stored records, each aligned so that it can be mapped into memory.

The writer never goes back, so that anything with a ``write`` method serves, and lays out every byte as torch does.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any

import numpy as np

VERSION = b"3\n"
_NEWEST_READ = 10
_LIMIT = 0xFFFFFFFF  # what 32 bits cannot tell goes into 64
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_NAMES_ARE_UTF8 = 0x800
_SIZES_FOLLOW = 0x8
_CORRUPTED = (
    " This is an internal miniz error. If you are seeing this error, there is a high likelihood that your checkpoint file "
    "is corrupted. This can happen if the checkpoint was not saved properly, was transferred incorrectly, or the file was "
    "modified after saving."
)


class ArchiveWriter:
    """Writes records to a file object, in one go from its beginning to its end."""

    def __init__(self, file: Any, name: str, compute_crc32: bool = True, alignment: int = 64) -> None:
        self.file = file
        self.name = name
        self.compute_crc32 = compute_crc32
        self.alignment = alignment
        self.place = 0
        self.entries: list[tuple[bytes, int, int, int]] = []  # name, offset of the header, checksum, size

    def _write(self, data: Any) -> None:
        view = memoryview(data)
        self.place += view.nbytes
        while view.nbytes:
            written = self.file.write(view)
            if not isinstance(written, int) or written >= view.nbytes:  # what returns no count has written all
                break
            view = view[written:]  # an unbuffered file

    def record(self, name: str, data: Any) -> None:
        """Write bytes, or an array of them, as a record."""
        size = memoryview(data).nbytes
        checksum = zlib.crc32(data) if self.compute_crc32 and size else 0
        self._header(name, size, checksum)
        self._write(data)
        self._trailer(size, checksum)

    def space(self, name: str, size: int) -> None:
        """Write a record of zeros, for others to fill."""
        self._header(name, size, 0)
        for start in range(0, size, 1 << 20):
            self._write(bytes(min(1 << 20, size - start)))
        self._trailer(size, 0)

    def _header(self, name: str, size: int, checksum: int) -> None:
        full = f"{self.name}/{name}".encode()
        wide = _wide(size, self.place)
        start = self.place + _LOCAL.size + len(full) + len(wide) + 4
        extra = wide + b"FB" + struct.pack("<H", -start % self.alignment) + b"Z" * (-start % self.alignment)
        self.entries.append((full, self.place, checksum, size))
        self._write(_LOCAL.pack(b"PK\3\4", 0, _flags(size), 0, 0, 0, 0, 0, 0, len(full), len(extra)) + full + extra)

    def _trailer(self, size: int, checksum: int) -> None:
        if size:
            wide = size >= _LIMIT or self.entries[-1][1] >= _LIMIT
            self._write(struct.pack("<4sI2Q" if wide else "<4s3I", b"PK\7\x08", checksum, size, size))

    def finish(self) -> None:
        """Write the table of contents."""
        self.record("version", VERSION)
        self.record(".data/serialization_id", self._identity().encode())
        start = self.place
        for full, place, checksum, size in self.entries:
            wide = _wide(size, place)
            shown = min(size, _LIMIT)
            self._write(
                _CENTRAL.pack(
                    b"PK\1\2",
                    0,
                    0,
                    _flags(size),
                    0,
                    0,
                    0,
                    checksum,
                    shown,
                    shown,
                    len(full),
                    len(wide),
                    0,
                    0,
                    0,
                    0,
                    min(place, _LIMIT),
                )
                + full
                + wide
            )
        stop, count = self.place, len(self.entries)
        self._write(_END64.pack(b"PK\6\6", 44, 0x31E, 45, 0, 0, count, count, stop - start, start))
        self._write(_LOCATOR.pack(b"PK\6\7", 0, stop, 1))
        count = min(count, 0xFFFF)
        self._write(_END.pack(b"PK\5\6", 0, 0, count, count, min(stop - start, _LIMIT), min(start, _LIMIT), 0))

    def _identity(self) -> str:
        """40 digits that differ where names or contents do."""
        names = contents = 0
        for full, _, checksum, _ in self.entries:
            names = _mixed(names, zlib.crc32(full))
            contents = _mixed(contents, checksum)
        return f"{names:020d}{contents:020d}"


def _flags(size: int) -> int:
    return _NAMES_ARE_UTF8 | (_SIZES_FOLLOW if size else 0)


def _wide(size: int, place: int) -> bytes:
    """The extra field with what does not fit into 32 bits."""
    numbers = ([size, size] if size >= _LIMIT else []) + ([place] if place >= _LIMIT else [])
    return struct.pack(f"<2H{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


def _mixed(seed: int, value: int) -> int:
    return (seed ^ (value + 0x9E3779B9 + (seed << 6) + (seed >> 2))) & 0xFFFFFFFFFFFFFFFF


class ArchiveReader:
    """Finds records in a zip file that begins where a file object stands."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.entries: dict[str, tuple[int, int, int, int]] = {}  # name: header's place, stored size, size, method
        start = file.tell()
        contents, count, self.shift = self._contents(start)
        names = self._parse(contents, count)
        if not names:
            raise _broken("reading zip archive: failed finding central directory")
        self.name, slash, _ = names[0].partition("/")
        if not slash:
            raise RuntimeError(
                f"[enforce fail at inline_container.cc:180] . file in archive is not in a subdirectory: {names[0]}"
            )
        number = self.record("version" if self.has("version") else ".data/version").strip()
        if not number.isdigit() or int(number) > _NEWEST_READ:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {number.decode(errors='replace')}, but the maximum "
                f"supported version for reading is {_NEWEST_READ}. The version of your PyTorch installation may be too "
                "old, please upgrade PyTorch to latest version to mitigate this issue."
            )

    def _contents(self, start: int) -> tuple[bytes, int, int]:
        """The table of contents, how many entries it has, and by how much the places in it have to be moved."""
        file = self.file
        stop = file.seek(0, os.SEEK_END) or file.tell()
        low = max(start, stop - _END.size - 0xFFFF)
        file.seek(low)
        tail = file.read(stop - low)
        at = tail.rfind(b"PK\5\6")
        if at < 0 or len(tail) - at < _END.size:
            raise _broken("reading zip archive: failed finding central directory")
        _, _, _, _, count, size, place, _ = _END.unpack_from(tail, at)
        end = low + at
        if at >= _LOCATOR.size and tail[at - _LOCATOR.size :].startswith(b"PK\6\7"):
            end -= _LOCATOR.size + _END64.size
            if end < start:
                raise _broken("reading zip archive: failed finding central directory")
            file.seek(end)
            found = file.read(_END64.size)
            if len(found) < _END64.size or not found.startswith(b"PK\6\6"):
                raise _broken("reading zip archive: failed finding central directory")
            _, _, _, _, _, _, _, count, size, place = _END64.unpack(found)
        if end - size < start:
            raise _broken("reading zip archive: failed finding central directory")
        file.seek(end - size)
        return file.read(size), count, end - size - place

    def _parse(self, contents: bytes, count: int) -> list[str]:
        names, at = [], 0
        for _ in range(count):
            if len(contents) - at < _CENTRAL.size or not contents.startswith(b"PK\1\2", at):
                raise _broken("reading zip archive: failed reading central directory")
            fields = _CENTRAL.unpack_from(contents, at)
            method, stored, size, name_size, extra_size, note_size = fields[4], *fields[8:13]
            place = fields[16]
            at += _CENTRAL.size
            name = contents[at : at + name_size].decode("utf-8", "surrogateescape")
            extra = contents[at + name_size : at + name_size + extra_size]
            size, stored, place = _widened(extra, size, stored, place)
            at += name_size + extra_size + note_size
            self.entries[name] = (place + self.shift, stored, size, method)
            names.append(name)
        return names

    def has(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return f"{self.name}/{name}" in self.entries

    def names(self) -> list[str]:
        """The names of the records."""
        return [name[len(self.name) + 1 :] for name in self.entries]

    def _entry(self, name: str) -> tuple[int, int, int, int]:
        found = self.entries.get(f"{self.name}/{name}")
        if found is None:
            raise _broken(f"locating file {name}: file not found")
        return found

    def size(self, name: str) -> int:
        """The bytes of a record."""
        return self._entry(name)[2]

    def place(self, name: str) -> int:
        """Where a stored record's bytes begin in the file."""
        start, _, _, method = self._entry(name)
        self.file.seek(max(start, 0))
        header = self.file.read(_LOCAL.size)
        if start < 0 or len(header) < _LOCAL.size or not header.startswith(b"PK\3\4"):
            raise _broken(f"reading file {name}: invalid header or archive is corrupted")
        if method not in (0, 8):
            raise _broken(f"reading file {name}: unsupported method")
        name_size, extra_size = _LOCAL.unpack(header)[-2:]
        return int(start + _LOCAL.size + name_size + extra_size)

    def record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self.array(name).tobytes()

    def array(self, name: str) -> Any:
        """The bytes of a record as a new uint8 array."""
        _, stored, size, method = self._entry(name)
        self.file.seek(self.place(name))
        if method == 8:
            try:
                data = zlib.decompressobj(-15).decompress(self.file.read(stored), size)
            except zlib.error as fault:
                raise _broken(f"reading file {name}: {fault}") from None
            array = np.frombuffer(data, np.uint8).copy()
        else:
            array = read_array(self.file, size)
        if array.size != size:
            raise _broken(f"reading file {name}: file read failed")
        return array


def _widened(extra: bytes, size: int, stored: int, place: int) -> tuple[int, int, int]:
    """Sizes and place, with those that did not fit into 32 bits taken from the extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            numbers = list(struct.unpack_from(f"<{min(length, len(extra) - at - 4) // 8}Q", extra, at + 4))
            size, stored, place = [
                numbers.pop(0) if number == _LIMIT and numbers else number for number in (size, stored, place)
            ]
        at += 4 + length
    return size, stored, place


def read_array(file: Any, size: int) -> Any:
    """The next ``size`` bytes of a file, fewer at its end, as a new uint8 array."""
    if hasattr(file, "readinto"):
        here = file.tell()
        left = (file.seek(0, os.SEEK_END) or file.tell()) - here  # no file may ask for more memory than it has bytes
        file.seek(here)
        array: Any = np.empty(min(size, max(left, 0)), np.uint8)
        view, done = memoryview(array), 0
        while done < array.size:
            got = file.readinto(view[done:])
            if not got:
                break
            done += got
        return array[:done] if done < array.size else array
    return np.frombuffer(bytearray(file.read(size)), np.uint8)


def _broken(what: str) -> RuntimeError:
    return RuntimeError(f"PytorchStreamReader failed {what}.{_CORRUPTED}")
