"""Results that come later (source: ``torch.futures``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value, or an exception, that is set once.

    >>> from livetape.futures import Future
    >>> future = Future()
    >>> later = future.then(lambda done: done.value() + 1)
    >>> future.set_result(1)
    >>> later.wait()
    2
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._finished = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._value: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether the value is there."""
        return self._finished.is_set()

    def wait(self) -> T:
        """The value, once it is there; raises if it is an exception."""
        self._finished.wait()
        return self.value()

    def value(self) -> T:
        """The value, which must be there; raises if it is an exception."""
        if not self.done():
            raise RuntimeError("value() needs a Future that is completed: call wait() instead.")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._value, self._error = value, error
            callbacks, self._callbacks = self._callbacks, []
            self._finished.set()
        for callback in callbacks:
            callback(self)

    def set_result(self, result: T) -> None:
        """Set the value, and run the callbacks."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an exception, and run the callbacks."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(self)`` once the value is there."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what ``callback(self)`` returns once the value is there."""
        after: Future[S] = Future()

        def run(done: Future[T]) -> None:
            try:
                found = callback(done)
            except Exception as error:
                text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                after.set_exception(RuntimeError(text))
            else:
                after.set_result(found)

        self.add_done_callback(run)
        return after


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done when all are."""
    whole: Future[list[Future[Any]]] = Future()
    lock = threading.Lock()
    left = len(futures)
    if not futures:
        whole.set_result([])

    def count(done: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            failed = [future for future in futures if future._error is not None]
            if failed:
                whole._finish(None, failed[0]._error)
            else:
                whole.set_result(list(futures))

    for future in futures:
        future.add_done_callback(count)
    return whole


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The values of all; raises the first exception."""
    return [future.wait() for future in collect_all(futures).wait()]
