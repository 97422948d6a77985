"""Dimensions as arguments: negative ones count from the end, and wrong ones give torch's errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import index
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase


def wrap_dim(dim: Any, ndim: int, name: str = "", argument: str = "dim", position: int = 1) -> int:
    """A dimension as a number from 0 to ndim - 1 (0 for a 0-d tensor).

    ``name``, ``argument`` and ``position`` are for the words of a TypeError: whose argument this is.

    >>> wrap_dim(-1, 3)
    2
    """
    if type(dim) is not int:
        if not is_integer(dim):
            where = f"argument '{argument}' (position {position})"
            raise noted(TypeError(f"{name}(): {where} must be int, not {type(dim).__name__}"))
        dim = as_int(dim)
    limit = ndim or 1
    if 0 <= dim < limit:
        return int(dim)
    if -limit <= dim < 0:
        return int(dim) + limit
    if dim.bit_length() > 63:
        raise noted(ValueError("Overflow when unpacking long long"))
    raise noted(
        IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    )


def wrap_dims(dims: Any, ndim: int, name: str = "", argument: str = "dim", position: int = 1) -> tuple[int, ...]:
    """One dimension or several as a tuple of different numbers from 0 to ndim - 1, in the order given.

    >>> wrap_dims((-1, 0), 3)
    (2, 0)
    """
    if type(dims) is int:
        return (wrap_dim(dims, ndim),)
    if not isinstance(dims, (tuple, list)):
        if not is_integer(dims):
            where = f"argument '{argument}' (position {position})"
            raise noted(TypeError(f"{name}(): {where} must be tuple of ints, not {type(dims).__name__}"))
        return (wrap_dim(as_int(dims), ndim),)
    if all(type(dim) is int for dim in dims):
        whole = list(dims)
    else:
        whole = []
        for at, dim in enumerate(dims):
            if is_integer(dim):
                whole.append(as_int(dim))
                continue
            kind = type(dim).__name__
            if at == 0:
                where = f"argument '{argument}' (position {position})"
                what = f"but found element of type {kind} at pos 0"
                raise noted(TypeError(f"{name}(): {where} must be tuple of ints, {what}"))
            raise noted(
                TypeError(
                    f"{name}(): argument '{argument}' failed to unpack the object at pos {at + 1} with error "
                    f'"type must be tuple of ints,but got {kind}"'
                )
            )
    found: list[int] = []
    for dim in whole:
        one = wrap_dim(dim, ndim)
        if one in found:
            raise noted(RuntimeError(f"dim {one} appears multiple times in the list of dims"))
        found.append(one)
    return tuple(found)


def reduction_dims(dims: Any, ndim: int, name: str = "") -> tuple[int, ...]:
    """The dimensions that a reduction is over: all of them for None and for an empty list.

    A 0-d tensor has none, whatever is asked for; a wrong dimension is an error there as well.

    >>> reduction_dims(None, 2), reduction_dims((), 2), reduction_dims(-1, 2)
    ((0, 1), (0, 1), (1,))
    """
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        return tuple(range(ndim))
    found = wrap_dims(dims, ndim, name)
    return found if ndim else ()


def reduced_size(size: Any, axes: tuple[int, ...], keepdim: bool = False) -> tuple[int, ...]:
    """The shape that is left when ``axes`` of ``size`` are reduced, with ones in their places if ``keepdim``."""
    if keepdim:
        return tuple([1 if i in axes else n for i, n in enumerate(size)])
    return tuple([n for i, n in enumerate(size) if i not in axes])


def is_integer(value: Any) -> bool:
    """Whether torch takes ``value`` for an int argument: integers and 0-d integer tensors, but not bool."""
    if isinstance(value, TensorBase):
        return value.array.ndim == 0 and value.array.dtype.kind in "iu"
    return not isinstance(value, bool) and hasattr(value, "__index__")


def as_int(value: Any) -> int:
    """An integer argument as a Python int."""
    return int(value.array) if isinstance(value, TensorBase) else index(value)


_NUMPY = {"axis": "dim", "keepdims": "keepdim"}


def renamed(names: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments by NumPy's names, which torch takes as well, as torch's: ``axis`` is ``dim``."""
    return {_NUMPY.get(key, key): value for key, value in names.items()}


def numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function take NumPy's names ``axis`` and ``keepdims`` too."""

    @wraps(function)
    def either(*args: Any, **kwargs: Any) -> Any:
        if "axis" in kwargs or "keepdims" in kwargs:
            kwargs = renamed(kwargs)
        return function(*args, **kwargs)

    return either
