"""Anomaly mode: say which operation's derivative failed or gave nan, and where it was called."""

from __future__ import annotations

import linecache
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex, overload

import numpy as np

from livetape._tape.modes import state
from livetape._tape.tensor import TensorBase, node_extras
from livetape.autograd._expression import expression_at
from livetape.compat import compat

__all__ = ["detect_anomaly", "set_detect_anomaly"]

_TRACE, _PARENT = "traceback_", "parent_"


class Trace(Sequence[str]):
    """The calls that led to an operation, as lines of a traceback. They are put into words when looked at."""

    __slots__ = ("_calls",)

    def __init__(self, frame: Any) -> None:
        calls = []
        while frame is not None:
            if not frame.f_globals.get("__name__", "").startswith("livetape"):
                calls.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        self._calls = tuple(reversed(calls))

    def __len__(self) -> int:
        return len(self._calls)

    @overload
    def __getitem__(self, index: SupportsIndex) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: Any) -> Any:
        found = self._calls[index]
        return [_described(*call) for call in found] if isinstance(index, slice) else _described(*found)

    def __iter__(self) -> Iterator[str]:
        return (_described(*call) for call in self._calls)

    def last(self) -> str:
        """The last call; where there is no source to quote, what it calls."""
        code, at = self._calls[-1]
        text = _described(code, at)
        called = expression_at(code, at) if text.count("\n") == 1 else None
        return f"{text}    {called}\n" if called else text


def _described(code: Any, at: int) -> str:
    number = next((line for start, end, line in code.co_lines() if start <= at < end), code.co_firstlineno)
    text = linecache.getline(code.co_filename, number).strip()
    where = f'  File "{code.co_filename}", line {number}, in {code.co_name}\n'
    return f"{where}    {text}\n" if text else where


class _Running(threading.local):
    """The node whose derivative this thread is computing: nodes that are made meanwhile come from it."""

    node: Any = None


class Watch:
    """What the tape calls at every node while the mode is on."""

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan
        self._running = _Running()

    def note(self, node: Any, frame: Any) -> None:
        """Remember where a new node was made, and from which derivative."""
        extras = node_extras(node)
        if extras.metadata is None:
            extras.metadata = {}
        extras.metadata[_TRACE] = Trace(frame)
        if self._running.node is not None:
            extras.metadata[_PARENT] = self._running.node

    def guard(self, walk: Any, node: Any, slot: Any) -> None:
        """Run a node; if that fails, warn with the calls that made it."""
        outer = self._running.node
        self._running.node = node
        try:
            walk.evaluate(node, slot)
        except Exception:
            _warn(node)
            raise
        finally:
            self._running.node = outer

    def look(self, node: Any, grads: Sequence[TensorBase | None]) -> None:
        """Raise if a derivative has given nan."""
        if not self.check_nan:
            return
        for k, grad in enumerate(grads):
            if grad is not None and np.isnan(grad.array).any():
                name = node.name()
                text = f"Function '{name}' returned nan values in its {k}th output."
                trace = _metadata(node).get(_TRACE)
                if trace and not compat.torch:
                    text += f"\nException raised from the derivative of the operation at\n{trace.last().rstrip()}"
                raise RuntimeError(text)


def _metadata(node: Any) -> dict[Any, Any]:
    extras = node._extras
    return {} if extras is None or extras.metadata is None else extras.metadata


def _warn(node: Any) -> None:
    known = _metadata(node)
    start = f"Error detected in {node.name()}. "
    if _TRACE not in known:
        warnings.warn(
            start + "No forward pass information available. Enable detect anomaly during forward pass for "
            "more information.",
            stacklevel=2,
        )
    else:
        warnings.warn(
            start + "Traceback of forward call that caused the error:\n" + "".join(known[_TRACE]), stacklevel=2
        )
    node = known.get(_PARENT)
    while node is not None:
        known = _metadata(node)
        start = f"\n\nPrevious calculation was induced by {node.name()}. "
        if _TRACE not in known:
            warnings.warn(start + "No forward pass information available.", stacklevel=2)
        else:
            warnings.warn(
                start + "Traceback of forward call that induced the previous calculation:\n" + "".join(known[_TRACE]),
                stacklevel=2,
            )
        node = known.get(_PARENT)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on (source: ``torch.is_anomaly_enabled``)."""
    return state.anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for nan (source: ``torch.is_anomaly_check_nan_enabled``)."""
    return _check_nan[0]


_check_nan = [True]
_lines_before = [False]


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode, for all threads (source: ``torch.set_anomaly_enabled``)."""
    if type(enabled) is not bool:
        raise TypeError(
            f"set_anomaly_enabled(): argument 'enabled' (position 1) must be bool, not {type(enabled).__name__}"
        )
    if enabled:
        if state.anomaly is None:
            _lines_before[0] = state.watching
        state.watching = True
        state.anomaly = Watch(check_nan)
    elif state.anomaly is not None:
        state.watching = _lines_before[0]
        state.anomaly = None
    _check_nan[0] = check_nan


class set_detect_anomaly:
    """Switch anomaly mode: at once as a call, or for a block (source: ``torch.autograd.set_detect_anomaly``).

    While it is on, an error in backward() is preceded by a warning with the calls that led to the operation, and with
    ``check_nan`` a derivative that gives nan is an error.

    >>> import livetape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     (x.sqrt() * 2).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = is_anomaly_enabled()
        self.prev_check_nan = is_anomaly_check_nan_enabled()
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly:
    """Anomaly mode for a block (source: ``torch.autograd.detect_anomaly``); see `set_detect_anomaly`."""

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = is_anomaly_enabled()
        self.check_nan = check_nan
        self.prev_check_nan = is_anomaly_check_nan_enabled()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
            "enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.prev = is_anomaly_enabled()
        self.prev_check_nan = is_anomaly_check_nan_enabled()
        set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)
