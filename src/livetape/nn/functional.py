"""torch.nn.functional: the operations of networks, by torch's names.

Most stand in the derivative table and are only named here; the rest is composed of them.
"""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.nn._attention import multi_head_attention_forward, scaled_dot_product_attention

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

# What torch names in both places: torch.x and torch.nn.functional.x are one function.
_SHARED = (
    "adaptive_avg_pool1d affine_grid avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc "
    "conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink linear one_hot pairwise_distance "
    "pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ scaled_dot_product_attention selu_ sigmoid softplus tanh "
    "threshold_")

for _name in _SHARED.split():
    if hasattr(ops, _name):
        globals()[_name] = getattr(ops, _name)
for _module in ops.MODULES:
    _own = getattr(_module, "FUNCTIONAL", {})
    globals().update(_own if isinstance(_own, dict) else {_name: getattr(_module, _name) for _name in _own})


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")
