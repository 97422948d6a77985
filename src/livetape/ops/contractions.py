"""Sums of products over chosen dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.ops import shape as shapes
from livetape.ops.arithmetic import mul
from livetape.ops.dims import wrap_dims
from livetape.ops.products import dot, mm
from livetape.ops.reduce import sum
from livetape.ops.table import into
from livetape.size import Size


def inner(input: Any, other: Any, *, out: Any = None) -> Any:
    """Sums of products over the last dimensions (source: ``torch.inner``)."""
    if out is not None:
        return into(out, inner, input, other)
    if input.array.ndim == 0 or other.array.ndim == 0:
        return mul(input, other)
    if shape_of(input)[-1] != shape_of(other)[-1]:
        raise noted(
            RuntimeError(
                "inner() the last dimension must match on both input tensors but got shapes "
                f"{list(shape_of(input))} and {list(shape_of(other))}"
            )
        )
    return tensordot(input, other, dims=[[-1], [-1]])


def _contracted(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    """The dimensions of each tensor that are summed over, as they were given."""
    if isinstance(dims, TensorBase):
        dims = dims.array.item() if dims.array.size == 1 else dims.array.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise noted(RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}"))
        if dims > min(a.array.ndim, b.array.ndim):
            raise noted(RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}"))
        return list(range(-dims, 0)), list(range(dims))
    if not isinstance(dims, (list, tuple)) or len(dims) != 2:
        raise noted(
            RuntimeError(
                "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two "
                f"lists, but got dims={dims}"
            )
        )
    left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(left) != len(right):
        raise noted(RuntimeError("both dimension lists should have same length"))
    return left, right


def _named(dims: Any, at: int) -> tuple[int, int]:
    """How torch names a pair of the dimensions that are summed over: as they were given, a count from the end."""
    if isinstance(dims, TensorBase):
        dims = dims.array.item() if dims.array.size == 1 else dims.array.tolist()
    if isinstance(dims, int):
        return at - dims, at
    left, right = ([d] if isinstance(d, int) else d for d in dims)
    return left[at], right[at]


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """The sum of products over ``dims``: a count, or the dimensions of each (source: ``torch.tensordot``)."""
    if out is not None:
        return into(out, tensordot, a, b, dims)
    left, right = _contracted(a, b, dims)
    if a.dtype is not b.dtype:
        raise noted(RuntimeError("both inputs should have same dtype"))
    for k, (i, j) in enumerate(zip(left, right)):
        p, q = shape_of(a)[i], shape_of(b)[j]
        if q == 1:  # what only one of them has is summed before
            a = sum(a, (i,), True)
        elif p == 1:
            b = sum(b, (j,), True)
        elif p != q:
            i, j = _named(dims, k)
            raise noted(
                RuntimeError(
                    f"contracted dimensions need to match, but first has size {p} in dim {i} and second has size {q} "
                    f"in dim {j}"
                )
            )
    left, right = list(wrap_dims(left, a.array.ndim)), list(wrap_dims(right, b.array.ndim))
    keep_a = [i for i in range(a.array.ndim) if i not in left]
    keep_b = [i for i in range(b.array.ndim) if i not in right]
    rows, inner, columns = (
        int(np.prod([shape_of(x)[i] for i in at], dtype=np.int64)) for x, at in ((a, keep_a), (a, left), (b, keep_b))
    )
    x = shapes.permute(a, (*keep_a, *left))
    y = shapes.permute(b, (*right, *keep_b))
    if keep_a or keep_b:
        product = mm(shapes.reshape(x, rows, inner), shapes.reshape(y, inner, columns))
    else:
        product = dot(*[t if t.array.ndim == 1 else shapes.reshape(t, inner) for t in (x, y)])
    return shapes.view(product, (*[shape_of(a)[i] for i in keep_a], *[shape_of(b)[i] for i in keep_b]))


def kron(input: Any, other: Any, *, out: Any = None) -> Any:
    """The Kronecker product (source: ``torch.kron``)."""
    if out is not None:
        return into(out, kron, input, other)
    n = max(input.array.ndim, other.array.ndim)
    a = (1,) * (n - input.array.ndim) + tuple(shape_of(input))
    b = (1,) * (n - other.array.ndim) + tuple(shape_of(other))
    x = shapes.unsafe_view(input, Size([m for k in a for m in (k, 1)]))
    y = shapes.unsafe_view(other, Size([m for k in b for m in (1, k)]))
    return shapes.unsafe_view(mul(x, y), Size([p * q for p, q in zip(a, b)]))


FUNCTIONS = ["inner", "tensordot", "kron"]
METHODS = {"inner": inner, "kron": kron}
