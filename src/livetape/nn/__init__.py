"""Modules, parameters, initialisers and functions for networks (source: ``torch.nn``)."""

from __future__ import annotations

from livetape.nn import functional, init, modules, parallel, parameter, utils
from livetape.nn.modules import *  # noqa: F403
from livetape.nn.parallel import DataParallel
from livetape.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "factory_kwargs",
           "functional", "init", "modules", "parallel", "parameter", "utils", *modules.__all__]


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
