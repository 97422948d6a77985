"""Helpers around the library (source: ``torch.utils``), each loaded when first asked for."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from livetape.swapping import swap_tensors as swap_tensors


def set_module(obj: Any, mod: str) -> None:
    """Set the module that an object says it is of."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")
