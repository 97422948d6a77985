"""How torch names types in its messages."""

from __future__ import annotations

from typing import Any

from livetape.tensor import Tensor


def typename(obj: Any) -> str:
    """The type's name with its module; for a tensor the legacy name (source: ``torch.typename``).

    >>> typename(3)
    'int'
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = type(obj)
    if kind.__module__ in ("builtins", "__builtin__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"
