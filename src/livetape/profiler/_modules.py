"""The calls of modules, as spans of a profile."""

from __future__ import annotations

from typing import Any

from livetape._tape.modes import local
from livetape.nn.modules._hooks import register_module_forward_hook, register_module_forward_pre_hook


class ModuleSpans:
    """Notes a span for each call of a module in this thread, until `remove`."""

    def __init__(self) -> None:
        self.recorder = local.recorder
        self.open: list[Any] = []
        self.kept: dict[int, tuple[Any, str]] = {}  # by id; the module is held, so that no other takes its id
        self.counts: dict[str, int] = {}
        self.handles = (
            register_module_forward_pre_hook(self.enter),
            register_module_forward_hook(self.leave, always_call=True),
        )

    def name_of(self, module: Any) -> str:
        """The class of a module, and its number among those of the class."""
        known = self.kept.get(id(module))
        if known is None:
            kind = type(module).__name__
            number = self.counts.get(kind, 0)
            self.counts[kind] = number + 1
            known = self.kept[id(module)] = (module, f"nn.Module: {kind}_{number}")
        return known[1]

    def enter(self, module: Any, args: Any) -> None:
        """Before a forward."""
        recorder = self.recorder
        if recorder is None or local.recorder is not recorder:
            return
        span = recorder.enter(self.name_of(module))
        span.module = True
        self.open.append(span)

    def leave(self, module: Any, args: Any, output: Any) -> None:
        """After a forward."""
        if self.open and local.recorder is self.recorder:
            self.recorder.leave(self.open.pop())

    def remove(self) -> None:
        """Watch modules no longer."""
        for handle in self.handles:
            handle.remove()
        self.kept.clear()
