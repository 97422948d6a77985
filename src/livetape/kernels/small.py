"""Kernels that are quick on small arrays: C++ where it was built, else their NumPy twins with the same results.

The C++ functions take any arrays: what is not small and plain (float32 or float64 in C order) they hand to NumPy.
`NATIVE` says which of the two a program has.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _relu(x: Any) -> Any:
    return np.maximum(x, np.zeros((), x.dtype))


def _relu_backward(grad: Any, result: Any) -> Any:
    return np.where(result <= 0, np.zeros((), grad.dtype), grad)


def _sum_all(x: Any) -> Any:
    return np.asarray(np.add.reduce(x, axis=None))


def _affine(bias: Any, x: Any, y: Any) -> Any:
    out = x.dot(y)
    out += bias
    return out


# Each: the name of the C++ function and its twin. A ufunc as the twin means: no need of another function, call NumPy's.
TWINS: dict[str, Any] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "negative": np.negative,
    "square": np.square,
    "sqrt": np.sqrt,
    "relu": _relu,
    "relu_backward": _relu_backward,
    "sum_all": _sum_all,
    "sum_rows": np.add.reduce,
    "matmul": np.ndarray.dot,
    "affine": _affine,
}

try:
    from livetape.kernels import _native  # type: ignore[attr-defined]
except ImportError:
    NATIVE = False
else:
    NATIVE = True
    _native.set_twins(_relu, _relu_backward)


def _choose(name: str) -> Any:
    return getattr(_native, name) if NATIVE else TWINS[name]


relu, relu_backward = _choose("relu"), _choose("relu_backward")
sum_all, sum_rows = _choose("sum_all"), _choose("sum_rows")
matmul, affine = _choose("matmul"), _choose("affine")


def quick(name: str) -> Any:
    """The C++ function called ``name``, or None without it: the row then calls its ufunc."""
    return getattr(_native, name) if NATIVE else None
