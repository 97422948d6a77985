"""The choice between a kernel in C++ (``kernels/native``) and its NumPy twin, which gives the same results.

The C++ functions take any arguments: what is not plain (float32 or float64 in C order) they hand to their twins.
`NATIVE` says whether a program has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

native: Any
try:
    from livetape.kernels import _native as native  # type: ignore[attr-defined, no-redef]
except ImportError:
    native = None

NATIVE = native is not None
TWINS: dict[str, Callable[..., Any]] = {}


def compiled(name: str, twin: Callable[..., Any]) -> Any:
    """The C++ function called ``name``, which hands to ``twin`` what it does not take; without it ``twin`` itself."""
    TWINS[name] = twin
    if native is None:
        return twin
    native.set_twin(name, twin)
    return getattr(native, name)
