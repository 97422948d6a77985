"""The operations: one file a family, each operation declared once in the table."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def _collect() -> list[Any]:
    found = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"livetape.ops.{info.name}")
        names = vars(module)
        if "METHODS" in names or "FUNCTIONS" in names or "FUNCTIONAL" in names:
            names.setdefault("METHODS", {})
            found.append(module)
    return found


MODULES = _collect()
globals().update({name: getattr(module, name) for module in MODULES
                  for name in [*getattr(module, "FUNCTIONS", ()), *getattr(module, "FUNCTIONAL", ())]
                  if hasattr(module, name)})
from livetape.ops.basics import storage_offset  # noqa: E402, F401
