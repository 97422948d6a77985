"""record_function: a named block of a profile."""

from __future__ import annotations

import contextlib
from typing import Any

from livetape.thread_modes import local

_USER = 7  # torch's number for blocks named by the program


class record_function(contextlib.ContextDecorator):
    """A block, or a function, that a profile shows under a name (source: ``torch.autograd.profiler.record_function``).

    >>> import livetape as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("two steps"):
    ...         y = torch.ones(2).exp().log()
    >>> [event.name for event in prof.function_events if event.cpu_parent is None]
    ['two steps']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._spans: list[Any] = []

    def __enter__(self) -> record_function:
        if not isinstance(self.name, str):
            raise RuntimeError(
                "profiler::_record_function_enter_new() Expected a value of type 'str' for argument 'name' but instead "
                f"found type '{type(self.name).__name__}'."
            )
        recorder = local.recorder
        self._spans.append(None if recorder is None else recorder.enter(self.name, _USER))
        return self

    def __exit__(self, *error: object) -> None:
        span = self._spans.pop()
        recorder = local.recorder
        if recorder is not None:
            recorder.leave(span)
