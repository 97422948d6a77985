"""Signs and rounding on plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled
from livetape.kernels.select import refuse, zero


def _sign(x: Any) -> Any:
    """-1, 0 or 1, and torch's 0 for NaN, where NumPy has NaN; a bool is its own sign."""
    kind = x.dtype
    if kind.kind == "b":
        return x.copy()
    if kind.kind in "iu":
        return np.sign(x)
    nothing = zero(x)
    above, below = np.greater(x, nothing, out=...), np.less(x, nothing, out=...)
    return np.subtract(above.view(np.int8), below.view(np.int8)).astype(kind)


sign = compiled("sign", _sign)


def _real(label: str, x: Any) -> None:
    if x.dtype.kind == "c":
        raise NotImplementedError(f"{label} is not supported for complex inputs")
    if x.dtype.kind == "b":
        raise refuse(f"{label}_vml_cpu", x.dtype)


def ceil(x: Any) -> Any:
    """Up to the next integer."""
    _real("ceil", x)
    return np.ceil(x)


def floor(x: Any) -> Any:
    """Down to the next integer."""
    _real("floor", x)
    return np.floor(x)


def trunc(x: Any) -> Any:
    """Towards 0 to the next integer."""
    _real("trunc", x)
    return np.trunc(x)


def nearest(x: Any) -> Any:
    """To the nearest integer, of two equally near ones the even one."""
    if x.dtype.kind in "bc":
        raise refuse("round_vml_cpu", x.dtype)
    return x.copy() if x.dtype.kind in "iu" else np.rint(x)


def round_to(x: Any, decimals: int) -> Any:
    """To so many decimals: scaled by a power of ten, rounded and scaled back, as torch does in the array's own type."""
    if x.dtype.kind in "biuc":
        raise refuse("round_cpu", x.dtype)
    if x.itemsize == 2:
        return round_to(x.astype(np.float32), decimals).astype(x.dtype)
    scale = x.dtype.type(10.0 ** abs(decimals))
    if decimals < 0:
        return np.rint(x / scale) * scale
    return np.rint(x * scale) / scale


def _frac(x: Any) -> Any:
    """What `trunc` cuts off, with the sign of x."""
    if x.dtype.kind in "biuc":
        raise refuse("frac_cpu", x.dtype)
    return x - np.trunc(x)


frac = compiled("frac", _frac)


def signbit(x: Any) -> Any:
    """Whether the sign is negative, also of -0.0 and of a NaN."""
    if x.dtype.kind == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return np.less(x, 0) if x.dtype.kind in "biu" else np.signbit(x)


def finite(x: Any, nan: float, posinf: float | None, neginf: float | None) -> Any:
    """Numbers in the place of NaN and the infinities; without one given, the largest and the lowest of the type."""
    if x.dtype.kind in "biu":
        return x.copy()
    if x.dtype.kind == "c":
        made = np.empty(x.shape, x.dtype)
        made.real = finite(x.real, nan, posinf, neginf)
        made.imag = finite(x.imag, nan, posinf, neginf)
        return made
    if np.isfinite(x).all():
        return x.copy()
    if posinf is None or neginf is None:
        limit = _largest(x.dtype)
        posinf = limit if posinf is None else posinf
        neginf = -limit if neginf is None else neginf
    made = x.copy()
    np.copyto(made, x.dtype.type(nan), where=np.isnan(x))
    endless = np.isinf(x)
    if endless.any():
        np.copyto(made, x.dtype.type(posinf), where=endless & (x > 0))
        np.copyto(made, x.dtype.type(neginf), where=endless & (x < 0))
    return made


def _largest(kind: Any) -> float:
    return 3.3895313892515355e38 if kind.name == "bfloat16" else float(np.finfo(kind).max)
