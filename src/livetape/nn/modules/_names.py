"""How torch names types in its messages."""

from __future__ import annotations

from types import FunctionType
from typing import Any, TypeVar

from livetape.settings import typename

__all__ = ["class_text", "own_forward", "typename"]

C = TypeVar("C", bound=type)


def own_forward(cls: C) -> C:
    """Let a class that inherits ``forward`` name itself in what Python says about missing arguments, as torch's does."""
    found: Any = cls.forward  # type: ignore[attr-defined]
    copy = FunctionType(found.__code__, found.__globals__, found.__name__, found.__defaults__, found.__closure__)
    copy.__kwdefaults__, copy.__annotations__, copy.__doc__ = found.__kwdefaults__, found.__annotations__, found.__doc__
    copy.__qualname__ = f"{cls.__qualname__}.forward"
    copy.__module__ = cls.__module__
    cls.forward = copy  # type: ignore[attr-defined]
    return cls


def class_text(kind: type) -> str:
    """A class as Python prints it, by torch's name for it."""
    return f"<class '{typename(kind)}'>"
