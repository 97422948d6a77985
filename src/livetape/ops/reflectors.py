"""Products of Householder reflections, and the QR decomposition as such."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import SCALAR_TYPE, boolean
from livetape.kernels import reflectors as kernels
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.basics import conj, sum_to
from livetape.ops.joining import stack
from livetape.ops.matrices import constant, mH, need, need_kernel
from livetape.ops.placing import masked_fill
from livetape.ops.table import into, row


# ---------------------------------------------------------------- backward
def _column(packed: Any, at: int) -> Any:
    """The vector of a reflection as a matrix of one column: zeros, a one, and what is packed below the diagonal."""
    rows = np.arange(shape_of(packed)[-2])[:, None]
    below = masked_fill(packed.narrow(-1, at, 1), constant(rows <= at, boolean), 0)
    return below + constant(rows == at, packed.dtype)


def _reflected(v: Any, factor: Any, x: Any) -> Any:
    """``(I - factor v v^H) @ x``."""
    return x - (factor.unsqueeze(-1).unsqueeze(-1) * v) @ (mH(v) @ x)


def _chain_backward(grad: Any, packed: Any, tau: Any, other: Any) -> tuple[Any, Any, Any]:
    """The gradients of the packed vectors, the factors and ``other``, for ``H_1 ... H_k @ other``."""
    count = shape_of(tau)[-1]
    columns = [_column(packed, i) for i in range(count)]
    factors = [tau.select(-1, i) for i in range(count)]
    after = [other]  # what each reflection was applied to
    for i in range(count - 1, 0, -1):
        after.append(_reflected(columns[i], factors[i], after[-1]))
    by_columns, by_factors = [], []
    for i in range(count):
        v, factor, x = columns[i], factors[i], after[count - 1 - i]
        inner_g, inner_x = mH(v) @ grad, mH(v) @ x  # [1, n]
        by_factors.append(-(inner_g @ mH(inner_x)).squeeze(-1).squeeze(-1))
        wide = factor.unsqueeze(-1).unsqueeze(-1)
        by_columns.append(-(conj(wide) * (grad @ mH(inner_x))) - wide * (x @ mH(inner_g)))
        grad = _reflected(v, conj(factor), grad)
    rows = np.arange(shape_of(packed)[-2])[:, None]
    kept = [masked_fill(g, constant(rows <= i, boolean), 0).squeeze(-1) for i, g in enumerate(by_columns)]
    kept += [packed.new_zeros(shape_of(packed)[:-1])] * (shape_of(packed)[-1] - count)
    if not count:
        return packed * 0, tau * 0, grad
    return _stacked(kept, packed), sum_to(stack(by_factors, -1), shape_of(tau)), grad


def _stacked(columns: list[Any], packed: Any) -> Any:
    size = shape_of(packed)
    return stack([sum_to(c, size[:-1]) for c in columns], -1)


def _product_backward(grad: Any, input: Any, tau: Any) -> Any:
    start = constant(np.broadcast_to(np.eye(*shape_of(input)[-2:]), shape_of(input)), input.dtype)
    return _chain_backward(grad, input, tau, start)[:2]


def _ormqr_backward(grad: Any, self: Any, input2: Any, input3: Any, left: bool, transpose: bool) -> Any:
    """All four products as ``Q @ other`` or, by adjoints, as ``Q^H @ other``."""
    if not left:
        grad, other, transpose = mH(grad), mH(input3), not transpose
    else:
        other = input3
    if transpose:
        by_self, by_tau, by_other = _adjoint_backward(grad, self, input2, other)
    else:
        by_self, by_tau, by_other = _chain_backward(grad, self, input2, other)
    return by_self, by_tau, by_other if left else mH(by_other)


def _adjoint_backward(grad: Any, packed: Any, tau: Any, other: Any) -> tuple[Any, Any, Any]:
    """`_chain_backward` for ``(H_1 ... H_k)^H @ other``: Q's gradient is ``other @ grad^H``, as if Q had met ``grad``."""
    by_packed, by_tau, _ = _chain_backward(other, packed, tau, grad)
    return by_packed, by_tau, ORMQR.apply((packed, tau, grad, True, False))


# ---------------------------------------------------------------- the rows
HOUSEHOLDER = row(
    "linalg_householder_product",
    lambda input, tau: kernels.first_columns(input, tau),
    batch="any",
    tensors="input tau",
    analytic=False,
)
HOUSEHOLDER.joint("input tau", _product_backward)
ORMQR = row(
    "ormqr",
    lambda self, input2, input3, left, transpose: kernels.apply(self, input2, input3, left, transpose),
    batch="any",
    tensors="self input2 input3",
    analytic=False,
)
ORMQR.joint("self input2 input3", _ormqr_backward)


def _no_derivative(grads: Any) -> Any:
    raise noted(NotImplementedError("the derivative for 'geqrf' is not implemented."))


GEQRF = row("geqrf", lambda self: kernels.geqrf(self), batch="any", outputs=2, self=_no_derivative)


# ---------------------------------------------------------------- the functions
def _check_reflections(label: str, input: Any, tau: Any) -> None:
    size, factors = shape_of(input), shape_of(tau)
    if len(size) < 2:
        raise noted(RuntimeError(f"{label}: input must have at least 2 dimensions."))
    if len(size) - 1 != len(factors):
        raise noted(
            RuntimeError(
                f"{label}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
                f"{len(factors)} and input.ndim is equal to {len(size)}"
            )
        )
    if size[:-2] != factors[:-1]:
        raise noted(
            RuntimeError(
                f"{label}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(factors[:-1])}"
            )
        )


@single_in_autocast
def householder_product(input: Any, tau: Any, *, out: Any = None) -> Any:
    """The first columns of ``H_1 ... H_k`` with ``H_i = I - tau_i v_i v_i^H``, the v_i packed below the diagonal.

    Source: ``torch.linalg.householder_product``.
    """
    if out is not None:
        return into(out, householder_product, input, tau)
    need("linalg_householder_product", "input", input)
    need("linalg_householder_product", "tau", tau, 2)
    label = "torch.linalg.householder_product"
    size = shape_of(input)
    if len(size) < 2:
        raise noted(RuntimeError(f"{label}: input must have at least 2 dimensions."))
    if size[-2] < size[-1]:
        raise noted(RuntimeError(f"{label}: input.shape[-2] must be greater than or equal to input.shape[-1]"))
    if tau.array.ndim and size[-1] < shape_of(tau)[-1]:
        raise noted(RuntimeError(f"{label}: input.shape[-1] must be greater than or equal to tau.shape[-1]"))
    _check_reflections(label, input, tau)
    if input.dtype is not tau.dtype:
        raise noted(
            RuntimeError(
                f"{label}: tau dtype {SCALAR_TYPE[tau.dtype]} does not match input dtype {SCALAR_TYPE[input.dtype]}"
            )
        )
    need_kernel("orgqr_cpu", input)
    return HOUSEHOLDER.apply((input, tau))


@single_in_autocast
def orgqr(input: Any, tau: Any) -> Any:
    """The older name of `householder_product` (source: ``torch.orgqr``)."""
    return householder_product(input, tau)


@single_in_autocast
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False, *, out: Any = None) -> Any:
    """``Q @ other`` (``other @ Q`` if not ``left``) for the square product Q of reflections, or for its adjoint.

    Source: ``torch.ormqr``.
    """
    if out is not None:
        return into(out, ormqr, input, tau, other, left, transpose)
    label = "torch.ormqr"
    for at, (argument, value) in enumerate((("input", input), ("input2", tau), ("input3", other))):
        need("ormqr", argument, value, at + 1)
    size, target = shape_of(input), shape_of(other)
    if len(size) < 2:
        raise noted(RuntimeError(f"{label}: input must have at least 2 dimensions."))
    if len(target) < 2:
        raise noted(RuntimeError(f"{label}: other must have at least 2 dimensions."))
    side = -2 if left else -1
    if target[side] != size[-2]:
        raise noted(RuntimeError(f"{label}: other.shape[{side}] must be equal to input.shape[-2]"))
    if shape_of(tau)[-1] != min(target[side], size[-1]):
        raise noted(RuntimeError(f"{label}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"))
    _check_reflections(label, input, tau)
    if len(size) != len(target):
        raise noted(
            RuntimeError(
                f"{label}: Expected other to have the same number of dimensions as input, but got other.ndim equal "
                f"to {len(target)} and input.ndim is equal to {len(size)}"
            )
        )
    if size[:-2] != target[:-2]:
        raise noted(
            RuntimeError(
                f"{label}: Expected batch dimensions of other to be equal to input.shape[:-2], but got {list(target[:-2])}"
            )
        )
    for name, value in (("tau", tau), ("other", other)):
        if value.dtype is not input.dtype:
            raise noted(
                RuntimeError(
                    f"{label}: Expected input and {name} to have the same dtype, but input has dtype"
                    f"{SCALAR_TYPE[input.dtype]} and {name} has dtype {SCALAR_TYPE[value.dtype]}"
                )
            )
    need_kernel("ormqr_cpu", input)
    return ORMQR.apply((input, tau, other, bool(left), bool(transpose)))


@single_in_autocast
def geqrf(input: Any, *, out: Any = None) -> Any:
    """The QR decomposition as packed reflections with R above them, and their factors (source: ``torch.geqrf``)."""
    if out is not None:
        return into(out, geqrf, input)
    need("geqrf", "input", input)
    if input.array.ndim < 2:
        raise noted(RuntimeError("torch.geqrf: input must have at least 2 dimensions."))
    need_kernel("geqrf_cpu", input)
    return return_types.geqrf(GEQRF.apply((input,)))


FUNCTIONS = ["orgqr", "ormqr", "geqrf"]
METHODS = {"orgqr": orgqr, "ormqr": ormqr, "geqrf": geqrf}
