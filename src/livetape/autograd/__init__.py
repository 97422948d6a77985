"""Automatic differentiation (source: ``torch.autograd``)."""

from __future__ import annotations

from livetape.autograd import function
from livetape.autograd.function import Function
from livetape.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from livetape.autograd.gradcheck import gradcheck, gradgradcheck
from livetape.gradients import backward, grad

__all__ = ["Function", "backward", "enable_grad", "function", "grad", "gradcheck", "gradgradcheck", "inference_mode",
           "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]
