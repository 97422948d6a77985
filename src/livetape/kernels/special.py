"""Special functions on plain arrays: SciPy's, loaded when the first of them is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from livetape.kernels.select import refuse

_loaded: dict[str, Any] = {}


def scipy_function(name: str) -> Any:
    """``scipy.special.<name>``. Importing SciPy takes longer than importing all of livetape, so it is done here."""
    found = _loaded.get(name)
    if found is None:
        import scipy.special

        found = _loaded[name] = getattr(scipy.special, name)
    return found


def late(name: str, label: str = "") -> Callable[..., Any]:
    """The kernel that is ``scipy.special.<name>`` for real arrays, float16 and bfloat16 by way of float32.

    ``label`` is the kernel's name in torch, for its error about other dtypes.
    """

    def kernel(*arrays: Any) -> Any:
        function = _loaded.get(name) or scipy_function(name)
        kind = arrays[0].dtype
        if kind.char in "fd":
            return function(*arrays)
        return in_single(function, label or name + "_cpu", *arrays)

    return kernel


def in_single(function: Any, label: str, *arrays: Any) -> Any:
    """``function`` of half-precision arrays, computed in float32 and rounded once; torch's error for other dtypes."""
    kind = arrays[0].dtype
    if kind.char == "e" or kind.name == "bfloat16":
        return np.asarray(function(*[a.astype(np.float32) for a in arrays])).astype(kind)
    raise refuse(label, kind)


# ---------------------------------------------------------------- gamma
def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function; inf at minus infinity, as in C."""
    return np.where(x == -np.inf, x.dtype.type(np.inf), scipy_function("gammaln")(x))


def digamma(x: Any) -> Any:
    """The logarithmic derivative of gamma: NaN at negative integers and minus infinity."""
    return np.where(x == -np.inf, x.dtype.type(np.nan), scipy_function("psi")(x))


def _trigamma(x: Any) -> Any:
    """By the reflection formula left of 1/2; at 0, infinity."""
    left = x < 0.5
    right = scipy_function("zeta")(x.dtype.type(2), np.where(left, 1 - x, x))
    sine = np.sin(np.pi * x)
    return np.where(left, (np.pi / sine) ** 2 - right, right).astype(x.dtype)


def polygamma(n: int, x: Any) -> Any:
    """The ``n``-th derivative of digamma."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return _trigamma(x)
    zeta = scipy_function("zeta")(x.dtype.type(n + 1), x)
    scale = x.dtype.type((-1) ** (n + 1)) * scipy_function("gamma")(x.dtype.type(n + 1))
    return scale * zeta


# ---------------------------------------------------------------- the normal distribution
def erfinv(x: Any) -> Any:
    """The inverse of erf; SciPy is slow at values outside [-1, 1], which are NaN."""
    outside = np.abs(x) > 1
    found = scipy_function("erfinv")(np.where(outside, x.dtype.type(0), x))
    return np.where(outside, x.dtype.type(np.nan), found)


def log_ndtr(x: Any) -> Any:
    """The logarithm of the normal distribution function."""
    return scipy_function("log_ndtr")(x)


def real_function(body: Callable[..., Any], label: str) -> Callable[..., Any]:
    """A kernel for real arrays around ``body``, as `late` makes one."""

    def kernel(*arrays: Any) -> Any:
        if arrays[0].dtype.char in "fd":
            return body(*arrays)
        return in_single(body, label, *arrays)

    return kernel
