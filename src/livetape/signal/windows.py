"""Windows of M weights (source: ``torch.signal.windows``).

sym    the same from both ends, for filters; False: the next weight would be the first again, for spectral analysis

>>> import livetape as torch
>>> torch.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from livetape import dtypes, ops
from livetape._tape.tensor import TensorBase
from livetape.layout import strided
from livetape.ops import abs, cos, exp, sin

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _check(name: str, M: Any, dtype: Any, layout: Any) -> None:
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")


class _Options:
    """What the makers of tensors are told, once the arguments that all windows share are found right."""

    def __init__(self, name: str, M: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool) -> None:
        dtype = dtypes.get_default_dtype() if dtype is None else dtype
        _check(name, M, dtype, layout)
        self.options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}

    def steps(self, start: float, end: float, count: int) -> Any:
        """Evenly spaced numbers."""
        return ops.linspace(start, end, count, **self.options)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``exp(-abs(n - center) / tau)``."""
    made = _Options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return ops.empty((0,), **made.options)
    middle = (M if not sym and M > 1 else M - 1) / 2.0 if center is None else center
    return exp(-abs(made.steps(-middle / tau, (-middle + (M - 1)) / tau, M)))


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``sin(pi (n + 1/2) / M)``."""
    made = _Options("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return ops.empty((0,), **made.options)
    step = math.pi / (M + 1 if not sym and M > 1 else M)
    return sin(made.steps(0.5 * step, (0.5 + (M - 1)) * step, M))


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``exp(-((n - middle) / std)**2 / 2)``."""
    made = _Options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return ops.empty((0,), **made.options)
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    scale = 1 / (std * math.sqrt(2))
    return exp(-(made.steps(start * scale, (start + (M - 1)) * scale, M) ** 2))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``i0(beta sqrt(1 - ((n - middle) / middle)**2)) / i0(beta)``, with the Bessel function i0."""
    made = _Options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M == 0:
        return ops.empty((0,), **made.options)
    if M == 1:
        return ops.ones((1,), **made.options)
    top = ops.tensor(beta, dtype=made.options["dtype"])
    step = 2.0 * beta / (M if not sym else M - 1)
    end = min(beta, -beta + (M - 1) * step)
    return ops.i0(ops.sqrt(top * top - ops.pow(made.steps(-beta, end, M), 2))) / ops.i0(top)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``sum((-1)**i a[i] cos(2 pi i n / (M - 1)))``."""
    made = _Options("general_cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return ops.empty((0,), **made.options)
    if M == 1:
        return ops.ones((1,), **made.options)
    if not isinstance(a, Sequence):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    step = 2 * math.pi / (M if not sym else M - 1)
    angles: TensorBase = made.steps(0, (M - 1) * step, M)
    options = {name: made.options[name] for name in ("dtype", "device", "requires_grad")}
    weights = ops.tensor([(-1) ** i * w for i, w in enumerate(a)], **options)
    numbers = ops.arange(weights.array.shape[0], **options)
    return ops.sum(ops.unsqueeze(weights, -1) * cos(ops.unsqueeze(numbers, -1) * angles), 0)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``alpha - (1 - alpha) cos(2 pi n / (M - 1))``."""
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``0.54 - 0.46 cos(2 pi n / (M - 1))``."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``(1 - cos(2 pi n / (M - 1))) / 2``."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``0.42 - cos(2 pi n / (M - 1)) / 2 + 0.08 cos(4 pi n / (M - 1))``."""
    _Options("blackman", M, dtype, layout, device, requires_grad)
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """A triangle, ``1 - abs(2 n / (M - 1) - 1)``."""
    made = _Options("bartlett", M, dtype, layout, device, requires_grad)
    if M == 0:
        return ops.empty((0,), **made.options)
    if M == 1:
        return ops.ones((1,), **made.options)
    step = 2 / (M if not sym else M - 1)
    return 1 - abs(made.steps(-1, -1 + (M - 1) * step, M))


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Nuttall's four-term window with minimal side lobes."""
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )
