"""Gradients of convolutions by themselves (source: ``torch.nn.grad``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape.nn.modules.utils import _pair, _single, _triple
from livetape.ops.conv import _to_input, _to_weight
from livetape.tensor import Tensor

Sizes = int | tuple[int, ...]
Expand = Callable[[Any], tuple[int, ...]]


def _input(
    expand: Expand, size: Any, weight: Tensor, grad: Tensor, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    return _to_input(  # type: ignore[no-any-return]
        grad, tuple(size), weight, expand(stride), expand(padding), expand(dilation), False, groups
    )


def _weight(
    expand: Expand, input: Tensor, size: Any, grad: Tensor, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    return _to_weight(  # type: ignore[no-any-return]
        grad, input, tuple(size), expand(stride), expand(padding), expand(dilation), False, groups
    )


def conv1d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` with respect to its input, of shape ``input_size``."""
    return _input(_single, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` with respect to its weight, of shape ``weight_size``."""
    return _weight(_single, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` with respect to its input, of shape ``input_size``."""
    return _input(_pair, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` with respect to its weight, of shape ``weight_size``."""
    return _weight(_pair, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` with respect to its input, of shape ``input_size``."""
    return _input(_triple, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` with respect to its weight, of shape ``weight_size``."""
    return _weight(_triple, input, weight_size, grad_output, stride, padding, dilation, groups)
