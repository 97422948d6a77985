"""Samples of every row of the derivative table: a new operation is tested by having some.

`test_table.py` runs each for its gradient, second-order gradient, in-place variant and dtypes, and the parity checks
run each on a live torch too, so a sample names its function by a dotted path that both libraries have.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """One call of an operation.

    key       the row in the table that the call reaches
    fn        a dotted path in the library, such as "sum", "nn.functional.relu" or "Tensor.masked_fill"
    args      NumPy arrays become tensors (floating point and complex ones require gradients), all else is passed as it is
    kwargs    likewise
    grad      whether gradients are compared with numeric ones
    gradgrad  whether second-order gradients are
    inplace   whether the in-place variant ``Tensor.<name>_`` is compared with the plain one, where there is one
    """

    key: str
    fn: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    grad: bool = True
    gradgrad: bool = True
    inplace: bool = True

    def __repr__(self) -> str:
        shapes = ",".join(
            "x".join(map(str, a.shape)) or "()" if isinstance(a, np.ndarray) else str(a)[:12] for a in self.args
        )
        return f"{self.key}-{self.fn}({shapes})"


def rng(seed: int = 0) -> np.random.Generator:
    """A generator for a module's samples."""
    return np.random.default_rng(seed)


def everything() -> list[Sample]:
    """The samples of all families."""
    found: list[Sample] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").SAMPLES
    return found
