"""torch.gradient: derivatives of sampled functions by differences of second order."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import uint8
from livetape.ops.dims import is_integer, wrap_dims
from livetape.ops.gathering import narrow
from livetape.ops.joining import cat
from livetape.ops.refuse import no_overload


def gradient(input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    """The derivatives of a function along ``dim`` (all by default), from its values (source: ``torch.gradient``).

    spacing      the step, for all dimensions or for each; or for each a 1-D tensor of coordinates
    edge_order   1 or 2: of the differences at the ends

    >>> import livetape as torch
    >>> torch.gradient(torch.tensor([0., 1., 4., 9.]))
    (tensor([1., 2., 4., 5.]),)
    """
    ndim = input.array.ndim
    dims = tuple(range(ndim)) if dim is None else wrap_dims(dim, ndim, "gradient")
    if dim is not None and not is_integer(dim) and not len(dim):
        dims = ()
    steps = _steps(input, spacing, dims, dim)
    if edge_order not in (1, 2):
        raise noted(RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2."))
    if input.dtype is uint8:
        raise noted(RuntimeError("torch.gradient does not support uint8 input."))
    size = shape_of(input)
    for d in dims:
        if (size[d] if ndim else 1) <= edge_order:
            raise noted(RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1"))
    return tuple(
        [
            _uneven(input, d, step, edge_order) if isinstance(step, TensorBase) else _even(input, d, step, edge_order)
            for d, step in zip(dims, steps)
        ]
    )


def _steps(input: Any, spacing: Any, dims: tuple[int, ...], dim: Any) -> Any:
    """The step, or the coordinates, of each dimension."""
    if spacing is None:
        return [1] * len(dims)
    if isinstance(spacing, (list, tuple)):
        if len(spacing) != len(dims):
            raise noted(
                RuntimeError(
                    f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
                    f"'self.dim() = {input.array.ndim}', since dim argument was not given, but got a list of length "
                    f"{len(spacing)}"
                    if dim is None
                    else "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments "
                    f"to have the same length, but got a spacing argument of length {len(spacing)} and a dim argument "
                    f"of length {len(dims)}."
                )
            )
        for one in spacing:
            if isinstance(one, TensorBase) and one.array.ndim != 1:
                raise noted(
                    RuntimeError(
                        "torch.gradient expected each element of spacing to have one dimension, but got an element "
                        f"with {one.array.ndim} dimensions!"
                    )
                )
        return spacing
    if isinstance(spacing, (int, float, complex)):
        return [spacing] * len(dims)
    raise noted(no_overload("gradient"))


def _part(x: Any, d: int, start: int, stop: int) -> Any:
    """The elements from ``start`` to ``stop`` along a dimension; negative ones count from the end."""
    n = shape_of(x)[d]
    start, stop = (k + n if k < 0 else k for k in (start, stop))
    return narrow(x, d, start, stop - start)


def _even(x: Any, d: int, step: Any, edge_order: int) -> Any:
    """Differences of evenly spaced values."""
    n = shape_of(x)[d]
    if edge_order == 1:
        first = (_part(x, d, 1, 2) - _part(x, d, 0, 1)) / step
        last = (_part(x, d, n - 1, n) - _part(x, d, n - 2, n - 1)) / step
    else:
        first = (_part(x, d, 1, 2) * 4 - _part(x, d, 0, 1) * 3 - _part(x, d, 2, 3)) / (2 * step)
        last = (_part(x, d, n - 1, n) * 3 - _part(x, d, n - 2, n - 1) * 4 + _part(x, d, n - 3, n - 2)) / (2 * step)
    middle = (_part(x, d, 2, n) - _part(x, d, 0, n - 2)) / step / 2
    return cat((first, middle, last), d)


def _uneven(x: Any, d: int, at: Any, edge_order: int) -> Any:
    """Differences of values at the coordinates ``at``."""
    n = shape_of(x)[d]
    shape = [-1 if i == d else 1 for i in range(x.array.ndim)]
    steps = at[1:] - at[:-1]

    def weighted(weights: Any, places: Any) -> Any:
        terms = [w.view(shape) * _part(x, d, *place) for w, place in zip(weights, places)]
        return terms[0] + terms[1] + terms[2]

    before, after = steps[:-1], steps[1:]
    both = before + after
    middle = weighted(
        (-after / (before * both), (after - before) / (before * after), before / (after * both)),
        ((0, n - 2), (1, n - 1), (2, n)),
    )
    if edge_order == 1:
        first = (_part(x, d, 1, 2) - _part(x, d, 0, 1)) / steps[0]
        last = (_part(x, d, n - 1, n) - _part(x, d, n - 2, n - 1)) / steps[-1]
    else:
        a, b = steps[:1], steps[1:2]
        first = weighted(
            (-(2.0 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))), ((0, 1), (1, 2), (2, 3))
        )
        a, b = steps[-2:-1], steps[-1:]
        last = weighted(
            (b / (a * (a + b)), -(b + a) / (a * b), (2.0 * b + a) / (b * (a + b))),
            ((n - 3, n - 2), (n - 2, n - 1), (n - 1, n)),
        )
    return cat((first, middle, last), d)


FUNCTIONS = ["gradient"]
METHODS: dict[str, Any] = {}
