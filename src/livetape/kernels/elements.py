"""Functions of corresponding elements in C++, and the NumPy functions that they stand for.

The others have their twins where they belong: activations in kernels/activation.py, and so on. Each takes arrays, then
numbers, and perhaps an array for the result; see native/elements.h.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled, native

_UFUNCS = (
    "add subtract multiply divide maximum minimum negative absolute sqrt reciprocal exp expm1 log log1p log10 "
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh"
).split()
_OF_UFUNC = {getattr(np, name): compiled(name, getattr(np, name)) for name in _UFUNCS}
_NAMES: frozenset[str] = frozenset(() if native is None else native.elements)


def quick(kernel: Any) -> Any:
    """The C++ function for arrays of floats that does what ``kernel`` does; None if there is none."""
    if native is None:
        return None
    if isinstance(kernel, np.ufunc):
        return _OF_UFUNC.get(kernel)
    name = getattr(kernel, "__name__", "")
    return kernel if name in _NAMES and kernel is getattr(native, name) else None
