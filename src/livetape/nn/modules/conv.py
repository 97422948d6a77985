"""Convolutions."""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape.nn import functional as F
from livetape.nn import init
from livetape.nn.modules._names import own_forward
from livetape.nn.modules.lazy import LazyModuleMixin
from livetape.nn.modules.module import Module
from livetape.nn.modules.utils import _pair, _reverse_repeat_tuple, _single, _triple
from livetape.nn.parameter import Parameter, UninitializedParameter
from livetape.tensor import Tensor

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The parameters and options of a convolution. The weight is (out, in / groups, *kernel), or for a transposed one
    (in, out / groups, *kernel)."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Any
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("valid", "same"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        # For the padding modes that F.pad has to carry out: the amounts, last dimension first.
        if isinstance(padding, str):
            self._reversed_padding_repeated_twice = [0, 0] * len(kernel_size)
            if padding == "same":
                for i in range(len(kernel_size)):
                    total = dilation[i] * (kernel_size[i] - 1)
                    at = 2 * (len(kernel_size) - 1 - i)
                    self._reversed_padding_repeated_twice[at] = total // 2
                    self._reversed_padding_repeated_twice[at + 1] = total - total // 2
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(padding, 2)  # type: ignore[assignment]
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(ops.empty((*channels, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(ops.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values: uniform within 1 / sqrt(fan_in) of 0."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if not hasattr(self, "padding_mode"):
            self.padding_mode = "zeros"

    def _parts(self) -> tuple[Tensor, Tensor | None]:
        params = self._parameters
        try:
            return params["weight"], params["bias"]
        except KeyError:  # parametrized
            return self.weight, self.bias


class _Conv(_ConvNd):
    """A convolution that is not transposed."""

    _function = "conv2d"
    _expand = staticmethod(_pair)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        expand = self._expand
        super().__init__(
            in_channels,
            out_channels,
            expand(kernel_size),
            expand(stride),
            padding if isinstance(padding, str) else expand(padding),
            expand(dilation),
            False,
            expand(0),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        conv = getattr(F, self._function)
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return conv(padded, weight, bias, self.stride, self._expand(0), self.dilation, self.groups)
        return conv(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = self._parts()
        return self._conv_forward(input, weight, bias)


@own_forward
class Conv1d(_Conv):
    """Convolution of (N, C_in, L) to (N, C_out, L_out) (source: ``torch.nn.Conv1d``)."""

    _function = "conv1d"
    _expand = staticmethod(_single)


@own_forward
class Conv2d(_Conv):
    """Convolution of (N, C_in, H, W) to (N, C_out, H_out, W_out) (source: ``torch.nn.Conv2d``)."""

    _function = "conv2d"
    _expand = staticmethod(_pair)


@own_forward
class Conv3d(_Conv):
    """Convolution of (N, C_in, D, H, W) to (N, C_out, D_out, H_out, W_out) (source: ``torch.nn.Conv3d``)."""

    _function = "conv3d"
    _expand = staticmethod(_triple)


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution: the gradient of a convolution, as a layer."""

    _function = "conv_transpose2d"
    _expand = staticmethod(_pair)
    _spatial = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        expand = self._expand
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        super().__init__(
            in_channels,
            out_channels,
            expand(kernel_size),
            expand(stride),
            expand(padding),
            expand(dilation),
            True,
            expand(output_padding),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """What to add to one side so that the output gets the size asked for."""
        if output_size is None:
            return self.output_padding
        spatial = self._spatial
        batch_dims = 2 if input.dim() == spatial + 2 else 1
        if len(output_size) == batch_dims + spatial:
            output_size = output_size[batch_dims:]
        if len(output_size) != spatial:
            raise ValueError(
                f"ConvTranspose{spatial}D: for {input.dim()}D input, output_size must have {spatial} "
                f"or {batch_dims + spatial} elements (got {len(output_size)})"
            )
        smallest = [
            (input.size(d + batch_dims) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(spatial)
        ]
        largest = [smallest[d] + self.stride[d] - 1 for d in range(spatial)]
        for size, low, high in zip(output_size, smallest, largest, strict=True):
            if size < low or size > high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from {smallest} "
                    f"to {largest} (for an input of {input.size()[2:]})"
                )
        return tuple(size - low for size, low in zip(output_size, smallest, strict=True))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {self.__class__.__name__}")
        weight, bias = self._parts()
        return getattr(F, self._function)(  # type: ignore[no-any-return]
            input,
            weight,
            bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


@own_forward
class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of (N, C_in, L) (source: ``torch.nn.ConvTranspose1d``)."""

    _function = "conv_transpose1d"
    _expand = staticmethod(_single)
    _spatial = 1


@own_forward
class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of (N, C_in, H, W) (source: ``torch.nn.ConvTranspose2d``)."""

    _function = "conv_transpose2d"
    _expand = staticmethod(_pair)
    _spatial = 2


@own_forward
class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of (N, C_in, D, H, W) (source: ``torch.nn.ConvTranspose3d``)."""

    _function = "conv_transpose3d"
    _expand = staticmethod(_triple)
    _spatial = 3


class _LazyConvXdMixin(LazyModuleMixin):
    """Takes ``in_channels`` from the first input."""

    in_channels: int
    out_channels: int
    groups: int
    kernel_size: tuple[int, ...]
    transposed: bool
    weight: Any
    bias: Any

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        wants_bias = kwargs.pop("bias", True)
        device, dtype = kwargs.get("device"), kwargs.get("dtype")
        if len(args) > 4:  # `bias` given by position
            wants_bias = args[4]
            args = (*args[:4], False, *args[5:])
        else:
            kwargs["bias"] = False
        super().__init__(0, 0, kernel_size, *args, **kwargs)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if wants_bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new initial values, if the size is known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the number of channels from ``input``."""
        if not self.has_uninitialized_params():
            return
        spatial = len(self.kernel_size)
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(
                f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to "
                f"{self.__class__.__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[1] if input.dim() == spatial + 2 else input.shape[0]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        channels = (
            (self.in_channels, self.out_channels // self.groups)
            if self.transposed
            else (self.out_channels, self.in_channels // self.groups)
        )
        self.weight.materialize((*channels, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConvXdMixin, Conv1d):  # type: ignore[misc]
    """A Conv1d that takes ``in_channels`` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvXdMixin, Conv2d):  # type: ignore[misc]
    """A Conv2d that takes ``in_channels`` from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvXdMixin, Conv3d):  # type: ignore[misc]
    """A Conv3d that takes ``in_channels`` from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):  # type: ignore[misc]
    """A ConvTranspose1d that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):  # type: ignore[misc]
    """A ConvTranspose2d that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):  # type: ignore[misc]
    """A ConvTranspose3d that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose3d
