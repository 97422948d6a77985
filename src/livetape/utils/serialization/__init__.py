"""Settings of saving and loading (source: ``torch.utils.serialization``)."""

from __future__ import annotations

from livetape.utils.serialization import config
