"""Automatic mixed precision: `autocast` and the scaling of gradients (source: ``torch.amp``).

>>> import livetape as torch
>>> layer = torch.nn.Linear(2, 2)
>>> with torch.autocast("cpu", dtype=torch.bfloat16):
...     layer(torch.ones(1, 2)).dtype
torch.bfloat16
"""

from __future__ import annotations

from livetape.amp import autocast_mode, grad_scaler
from livetape.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from livetape.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "autocast_mode",
    "custom_bwd",
    "custom_fwd",
    "grad_scaler",
    "is_autocast_available",
]
