"""Rearranging pixels and channels, and images as columns of blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from livetape._tape.explain import argument_error, noted
from livetape._tape.tensor import TensorBase
from livetape.dtypes import FLOAT, boolean
from livetape.kernels import convolution as kernels
from livetape.kernels.select import refuse
from livetape.ops.dims import as_int, is_integer
from livetape.ops.table import row


# ---------------------------------------------------------------- pixels
def _shuffle(x: Any, factor: int) -> Any:
    *lead, c, h, w = x.shape
    made = x.reshape(*lead, c // factor**2, factor, factor, h, w)
    n = len(lead)
    made = made.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return made.reshape(*lead, c // factor**2, h * factor, w * factor)


def _unshuffle(x: Any, factor: int) -> Any:
    *lead, c, h, w = x.shape
    made = x.reshape(*lead, c, h // factor, factor, w // factor, factor)
    n = len(lead)
    made = made.transpose(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return made.reshape(*lead, c * factor**2, h // factor, w // factor)


PIXEL_SHUFFLE = row(
    "pixel_shuffle",
    lambda self, upscale_factor: np.ascontiguousarray(_shuffle(self, upscale_factor)),
    batch="fold",
    self=lambda grad, upscale_factor: PIXEL_UNSHUFFLE.apply((grad, upscale_factor)),
)
PIXEL_UNSHUFFLE = row(
    "pixel_unshuffle",
    lambda self, downscale_factor: np.ascontiguousarray(_unshuffle(self, downscale_factor)),
    batch="fold",
    self=lambda grad, downscale_factor: PIXEL_SHUFFLE.apply((grad, downscale_factor)),
)


def _checked(name: str, input: Any, factor: Any, word: str) -> Any:
    if not isinstance(input, TensorBase):
        raise noted(argument_error(name, 0, input))
    size = input.array.shape
    if len(size) < 3:
        raise noted(
            RuntimeError(
                f"{name} expects input to have at least 3 dimensions, but got input with {len(size)} dimension(s)"
            )
        )
    if factor <= 0:
        raise noted(RuntimeError(f"{name} expects a positive {word}, but got {factor}"))
    return size


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """(..., C r r, H, W) as (..., C, H r, W r) (source: ``torch.nn.functional.pixel_shuffle``)."""
    size = _checked("pixel_shuffle", input, upscale_factor, "upscale_factor")
    square = upscale_factor * upscale_factor
    if size[-3] % square:
        raise noted(
            RuntimeError(
                "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                f"upscale_factor, but input.size(-3)={size[-3]} is not divisible by {square}"
            )
        )
    return PIXEL_SHUFFLE.apply((input, upscale_factor))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """(..., C, H r, W r) as (..., C r r, H, W) (source: ``torch.nn.functional.pixel_unshuffle``)."""
    size = _checked("pixel_unshuffle", input, downscale_factor, "downscale_factor")
    for axis, word in ((-2, "height"), (-1, "width")):
        if size[axis] % downscale_factor:
            raise noted(
                RuntimeError(
                    f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but "
                    f"input.size({axis})={size[axis]} is not divisible by {downscale_factor}"
                )
            )
    return PIXEL_UNSHUFFLE.apply((input, downscale_factor))


# ---------------------------------------------------------------- channels
def _shuffle_channels(x: Any, groups: int) -> Any:
    n, c, *rest = x.shape
    return np.ascontiguousarray(x.reshape(n, groups, c // groups, *rest).swapaxes(1, 2)).reshape(x.shape)


CHANNEL_SHUFFLE = row(
    "channel_shuffle",
    lambda self, groups: _shuffle_channels(self, groups),
    batch="fold",
    self=lambda grad, self_size, groups: CHANNEL_SHUFFLE.apply((grad, max(1, self_size[1] // groups))),
)


def channel_shuffle(input: Any, groups: int) -> Any:
    """(N, C, d...) with the channels of its groups interleaved (source: ``torch.nn.functional.channel_shuffle``)."""
    size = input.array.shape
    if len(size) <= 2:
        raise noted(RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(size)}"))
    if groups <= 0:
        raise noted(RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}"))
    if size[1] % groups:
        raise noted(
            RuntimeError(f"Number of channels must be divisible by groups. Got {size[1]} channels and {groups} groups.")
        )
    return CHANNEL_SHUFFLE.apply((input, groups))


native_channel_shuffle = channel_shuffle


# ---------------------------------------------------------------- blocks as columns
def _im2col(self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    x = self if self.ndim == 4 else self[None]
    x = kernels.padded(x, padding)
    out = kernels.output_size(x.shape[2:], kernel_size, stride, (0, 0), dilation)
    blocks = kernels.windows(x, kernel_size, stride, dilation, out)
    found = blocks.reshape(x.shape[0], x.shape[1] * math.prod(kernel_size), math.prod(out))
    return found if self.ndim == 4 else found[0]


def _col2im(self: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    columns = self if self.ndim == 3 else self[None]
    wide = tuple([n + 2 * p for n, p in zip(output_size, padding)])
    out = kernels.output_size(wide, kernel_size, stride, (0, 0), dilation)
    channels = columns.shape[1] // math.prod(kernel_size)
    found = np.zeros((columns.shape[0], channels, *wide), self.dtype)
    kernels.scatter_windows(
        columns.reshape(columns.shape[0], channels, *kernel_size, *out), found, kernel_size, stride, dilation, out
    )
    found = found[:, :, padding[0] : padding[0] + output_size[0], padding[1] : padding[1] + output_size[1]]
    return np.ascontiguousarray(found if self.ndim == 3 else found[0])


IM2COL = row(
    "im2col",
    _im2col,
    node="Im2ColBackward0",
    batch="fold",
    self=lambda grad, self_size, kernel_size, dilation, padding, stride: COL2IM.apply(
        (grad, tuple(self_size[-2:]), kernel_size, dilation, padding, stride)
    ),
)
COL2IM = row(
    "col2im",
    _col2im,
    node="Col2ImBackward0",
    batch="fold",
    self=lambda grad, kernel_size, dilation, padding, stride: IM2COL.apply(
        (grad, kernel_size, dilation, padding, stride)
    ),
)


def _pair(name: str, value: Any) -> tuple[int, int]:
    if is_integer(value):
        return (as_int(value), as_int(value))
    found = tuple([as_int(v) for v in value])
    if len(found) != 2:
        raise noted(RuntimeError(f"It is expected {name} equals to 2, but got size {len(found)}"))
    return found  # type: ignore[return-value]


def _check_numbers(kernel: Any, dilation: Any, padding: Any, stride: Any) -> None:
    for word, key, numbers in (("kernel size", "kernel", kernel), ("dilation", "dilation", dilation)):
        if min(numbers) <= 0:
            raise noted(
                RuntimeError(
                    f"{word} should be greater than zero, but got {key}_height: {numbers[0]} {key}_width: {numbers[1]}"
                )
            )
    if min(padding) < 0:
        raise noted(
            RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")
        )
    if min(stride) <= 0:
        raise noted(
            RuntimeError(
                f"stride should be greater than zero, but got stride_height: {stride[0]} stride_width: {stride[1]}"
            )
        )


def _refuse_integers(name: str, input: Any) -> None:
    if input.dtype.category < FLOAT and input.dtype is not boolean:
        raise noted(refuse(name, input.array.dtype))


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """(N, C, H, W) as columns (N, C kH kW, l) of its blocks (source: ``torch.nn.functional.unfold``)."""
    if not isinstance(input, TensorBase):
        raise noted(argument_error("im2col", 0, input))
    kernel, spread = _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    around, step = _pair("padding", padding), _pair("stride", stride)
    _check_numbers(kernel, spread, around, step)
    size = input.array.shape
    if len(size) < 3:  # torch looks at the sizes of the last dimensions before it counts them
        if not size:
            raise noted(IndexError("Dimension specified as 1 but tensor has no dimensions"))
        raise noted(
            IndexError(
                f"Dimension out of range (expected to be in range of [{-len(size)}, {len(size) - 1}], but got {len(size)})"
            )
        )
    if len(size) not in (3, 4) or not all(size[-3:]):
        raise noted(
            RuntimeError(
                "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                f"dimensions for input, but got: {list(size)}"
            )
        )
    out = kernels.output_size(size[-2:], kernel, step, around, spread)
    if min(out) < 1:
        raise noted(
            RuntimeError(
                f"Given input with spatial size {tuple(size[-2:])}, kernel_size={kernel}, "
                f"dilation={spread}, padding={around}, calculated shape of the array of sliding blocks as "
                f"{out}, but its components must be at least one."
            )
        )
    _refuse_integers("im2col_out_cpu", input)
    return IM2COL.apply((input, kernel, spread, around, step))


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns (N, C kH kW, l) summed into an image (N, C, H, W) (source: ``torch.nn.functional.fold``)."""
    if not isinstance(input, TensorBase):
        raise noted(argument_error("col2im", 0, input))
    size = _pair("output_size", output_size)
    kernel, spread = _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    around, step = _pair("padding", padding), _pair("stride", stride)
    _check_numbers(kernel, spread, around, step)
    have = input.array.shape
    if len(have) not in (2, 3) or not all(have[-2:]):
        raise noted(
            RuntimeError(
                "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                f"dimensions for input, but got: {list(have)}"
            )
        )
    rows, places = have[-2:]
    if rows % math.prod(kernel):
        raise noted(
            RuntimeError(
                f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
                f"but got input.size(1)={rows} and kernel_size={kernel}."
            )
        )
    out = kernels.output_size(size, kernel, step, around, spread)
    given = f"Given output_size={size}, kernel_size={kernel}, dilation={spread}, padding={around}, stride={step}"
    if places != math.prod(out):
        raise noted(
            RuntimeError(
                f"{given}, expected size of input's dimension 2 to match the calculated number of "
                f"sliding blocks {out[0]} * {out[1]} = {math.prod(out)}, but got "
                f"input.size(2)={places}."
            )
        )
    if min(out) < 1:
        raise noted(RuntimeError(f"{given}, expected output spatial size to be at least one."))
    if min(size) < 1:
        raise noted(RuntimeError(f"Expected output spatial size to be positive, but got: output_size={size}."))
    _refuse_integers("col2im_out_cpu", input)
    return COL2IM.apply((input, size, kernel, spread, around, step))


FUNCTIONS = ["pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle"]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "channel_shuffle": channel_shuffle,
    "native_channel_shuffle": native_channel_shuffle,
    "unfold": unfold,
    "fold": fold,
}
