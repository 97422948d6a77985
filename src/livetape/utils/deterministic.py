"""A switch for uninitialised memory (source: ``torch.utils.deterministic``)."""

from __future__ import annotations

fill_uninitialized_memory = True
