"""Elements combined with what is there already: sums, products, means, greatest and least."""

from __future__ import annotations

import warnings
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import SCALAR_TYPE, boolean
from livetape.kernels.scatter import reduce_along, reduce_at_key
from livetape.ops.basics import ones_like, zeros_like
from livetape.ops.gathering import INDEX_SELECT, check_range
from livetape.ops.options import need_tensor
from livetape.ops.placing import masked_fill
from livetape.ops.refuse import unsupported
from livetape.ops.scattering import SCATTER_ADD, SCATTER_NUMBER, check_scatter, gathered
from livetape.ops.table import into, row
from livetape.ops.whole_slices import INDEX_ADD, INDEX_FILL, count_of, index_dim, slices_key


def _where(mask: Any, value: Any, other: Any) -> Any:
    """``value`` where the mask holds, else ``other``."""
    return masked_fill(value, ~mask, 0) + masked_fill(other, mask, 0)


class _Along:
    """How scatter_reduce reads and adds, for the formulas that it shares with index_reduce."""

    def __init__(self, dim: int, index: Any, size: Any) -> None:
        self.dim, self.index, self.size = dim, index, size

    def read(self, tensor: Any) -> Any:
        return gathered(tensor, self.dim, self.index, self.size)

    def add(self, tensor: Any, src: Any) -> Any:
        return SCATTER_ADD.apply((tensor, self.dim, self.index, src))

    def fill(self, tensor: Any) -> Any:
        return SCATTER_NUMBER.apply((tensor, self.dim, self.index, 0))

    def reduce(self, tensor: Any, src: Any, reduce: str, include_self: bool) -> Any:
        return SCATTER_REDUCE.apply((tensor, self.dim, self.index, src, reduce, include_self))


class _Slices(_Along):
    """The same for index_reduce."""

    def read(self, tensor: Any) -> Any:
        return INDEX_SELECT.apply((tensor, self.dim, self.index))

    def add(self, tensor: Any, src: Any) -> Any:
        return INDEX_ADD.apply((tensor, self.dim, self.index, src, 1))

    def fill(self, tensor: Any) -> Any:
        return INDEX_FILL.apply((tensor, self.dim, self.index, 0))

    def reduce(self, tensor: Any, src: Any, reduce: str, include_self: bool) -> Any:
        return INDEX_REDUCE.apply((tensor, self.dim, self.index, src, reduce, include_self))


def _reduce_backward(
    grad: Any, self: Any, src: Any, result: Any, place: _Along, reduce: str, include_self: bool
) -> Any:
    """The gradients of what was reduced into, and of the source."""
    if reduce == "sum":
        to_self, to_src = grad, place.read(grad)
    elif reduce == "mean":
        count = place.add(ones_like(grad) if include_self else zeros_like(grad), ones_like(src))
        share = grad / masked_fill(count, count == 0, 1)
        to_self, to_src = share, place.read(share)
    elif reduce == "prod":
        to_self, to_src = _prod_backward(grad, self, src, result, place, include_self)
    else:  # the greatest or the least: equal ones share
        mine = (self == result).to(self.dtype)
        theirs = (src == place.read(result)).to(self.dtype)
        ties = place.add(mine if include_self else place.fill(mine), theirs)
        share = grad / masked_fill(ties, ties == 0, 1)
        to_self, to_src = mine * share, theirs * place.read(share)
    return (to_self if include_self else place.fill(to_self)), to_src


def _prod_backward(grad: Any, self: Any, src: Any, result: Any, place: _Along, include_self: bool) -> Any:
    """A zero among the factors leaves the product of the others to itself."""
    no_zero = masked_fill(self, self == 0, 1)
    to_self = grad * place.reduce(no_zero, src, "prod", include_self) / no_zero
    zero = src == 0
    zeros = place.read(place.add(zeros_like(self), zero.to(self.dtype)))
    single = zero & (zeros == 1)
    others = place.reduce(self, masked_fill(src, single, 1), "prod", include_self)
    to_src = _where(single, place.read(grad * others), place.read(grad * result) / masked_fill(src, zero, 1))
    return to_self, to_src


SCATTER_REDUCE = row("scatter_reduce", reduce_along, tensors="self index src", apart=True, batch="dim").joint(
    "self src",
    lambda grad, self, dim, index, src, src_size, result, reduce, include_self: _reduce_backward(
        grad, self, src, result, _Along(dim, index, src_size), reduce, include_self
    ),
)


def _scatter_reduce_values(
    name: str, input: Any, dim: Any, index: Any, src: Any, reduce: Any, include_self: bool
) -> tuple[Any, ...]:
    need_tensor(name, src, "src", 3)
    if reduce == "mean" and input.dtype is boolean:
        raise noted(unsupported("scatter_gather_tensor_cpu_reduce_mean", input.array, ""))
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise noted(RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"))
    return input, check_scatter("scatter", input, dim, index, src), index, src, reduce, include_self


def scatter_reduce(
    input: Any, dim: Any, index: Any, src: Any, reduce: str, *, include_self: bool = True, out: Any = None
) -> Any:
    """A copy with ``src`` combined into the places that ``index`` names (source: ``torch.scatter_reduce``).

    >>> import livetape as torch
    >>> torch.scatter_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([3., 2.]), "amax")
    tensor([3., 1.])
    """
    if out is not None:
        return into(out, scatter_reduce, input, dim, index, src, reduce, include_self=include_self)
    return SCATTER_REDUCE.apply(_scatter_reduce_values("scatter_reduce", input, dim, index, src, reduce, include_self))


def scatter_reduce_(self: Any, dim: Any, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """In-place `scatter_reduce`."""
    return SCATTER_REDUCE.inplace(
        *_scatter_reduce_values("scatter_reduce_", self, dim, index, src, reduce, include_self)
    )


# ---------------------------------------------------------------- whole slices
def _index_reduce(self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool) -> Any:
    if not self.ndim:
        return reduce_at_key(self.reshape(1), (index.reshape(-1),), source.reshape(-1), reduce, include_self).reshape(
            ()
        )
    return reduce_at_key(self, slices_key(self, dim, index), source, reduce, include_self)


INDEX_REDUCE = row("index_reduce", _index_reduce, tensors="self index source", batch="index_dim").joint(
    "self source",
    lambda grad, self, dim, index, source, source_size, result, reduce, include_self: _reduce_backward(
        grad, self, source, result, _Slices(dim, index, source_size), reduce, include_self
    ),
)


_warned: list[str] = []


def _index_reduce_values(
    name: str, input: Any, dim: Any, index: Any, source: Any, reduce: str, include_self: bool
) -> tuple[Any, ...]:
    need_tensor(name, source, "source", 3)
    if not _warned:
        _warned.append("beta")
        warnings.warn("index_reduce() is in beta and the API may change at any time.", UserWarning, stacklevel=3)
    at = index_dim(name, input, dim, index)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise noted(
            RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
        )
    if source.dtype is not input.dtype:
        raise noted(
            RuntimeError(
                "index_reduce_(): self and source expected to have the same dtype, but got (self) "
                f"{SCALAR_TYPE[input.dtype]} and (source) {SCALAR_TYPE[source.dtype]}"
            )
        )
    if input.dtype is boolean:
        raise noted(unsupported("index_func_", input.array, ""))
    given, have = index.array.size, count_of(shape_of(source), at)
    if given != have:
        raise noted(
            RuntimeError(
                f"index_reduce_(): Number of indices ({given}) should be equal to source.size(dim) ({have}), for dim: {at}"
            )
        )
    check_range(index.array, count_of(shape_of(input), at), None, RuntimeError, at)
    return input, at, index, source, reduce, include_self


def index_reduce(
    input: Any, dim: Any, index: Any, source: Any, reduce: str, *, include_self: bool = True, out: Any = None
) -> Any:
    """A copy with slice i of ``source`` combined into slice ``index[i]`` (source: ``torch.index_reduce``)."""
    if out is not None:
        return into(out, index_reduce, input, dim, index, source, reduce, include_self=include_self)
    return INDEX_REDUCE.apply(_index_reduce_values("index_reduce", input, dim, index, source, reduce, include_self))


def index_reduce_(self: Any, dim: Any, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """In-place `index_reduce`."""
    return INDEX_REDUCE.inplace(*_index_reduce_values("index_reduce_", self, dim, index, source, reduce, include_self))


FUNCTIONS = ["index_reduce", "scatter_reduce"]
METHODS = {
    "index_reduce": index_reduce,
    "index_reduce_": index_reduce_,
    "scatter_reduce": scatter_reduce,
    "scatter_reduce_": scatter_reduce_,
}
