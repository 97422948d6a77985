"""Whole Jacobians at once: a batch of unit vectors in one walk, or in one forward with tangents."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.tensor import from_array, shape_of
from livetape.autograd import forward_ad
from livetape.gradients import grad
from livetape.ops.basics import detach, zeros_like
from livetape.ops.permuting import movedim
from livetape.ops.shape import reshape


def _units(tensor: Any) -> Any:
    """The unit vectors of a tensor's space, each of the tensor's shape."""
    count = tensor.array.size
    return from_array(np.eye(count, dtype=tensor.array.dtype).reshape(count, *tensor.array.shape))


def rows_at_once(output: Any, inputs: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """The Jacobians of one output with respect to all inputs, by one walk."""
    found: tuple[Any, ...] = (None,) * len(inputs)
    if output.requires_grad and output.array.size:
        found = grad(output, inputs, _units(output), True, create_graph, allow_unused=True, is_grads_batched=True)
    shapes = [(*shape_of(output), *shape_of(i)) for i in inputs]
    return tuple(
        [
            from_array(np.zeros(shape, i.array.dtype)) if g is None else reshape(g, shape)
            for g, i, shape in zip(found, inputs, shapes)
        ]
    )


def columns_at_once(func: Callable[..., Any], inputs: tuple[Any, ...], as_tuple: Callable[[Any], Any]) -> list[Any]:
    """The Jacobians, for each output a list over the inputs, by one forward for each input."""
    vmap = importlib.import_module("livetape.func").vmap  # it lies above, and is loaded when it is needed
    plain = [detach(i) for i in inputs]
    columns = []
    for at, given in enumerate(plain):

        def push(tangent: Any, at: int = at) -> tuple[Any, ...]:
            with forward_ad.dual_level():
                duals: list[Any] = list(plain)
                duals[at] = forward_ad.make_dual(plain[at], tangent)
                pairs = [forward_ad.unpack_dual(o) for o in as_tuple(func(*duals))]
                return tuple([zeros_like(p.primal) if p.tangent is None else p.tangent for p in pairs])

        batch = vmap(push)(_units(given))
        columns.append([reshape(movedim(b, 0, -1), (*shape_of(b)[1:], *shape_of(given))) for b in batch])
    return [list(row) for row in zip(*columns)]
