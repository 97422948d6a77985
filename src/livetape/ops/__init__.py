"""The operations: one file a family, each operation declared once in the table."""

from __future__ import annotations

import importlib.util
from typing import Any

NAMES = ["basics", "arithmetic", "compare", "pointwise", "rounding", "special", "complexes", "combine", "choose", "smooth", "shape", "reshaping", "joining", "diagonal", "products", "einsum", "reduce",
         "norms", "sorting", "scan", "indexing", "gathering", "creation", "sampling", "casting", "queries", "activation", "softmax",
         "loss", "dropout", "embedding", "normalization", "conv", "pooling", "padding", "pixel", "interpolate"]
MODULES: list[Any] = []
for _name in NAMES:
    if importlib.util.find_spec(f"livetape.ops.{_name}") is None:
        continue
    _module = importlib.import_module(f"livetape.ops.{_name}")
    MODULES.append(_module)
    for _attr in [*getattr(_module, "FUNCTIONS", ()), *getattr(_module, "FUNCTIONAL", ())]:
        if hasattr(_module, _attr):
            globals()[_attr] = getattr(_module, _attr)
    if not hasattr(_module, "METHODS"):
        _module.METHODS = {}
from livetape.ops.basics import storage_offset  # noqa: E402, F401
