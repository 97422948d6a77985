"""Modules without initialisation."""

from __future__ import annotations

from typing import Any

from livetape.nn.modules.module import Module
from livetape.random import get_rng_state, set_rng_state

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module of the given class, whose parameters' values are not to be relied on; nothing is drawn for them.

    The class's constructor must take ``device``, and initialise nothing but parameters and buffers.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    code = module_cls.__init__.__code__
    if "device" not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    before = get_rng_state()
    module = module_cls(*args, **kwargs)
    set_rng_state(before)
    return module
