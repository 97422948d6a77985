"""Modules, parameters, initialisers and functions for networks (source: ``torch.nn``)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from livetape.nn import functional, init, modules, parameter
from livetape.nn.modules.module import Module
from livetape.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

if TYPE_CHECKING:
    from livetape.nn import attention, common_types, grad, parallel, utils
    from livetape.nn.modules import *
    from livetape.nn.parallel import DataParallel

__all__ = [
    "Buffer",
    "DataParallel",
    "Module",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "factory_kwargs",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
    *modules.__all__,
]

_PACKAGES = ("attention", "common_types", "grad", "parallel", "utils")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module("livetape.nn." + name)
    if name == "DataParallel":
        found = importlib.import_module("livetape.nn.parallel").DataParallel
    elif name in modules.__all__:
        found = getattr(modules, name)
    else:
        raise AttributeError(f"module 'torch.nn' has no attribute '{name}'")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def factory_kwargs(kwargs: dict[str, object] | None) -> dict[str, object]:
    """The keywords of a module that say how to make its tensors: device, dtype and memory_format."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    expected = simple | {"factory_kwargs"}
    if not kwargs.keys() <= expected:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - expected}")
    found = dict(kwargs.get("factory_kwargs", {}))  # type: ignore[call-overload]
    for name in sorted(simple):
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            found[name] = kwargs[name]
    return found
