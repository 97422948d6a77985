"""XNNPACK, which there is none of (source: ``torch.backends.xnnpack``)."""

from __future__ import annotations

enabled = False
