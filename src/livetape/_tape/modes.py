"""What changes how operations run: grad mode, inference mode, saved-tensor hooks and the interposer stack.

Modes belong to the thread that sets them. Reading a thread's own state costs more than a tiny operation can spend, so
`state` counts the threads that deviate from the default, and only where that count is not zero is the thread asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mypy_extensions import i64

from livetape import thread_modes


class State:
    """What every operation looks at, shared by all threads."""

    __slots__ = (
        "anomaly",
        "hooking",
        "inferring",
        "interposed",
        "overriding",
        "profiling",
        "records",
        "sequence",
        "unrecorded",
        "walks",
        "watching",
    )

    def __init__(self) -> None:
        self.sequence: i64 = 0  # of the newest node: a node's number is above those of all nodes it leads to
        self.walks: i64 = 0  # how many walks have begun
        self.unrecorded: i64 = 0  # threads that do not record
        self.inferring: i64 = 0  # threads in inference mode
        self.interposed: i64 = 0  # interposers on all threads' stacks
        self.profiling: i64 = 0  # how many of them only watch: profilers
        self.hooking: i64 = 0  # saved-tensor hooks on all threads' stacks
        self.overriding: bool = False  # whether classes or modes of the program may answer calls, see overriding.py
        self.records: bool = False  # whether any node's extras say `records`
        self.watching: bool = False  # whether nodes remember the line that made them
        self.anomaly: Any = None  # anomaly mode: has note(node, frame), guard(task, node, slot) and look(node, grads)


state: Final = State()


local: Final[Any] = thread_modes.local


def is_recording() -> bool:
    """Whether this thread's operations append nodes."""
    return state.unrecorded == 0 or bool(local.recording)


def is_inferring() -> bool:
    """Whether this thread is in inference mode."""
    return state.inferring != 0 and bool(local.inference)


def set_modes(grad: bool, inference: bool) -> None:
    """Set this thread's grad mode and inference mode."""
    own: dict[str, Any] = local.__dict__  # asked for once: each look at `local` finds out which thread this is
    recording = grad and not inference
    if recording != own.get("recording", True):
        state.unrecorded += -1 if recording else 1
        own["recording"] = recording
    if inference != own.get("inference", False):
        state.inferring += 1 if inference else -1
        own["inference"] = inference
    own["grad"] = grad


def set_grad(grad: bool) -> None:
    """Set this thread's grad mode."""
    own: dict[str, Any] = local.__dict__
    if grad != own.get("grad", True):
        set_modes(grad, bool(own.get("inference", False)))


def push_interposer(interposer: Any) -> None:
    """Let ``interposer.intercept(op, args, kwargs)`` stand before every operation of this thread."""
    local.interposers = (*local.interposers, interposer)
    state.interposed += 1


def pop_interposer() -> None:
    """Take the newest interposer off."""
    local.interposers = local.interposers[:-1]
    state.interposed -= 1


def remove_interposer(interposer: Any) -> None:
    """Take an interposer off, wherever it stands on this thread's stack."""
    stack = local.interposers
    rest = tuple([i for i in stack if i is not interposer])
    state.interposed -= len(stack) - len(rest)
    local.interposers = rest


def push_below(interposer: Any) -> None:
    """Put an interposer below all others of this thread, where it sees the operations that are really run.

    Only profilers are below it, see `watch`.
    """
    stack = local.interposers
    watchers = tuple([i for i in stack if getattr(i, "watches", False)])
    local.interposers = (*watchers, interposer, *[i for i in stack if i not in watchers])
    state.interposed += 1


def watch(recorder: Any) -> None:
    """Put a profiler below this thread's interposers, where it sees the operations that are really run."""
    local.recorder = recorder
    local.interposers = (recorder, *local.interposers)
    state.interposed += 1
    state.profiling += 1


def unwatch(recorder: Any) -> None:
    """Take a profiler off this thread."""
    remove_interposer(recorder)
    state.profiling -= 1
    local.recorder = None


def is_transformed() -> bool:
    """Whether an interposer stands before this thread's operations that does more than watch them."""
    if state.interposed == state.profiling:
        return False
    for interposer in local.interposers:
        if not getattr(interposer, "watches", False):
            return True
    return False


def is_wrapped(tensor: Any) -> bool:
    """Whether a transform that is under way has made of a tensor more than its memory tells."""
    levels = local.levels
    return bool(levels) and bool(levels[-1].wraps(tensor))


def describe(tensor: Any) -> str | None:
    """The text of a tensor that an interposer has made more of than its values tell; None for others."""
    for interposer in reversed(local.interposers):
        describing = getattr(interposer, "describe", None)
        text: str | None = None if describing is None else describing(tensor)
        if text is not None:
            return text
    return None


def interpose(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], plain: Callable[..., Any]) -> Any:
    """Give the call to the newest interposer, which runs with those below it in place; ``plain`` is the bare call.

    ``kwargs`` says how the row is run: nothing for a result of its own, {"inplace": True} for `Op.inplace`, and
    {"reshape": change} where ``change(op, args)`` gives the first argument itself the shape of the result, a view.
    """
    stack = local.interposers
    if not stack:
        return plain(*args)
    local.interposers = stack[:-1]
    try:
        return stack[-1].intercept(op, args, kwargs)
    finally:
        local.interposers = stack


def push_saved_hooks(pack: Any, unpack: Any) -> None:
    """Pack every value this thread saves from now on with ``pack``, and unpack it with ``unpack``."""
    if local.saved_hooks_refused is not None:
        raise RuntimeError(local.saved_hooks_refused)
    local.saved_hooks = (*local.saved_hooks, (pack, unpack))
    state.hooking += 1


def pop_saved_hooks() -> None:
    """Take the newest pair of saved-tensor hooks off."""
    local.saved_hooks = local.saved_hooks[:-1]
    state.hooking -= 1


def saved_hooks() -> Any:
    """This thread's newest (pack, unpack), or None."""
    hooks = local.saved_hooks
    return hooks[-1] if hooks else None
