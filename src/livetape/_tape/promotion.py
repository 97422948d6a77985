"""The dtype of a result, by torch's categories: dimensioned tensors outrank 0-d tensors, which outrank numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import argument_error
from livetape._tape.tensor import TensorBase
from livetape.dtypes import BOOL, COMPLEX, FLOAT, boolean, default, dtype, int64, promote_types


def of_number(value: Any) -> dtype | None:
    """The dtype of a Python number, or None if it is none."""
    if isinstance(value, bool):
        return boolean
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return default.dtype
    if isinstance(value, complex):
        return default.dtype.to_complex()
    if isinstance(value, np.generic):
        return of_number(value.item())
    return None


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None:
        return lower
    if lower is None:
        return higher
    if higher.category == COMPLEX:
        return higher
    if higher.category == FLOAT:
        return higher.to_complex() if lower.category == COMPLEX else higher
    if higher.category == BOOL or lower.category >= FLOAT:
        return promote_types(higher, lower)
    return higher


def promote(name: str, *values: Any) -> dtype:
    """The dtype that the arguments of an operation promote to (source: ``torch.result_type``)."""
    sized: dtype | None = None
    scalar: dtype | None = None
    number: dtype | None = None
    for i, value in enumerate(values):
        if isinstance(value, TensorBase):
            kind = value.dtype
            if value.array.ndim:
                sized = kind if sized is None else promote_types(sized, kind)
            else:
                scalar = kind if scalar is None else promote_types(scalar, kind)
        else:
            found = of_number(value)
            if found is None:
                raise argument_error(name, i, value)
            number = found if number is None else promote_types(number, found)
    result = _combine(sized, _combine(scalar, number))
    if result is None:
        raise TypeError(f"{name}() received no tensor")
    return result
