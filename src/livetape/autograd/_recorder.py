"""What a profiler writes down of a thread: a span of time for each operation, and for each node of a backward.

The recorder is an interposer at the bottom of the stack, where it sees the operations that are really run; the engine tells
it of nodes and leaves. While none is on, none of this costs anything.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from livetape._tape.modes import is_recording, local, state, unwatch, watch
from livetape._tape.tensor import TensorBase, shape_of
from livetape.autograd._dual import run_below
from livetape.autograd._flops import flops_of
from livetape.dtypes import C_NAME
from livetape.ops.aten import name_of

FORWARD, BACKWARD, USER = 0, 1, 7  # what a span is, by torch's numbers
_clock = time.perf_counter_ns
_TYPE_NAMES = {"long": "long int", "short": "short int", "unsigned long": "unsigned long int"}


class Span:
    """One operation, node or block: when it began and ended, and what it was given."""

    __slots__ = (
        "arguments",
        "end",
        "flops",
        "forward_thread",
        "module",
        "name",
        "parent",
        "scope",
        "sequence",
        "stack",
        "start",
    )

    def __init__(self, name: str, scope: int) -> None:
        self.name = name
        self.scope = scope
        self.start = self.end = 0
        self.sequence = -1  # of the node that it makes, or runs
        self.forward_thread = 0
        self.arguments: tuple[Any, ...] | None = None  # of each argument: shape, strides, type and text
        self.stack: list[str] | None = None
        self.flops = 0
        self.module = False
        self.parent: Span | None = None


class Ledger:
    """Memory that tensors were given and have let go of, seen through the arrays that own it."""

    def __init__(self) -> None:
        self.records: list[tuple[int, int, int, int]] = []  # time, address, bytes (negative: let go of), total
        self.alive: dict[int, tuple[weakref.ref[Any], int]] = {}
        self.total = 0

    def note(self, time: int, address: int, size: int) -> None:
        """Write down a change."""
        self.total += size
        self.records.append((time, address, size, self.total))

    def see(self, array: Any, given: set[int]) -> None:
        """Note the memory of a result, unless it is known or one of the arguments' (``given``)."""
        owner = owner_of(array)
        key = id(owner)
        if key in given or key in self.alive or owner.nbytes == 0:
            return
        address, size = owner.__array_interface__["data"][0], owner.nbytes

        def gone(reference: Any) -> None:
            if self.alive.pop(key, None) is not None:
                self.note(_clock(), address, -size)

        self.alive[key] = (weakref.ref(owner, gone), size)
        self.note(_clock(), address, size)


def owner_of(array: Any) -> Any:
    """The array that owns the memory of a view."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


class Recorder:
    """Writes down what a thread runs (as an interposer, see `livetape._tape.modes`)."""

    watches = True

    def __init__(self, shapes: bool = False, memory: bool = False, stack: bool = False, flops: bool = False) -> None:
        self.shapes = shapes
        self.stacks = stack
        self.flops = flops
        self.ledger = Ledger() if memory else None
        self.spans: list[Span] = []
        self.open: list[Span] = []
        self.running = False
        self.thread = 0

    # ------------------------------------------------------------ on and off
    def start(self) -> None:
        """Begin to watch this thread."""
        if local.recorder is not None:
            raise RuntimeError("Profiler is already enabled on this thread.")
        self.thread = threading.get_native_id()
        self.running = True
        watch(self)

    def stop(self) -> None:
        """Watch no longer; what is still open ends now."""
        if local.recorder is not self:
            raise RuntimeError("Can't disable Kineto profiler when it's not running")
        unwatch(self)
        self.running = False
        now = _clock()
        while self.open:
            self.open.pop().end = now
        if self.ledger is not None:
            self.ledger.alive.clear()

    # ------------------------------------------------------------ spans
    def enter(self, name: str, scope: int = FORWARD) -> Span:
        """Begin a span inside the one that is open."""
        span = Span(name, scope)
        if self.open:
            span.parent = self.open[-1]
        self.spans.append(span)
        self.open.append(span)
        if self.stacks:
            span.stack = stack_of_calls()
        span.start = _clock()
        return span

    def leave(self, span: Span | None) -> None:
        """End a span, and what was begun inside it and has not ended."""
        now = _clock()
        if span is None or span not in self.open:  # the profiler was switched off and on meanwhile
            return
        while True:
            inner = self.open.pop()
            inner.end = now
            if inner is span:
                return

    def called(self, name: str, args: Sequence[Any]) -> Span:
        """Begin the span of an operation."""
        found = tuple([described(a) for a in args]) if self.shapes else None
        span = self.enter(name)
        span.arguments = found
        if is_recording():
            span.sequence = int(state.sequence) + 1
        return span

    # ------------------------------------------------------------ as an interposer
    def intercept(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation and write down how long it took."""
        span = self.called("aten::" + name_of(op, bool(kwargs)), args)
        try:
            found = run_below(op, args, kwargs)
        finally:
            self.leave(span)
        if self.flops:
            span.flops = flops_of(op.name, args, found)
        if self.ledger is not None and not op.view:
            self.account(args, found, span)
        return found

    def account(self, args: tuple[Any, ...], found: Any, span: Span) -> None:
        """Note the memory of an operation's results. It was taken while the span was open."""
        ledger = self.ledger
        if ledger is None:
            return
        given = set()
        for value in args:
            for one in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(one, TensorBase):
                    given.add(id(owner_of(one.array)))
        before = len(ledger.records)
        for one in found if isinstance(found, (list, tuple)) else (found,):
            if isinstance(one, TensorBase) and type(one.array) is np.ndarray:
                ledger.see(one.array, given)
        ledger.records[before:] = [(span.end, *record[1:]) for record in ledger.records[before:]]

    def intercept_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a custom Function; what its forward runs is written down too."""
        span = self.called(getattr(cls, "profiled_as", cls.__name__), (*args, *kwargs.values()))
        below = local.interposers
        local.interposers = (*below, self)
        try:
            return cls._apply(*args, **kwargs)
        finally:
            local.interposers = below
            self.leave(span)

    # ------------------------------------------------------------ what the engine tells
    def enter_node(self, node: Any) -> Span:
        """The engine takes up a node."""
        span = self.enter("autograd::engine::evaluate_function: " + node.name())
        span.sequence = int(node._sequence)
        span.forward_thread = 1
        return span

    def enter_gradients(self, node: Any, grads: Sequence[Any]) -> Span:
        """The engine computes the gradients of a node."""
        found = tuple([described(g) for g in grads]) if self.shapes else None
        span = self.enter(node.name(), BACKWARD)
        span.arguments = found
        span.sequence = int(node._sequence)
        span.forward_thread = 1
        return span

    def enter_leaf(self, leaf: Any, grad: Any) -> Span:
        """A leaf receives its gradient."""
        name = "torch::autograd::AccumulateGrad"
        outer = self.enter("autograd::engine::evaluate_function: " + name)
        inner = self.enter(name, BACKWARD)
        if self.shapes and grad is not None:
            inner.arguments = (described(grad),)
        return outer


def described(value: Any) -> tuple[Any, Any, str, str]:
    """The shape, strides, type and text of an argument. For a list of tensors: lists of the first two."""
    if isinstance(value, TensorBase):
        itemsize = max(1, value.array.itemsize)
        name = C_NAME.get(value.dtype, "")
        return list(shape_of(value)), [s // itemsize for s in value.array.strides], _TYPE_NAMES.get(name, name), ""
    if type(value) in (list, tuple) and value and isinstance(value[0], TensorBase):
        each = [described(v) for v in value]
        return [e[0] for e in each], [e[1] for e in each], "TensorList", ""
    if isinstance(value, (bool, int, float, complex)):
        return [], [], "Scalar", str(value)
    if type(value) in (list, tuple) and all(isinstance(v, (int, float)) for v in value):
        return [], [], "ScalarList", str(list(value))
    return [], [], "", ""


def stack_of_calls() -> list[str]:
    """The program's calls that led here, the innermost first."""
    frame: Any = sys._getframe(1)
    found = []
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith("livetape."):
            code = frame.f_code
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found
