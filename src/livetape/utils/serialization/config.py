"""``load`` and ``save``: the settings, to be assigned to (source: ``torch.utils.serialization.config``)."""

from __future__ import annotations

from livetape._saving.options import load, save

__all__ = ["load", "save"]
