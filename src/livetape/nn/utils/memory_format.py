"""Laying out the weights of convolutions (source: ``torch.nn.utils.memory_format``)."""

from __future__ import annotations

from typing import Any

from livetape.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Any, kinds: Any, memory_format: Any) -> Any:
    for child in module.modules():
        if isinstance(child, kinds):
            child.weight.data = child.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lay out the weights of all two-dimensional convolutions in a module in ``memory_format``."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lay out the weights of all three-dimensional convolutions in a module in ``memory_format``."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
