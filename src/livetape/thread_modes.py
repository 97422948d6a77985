"""What each thread has of its own: its grad mode, inference mode, hooks and interposers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np


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
    function_modes: tuple[Any, ...] = ()  # that answer calls, see _tape/overriding.py
    functions: int = 0  # whether classes and modes are asked: ON, NO_CLASSES or OFF
    walk: Any = None  # the backward this thread is in
    recorder: Any = None  # the profiler that watches this thread
    autocast: Any = None  # what this thread has set of autocast


local = ThreadModes()

profiled: list[Callable[[], None]] = []  # what is done when a profiler starts, so that it sees more than operations

accumulating = threading.RLock()  # held while a leaf's .grad changes: walks in several threads may share a leaf


def elsewhere(call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """``call(*args)`` in a thread of its own, with the modes of this one, which waits for it."""
    modes = dict(vars(local))
    results: list[Any] = []
    errors: list[BaseException] = []

    def body() -> None:
        vars(local).update(modes)
        try:
            results.append(call(*args))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body, name=threading.current_thread().name)
    thread.start()
    thread.join()
    if errors:
        raise errors.pop()
    return results.pop()


def ignore_float_errors() -> None:
    """Compute inf and nan without a word, as torch does, in this thread and in those that are started from now on.

    NumPy keeps what it says of them by context, and a new thread begins with an empty one. What `threading.setprofile`
    names is called first of all in a new thread; it then makes way for what was there before.
    """
    np.seterr(all="ignore")
    before: Any = threading.getprofile()

    def begin(frame: Any, event: str, arg: Any) -> None:
        np.seterr(all="ignore")
        sys.setprofile(before)

    threading.setprofile(begin)


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
