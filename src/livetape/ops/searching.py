"""Which values there are and where they belong: unique, searchsorted, isin."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape.dtypes import BOOL, COMPLEX, SCALAR_TYPE, float32, int32, int64
from livetape.kernels import selection as kernels
from livetape.ops.dims import wrap_dim
from livetape.ops.refuse import check_flags, check_numbers, no_overload
from livetape.ops.table import into, row


# ---------------------------------------------------------------- unique
def _no_derivative(name: str) -> Any:
    def fail(grad: Any) -> NoReturn:
        raise noted(NotImplementedError(f"the derivative for '{name}' is not implemented."))

    return fail


UNIQUE = row("unique2", lambda self: kernels.unique(self), outputs=3, batch="dynamic", self=_no_derivative("_unique2"))
UNIQUE_DIM = row(
    "unique_dim",
    lambda self, dim: kernels.unique_slices(self, dim),
    outputs=3,
    batch="dynamic",
    self=_no_derivative("unique_dim"),
)
UNIQUE_CONSECUTIVE = row(
    "unique_consecutive",
    lambda self, dim: kernels.unique_runs(self, dim),
    outputs=3,
    batch="dynamic",
    self=_no_derivative("unique_consecutive"),
)


def _selected(found: tuple[Any, Any, Any], return_inverse: bool, return_counts: bool) -> Any:
    if not return_inverse and not return_counts:
        return found[0]
    return (found[0], *([found[1]] if return_inverse else []), *([found[2]] if return_counts else []))


def _check_unique(name: str, input: Any, dim: Any) -> Any:
    if not isinstance(input, TensorBase):
        raise noted(TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"))
    if input.dtype.category == COMPLEX:
        label = "unique" if name == "_unique2" else name
        raise noted(NotImplementedError(f"\"{label}\" not implemented for '{SCALAR_TYPE[input.dtype]}'"))
    if dim is None:
        return None
    axis = wrap_dim(dim, input.array.ndim)
    if 0 in [n for i, n in enumerate(input.array.shape) if i != axis]:
        raise noted(RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"))
    return axis


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The different values in ascending order, or the different slices along ``dim`` (source: ``torch.unique``).

    With ``return_inverse`` and ``return_counts`` a tuple: also each element's place among them, and the counts.

    >>> import livetape as torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    axis = _check_unique("_unique2" if dim is None else "unique_dim", input, dim)
    if axis is None or not input.array.ndim:
        return _selected(UNIQUE.apply((input,)), return_inverse, return_counts)
    return _selected(UNIQUE_DIM.apply((input, axis)), return_inverse, return_counts)


def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:
    """The first of each run of equal elements, or of equal slices along ``dim``.

    Source: ``torch.unique_consecutive``.
    """
    axis = _check_unique("unique_consecutive", input, dim)
    return _selected(UNIQUE_CONSECUTIVE.apply((input, axis)), return_inverse, return_counts)


# ---------------------------------------------------------------- searchsorted and bucketize
SEARCHSORTED = row(
    "searchsorted",
    lambda sorted_sequence, self, kind, right: kernels.searchsorted(sorted_sequence, self, right).astype(
        kind.np, copy=False
    ),
    tensors="sorted_sequence self",
    batch="searchsorted",
)


def _check_search(bounds: Any, input: Any, right: bool, side: Any, sorter: Any) -> None:
    name = "torch.searchsorted()"
    if side is not None and side not in ("left", "right"):
        raise noted(RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}"))
    if side == "left" and right:
        raise noted(
            RuntimeError(f"{name}: side and right can't be set to opposites, got side of left while right was True")
        )
    have, want = shape_of(bounds), shape_of(input)
    if sorter is not None:
        if sorter.dtype is not int64:
            raise noted(
                RuntimeError(f"{name}: sorter must be a tensor of long dtype but got dtype {SCALAR_TYPE[sorter.dtype]}")
            )
        if shape_of(sorter) != have:
            raise noted(
                RuntimeError(
                    f"{name}: boundary and sorter must have the same size, but got boundary tensor "
                    f"{list(have)}and got sorter tensor {list(shape_of(sorter))}"
                )
            )
        if sorter.array.size and not (0 <= sorter.array.min() and sorter.array.max() < have[-1]):
            raise noted(RuntimeError(f"{name}: sorter index out of range"))
    if not have:
        raise noted(RuntimeError(f"{name}: boundaries tensor should have positive dimension, but got 0 dimension"))
    if not want and len(have) != 1:
        raise noted(
            RuntimeError(
                f"{name}: input value can be a scalar only when boundaries tensor dimension is 1, but we "
                f"got boundaries tensor dim({len(have)}) and input value's dim(0) numel(1)"
            )
        )
    if len(have) != 1 and (len(have) != len(want) or have[:-1] != want[:-1]):
        raise noted(
            RuntimeError(
                f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                f"tensor and input value tensor must match, but we got boundaries tensor {list(have)} and "
                f"input value tensor {list(want)}"
            )
        )


def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
    out: Any = None,
) -> Any:
    """For each value the first index in ``sorted_sequence`` where it may be inserted (source: ``torch.searchsorted``).

    With ``right``, or ``side="right"``, the last. A sequence of several dimensions is searched row by row.

    >>> import livetape as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    if not isinstance(sorted_sequence, TensorBase) or not isinstance(input, (TensorBase, int, float)):
        raise noted(no_overload("searchsorted"))
    kind = int32 if out_int32 else int64
    if out is not None:
        if out.dtype is not kind:
            raise noted(
                RuntimeError(
                    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
                    "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's "
                    f"dtype {SCALAR_TYPE[out.dtype]} and out_int32 flag is {out_int32}"
                )
            )
        return into(
            out, searchsorted, sorted_sequence, input, out_int32=out_int32, right=right, side=side, sorter=sorter
        )
    if not isinstance(input, TensorBase):
        input = _number(input)
    _check_search(sorted_sequence, input, right, side, sorter)
    if sorter is not None:
        ordered: Any = sorted_sequence
        sorted_sequence = ordered.gather(-1, sorter)
    return SEARCHSORTED.apply((sorted_sequence, input, kind, right or side == "right"))


def _number(value: Any) -> Any:
    """A number as a 0-d tensor."""
    kind = float32 if isinstance(value, float) else int64
    return wrap(np.array(value, kind.np), kind, None)


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False, out: Any = None) -> Any:
    """The bucket of each value: `searchsorted` with the arguments the other way round (source: ``torch.bucketize``)."""
    if not isinstance(boundaries, TensorBase) or not isinstance(input, (TensorBase, int, float)):
        raise noted(no_overload("bucketize"))
    if boundaries.array.ndim != 1:
        raise noted(RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.array.ndim})"))
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


# ---------------------------------------------------------------- membership
ISIN = row(
    "isin",
    lambda elements, test_elements, invert: np.asarray(np.isin(elements, test_elements, invert=invert)),
    tensors="elements test_elements",
)


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False, out: Any = None
) -> Any:
    """Whether each element is among ``test_elements``; either may be a number (source: ``torch.isin``).

    >>> import livetape as torch
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2]))
    tensor([False,  True, False])
    """
    if out is not None:
        return into(out, isin, elements, test_elements, assume_unique=assume_unique, invert=invert)
    if not isinstance(elements, TensorBase) and not isinstance(test_elements, TensorBase):
        raise noted(no_overload("isin"))
    check_flags("isin", assume_unique, invert)
    check_numbers("isin", elements, test_elements)
    first, second = [v if isinstance(v, TensorBase) else _number(v) for v in (elements, test_elements)]
    for value in (first, second):
        if value.dtype.category in (COMPLEX, BOOL):
            raise noted(RuntimeError(f"Unsupported input type encountered for isin(): {SCALAR_TYPE[value.dtype]}"))
    return ISIN.apply((first, second, invert))


FUNCTIONS = ["unique", "unique_consecutive", "searchsorted", "bucketize", "isin"]
METHODS = {
    "unique": unique,
    "unique_consecutive": unique_consecutive,
}
