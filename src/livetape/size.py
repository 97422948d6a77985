"""torch.Size: the shape of a tensor, a tuple that prints as torch prints it."""

from __future__ import annotations

import math
from operator import index
from typing import Any

_new = tuple.__new__


class Size(tuple[int, ...]):
    """The shape of a tensor (source: ``torch.Size``).

    >>> Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        found = tuple.__new__(cls, sizes)
        for size in found:
            if type(size) is not int:
                return tuple.__new__(cls, [_as_int(at, one) for at, one in enumerate(found)])
        return found

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return _new(Size, found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        return _new(Size, tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return (size_of, (tuple(self),))


def _as_int(at: int, size: Any) -> Any:
    """A size as an int; TypeError for what is none."""
    try:
        return index(size)
    except TypeError:
        text = f"torch.Size() takes an iterable of 'int' (item {at} is '{type(size).__name__}')"
        raise TypeError(text) from None


Size.__module__ = "torch"

_interned: dict[tuple[int, ...], Size] = {}
_LIMIT = 4096


def size_of(shape: tuple[int, ...]) -> Size:
    """The Size of a NumPy shape. Equal shapes nearly always give the same object, so that ``is`` is a quick test."""
    found = _interned.get(shape)
    if found is None:
        if len(_interned) >= _LIMIT:
            _interned.clear()
            _interned[()] = SCALAR
        found = _interned[shape] = _new(Size, shape)
    return found


SCALAR = Size(())
_interned[()] = SCALAR
