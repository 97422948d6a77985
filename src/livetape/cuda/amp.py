"""Mixed precision on CUDA devices, of which there are none (source: ``torch.cuda.amp``)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from livetape import amp, dtypes

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _deprecated(name: str, before: str, after: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}({before}args...{after})` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    """``torch.amp.autocast("cuda", ...)`` (source: ``torch.cuda.amp.autocast``)."""

    def __init__(self, enabled: bool = True, dtype: Any = dtypes.float16, cache_enabled: bool = True) -> None:
        _deprecated("autocast", "'cuda', ", "")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """``torch.amp.GradScaler("cuda", ...)`` (source: ``torch.cuda.amp.GradScaler``)."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("GradScaler", "'cuda', ", "")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: Any = None) -> Any:
    """``torch.amp.custom_fwd(device_type="cuda")`` (source: ``torch.cuda.amp.custom_fwd``)."""
    _deprecated("custom_fwd", "", ", device_type='cuda'")
    return functools.partial(amp.custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``torch.amp.custom_bwd(device_type="cuda")`` (source: ``torch.cuda.amp.custom_bwd``)."""
    _deprecated("custom_bwd", "", ", device_type='cuda'")
    return amp.custom_bwd(bwd, device_type="cuda")
