"""Dimensions in another order: always views."""

from __future__ import annotations

import warnings
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.modes import state
from livetape.ops.basics import conj
from livetape.ops.dims import is_integer, wrap_dim
from livetape.ops.options import ints
from livetape.ops.refuse import no_overload
from livetape.ops.reshaping import change_shape
from livetape.ops.slicing import ALIAS
from livetape.ops.table import row

TRANSPOSE = row(
    "transpose",
    lambda self, dim0, dim1: self.swapaxes(dim0, dim1) if self.ndim else self[...],
    view=True,
    inplace_node="TransposeBackward1",
    batch="dim0 dim1",
    self=lambda grad, dim0, dim1: transpose(grad, dim0, dim1),
)
T_ROW = row("t", lambda self: self.T, view=True, inplace_node="TBackward1", batch="t", self=lambda grad: t(grad))
PERMUTE = row(
    "permute",
    lambda self, dims: self.transpose(dims),
    view=True,
    batch="permute",
    self=lambda grad, dims: permute(grad, _inverse(dims)),
)


def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    found = [0] * len(dims)
    for i, d in enumerate(dims):
        found[d] = i
    return tuple(found)


def transpose(input: Any, dim0: Any, dim1: Any) -> Any:
    """Two dimensions exchanged (source: ``torch.transpose``).

    >>> import livetape as torch
    >>> torch.transpose(torch.tensor([[1, 2, 3]]), 0, 1)
    tensor([[1],
            [2],
            [3]])
    """
    array = input.array
    ndim = array.ndim
    if type(dim0) is not int or type(dim1) is not int or not (-ndim <= dim0 < ndim and -ndim <= dim1 < ndim):
        dim0 = wrap_dim(dim0, ndim, "transpose", "dim0", 1)
        dim1 = wrap_dim(dim1, ndim, "transpose", "dim1", 2)
    if state.interposed == 0 and ndim:
        return TRANSPOSE.finish_view((input, dim0, dim1), array.swapaxes(dim0, dim1))
    return TRANSPOSE.apply((input, dim0, dim1))


def swapaxes(input: Any, axis0: Any, axis1: Any) -> Any:
    """Two dimensions exchanged, as `transpose` (source: ``torch.swapaxes``)."""
    return transpose(input, axis0, axis1)


def swapdims(input: Any, dim0: Any, dim1: Any) -> Any:
    """Two dimensions exchanged, as `transpose` (source: ``torch.swapdims``)."""
    return transpose(input, dim0, dim1)


def t(input: Any) -> Any:
    """A matrix transposed; vectors and numbers stay (source: ``torch.t``)."""
    array = input.array
    if array.ndim > 2:
        raise noted(RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {array.ndim}D"))
    return _finish_t((input,), array.T) if state.interposed == 0 else T_ROW.apply((input,))


_finish_t = T_ROW.finish_view


def permute(input: Any, *args: Any, dims: Any = None) -> Any:
    """The dimensions in the given order (source: ``torch.permute``).

    >>> import livetape as torch
    >>> torch.permute(torch.zeros(2, 3, 5), (2, 0, 1)).shape
    torch.Size([5, 2, 3])
    """
    order = ints("permute", args, dims, "dims")
    ndim = input.array.ndim
    if len(order) != ndim:
        raise noted(
            RuntimeError(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
                "of the "
                f"desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = "
                f"{len(order)}"
            )
        )
    order = tuple([wrap_dim(d, ndim) for d in order])
    if len(set(order)) != ndim:
        raise noted(RuntimeError("permute(): duplicate dims are not allowed."))
    if state.interposed == 0:
        return PERMUTE.finish_view((input, order), input.array.transpose(order))
    return PERMUTE.apply((input, order))


def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places, the rest in their order (source: ``torch.movedim``)."""
    one = is_integer(source) and is_integer(destination)
    if not one and not (isinstance(source, (tuple, list)) and isinstance(destination, (tuple, list))):
        raise noted(no_overload("movedim"))
    sources, targets = ((source,), (destination,)) if one else (tuple(source), tuple(destination))
    if len(sources) != len(targets):
        raise noted(
            RuntimeError(
                f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should "
                "contain the "
                f"same number of dims as destination ({list(targets)} dims)"
            )
        )
    ndim = input.array.ndim
    from_ = [wrap_dim(d, ndim) for d in sources]
    to_ = [wrap_dim(d, ndim) for d in targets]
    for label, dims, given in (("source", from_, sources), ("destination", to_, targets)):
        if len(set(dims)) != len(dims):
            raise noted(RuntimeError(f"movedim: repeated dim in `{label}` ({list(given)})"))
    if not ndim:
        return ALIAS.apply((input,))
    order = [d for d in range(ndim) if d not in from_]
    for place, d in sorted(zip(to_, from_)):
        order.insert(place, d)
    return permute(input, tuple(order))


def moveaxis(input: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places, as `movedim` (source: ``torch.moveaxis``)."""
    return movedim(input, source, destination)


def reversed_dims(input: Any) -> Any:
    """All dimensions in reverse (source: ``torch.Tensor.T``)."""
    ndim = input.array.ndim
    if ndim == 0:
        return _identity(input, "T")
    if ndim != 2 and "T" not in _warned:
        _warned.add("T")
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and "
            "it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            UserWarning,
            stacklevel=2,
        )
    order = tuple(range(ndim - 1, -1, -1))
    if state.interposed == 0:
        return PERMUTE.finish_view((input, order), input.array.T)
    return PERMUTE.apply((input, order))


_warned: set[str] = set()


def _identity(input: Any, name: str) -> Any:
    """A transpose of a 0-d tensor: the tensor itself, with a warning."""
    if name + "0" not in _warned:
        _warned.add(name + "0")
        text = f"Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases."
        warnings.warn(text, UserWarning, stacklevel=3)
    return PERMUTE.apply((input, ())) if name == "T" else input


def matrix_transpose(input: Any) -> Any:
    """The last two dimensions exchanged (source: ``torch.Tensor.mT``)."""
    if input.array.ndim == 0:
        return _identity(input, "mT")
    return _last_two(input, "tensor.mT")


def _last_two(input: Any, name: str) -> Any:
    if input.array.ndim < 2:
        raise noted(
            RuntimeError(
                f"{name} is only supported on matrices or batches of matrices. Got {input.array.ndim}-D tensor."
            )
        )
    return transpose(input, -2, -1)


def adjoint(input: Any) -> Any:
    """The last two dimensions exchanged, and conjugated (source: ``torch.adjoint``)."""
    if input.array.ndim == 0:
        if "adjoint" not in _warned:
            _warned.add("adjoint")
            text = "adjoint() is deprecated on 0-D tensors. Consider using x.conj()."
            warnings.warn(text, UserWarning, stacklevel=2)
        return conj(input)
    return conj(_last_two(input, "tensor.adjoint()"))


def _mH(input: Any) -> Any:
    if input.array.ndim == 0:
        if "mH" not in _warned:
            _warned.add("mH")
            warnings.warn("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().", UserWarning, stacklevel=2)
        return conj(input)
    return conj(_last_two(input, "tensor.mH"))


def _H(input: Any) -> Any:
    ndim = input.array.ndim
    if ndim == 0:
        if "H" not in _warned:
            _warned.add("H")
            warnings.warn("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().", UserWarning, stacklevel=2)
        return conj(input)
    if ndim != 2:
        batch = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
        raise noted(RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{batch}"))
    return conj(transpose(input, 0, 1))


# ---------------------------------------------------------------- in place
def t_(self: Any) -> Any:
    """In-place `t`."""
    if self.array.ndim > 2:
        raise noted(RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.array.ndim}D"))
    return change_shape(T_ROW, (self,))


def transpose_(self: Any, dim0: Any, dim1: Any) -> Any:
    """In-place `transpose`."""
    ndim = self.array.ndim
    return change_shape(
        TRANSPOSE, (self, wrap_dim(dim0, ndim, "transpose_", "dim0"), wrap_dim(dim1, ndim, "transpose_", "dim1", 2))
    )


FUNCTIONS = ["adjoint", "moveaxis", "movedim", "permute", "swapaxes", "swapdims", "t", "transpose"]
METHODS = {
    "H": property(_H),
    "T": property(reversed_dims),
    "adjoint": adjoint,
    "mH": property(_mH),
    "mT": property(matrix_transpose),
    "moveaxis": moveaxis,
    "movedim": movedim,
    "permute": permute,
    "swapaxes": swapaxes,
    "swapaxes_": transpose_,
    "swapdims": swapdims,
    "swapdims_": transpose_,
    "t": t,
    "t_": t_,
    "transpose": transpose,
    "transpose_": transpose_,
}
