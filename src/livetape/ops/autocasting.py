"""What functions that are made of several operations say of autocast: the precision that it gives them, as a whole.

A row needs none of this: autocast stands before it and knows it by name, see `livetape.amp`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from livetape.thread_modes import casting

Function = TypeVar("Function", bound=Callable[..., Any])


def single_in_autocast(function: Function) -> Function:
    """Let autocast run a function in single precision."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if casting.threads and (autocast := casting.current()) is not None:
            return autocast.single(function, *args, **kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def lower_in_autocast(function: Function) -> Function:
    """Let autocast run a function in lower precision."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if casting.threads and (autocast := casting.current()) is not None:
            return autocast.lower(function, *args, **kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def plain_in_autocast(function: Function) -> Function:
    """Let autocast leave a function alone: torch has an operation of its own for it, which it does not list."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if casting.threads and (autocast := casting.current()) is not None:
            return autocast.below(function, *args, **kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def brought_together(*tensors: Any) -> bool:
    """Whether autocast is about to bring tensors of several dtypes to one."""
    autocast = casting.current() if casting.threads else None
    return autocast is not None and autocast.fits(tensors)
