"""The name under which files know one more way to make a tensor (source: ``torch._tensor``)."""

from __future__ import annotations

from livetape._utils import _rebuild_from_type_v2
from livetape.tensor import Tensor

__all__ = ["Tensor", "_rebuild_from_type_v2"]
