"""Signal processing (source: ``torch.signal``)."""

from __future__ import annotations

from livetape.signal import windows

__all__ = ["windows"]
