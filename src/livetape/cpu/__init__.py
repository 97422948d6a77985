"""The CPU as a device (source: ``torch.cpu``)."""

from __future__ import annotations

import contextlib
from typing import Any

from livetape.cpu import amp

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """There is one order of execution on the CPU: nothing to choose (source: ``torch.cpu.Stream``)."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Return at once: everything before has run."""

    def record_event(self) -> None:
        """Return at once."""

    def wait_event(self, event: Any) -> None:
        """Return at once."""


class Event:
    """A point in the order of execution, which has passed (source: ``torch.cpu.Event``)."""

    def query(self) -> bool:
        """True: everything before has run."""
        return True

    def record(self, stream: Any = None) -> None:
        """Return at once."""

    def synchronize(self) -> None:
        """Return at once."""

    def wait(self, stream: Any = None) -> None:
        """Return at once."""


_CURRENT = Stream()


class StreamContext(contextlib.nullcontext[Any]):
    """A context that changes nothing (source: ``torch.cpu.StreamContext``)."""

    def __init__(self, stream: Any) -> None:
        super().__init__()


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """One CPU."""
    return 1


def current_device() -> str:
    """The name of the device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Accepted: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Return at once: nothing runs behind the program's back."""


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _CURRENT


def stream(stream: Any) -> StreamContext:
    """A context that changes nothing (source: ``torch.cpu.stream``)."""
    return StreamContext(stream)
