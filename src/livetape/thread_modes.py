"""What each thread has of its own: its grad mode, inference mode, hooks and interposers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class ThreadModes(threading.local):
    """One thread's modes. ``recording`` is derived: grad mode is on and inference mode is off."""

    grad: bool = True
    inference: bool = False
    recording: bool = True
    interposers: tuple[Any, ...] = ()
    levels: tuple[Any, ...] = ()  # of torch.func's transforms that are under way
    saved_hooks: tuple[Any, ...] = ()
    saved_hooks_refused: str | None = None
    lays_out: bool = True  # whether gradients get the strides of their leaves
    walk: Any = None  # the backward this thread is in
    recorder: Any = None  # the profiler that watches this thread
    autocast: Any = None  # what this thread has set of autocast


local = ThreadModes()

profiled: list[Callable[[], None]] = []  # what is done when a profiler starts, so that it sees more than operations

accumulating = threading.RLock()  # held while a leaf's .grad changes: walks in several threads may share a leaf


class Casting:
    """Whether an autocast is on, in any thread. A plain attribute: the functions that look at it cannot spare more."""

    __slots__ = ("threads",)

    def __init__(self) -> None:
        self.threads = 0

    def current(self) -> Any:
        """The autocast that stands before this thread's operations, or None: see `livetape.amp`."""
        for interposer in local.interposers:
            if getattr(interposer, "casts", False):
                return interposer
        return None


casting = Casting()
