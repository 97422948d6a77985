"""Opening files: for writing so that they are complete or absent, for reading so that one can go back."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_NOT_SEEKABLE = (
    ". You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like "
    "io.BytesIO and try to load from it instead."
)


def is_path(f: Any) -> bool:
    """Whether this is a path, rather than a file object."""
    return isinstance(f, (str, os.PathLike))


@contextmanager
def writing(path: str) -> Iterator[Any]:
    """A new file that takes the place of ``path`` once it is complete, and leaves no trace otherwise.

    It is not forced onto the disk: this guards against errors and interrupts, not against a loss of power.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
    beside = os.path.join(folder, f".{name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    special = os.path.exists(target) and not os.path.isfile(target)  # a device or a pipe is not to be replaced
    try:
        file = open(target, "wb") if special else open(beside, "xb")
    except OSError as fault:
        try:
            if special or not os.path.isfile(target):
                raise
            special = True
            file = open(target, "wb")
        except OSError:
            raise RuntimeError(f"open file failed with strerror: {fault.strerror}, file path: {path}") from fault
    try:
        with file:
            yield file
        if not special:
            if os.path.exists(target):
                os.chmod(beside, os.stat(target).st_mode & 0o7777)
            os.replace(beside, target)
    except BaseException:
        if not special:
            with suppress(OSError):
                os.unlink(beside)
        raise


@contextmanager
def reading(f: Any) -> Iterator[Any]:
    """A file object to read and seek in, for a path or a file object. torch's error for what cannot seek."""
    if is_path(f):
        with open(f, "rb") as file:
            yield file
        return
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as fault:
        if "seek" in str(fault) or "tell" in str(fault):
            raise type(fault)(str(fault) + _NOT_SEEKABLE) from None
        raise
    # Records are not read in the order of the file, which compressed files do not like.
    yield io.BytesIO(f.read()) if type(f).__module__ in ("gzip", "bz2", "lzma") else f


def is_zipfile(file: Any) -> bool:
    """Whether a zip file begins where a file object stands."""
    start = file.tell()
    found = file.read(4)
    file.seek(start)
    return bool(found == b"PK\3\4")
