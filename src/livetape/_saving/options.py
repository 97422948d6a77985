"""Settings of saving and loading (source: ``torch.utils.serialization.config``)."""

from __future__ import annotations

import sys
import threading
from enum import Enum


class LoadEndianness(Enum):
    """The byte order assumed of a file that does not tell."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class load:
    """Settings of loading."""

    mmap: bool = False
    endianness: LoadEndianness | None = None
    mmap_flags: int | None = None if sys.platform == "win32" else 2  # MAP_PRIVATE
    calculate_storage_offsets: bool = False


class save:
    """Settings of saving."""

    compute_crc32: bool = True
    use_pinned_memory_for_d2h: bool = False
    storage_alignment: int = 64


class _Local(threading.local):
    """Settings of one thread."""

    skip_data: bool = False


local = _Local()
