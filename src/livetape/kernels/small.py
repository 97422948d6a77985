"""Kernels that are quick on small arrays: C++ where it was built, else their NumPy twins with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.compiled import NATIVE, TWINS, compiled, native

__all__ = [
    "NATIVE",
    "affine",
    "matmul",
    "matmul_nt",
    "matmul_tn",
    "quick",
    "relu",
    "relu_backward",
]


def _relu(x: Any) -> Any:
    return np.maximum(x, np.zeros((), x.dtype))


def _relu_backward(grad: Any, result: Any) -> Any:
    return np.where(result <= 0, np.zeros((), grad.dtype), grad)


def product(x: Any, y: Any) -> Any:
    """The matrix product; half precision is summed in single precision."""
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        return x.astype(np.float32).dot(y.astype(np.float32)).astype(x.dtype)
    return matmul(x, y)


def _matmul_nt(x: Any, y: Any) -> Any:
    return product(x, y.T)


def _matmul_tn(x: Any, y: Any) -> Any:
    return product(x.T, y)


def _affine(bias: Any, x: Any, y: Any) -> Any:
    out = x.dot(y)
    out += bias
    return out


# These call NumPy by themselves: each has its twin here for machines without C++, and as what tests hold it against.
TWINS.update(
    {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "divide": np.true_divide,
        "negative": np.negative,
        "square": np.square,
        "sqrt": np.sqrt,
        "matmul": np.ndarray.dot,
        "affine": _affine,
    }
)


def _choose(name: str) -> Any:
    return getattr(native, name) if NATIVE else TWINS[name]


relu, relu_backward = compiled("relu", _relu), compiled("relu_backward", _relu_backward)
matmul, affine = _choose("matmul"), _choose("affine")
matmul_nt, matmul_tn = compiled("matmul_nt", _matmul_nt), compiled("matmul_tn", _matmul_tn)


def quick(name: str) -> Any:
    """The C++ function called ``name``, or None without it: the row then calls its ufunc."""
    return getattr(native, name) if NATIVE else None
