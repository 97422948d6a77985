"""What programs find of torch's compiled module: the switches of ``__torch_function__`` (source: ``torch._C``)."""

from __future__ import annotations

from typing import Any

from livetape._tape.overriding import NO_CLASSES, OFF, _disabled_torch_function_impl, local
from livetape._tape.tensor import TensorBase

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "TensorBase", "_disabled_torch_function_impl"]


class DisableTorchFunctionSubclass:
    """In this block classes are not asked to answer calls; modes are (source: ``torch._C.DisableTorchFunctionSubclass``)."""

    _level = NO_CLASSES

    def __enter__(self) -> None:
        self._before = local.functions
        local.functions = max(self._before, self._level)

    def __exit__(self, *error: Any) -> None:
        local.functions = self._before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """In this block neither classes nor modes are asked to answer calls (source: ``torch._C.DisableTorchFunction``)."""

    _level = OFF
