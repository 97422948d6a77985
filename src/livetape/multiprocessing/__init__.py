"""multiprocessing whose queues and pipes send tensors by sharing their memory (source: ``torch.multiprocessing``).

A tensor that is sent moves into shared memory: the receiver's and the sender's are one. So do all of a module's by
``module.share_memory()``. Processes that are forked or spawned after that train the same weights.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
from multiprocessing import *

from livetape.multiprocessing.reductions import init_reductions
from livetape.multiprocessing.spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
    *multiprocessing.__all__,  # type: ignore[attr-defined]
]

_all_sharing_strategies = {"file_system"} if sys.platform in ("darwin", "win32") else {"file_descriptor", "file_system"}
_sharing_strategy = "file_system" if sys.platform in ("darwin", "win32") else "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted for compatibility: shared memory is passed by file descriptors whatever the name says."""
    global _sharing_strategy
    if new_strategy not in _all_sharing_strategies:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_all_sharing_strategies}")
    _sharing_strategy = new_strategy


def get_sharing_strategy() -> str:
    """The name that was set last."""
    return _sharing_strategy


def get_all_sharing_strategies() -> set[str]:
    """The names that may be set."""
    return _all_sharing_strategies


def _set_thread_name(name: str) -> None:
    threading.current_thread().name = name


def _get_thread_name() -> str:
    return threading.current_thread().name


init_reductions()
