"""How many elements there are of each value, or between edges: bincount, histc, histogram, histogramdd."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted, type_name
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import BOOL, C_NAME, FLOAT, INTEGER, SCALAR_TYPE, dtype, float32, float64
from livetape.kernels import histograms
from livetape.ops.dims import as_int, is_integer
from livetape.ops.refuse import no_overload, unsupported
from livetape.ops.table import into, row


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
    lambda self, weight, density, edges, name: histograms.histogram(self, edges, weight, density),
    tensors="self weight",
    outputs=0,
    node="NotImplemented",
    self=lambda grad, name: _no_derivative_of(name)(grad),
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


# ---------------------------------------------------------------- histograms
_DD = "torch.histogramdd"


def histogram(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False, out: Any = None
) -> Any:
    """The counts, or sums of weights, in bins, and the bins' edges (source: ``torch.histogram``).

    ``bins`` is a number of equal bins, or a 1-D tensor of their edges.
    """
    if out is not None:
        return into(out, histogram, input, bins, range=range, weight=weight, density=density)
    points = input.reshape(-1, 1)
    if weight is not None and shape_of(weight) == shape_of(input):
        weight = weight.reshape(-1)
    if not isinstance(bins, TensorBase) and not is_integer(bins):
        raise noted(no_overload("histogram"))
    given = [bins if isinstance(bins, TensorBase) else as_int(bins)]
    found = _histogram("histogram", points, given, range, weight, density, [input.array.size, 1])
    return tuple.__new__(return_types.histogram, found)


def histogramdd(input: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """The counts, or sums of weights, of points [..., D] in the cells of a grid (source: ``torch.histogramdd``).

    bins    a number of equal bins for all dimensions, or for each; or a 1-D tensor of edges for each
    range   the lowest and the highest edge of each dimension, one after the other
    Returns the counts and a tuple of the edges.
    """
    if isinstance(bins, (list, tuple)):
        each = _bins_of_each(bins)
    elif is_integer(bins):
        each = [as_int(bins)] * (shape_of(input)[-1] if input.array.ndim else 0)
    else:
        raise noted(no_overload("histogramdd"))
    if input.array.ndim < 2:
        raise noted(RuntimeError(f"{_DD}: input tensor should have at least 2 dimensions"))
    size = shape_of(input)
    if len(each) != size[-1]:
        raise noted(
            RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
        )
    if weight is not None and shape_of(weight) == size[:-1]:
        weight = weight.reshape(-1)
    points = input.reshape(math.prod(size[:-1]), size[-1])
    hist, *edges = _histogram("_histogramdd_from_bin_cts", points, each, range, weight, density, list(size))
    return return_types.histogramdd((hist, tuple(edges)))


def _bins_of_each(bins: Any) -> list[Any]:
    for at, one in enumerate(bins):
        if not isinstance(one, TensorBase) and not is_integer(one):
            raise noted(
                TypeError(
                    f"histogramdd(): argument 'bins' failed to unpack the object at pos {at + 1} with error "
                    f'"type must be tuple of ints,but got {type_name(one)}"'
                )
            )
    return [one if isinstance(one, TensorBase) else as_int(one) for one in bins]


def _histogram(
    name: str, points: Any, bins: list[Any], range: Any, weight: Any, density: bool, shown: list[int]
) -> Any:
    """Counts and edges, of points [N, D]; ``name`` and ``shown`` are what messages call the operation and its shape."""
    if points.dtype is not float32 and points.dtype is not float64:
        raise noted(NotImplementedError(f"\"histogramdd\" not implemented for '{SCALAR_TYPE[points.dtype]}'"))
    for at, one in enumerate(bins):
        if isinstance(one, TensorBase):
            _check_edges(points, one, at)
            one = one.array.size - 1
        if one <= 0:
            raise noted(RuntimeError(f"torch.histogram(): bins must be > 0, but got {one} for dimension {at}"))
    if weight is not None:
        _check_weight(points, weight, shown)
    if range is not None and len(range) != 2 * len(bins):
        raise noted(
            RuntimeError(
                f"{_DD}: for a {len(bins)}-dimensional histogram range should have {2 * len(bins)} elements, but got "
                f"{len(range)}"
            )
        )
    edges = [
        one.array if isinstance(one, TensorBase) else _even_edges(points, one, range, at) for at, one in enumerate(bins)
    ]
    return HISTOGRAM.apply((points, weight, density, edges, name))


def _check_weight(points: Any, weight: Any, shown: list[int]) -> None:
    if weight.array.shape != points.array.shape[:1]:
        raise noted(
            RuntimeError(
                f"{_DD}: if weight tensor is provided it should have the same shape as the input tensor "
                f"excluding its innermost dimension, but got input with shape {shown} and weight with "
                f"shape {list(shape_of(weight))}"
            )
        )
    if weight.dtype is not points.dtype:
        raise noted(
            RuntimeError(
                f"{_DD}: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but "
                f"got input({C_NAME[points.dtype]}), and weight({C_NAME[weight.dtype]})"
            )
        )


def _check_edges(input: Any, bins: Any, at: int) -> None:
    if bins.dtype is not input.dtype:
        raise noted(
            RuntimeError(
                f"{_DD}: input tensor and bins tensors should have the same dtype, but got input with "
                f"dtype {C_NAME[input.dtype]} and bins for dimension {at} with dtype {C_NAME[bins.dtype]}"
            )
        )
    if bins.array.ndim != 1:
        raise noted(
            RuntimeError(
                f"{_DD}: bins tensor should have one dimension, but got {bins.array.ndim} dimensions in "
                f"the bins tensor for dimension {at}"
            )
        )
    if not bins.array.size:
        raise noted(
            RuntimeError(
                f"{_DD}: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
                f"dimension {at}"
            )
        )


def _even_edges(points: Any, bins: int, limits: Any, at: int) -> Any:
    """The edges of equal bins along a dimension."""
    if limits is None:
        column = points.array[:, at]
        low, high = histograms.bounds(column, 0.0, 0.0, 0.5) if column.size else (0.0, 1.0)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise noted(RuntimeError(f"{_DD}: dimension {at}'s range [{_plain(low)}, {_plain(high)}] is not finite"))
    else:
        low, high = float(limits[2 * at]), float(limits[2 * at + 1])
        if low > high:
            raise noted(
                RuntimeError(f"{_DD}: min should not exceed max, but got min {low:g} max {high:g} for dimension {at}")
            )
        if low == high:
            low, high = low - 0.5, high + 0.5
    kind: dtype = points.dtype
    return histograms.edges(bins, low, high, kind.np)


FUNCTIONS = ["bincount", "histc", "histogram", "histogramdd"]
METHODS = {"bincount": bincount, "histc": histc, "histogram": histogram}
