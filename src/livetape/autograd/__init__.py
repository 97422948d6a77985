"""Automatic differentiation (source: ``torch.autograd``)."""

from __future__ import annotations

import importlib
from typing import Any

from livetape.autograd import function, grad_mode
from livetape.autograd.function import Function
from livetape.autograd.grad_mode import (
    _unsafe_preserve_version_counter,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from livetape.autograd.gradcheck import gradcheck, gradgradcheck
from livetape.gradients import backward, grad
from livetape.ops.boundary import publish_plain
from livetape.ops.nodes import SavedTensor

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "function",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
publish_plain(globals(), ["backward", "grad"], "livetape.autograd")

# Imported when first asked for.
_MODULES = {"anomaly_mode", "forward_ad", "functional", "graph", "profiler", "profiler_util", "variable"}
_OWNERS = {"Variable": "variable", "detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode"}


def is_multithreading_enabled() -> bool:
    """Whether walks may use other threads (source: ``torch.autograd.is_multithreading_enabled``)."""
    return True


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module("livetape.autograd." + name)
    if name in _OWNERS:
        found = getattr(importlib.import_module("livetape.autograd." + _OWNERS[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")
