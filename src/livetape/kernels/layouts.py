"""How a copy of an array lies in memory: as the array does, where that can be said."""

from __future__ import annotations

from typing import Any

import numpy as np


def empty_alike(array: Any, kind: Any = None) -> Any:
    """A new array of another's shape and order of dimensions in memory, without gaps (source: ``torch.empty_like``).

    The order is torch's where elements share memory: a dimension of stride 0 keeps its place among the others.
    """
    kind = array.dtype if kind is None else kind
    if 0 not in array.strides:
        return np.empty_like(array, kind, "K", subok=False)
    if array.flags.c_contiguous:
        return np.empty(array.shape, kind)
    order = _inner_first(array.shape, array.strides)[::-1]
    return np.empty([array.shape[d] for d in order], kind).transpose(np.argsort(order))


def copied(array: Any, kind: Any = None) -> Any:
    """A copy that lies in memory as the array does, of another dtype if one is given."""
    if 0 not in array.strides:
        return array.copy("K") if kind is None else array.astype(kind)
    made = empty_alike(array, kind)
    np.copyto(made, array, casting="unsafe")
    return made


def _inner_first(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """The dimensions by stride, the smallest first; one of stride 0 may stand anywhere, and stays where it is."""
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        here = i
        for before in range(i - 1, -1, -1):
            a, b = order[before], order[here]
            if strides[a] == 0 or strides[b] == 0:
                continue
            if strides[a] < strides[b] or (strides[a] == strides[b] and shape[a] <= shape[b]):
                break
            order[before], order[here] = b, a
            here = before
    return order
