"""Derivatives of eigen- and singular vectors where values repeat.

Their formulas divide what the loss says of two vectors by the distance of the two values, 0 by 0 where the values are
equal. If the loss does not depend on the choice of the vectors, the quotient has a limit: by l'Hospital's rule, the
derivative of what is divided by one of the values. To find it, the walk to such a decomposition is recorded (`watch`), so
that the gradients which arrive know how they depend on the values (`limits`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from livetape._tape.backward import run_backward
from livetape._tape.modes import state
from livetape._tape.tensor import node_extras, shape_of, wrap
from livetape._tape.views import edge_of
from livetape.compat import compat
from livetape.dtypes import COMPLEX, boolean
from livetape.ops.choose import where
from livetape.ops.table import row


def watch(values: Any, also: bool = False) -> None:
    """Let walks to the node of these eigen- or singular values be recorded if some of them repeat, or ``also`` holds."""
    node = values.node
    if node is not None and not compat.torch and state.interposed == 0 and (also or repeated(values).any()):
        node_extras(node).records = True
        state.records = True


def repeated(values: Any) -> Any:
    """Which pairs of values are equal to rounding: an array of bool [..., n, n] with an empty diagonal."""
    array = values.array
    size = np.abs(array)
    n = array.shape[-1]
    bound = 8 * n * np.finfo(size.dtype).eps * size.max(-1, initial=0)[..., None, None]
    near = np.abs(array[..., None, :] - array[..., :, None]) <= bound
    return near & ~np.eye(n, dtype=np.bool_)


def is_watched(values: Any, divided: Any) -> bool:
    """Whether `limits` can tell how what is divided depends on the values."""
    node = values.node
    return node is not None and node._extras is not None and node._extras.records and divided.recorded


def pairs_of(values: Any, divided: Any) -> Any:
    """The pairs that `limits` is to be asked for, None if there are none or the walk was not recorded."""
    found = repeated(values) if is_watched(values, divided) else None
    return found if found is not None and found.any() else None


def _rounds(count: int) -> Iterator[tuple[Any, Any]]:
    """All ordered pairs of ``count`` places, in rounds in which each place occurs once: a tournament."""
    places = list(range(count + count % 2))
    half = len(places) // 2
    for _ in range(len(places) - 1):
        left, right = places[:half], places[half:][::-1]
        both = [(i, j) for i, j in zip(left, right) if i < count and j < count]
        if both:
            first, second = np.array(both).T
            yield first, second
            yield second, first
        places = [places[0], places[-1], *places[1:-1]]


def _slopes(total: Any, values: Any) -> Any:
    """The gradient of a real scalar by the values, as an array."""
    if not total.recorded:
        return np.zeros(values.array.shape, values.array.dtype)
    ones = wrap(np.ones(total.array.shape, total.array.dtype), total.dtype, shape_of(total))
    (found,) = run_backward([edge_of(total)], [ones], True, False, [edge_of(values)], False)
    return np.zeros(values.array.shape, values.array.dtype) if found is None else found.array


def limits(divided: Any, values: Any, pairs: Any) -> Any:
    """The derivative of ``divided[..., i, j]`` by ``values[..., j]`` for the ``pairs``, 0 elsewhere; an array.

    For each pair ``divided`` must be 0 wherever both values are equal, so that it depends on them alone there.
    """
    found = np.zeros(divided.array.shape, divided.array.dtype)
    split = divided.dtype.category == COMPLEX and values.dtype.category != COMPLEX
    for first, second in _rounds(found.shape[-1]):
        chosen = np.zeros(pairs.shape, np.bool_)
        chosen[..., first, second] = pairs[..., first, second]
        if not chosen.any():
            continue
        picked = divided.masked_fill(wrap(~chosen, boolean, None), 0).sum()
        real = picked.real if divided.dtype.category == COMPLEX else picked
        slopes = _slopes(real, values)
        if split:
            slopes = slopes + 1j * _slopes(picked.imag, values)
        found[..., first, second] = np.where(chosen[..., first, second], slopes[..., second], 0)
    return found


LIMIT = row(
    "repeated_limit",
    lambda divided, limit: limit,
    tensors="divided",
    divided=lambda grad: grad * math.nan,
)


def quotient(divided: Any, gaps: Any, limit: Any, pairs: Any) -> Any:
    """``divided / gaps``, and the limit for the pairs. It is known as a number alone: its derivatives are NaN."""
    chosen = wrap(pairs, boolean, None)
    return where(chosen, LIMIT.apply((divided, limit)), divided / where(chosen, 1, gaps))


def vanishes(divided: Any, pairs: Any, *scales: Any) -> Any:
    """The pairs for which what is divided is 0 to rounding; for others the loss depends on the choice of the vectors.

    ``scales``: what it is a difference of.
    """
    size = np.abs(divided.array)
    scale = max([np.abs(x.array).max(initial=0) for x in scales if x is not None])
    return pairs & (size <= np.sqrt(np.finfo(size.dtype).eps) * scale)


def column_limits(divided: Any, values: Any) -> Any:
    """The derivative of each column ``divided[..., :, j]`` by ``values[..., j]``, where that is 0 and so is the column."""
    found = np.zeros(divided.array.shape, divided.array.dtype)
    none = values.array == 0
    for at in range(found.shape[-2]):
        row_at = divided.select(-2, at)
        picked = row_at.masked_fill(wrap(~none, boolean, None), 0).sum()
        if divided.dtype.category == COMPLEX:
            found[..., at, :] = _slopes(picked.real, values) + 1j * _slopes(picked.imag, values)
        else:
            found[..., at, :] = _slopes(picked, values)
    return np.where(none[..., None, :], found, 0)
