"""How a row runs on batches: the rules that `row(batch=...)` names, and the loop for rows that name none.

A rule gets the row, its arguments, a flag for each of them that says whether it is a batch (samples along dimension 0; for
a list of tensors all are), and the size of the batch. It returns a batch, or a tuple of batches. Rules are written with
operations, so batches that are recorded, or have tangents, or are batched again, are no different.

What a row may name:
    "any"              the kernel takes more dimensions in front
    "broadcast"        likewise, and its tensors broadcast against each other
    "fold"             dimension 0 of a sample is a batch already: the two are folded into one
    "dim size ..."     names of arguments that hold dimensions, which move by one, or sizes, which grow by one
    a rule's name      a function of `livetape.func._special`
Elementwise rows and those that draw random numbers need not say anything.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.modes import is_transformed
from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase, from_array, shape_of, wrap
from livetape._tape.views import needs_gradient
from livetape.func._arrays import dynamic_error
from livetape.ops.basics import cast
from livetape.ops.joining import stack
from livetape.ops.shape import reshape
from livetape.ops.table import BATCH, TABLE

Rule = Callable[[Any, tuple[Any, ...], list[bool], int], Any]
SPECIAL: dict[str, Rule] = {}
_DIMENSIONS = {"dim", "dims", "dim0", "dim1", "dim2", "dimension"}
_SIZES = {"size", "self_size"}
_warned: set[str] = set()
EXPAND, SELECT, UNSQUEEZE = TABLE["expand"], TABLE["select"], TABLE["unsqueeze"]


def expanded(tensor: Any, size: int) -> Any:
    """The same tensor for each sample of a batch."""
    return EXPAND.apply((tensor, (size, *shape_of(tensor))))


def rank(value: Any, flag: bool) -> int:
    """The dimensions of a sample."""
    return int(value.array.ndim) - int(flag)


def run_batched(op: Any, values: tuple[Any, ...], flags: list[bool], size: int) -> Any:
    """Run a row on batches."""
    if op.is_elementwise():
        return elementwise(op, values, flags, size)
    rule = BATCH.get(op)
    if rule is None:
        return (
            broadcast(op, values, flags, size)
            if "bits" in op.params or "law" in op.params
            else loop(op, values, flags, size)
        )
    found = SPECIAL.get(rule)
    return found(op, values, flags, size) if found is not None else along(op, values, flags, size, rule.split())


# ---------------------------------------------------------------- more dimensions in front
def aligned(values: tuple[Any, ...], flags: list[bool], places: list[int]) -> list[Any]:
    """The arguments with dimensions of one element after the batch's, so that samples broadcast as they did."""
    found = list(values)
    wide = max([rank(values[at], flags[at]) for at in places if isinstance(values[at], TensorBase)], default=0)
    for at in places:
        value = values[at]
        if flags[at]:
            for _ in range(wide - rank(value, True)):
                value = UNSQUEEZE.apply((value, 1))
            found[at] = value
    return found


def elementwise(op: Any, values: tuple[Any, ...], flags: list[bool], size: int) -> Any:
    """Corresponding elements: the samples broadcast."""
    found = promoted(op, aligned(values, flags, op.operands), values, flags)
    if not op.is_ufunc:  # a kernel of one's own may take its first arguments to have the result's shape
        wide = max([rank(values[at], flags[at]) for at in op.operands if isinstance(values[at], TensorBase)])
        for at in op.operands:
            value = values[at]
            if isinstance(value, TensorBase) and not flags[at] and value.array.ndim == wide:
                found[at] = expanded(found[at], size)
    return op.apply(tuple(found))


def promoted(op: Any, found: list[Any], values: tuple[Any, ...], flags: list[bool]) -> list[Any]:
    """A batch of numbers takes part in the promotion as numbers do, not as a vector."""
    operands = op.operands
    first = values[operands[0]]
    scalar = False
    mixed = False
    for at in operands:
        value = values[at]
        if not isinstance(value, TensorBase) or not isinstance(first, TensorBase):
            mixed = True
        elif value.dtype is not first.dtype:
            mixed = True
        scalar = scalar or (flags[at] and value.array.ndim == 1)
    if not (mixed and scalar):
        return found
    samples = [
        wrap(np.empty((1,) * rank(values[at], flags[at]), values[at].dtype.np), values[at].dtype, None)
        if isinstance(values[at], TensorBase)
        else values[at]
        for at in operands
    ]
    kind = promote(op.name, *samples)
    for at in operands:
        if isinstance(found[at], TensorBase) and found[at].dtype is not kind:
            found[at] = cast(found[at], kind)
    return found


def broadcast(op: Any, values: tuple[Any, ...], flags: list[bool], size: int) -> Any:
    """As `elementwise`, for a row whose kernel broadcasts by itself; its formulas need not undo it."""
    found = list(values)
    which = list(flags)
    for at in op.tensor_at:
        if not flags[at] and isinstance(values[at], TensorBase):
            found[at] = expanded(values[at], size)
            which[at] = True
    return op.apply(tuple(aligned(tuple(found), which, op.tensor_at)))


def all_batches(op: Any, values: tuple[Any, ...], flags: list[bool], size: int) -> list[Any]:
    """The arguments with every tensor a batch."""
    found = list(values)
    for at in op.tensor_at:
        if not flags[at]:
            if isinstance(values[at], TensorBase):
                found[at] = expanded(values[at], size)
            elif isinstance(values[at], (list, tuple)):
                found[at] = [expanded(v, size) if isinstance(v, TensorBase) else v for v in values[at]]
    return found


def anything(op: Any, values: tuple[Any, ...], flags: list[bool], size: int) -> Any:
    """The kernel takes more dimensions in front."""
    return op.apply(tuple(all_batches(op, values, flags, size)))


def fold(op: Any, values: tuple[Any, ...], flags: list[bool], size: int) -> Any:
    """The batch folded into the batch that each sample is; sizes among the arguments fold too."""
    found = all_batches(op, values, flags, size)
    count = 0
    for at in op.tensor_at:
        if isinstance(found[at], TensorBase):
            count = shape_of(found[at])[1]
            found[at] = reshape(found[at], (size * count, *shape_of(found[at])[2:]))
    for at, name in enumerate(op.params):
        if name in _SIZES and found[at] is not None:
            found[at] = (size * found[at][0], *found[at][1:])
    out = op.apply(tuple(found))
    unfolded = [
        reshape(o, (size, o.array.shape[0] // size, *o.array.shape[1:]))
        for o in (out if isinstance(out, tuple) else (out,))
    ]
    return tuple(unfolded) if isinstance(out, tuple) else unfolded[0]


# ---------------------------------------------------------------- arguments that name dimensions
def _moved(value: Any, ndim: int) -> Any:
    """Dimensions of a sample as dimensions of the batch; None, which means all, is all of the sample's."""
    if value is None:
        return tuple(range(1, ndim + 1))
    if isinstance(value, int):
        return value + 1 if value >= 0 else value
    return tuple([v + 1 if v >= 0 else v for v in value])


def along(op: Any, values: tuple[Any, ...], flags: list[bool], size: int, names: list[str]) -> Any:
    """Dimensions move by one, sizes get the batch's in front."""
    found = all_batches(op, values, flags, size)
    first = found[op.tensor_at[0]]
    tensor = first[0] if isinstance(first, (list, tuple)) else first
    ndim = int(tensor.array.ndim) - 1
    for name in names:
        at = op.params.index(name)
        if name in _SIZES:
            ndim = len(found[at])
            found[at] = (size, *found[at])
    if ndim == 0 and op.name not in ("unsqueeze", "stack"):
        for name in names:
            value = values[op.params.index(name)]
            if name in _DIMENSIONS and (
                isinstance(value, int) or value or op.name == "prod"
            ):  # of a sample that has none
                return loop(op, values, flags, size)
    for name in names:
        if name in _DIMENSIONS:
            at = op.params.index(name)
            found[at] = _moved(found[at], ndim)
    return op.apply(tuple(found))


# ---------------------------------------------------------------- one sample at a time
def loop(op: Any, values: tuple[Any, ...], flags: list[bool], size: int) -> Any:
    """Run the row on each sample and stack the results."""
    if op.name not in _warned:
        _warned.add(op.name)
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"aten::{op.name}. Please file us an issue on GitHub so that we can prioritize its implementation.",
            UserWarning,
            stacklevel=2,
        )
    if is_transformed() or size == 0 or any(_recorded(v) for v in values):
        return _loop_tensors(op, values, flags, size)
    return _loop_arrays(op, values, flags, size)


def _recorded(value: Any) -> bool:
    if isinstance(value, TensorBase):
        return needs_gradient(value)
    return isinstance(value, (list, tuple)) and any(_recorded(v) for v in value)


def _each(values: tuple[Any, ...], flags: list[bool], pick: Callable[[Any], Any]) -> tuple[Any, ...]:
    return tuple(
        [
            v
            if not f
            else pick(v)
            if isinstance(v, TensorBase)
            else [pick(x) if isinstance(x, TensorBase) else x for x in v]
            for v, f in zip(values, flags)
        ]
    )


def _stacked(op: Any, columns: Any, join: Callable[[list[Any]], Any]) -> Any:
    try:
        return join(list(columns))
    except (ValueError, RuntimeError):
        raise RuntimeError(dynamic_error(op.name)) from None


def _loop_tensors(op: Any, values: tuple[Any, ...], flags: list[bool], size: int) -> Any:
    if size == 0:
        empty = _each(values, flags, lambda t: wrap(np.zeros(t.array.shape[1:], t.array.dtype), t.dtype, None))
        out = op.apply(empty)
        outs = [
            wrap(np.zeros((0, *shape_of(o)), o.array.dtype), o.dtype, None)
            for o in (out if isinstance(out, tuple) else (out,))
        ]
        return tuple(outs) if isinstance(out, tuple) else outs[0]
    results = [
        op.apply(_each(values, flags, lambda t, i=i: SELECT.apply((t, 0, i))))  # type: ignore[misc]
        for i in range(size)
    ]
    if isinstance(results[0], tuple):
        return tuple([_stacked(op, column, stack) for column in zip(*results)])
    return _stacked(op, results, stack)


def _loop_arrays(op: Any, values: tuple[Any, ...], flags: list[bool], size: int) -> Any:
    results = [
        op.kernel(*op.arrays(_each(values, flags, lambda t, i=i: from_array(t.array[i, ...]))))  # type: ignore[misc]
        for i in range(size)
    ]
    if op.outputs == 1:
        return from_array(_stacked(op, results, np.stack))
    return tuple([from_array(_stacked(op, column, np.stack)) for column in zip(*results)])


SPECIAL.update({"any": anything, "broadcast": broadcast, "fold": fold, "loop": loop})


def flat(tensor: Any) -> Any:
    """The samples of a batch as vectors."""
    size = shape_of(tensor)
    return tensor if len(size) == 2 else reshape(tensor, (size[0], math.prod(size[1:])))
