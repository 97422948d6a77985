"""Which values there are, how many, and where they belong: unique, searchsorted, bincount, histogram, isin."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape.dtypes import BOOL, C_NAME, COMPLEX, FLOAT, INTEGER, SCALAR_TYPE, dtype, float32, float64, int32, int64
from livetape.kernels import histograms
from livetape.kernels import selection as kernels
from livetape.ops.dims import as_int, no_overload, wrap_dim
from livetape.ops.refuse import unsupported
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
        rest = "bool out_int32 = False, bool right = False, str side = None, Tensor sorter = None, Tensor out = None)"
        raise noted(
            no_overload(
                "searchsorted",
                (sorted_sequence, input),
                f"(Tensor sorted_sequence, Tensor input, *, {rest}",
                f"(Tensor sorted_sequence, Number self, *, {rest}",
            )
        )
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
        raise noted(
            no_overload(
                "bucketize",
                (input, boundaries),
                "(Tensor input, Tensor boundaries, *, bool out_int32 = False, bool right = False, Tensor out = None)",
                "(Number self, Tensor boundaries, *, bool out_int32 = False, bool right = False)",
            )
        )
    if boundaries.array.ndim != 1:
        raise noted(RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.array.ndim})"))
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


# ---------------------------------------------------------------- counting
def _no_derivative_of(name: str) -> Any:
    def fail(grad: Any) -> NoReturn:
        raise noted(RuntimeError(f"derivative for aten::{name} is not implemented"))

    return fail


BINCOUNT = row(
    "bincount",
    lambda self, weights, minlength: histograms.bincount(self, weights, minlength),
    tensors="self weights",
    node="NotImplemented",
    weights=_no_derivative_of("bincount"),
)
HISTC = row("histc", lambda self, bins, low, high: histograms.histc(self, bins, low, high))
HISTOGRAM = row(
    "histogram",
    lambda self, edges, weight, density: histograms.histogram(self, edges, weight, density),
    tensors="self edges weight",
    outputs=2,
    node="NotImplemented",
    self=_no_derivative_of("histogram"),
)


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each of 0, 1, 2, ... occurs in a 1-D tensor, or the sums of its weights (source: ``torch.bincount``).

    >>> import livetape as torch
    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if not isinstance(input, TensorBase):
        raise noted(TypeError(f"bincount(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"))
    if input.dtype.category != INTEGER:
        raise noted(NotImplementedError(str(unsupported("bincount", input.array))))
    if minlength < 0:
        raise noted(RuntimeError("minlength should be >= 0"))
    if input.array.ndim != 1 or (input.array.size and input.array.min() < 0):
        raise noted(RuntimeError("bincount only supports 1-d non-negative integral inputs."))
    if weights is not None and shape_of(weights) != shape_of(input):
        raise noted(RuntimeError("weights should be 1-d and have the same length as input"))
    return BINCOUNT.apply((input, weights, minlength))


def histc(input: Any, bins: int = 100, min: Any = 0, max: Any = 0, *, out: Any = None) -> Any:
    """How many elements fall into each of ``bins`` equal bins from ``min`` to ``max`` (source: ``torch.histc``).

    If both are equal, from the smallest to the largest element. Elements outside, and NaN, are not counted.
    """
    if out is not None:
        return into(out, histc, input, bins, min, max)
    if input.dtype.category != FLOAT:
        label = "linspace_cpu" if input.dtype.category == BOOL else "histogram_cpu"
        raise noted(NotImplementedError(f"\"{label}\" not implemented for '{SCALAR_TYPE[input.dtype]}'"))
    if bins <= 0:
        raise noted(RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0"))
    low, high = histograms.bounds(input.array, float(min), float(max), 1.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise noted(RuntimeError(f"torch.histc: range of [{_plain(low)}, {_plain(high)}] is not finite"))
    if not low < high:
        raise noted(RuntimeError("torch.histc: max must be larger than min"))
    return HISTC.apply((input, bins, low, high))


def _plain(value: float) -> str:
    return f"{value:g}"


def histogram(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False, out: Any = None
) -> Any:
    """The counts, or sums of weights, in bins, and the bins' edges (source: ``torch.histogram``).

    ``bins`` is a number of equal bins, or a 1-D tensor of their edges.
    """
    if out is not None:
        return into(out, histogram, input, bins, range=range, weight=weight, density=density)
    if input.dtype is not float32 and input.dtype is not float64:
        raise noted(NotImplementedError(f"\"histogramdd\" not implemented for '{SCALAR_TYPE[input.dtype]}'"))
    if isinstance(bins, TensorBase):
        _check_edges(input, bins)
        edges = bins
    else:
        edges = _even_edges(input, as_int(bins), range)
    if weight is not None and shape_of(weight) != shape_of(input):
        raise noted(
            RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                f"excluding its innermost dimension, but got input with shape {[*shape_of(input), 1]} and weight with "
                f"shape {list(shape_of(weight))}"
            )
        )
    return tuple.__new__(return_types.histogram, HISTOGRAM.apply((input, edges, weight, density)))


def _check_edges(input: Any, bins: Any) -> None:
    name = "torch.histogramdd"
    if bins.dtype is not input.dtype:
        raise noted(
            RuntimeError(
                f"{name}: input tensor and bins tensors should have the same dtype, but got input with "
                f"dtype {C_NAME[input.dtype]} and bins for dimension 0 with dtype {C_NAME[bins.dtype]}"
            )
        )
    if bins.array.ndim != 1:
        raise noted(
            RuntimeError(
                f"{name}: bins tensor should have one dimension, but got {bins.array.ndim} dimensions in "
                "the bins tensor for dimension 0"
            )
        )
    if not bins.array.size:
        raise noted(
            RuntimeError(
                f"{name}: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension 0"
            )
        )


def _even_edges(input: Any, bins: int, limits: Any) -> Any:
    if bins <= 0:
        raise noted(RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0"))
    if limits is None:
        low, high = histograms.bounds(input.array, 0.0, 0.0, 0.5) if input.array.size else (0.0, 1.0)
    else:
        low, high = float(limits[0]), float(limits[1])
        if low > high:
            raise noted(
                RuntimeError(
                    f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension 0"
                )
            )
        if low == high:
            low, high = low - 0.5, high + 0.5
    kind: dtype = input.dtype
    return wrap(histograms.edges(bins, low, high, kind.np), kind, None)


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
        rest = "*, bool assume_unique = False, bool invert = False, Tensor out = None)"
        raise noted(
            no_overload(
                "isin",
                (elements, test_elements),
                f"(Tensor elements, Tensor test_elements, {rest}",
                f"(Number element, Tensor test_elements, {rest}",
                f"(Tensor elements, Number test_element, {rest}",
            )
        )
    first, second = [v if isinstance(v, TensorBase) else _number(v) for v in (elements, test_elements)]
    for value in (first, second):
        if value.dtype.category in (COMPLEX, BOOL):
            raise noted(RuntimeError(f"Unsupported input type encountered for isin(): {SCALAR_TYPE[value.dtype]}"))
    return ISIN.apply((first, second, invert))


FUNCTIONS = ["unique", "unique_consecutive", "searchsorted", "bucketize", "bincount", "histc", "histogram", "isin"]
METHODS = {
    "unique": unique,
    "unique_consecutive": unique_consecutive,
    "bincount": bincount,
    "histc": histc,
    "histogram": histogram,
}
