"""Comparing values in tests, and making them (source: ``torch.testing``)."""

from __future__ import annotations

from livetape.testing._comparison import assert_allclose, assert_close
from livetape.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
