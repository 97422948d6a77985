"""Two tensors exchange what they are (source: ``torch.utils.swap_tensors``)."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

# What the tape knows of a tensor: all but `slot`, which is a running backward's.
_FIELDS = (
    "array",
    "dtype",
    "_size",
    "recorded",
    "node",
    "output_nr",
    "_gradient",
    "base",
    "version",
    "view_version",
    "creation",
    "inference",
    "extras",
)


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange memory, class, attributes, gradient and hooks of two tensors; each stays the object that it is.

    RuntimeError if one of them is weakly referenced, or their classes have different slots. What was recorded with a
    leaf before leads to the object, not to what it was.

    >>> import livetape as torch
    >>> a, b = torch.ones(2), torch.zeros(3, dtype=torch.int64)
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([0, 0, 0]), tensor([1., 1.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = _slots(type(t1))
    if slots != _slots(type(t2)):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for name in slots:
        first, second = getattr(t1, name, slots), getattr(t2, name, slots)
        for tensor, value in ((t1, second), (t2, first)):
            if value is not slots:
                setattr(tensor, name, value)
            elif hasattr(tensor, name):
                delattr(tensor, name)
    for name in _FIELDS:
        first, second = getattr(t1, name), getattr(t2, name)
        setattr(t1, name, second)
        setattr(t2, name, first)
    for tensor in (t1, t2):
        if tensor.extras is not None:
            tensor.extras.accumulator = None  # it names the tensor


def _slots(cls: Any) -> set[str]:
    """The slots that subclasses of Tensor declare."""
    return set(copyreg._slotnames(cls)) - {*_FIELDS, "slot"}  # type: ignore[attr-defined]
