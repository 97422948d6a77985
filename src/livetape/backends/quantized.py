"""Engines for quantized tensors, which there are none of (source: ``torch.backends.quantized``)."""

from __future__ import annotations

engine = "none"
supported_engines: list[str] = ["none"]
