"""Pinned memory (source: ``torch.utils.data._utils.pin_memory``): there is no other device to copy to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from livetape.tensor import Tensor
from livetape.utils.data._utils.collate import _mapping, _sequence


def pin_memory(data: Any, device: Any = None) -> Any:
    """``data`` with every tensor's, and every other object's, ``pin_memory`` called."""
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if isinstance(data, tuple):
        parts = [pin_memory(part, device) for part in data]
        return type(data)(*parts) if hasattr(data, "_fields") else type(data)(parts)
    if isinstance(data, Sequence):
        return _sequence(data, [pin_memory(part, device) for part in data])
    return data
