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
]


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
        "matmul": np.ndarray.dot,
        "affine": _affine,
    }
)


def _choose(name: str) -> Any:
    return getattr(native, name) if NATIVE else TWINS[name]


matmul, affine = _choose("matmul"), _choose("affine")
matmul_nt, matmul_tn = compiled("matmul_nt", _matmul_nt), compiled("matmul_tn", _matmul_tn)
