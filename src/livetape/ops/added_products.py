"""Products of matrices and vectors, plus something."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import C_NAME, SCALAR_TYPE
from livetape.kernels import small
from livetape.kernels.reductions import is_half
from livetape.kernels.small import product
from livetape.ops import shape as shapes
from livetape.ops.autocasting import brought_together
from livetape.ops.basics import sum_to
from livetape.ops.dims import wrap_dim
from livetape.ops.products import (
    BMM_NT,
    BMM_TN,
    MM_NT,
    MM_TN,
    MV,
    batched,
    check_bmm,
    check_mm,
    check_mv_dtypes,
    outer_of,
)
from livetape.ops.table import into, row


def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any, flipped: bool) -> Any:
    if beta == 1 and alpha == 1 and self.ndim == 1 and self.itemsize > 2:
        return small.affine(self, mat1, mat2)
    if is_half(self):  # rounded once, after the sum
        bias, left, right = (a.astype(np.float32) for a in (self, mat1, mat2))
        return _addmm(bias, left, right, beta, alpha, flipped).astype(self.dtype)
    out = product(mat1, mat2)
    if alpha != 1:
        out = out * out.dtype.type(alpha)
    if beta == 1:
        out += self
    elif beta != 0:
        out += self * out.dtype.type(beta)
    return out


def scaled(grad: Any, factor: Any) -> Any:
    return grad if factor == 1 else grad * factor


ADDMM = row(
    "addmm",
    _addmm,
    tensors="self mat1 mat2",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(grad if beta == 1 else grad * beta, self_size),
    mat1=lambda grad, mat2, alpha: scaled(MM_NT.apply((grad, mat2)), alpha),
    # the gradient takes the memory layout of the matrix, so that a weight's is contiguous after its t() is undone
    mat2=lambda grad, mat1, alpha, flipped: scaled(
        shapes.t(MM_TN.apply((grad, mat1))) if flipped else MM_TN.apply((mat1, grad)), alpha
    ),
    mixes=True,
)


def _check_addmm(input: Any, mat1: Any, mat2: Any) -> None:
    for value, name in ((mat1, "mat1"), (mat2, "mat2")):
        if value.array.ndim != 2:
            raise noted(RuntimeError(f"{name} must be a matrix, got {value.array.ndim}-D tensor"))
    for value, name in ((input, "self"), (mat1, "mat1")):  # in the order in which torch looks
        if value.dtype is not mat2.dtype and not brought_together(value, mat2):
            raise noted(
                RuntimeError(
                    f"{name} and mat2 must have the same dtype, but got "
                    f"{SCALAR_TYPE[value.dtype]} and {SCALAR_TYPE[mat2.dtype]}"
                )
            )
    check_mm(mat1, mat2)
    want = (shape_of(mat1)[0], shape_of(mat2)[1])
    check_expands(input, want)


def check_expands(input: Any, want: Any) -> None:
    have = shape_of(input)
    for i in range(1, max(len(have), len(want)) + 1):
        n = have[-i] if i <= len(have) else 1
        if i > len(want) or (n != 1 and n != want[-i]):
            raise noted(
                RuntimeError(
                    f"The expanded size of the tensor ({want[-i] if i <= len(want) else 1}) must match the existing size ({n}) "
                    f"at non-singleton dimension {max(len(want) - i, 0)}.  Target sizes: {list(want)}.  "
                    f"Tensor sizes: {list(have)}"
                )
            )


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` (source: ``torch.addmm``)."""
    if out is not None:
        return into(out, addmm, input, mat1, mat2, beta=beta, alpha=alpha)
    _check_addmm(input, mat1, mat2)
    return ADDMM.apply((input, mat1, mat2, beta, alpha, False))


def _check_size(target: Any, *want: int) -> None:
    """Raise torch's error for a tensor changed in place whose size is not the result's."""
    if shape_of(target) != want:
        raise noted(
            RuntimeError(
                f"Bad in-place call: input tensor size {list(shape_of(target))} and output tensor size "
                f"{list(want)} should match"
            )
        )


def addmm_(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `addmm`."""
    _check_addmm(self, mat1, mat2)
    _check_size(self, shape_of(mat1)[0], shape_of(mat2)[1])
    return ADDMM.inplace(self, mat1, mat2, beta, alpha, False)


ADDMV = row(
    "addmv",
    lambda self, mat, vec, beta, alpha: _addmm(self, mat, vec, beta, alpha, False),
    tensors="self mat vec",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(scaled(grad, beta), self_size),
    mat=lambda grad, vec, alpha: scaled(outer_of(grad, vec), alpha),
    vec=lambda grad, mat, alpha: scaled(MV.apply((shapes.t(mat), grad)), alpha),
    mixes=True,
)


def _check_addmv(input: Any, mat: Any, vec: Any) -> None:
    if mat.array.ndim != 2 or vec.array.ndim != 1 or input.array.ndim > 1:
        raise noted(
            RuntimeError(
                f"vector + matrix @ vector expected, got {input.array.ndim}, {mat.array.ndim}, {vec.array.ndim}"
            )
        )
    check_mv_dtypes(input, mat, vec)
    (n, m), (k,) = shape_of(mat), shape_of(vec)
    if m != k or shape_of(input) not in ((n,), (1,), ()):
        raise noted(RuntimeError(f"size mismatch, got input ({input.array.size}), mat ({n}x{m}), vec ({k})"))


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (mat @ vec)`` (source: ``torch.addmv``)."""
    if out is not None:
        return into(out, addmv, input, mat, vec, beta=beta, alpha=alpha)
    _check_addmv(input, mat, vec)
    return ADDMV.apply((input, mat, vec, beta, alpha))


def addmv_(self: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `addmv`."""
    _check_addmv(self, mat, vec)
    _check_size(self, shape_of(mat)[0])
    return ADDMV.inplace(self, mat, vec, beta, alpha)


ADDR = row(
    "addr",
    lambda self, vec1, vec2, beta, alpha: _add_outer(self, vec1, vec2, beta, alpha),
    tensors="self vec1 vec2",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(scaled(grad, beta), self_size),
    vec1=lambda grad, vec2, alpha: scaled(MV.apply((grad, vec2)), alpha),
    vec2=lambda grad, vec1, alpha: scaled(MV.apply((shapes.t(grad), vec1)), alpha),
    mixes=True,
)


def _add_outer(self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    out = np.multiply.outer(vec1, vec2)
    if alpha != 1:
        out = out * out.dtype.type(alpha)
    return out + (self if beta == 1 else self * out.dtype.type(beta)) if beta != 0 else out


def _check_addr(vec1: Any, vec2: Any) -> None:
    if vec1.array.ndim != 1 or vec2.array.ndim != 1:
        raise noted(
            RuntimeError(
                f"addr: Expected 1-D argument vec{1 if vec1.array.ndim != 1 else 2}, but got "
                f"{(vec1 if vec1.array.ndim != 1 else vec2).array.ndim}-D"
            )
        )


def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * outer(vec1, vec2)`` (source: ``torch.addr``)."""
    if out is not None:
        return into(out, addr, input, vec1, vec2, beta=beta, alpha=alpha)
    _check_addr(vec1, vec2)
    check_expands(input, (vec1.array.size, vec2.array.size))
    return ADDR.apply((input, vec1, vec2, beta, alpha))


def addr_(self: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `addr`."""
    _check_addr(vec1, vec2)
    if self.array.ndim != 2:
        raise noted(RuntimeError(f"2D tensor expected, got {self.array.ndim}D tensor for input"))
    n, m = vec1.array.size, vec2.array.size
    if shape_of(self) != (n, m):
        raise noted(RuntimeError(f"size mismatch, input: {list(shape_of(self))}, v1: [{n}], v2: [{m}]"))
    return ADDR.inplace(self, vec1, vec2, beta, alpha)


def _baddbmm(self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    if is_half(self):
        bias, left, right = (a.astype(np.float32) for a in (self, batch1, batch2))
        return _baddbmm(bias, left, right, beta, alpha).astype(self.dtype)
    out = batched(batch1, batch2)
    if alpha != 1:
        out = out * out.dtype.type(alpha)
    return out + (self if beta == 1 else self * out.dtype.type(beta)) if beta != 0 else out


BADDBMM = row(
    "baddbmm",
    _baddbmm,
    tensors="self batch1 batch2",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(scaled(grad, beta), self_size),
    batch1=lambda grad, batch2, alpha: scaled(BMM_NT.apply((grad, batch2)), alpha),
    batch2=lambda grad, batch1, alpha: scaled(BMM_TN.apply((batch1, grad)), alpha),
    mixes=True,
)
ADDBMM = row(
    "addbmm",
    lambda self, batch1, batch2, beta, alpha: _addbmm(self, batch1, batch2, beta, alpha),
    tensors="self batch1 batch2",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(scaled(grad, beta), self_size),
    batch1=lambda grad, batch1_size, batch2, alpha: scaled(
        BMM_NT.apply((_repeated(grad, batch1_size[0]), batch2)), alpha
    ),
    batch2=lambda grad, batch1_size, batch1, alpha: scaled(
        BMM_TN.apply((batch1, _repeated(grad, batch1_size[0]))), alpha
    ),
    mixes=True,
)


def _repeated(grad: Any, count: int) -> Any:
    return shapes.expand(grad, count, *shape_of(grad))


def _addbmm(self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    if is_half(self) and len(batch1):  # rounded after each product
        for left, right in zip(batch1, batch2):
            self, beta = _addmm(self, left, right, beta, alpha, False), 1
        return self
    out = np.tensordot(batch1, batch2, axes=([0, 2], [0, 1]))
    if alpha != 1:
        out = out * out.dtype.type(alpha)
    return out + (self if beta == 1 else self * out.dtype.type(beta)) if beta != 0 else out


def _batched_size(batch1: Any, batch2: Any) -> tuple[int, int, int]:
    """The size of a batch of products, asked for before anything is checked, as torch does."""
    return _extent(batch1, 0), _extent(batch1, 1), _extent(batch2, 2)


def _extent(batch: Any, dim: int) -> int:
    size = shape_of(batch)
    if not size:
        raise noted(IndexError(f"Dimension specified as {dim} but tensor has no dimensions"))
    return size[wrap_dim(dim, len(size))]


def _check_baddbmm_dtypes(input: Any, batch1: Any, batch2: Any) -> None:
    if input.dtype is not batch1.dtype and not brought_together(input, batch1, batch2):
        names = [C_NAME[value.dtype] for value in (input, batch1, batch2)]
        raise noted(RuntimeError("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*names)))


def _check_addbmm_dtypes(input: Any, batch1: Any, batch2: Any) -> None:
    for value in (input, batch1):
        if value.dtype is not batch2.dtype and not brought_together(value, batch2):
            raise noted(
                RuntimeError(
                    "self and mat2 must have the same dtype, but got "
                    f"{SCALAR_TYPE[value.dtype]} and {SCALAR_TYPE[batch2.dtype]}"
                )
            )


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (batch1 @ batch2)``, batch by batch (source: ``torch.baddbmm``)."""
    if out is not None:
        return into(out, baddbmm, input, batch1, batch2, beta=beta, alpha=alpha)
    size = _batched_size(batch1, batch2)
    _check_baddbmm_dtypes(input, batch1, batch2)
    check_bmm(batch1, batch2)
    check_expands(input, size)
    return BADDBMM.apply((input, batch1, batch2, beta, alpha))


def baddbmm_(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `baddbmm`."""
    size = _batched_size(batch1, batch2)
    _check_baddbmm_dtypes(self, batch1, batch2)
    check_bmm(batch1, batch2)
    _check_size(self, *size)
    return BADDBMM.inplace(self, batch1, batch2, beta, alpha)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha *`` the sum of the batch's products (source: ``torch.addbmm``)."""
    if out is not None:
        return into(out, addbmm, input, batch1, batch2, beta=beta, alpha=alpha)
    size = _batched_size(batch1, batch2)[1:]
    _check_addbmm_dtypes(input, batch1, batch2)
    check_bmm(batch1, batch2)
    check_expands(input, size)
    return ADDBMM.apply((input, batch1, batch2, beta, alpha))


def addbmm_(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `addbmm`."""
    size = _batched_size(batch1, batch2)[1:]
    _check_addbmm_dtypes(self, batch1, batch2)
    check_bmm(batch1, batch2)
    check_expands(self, size)
    return ADDBMM.inplace(self, batch1, batch2, beta, alpha)


FUNCTIONS = ["addmm", "addmv", "addmv_", "addr", "baddbmm", "addbmm"]
METHODS = {
    "addmm": addmm,
    "addmm_": addmm_,
    "addmv": addmv,
    "addmv_": addmv_,
    "addr": addr,
    "addr_": addr_,
    "baddbmm": baddbmm,
    "baddbmm_": baddbmm_,
    "addbmm": addbmm,
    "addbmm_": addbmm_,
}
