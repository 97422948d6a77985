"""Memory of large arrays that is kept for the next ones, so that results are not written into fresh pages.

It works below NumPy (NEP 49), for the thread that imports livetape and for those that make large results with it. An
array's memory comes back when the array and all its views are gone; what nobody takes for some seconds goes back to the
system, and everything when memory runs short. On a build without C++ nothing is kept. ``LIVETAPE_BUFFERS=0`` in the
environment leaves NumPy's own allocator in place.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from livetape.kernels.compiled import native


class Info(NamedTuple):
    """``kept`` bytes wait for the next arrays, at most ``limit``; so many blocks were ``reused``, so many made anew."""

    kept: int
    limit: int
    reused: int
    made: int


def start() -> bool:
    """Keep the memory of this thread's large arrays from now on; False if this build or the environment does not."""
    if native is None or os.environ.get("LIVETAPE_BUFFERS") == "0":
        return False
    return bool(native.buffers_start())


def info() -> Info:
    """What is kept at present.

    >>> import livetape
    >>> livetape.buffers.info().kept <= livetape.buffers.info().limit
    True
    """
    return Info(0, 0, 0, 0) if native is None else Info(*native.buffers_info())


def set_limit(size: int) -> None:
    """Keep at most ``size`` bytes; 0 keeps nothing. The default is an eighth of the memory, at most 2 GiB."""
    if native is not None:
        native.buffers_limit(size)


def trim() -> None:
    """Give back what no array has taken since the last call; this happens by itself every few seconds."""
    if native is not None:
        native.buffers_trim()


def empty_cache() -> None:
    """Give all memory that waits for arrays back to the system (as ``torch.cuda.empty_cache`` does on a GPU)."""
    if native is not None:
        native.buffers_empty()
