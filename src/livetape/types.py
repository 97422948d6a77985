"""Names for annotations (source: ``torch.types``)."""

from __future__ import annotations

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, TypeAlias

from livetape.autograd.graph import GradientEdge
from livetape.device import device as _device
from livetape.size import Size
from livetape.storage import UntypedStorage as Storage
from livetape.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = _int | _float | _bool
_Number = (_int, _float, _bool)
FileLike: TypeAlias = _str | os.PathLike[_str] | IO[_bytes]
Device: TypeAlias = _device | _str | _int | None

# Sizes are never symbolic here.
IntLikeType: TypeAlias = _int
FloatLikeType: TypeAlias = _float
BoolLikeType: TypeAlias = _bool

_size: TypeAlias = Size | list[_int] | tuple[_int, ...]
_symsize: TypeAlias = Size | Sequence[_int]
_dispatchkey: TypeAlias = _str
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge]
