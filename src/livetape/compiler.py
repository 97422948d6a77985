"""Compilation, of which there is none: functions run as they are written (source: ``torch.compiler``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from livetape.settings import compile

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_stance",
    "substitute_in_graph",
]


def is_compiling() -> bool:
    """False."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def reset() -> None:
    """Accepted: nothing is kept of earlier calls."""


def cudagraph_mark_step_begin() -> None:
    """Accepted."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """An empty list."""
    return []


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, or a decorator that gives it."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function itself."""
    return fn


def nested_compile_region(fn: Any = None, options: Any = None) -> Any:
    """The function itself, or a decorator that gives it."""
    return fn if fn is not None else lambda function: function


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Any], Any]:
    """A decorator that gives the function itself."""
    return lambda function: function


class set_stance(contextlib.ContextDecorator):
    """Accepted, as a call, a context and a decorator."""

    def __init__(self, stance: str = "default", **options: Any) -> None:
        if stance not in (
            "default",
            "eager_then_compile",
            "aot_eager_then_compile",
            "force_eager",
            "eager_on_recompile",
            "fail_on_recompile",
        ):
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
