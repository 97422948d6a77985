"""Padding."""

from __future__ import annotations

from typing import Any

from livetape.nn import functional as F
from livetape.nn.modules._names import own_forward
from livetape.nn.modules.module import Module
from livetape.nn.modules.utils import _ntuple, _pair, _quadruple
from livetape.tensor import Tensor

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_sextuple = _ntuple(6, "_sextuple")


class _PadNd(Module):
    """Pads the last dimensions; ``padding`` lists (before, after) of the last dimension first."""

    __constants__ = ["padding"]
    padding: Any
    _mode = "constant"
    _expand = staticmethod(_pair)

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = self._expand(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    value: float

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads with a constant (source: ``torch.nn.ConstantPad1d``)."""


class ConstantPad2d(_ConstantPadNd):
    """Pads with a constant."""

    _expand = staticmethod(_quadruple)


class ConstantPad3d(_ConstantPadNd):
    """Pads with a constant."""

    _expand = staticmethod(_sextuple)


class ZeroPad1d(ConstantPad1d):
    """Pads with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pads with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pads with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


@own_forward
class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads with the mirror image, without repeating the edge."""


class ReflectionPad2d(_ReflectionPadNd):
    """Pads with the mirror image, without repeating the edge."""

    _expand = staticmethod(_quadruple)


class ReflectionPad3d(_ReflectionPadNd):
    """Pads with the mirror image, without repeating the edge."""

    _expand = staticmethod(_sextuple)


@own_forward
class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads with the value at the edge."""


class ReplicationPad2d(_ReplicationPadNd):
    """Pads with the value at the edge."""

    _expand = staticmethod(_quadruple)


class ReplicationPad3d(_ReplicationPadNd):
    """Pads with the value at the edge."""

    _expand = staticmethod(_sextuple)


class _CircularPadNd(_PadNd):
    _mode = "circular"
    _dims = (2, 3)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._dims:
            expected = " or ".join(f"{d}D" for d in self._dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, self._mode)


class CircularPad1d(_CircularPadNd):
    """Pads with what is at the opposite end."""


class CircularPad2d(_CircularPadNd):
    """Pads with what is at the opposite end."""

    _expand = staticmethod(_quadruple)
    _dims = (3, 4)


class CircularPad3d(_CircularPadNd):
    """Pads with what is at the opposite end."""

    _expand = staticmethod(_sextuple)
    _dims = (4, 5)
