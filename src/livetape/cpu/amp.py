"""Mixed precision by its older names (source: ``torch.cpu.amp``)."""

from __future__ import annotations

import warnings
from typing import Any

from livetape import amp, dtypes

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """``torch.amp.autocast("cpu", ...)`` (source: ``torch.cpu.amp.autocast``)."""

    def __init__(self, enabled: bool = True, dtype: Any = dtypes.bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """``torch.amp.GradScaler("cpu", ...)`` (source: ``torch.cpu.amp.GradScaler``)."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warnings.warn(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
