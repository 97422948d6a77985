"""Jacobians and Hessians, by reverse and by forward mode (source: ``torch.func``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._pytree import tree_flatten, tree_unflatten
from livetape._tape.tensor import TensorBase, from_array, shape_of
from livetape.dtypes import COMPLEX
from livetape.func._eager import _Pullback, jvp
from livetape.func._levels import chosen, replaced, wrapped
from livetape.func._vmap import vmap
from livetape.ops.permuting import movedim
from livetape.ops.shape import reshape
from livetape.ops.splitting import split_with_sizes


def _refuse_complex(tensors: list[Any], name: str, what: str) -> None:
    for i, tensor in enumerate(tensors):
        if isinstance(tensor, TensorBase) and tensor.dtype.category == COMPLEX:
            raise RuntimeError(
                f"{name}: Expected all {what}s to be real but received complex tensor at flattened input idx: {i}"
            )


def _basis(tensors: list[Any]) -> list[Any]:
    """For each tensor a batch of directions, one for every element of all of them."""
    counts = [t.numel() for t in tensors]
    total, start, found = sum(counts), 0, []
    for tensor, count in zip(tensors, counts):
        made = np.zeros((total, count), tensor.dtype.np)
        made[np.arange(start, start + count), np.arange(count)] = 1
        found.append(from_array(made.reshape(total, *shape_of(tensor))))
        start += count
    return found


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of ``func``, by reverse mode: a walk for every output, batched.

    The Jacobian has the shape of the output followed by that of the input (source: ``torch.func.jacrev``).

    >>> import livetape as torch
    >>> torch.func.jacrev(lambda x: x ** 2)(torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def inner(*args: Any, **kwargs: Any) -> Any:
        inputs = chosen(args, argnums)
        _refuse_complex(tree_flatten(inputs)[0], "jacrev", "input")
        pulled = _Pullback(lambda variables: func(*replaced(args, argnums, variables), **kwargs), (inputs,), has_aux)
        outputs = pulled.outputs
        _refuse_complex(outputs, "jacrev", "output")
        rows = vmap(lambda *directions: tuple(pulled.flat(list(directions))), chunk_size=chunk_size)(*_basis(outputs))
        counts = [o.numel() for o in outputs]
        spec = tree_flatten(inputs)[1]
        columns = [
            [
                reshape(part, (*shape_of(output), *shape_of(variable)))
                for part, output in zip(split_with_sizes(row, counts, 0), outputs)
            ]
            for row, variable in zip(pulled.level.closed(list(rows)), pulled.inputs)
        ]
        found = tree_unflatten([tree_unflatten(list(each), spec) for each in zip(*columns)], pulled.spec)
        return (found, pulled.aux) if has_aux else found

    return wrapped(func, inner)


def jacfwd(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that returns the Jacobian of ``func``, by forward mode: a tangent for every input, batched.

    The Jacobian has the shape of the output followed by that of the input (source: ``torch.func.jacfwd``).

    >>> import livetape as torch
    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    def inner(*args: Any, **kwargs: Any) -> Any:
        inputs = chosen(args, argnums)
        flat, spec = tree_flatten(inputs)
        _refuse_complex(flat, "jacfwd", "input")
        directions = _basis(flat)
        made: list[Any] = []

        def push(*along: Any) -> Any:
            found = jvp(
                lambda variables: func(*replaced(args, argnums, variables), **kwargs),
                (inputs,),
                (tree_unflatten(list(along), spec),),
                has_aux=has_aux,
            )
            _refuse_complex(tree_flatten(found[0])[0], "jacfwd", "output")
            outputs, out_spec = tree_flatten(found[1])
            made[:] = [out_spec, tree_flatten(found[2]) if has_aux else None]
            return tuple(outputs), tuple(made[1][0]) if has_aux else ()

        columns, aux = vmap(push, randomness=randomness)(*directions)
        counts = [x.numel() for x in flat]
        blocks = []
        for column in columns:
            size = shape_of(column)[1:]
            parts = split_with_sizes(movedim(column, 0, -1), counts, -1)
            blocks.append(tree_unflatten([reshape(p, (*size, *shape_of(x))) for p, x in zip(parts, flat)], spec))
        found = tree_unflatten(blocks, made[0])
        return (found, tree_unflatten([a[0] for a in aux], made[1][1])) if has_aux else found

    return wrapped(func, inner)


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that returns the Hessian of ``func``, forward over reverse (source: ``torch.func.hessian``).

    >>> import livetape as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
