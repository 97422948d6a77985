"""AdamW under the module name that torch gives it."""

from __future__ import annotations

from livetape.optim.adam import AdamW

__all__ = ["AdamW"]
