"""Helpers around parameters and their gradients (source: ``torch.nn.utils``)."""

from __future__ import annotations

from livetape.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from livetape.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from livetape.nn.utils.init import skip_init

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
           "parameters_to_vector", "skip_init", "vector_to_parameters"]
