"""Handles that take a hook off again (source: ``torch.utils.hooks``)."""

from __future__ import annotations

from typing import Any

from livetape.hooks import RemovableHandle, warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook that a saved module may not carry along; used as a decorator."""
    f.__torch_unserializable__ = True
    return f
