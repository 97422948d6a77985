"""What a loss's ``reduction`` may be, and its old spelling by two flags."""

from __future__ import annotations

import warnings


def get_enum(reduction: str) -> int:
    """0, 1 or 2 for "none", "mean" or "sum"; ValueError for anything else.

    >>> get_enum("sum")
    2
    """
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        return 1
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the deprecated flags mean."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    found = "none" if not reduce else "mean" if size_average else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=3
        )
    return found


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """`get_enum` of what the deprecated flags mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
