"""Windows: weights that fall off towards both ends, for short-time Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape.dtypes import FLOAT
from livetape.ops.dims import as_int, is_integer
from livetape.ops.options import finish, kind_of
from livetape.ops.refuse import check_flags, check_numbers, no_overload

_NAMES = {
    "float64": "double",
    "float32": "float",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
}


def _window(
    name: str,
    length: Any,
    periodic: Any,
    shape: Any,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    requires_grad: Any,
) -> Any:
    """The window whose weight is ``shape`` of 0, 1, 2, ... and of the number of steps between both ends."""
    if not is_integer(length):
        raise noted(
            TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not {type(length).__name__}")
        )
    check_flags(name, periodic)
    count = as_int(length)
    kind = kind_of(name, dtype)
    if kind.category < FLOAT:
        raise noted(
            RuntimeError(
                f"{name} expects floating point dtypes, got: TensorOptions(dtype={_NAMES.get(kind.name, kind.name)}, "
                "device=cpu, layout=Strided (default), requires_grad=false (default), pinned_memory=false, "
                "memory_format=(nullopt))"
            )
        )
    if kind.category > FLOAT:
        raise noted(NotImplementedError("\"arange_cpu\" not implemented for 'ComplexFloat'"))
    if count < 0:
        raise noted(RuntimeError(f"{name} requires non-negative window_length, got window_length={count}"))
    if count < 2:
        made = np.ones(count)
    else:
        steps = count if periodic else count - 1
        made = shape(np.arange(steps + 1).astype(kind.np), steps)[:count]
    return finish(name, made.astype(kind.np), kind, device, requires_grad, layout, pin_memory)


def hann_window(
    window_length: Any,
    periodic: Any = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """``(1 - cos(2 pi n / N)) / 2`` (source: ``torch.hann_window``).

    periodic    for a transform: the next weight would be the first again; else both ends are the same

    >>> import livetape as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "hann_window",
        window_length,
        periodic,
        lambda n, steps: np.cos(n * (2 * np.pi / steps)) * -0.5 + 0.5,
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )


def hamming_window(
    window_length: Any,
    periodic: Any = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """``alpha - beta * cos(2 pi n / N)`` (source: ``torch.hamming_window``)."""
    if alpha is None or beta is None:
        raise noted(no_overload("hamming_window"))
    check_numbers("hamming_window", alpha, beta)
    return _window(
        "hamming_window",
        window_length,
        periodic,
        lambda n, steps: np.cos(n * (2 * np.pi / steps)) * -beta + alpha,
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )


def blackman_window(
    window_length: Any,
    periodic: Any = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """``0.42 - cos(2 pi n / N) / 2 + 0.08 * cos(4 pi n / N)`` (source: ``torch.blackman_window``)."""

    def shape(n: Any, steps: int) -> Any:
        angle = n * (np.pi / steps)
        return np.cos(angle * 4) * 0.08 - np.cos(angle * 2) * 0.5 + 0.42

    return _window("blackman_window", window_length, periodic, shape, dtype, layout, device, pin_memory, requires_grad)


def bartlett_window(
    window_length: Any,
    periodic: Any = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """A triangle, ``1 - abs(2 n / N - 1)`` (source: ``torch.bartlett_window``)."""
    return _window(
        "bartlett_window",
        window_length,
        periodic,
        lambda n, steps: 1 - np.abs(n * (2 / steps) - 1),
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )


def kaiser_window(
    window_length: Any,
    periodic: Any = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """``i0(beta * sqrt(1 - (2 n / N - 1)**2)) / i0(beta)``, with the Bessel function i0 (source: ``torch.kaiser_window``)."""
    if beta is None:
        raise noted(no_overload("kaiser_window"))
    check_numbers("kaiser_window", beta)

    def shape(n: Any, steps: int) -> Any:
        apart = n.astype(np.float64) * (2 / steps) - 1
        return np.i0(beta * np.sqrt(np.maximum(1 - apart**2, 0))) / np.i0(beta)

    return _window("kaiser_window", window_length, periodic, shape, dtype, layout, device, pin_memory, requires_grad)


FUNCTIONS = ["hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"]
