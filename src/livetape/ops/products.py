"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import argument_error, note_call, noted, type_name
from livetape._tape.tensor import TensorBase, shape_of
from livetape.kernels import small
from livetape.kernels.small import product
from livetape.ops import shape as shapes
from livetape.ops.arithmetic import mul
from livetape.ops.basics import sum_to
from livetape.ops.table import into, row
from livetape.thread_modes import casting

_NAMES = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "bool": "bool",
}


# ---------------------------------------------------------------- two matrices
# The products with a transposed side are rows of their own: they spare a view in every backward.
MM = row(
    "mm",
    small.matmul,
    params="self mat2",
    tensors="self mat2",
    linear="each",
    batch="mm",
    self=lambda grad, mat2: MM_NT.apply((grad, mat2)),
    mat2=lambda grad, self: MM_TN.apply((self, grad)),
)
MM_NT = row(
    "mm",
    small.matmul_nt,
    params="self mat2",
    tensors="self mat2",
    key="mm.nt",
    node="MmBackward0",
    linear="each",
    batch="mm_nt",
    self=lambda grad, mat2: MM.apply((grad, mat2)),
    mat2=lambda grad, self: MM_TN.apply((grad, self)),
)
MM_TN = row(
    "mm",
    small.matmul_tn,
    params="self mat2",
    tensors="self mat2",
    key="mm.tn",
    node="MmBackward0",
    linear="each",
    batch="mm_tn",
    self=lambda grad, mat2: MM_NT.apply((mat2, grad)),
    mat2=lambda grad, self: MM.apply((self, grad)),
)
MM_HALF = row(
    "mm",
    product,
    params="self mat2",
    tensors="self mat2",
    key="mm.half",
    node="MmBackward0",
    linear="each",
    batch="mm",
    self=lambda grad, mat2: MM_NT.apply((grad, mat2)),
    mat2=lambda grad, self: MM_TN.apply((self, grad)),
)


def _refused(message: str, name: str, *tensors: Any) -> RuntimeError:
    """Torch's error, with a note on the call."""
    error = RuntimeError(message)
    note_call(error, name, tensors)
    return error


def _check_mm(x: Any, y: Any, name: str = "mm") -> None:
    (n, k), (m, p) = shape_of(x), shape_of(y)
    if k != m:
        error = _refused(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})", name, x, y)
        error.add_note(f"livetape: the last dimension of the first ({k}) must equal the first of the second ({m}).")
        raise error


def _same_dtype(x: Any, y: Any, words: str = "expected m1 and m2 to have the same dtype, but got: {} != {}") -> None:
    if x.dtype is not y.dtype:
        error = _refused(words.format(_NAMES[x.dtype.name], _NAMES[y.dtype.name]), "mm", x, y)
        error.add_note("livetape: bring both to one dtype, for example with .float() or .to(other.dtype).")
        raise error


def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """The product of two matrices, [n, m] by [m, p] (source: ``torch.mm``).

    >>> import livetape as torch
    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if out is not None:
        return into(out, mm, input, mat2)
    for i, value in enumerate((input, mat2)):
        if not isinstance(value, TensorBase):
            raise noted(
                TypeError(
                    f"mm(): argument '{'input' if i == 0 else 'mat2'}' (position {i + 1}) must be Tensor, not "
                    f"{type(value).__name__}"
                )
            )
        if value.array.ndim != 2:
            raise noted(RuntimeError("self must be a matrix" if i == 0 else "mat2 must be a matrix"))
    return _mm(input, mat2)


def _mm(x: Any, y: Any) -> Any:
    if x.dtype is not y.dtype:
        _same_dtype(x, y)
    if shape_of(x)[1] != shape_of(y)[0]:
        _check_mm(x, y)
    return (MM if x.dtype.itemsize != 2 else MM_HALF).apply((x, y))


# ---------------------------------------------------------------- vectors
def _outer(left: Any, right: Any) -> Any:
    return mul(shapes.unsqueeze(left, 1), shapes.unsqueeze(right, 0))


MV = row(
    "mv",
    lambda self, vec: product(self, vec),
    tensors="self vec",
    linear="each",
    batch="mv",
    self=lambda grad, vec: _outer(grad, vec),
    vec=lambda grad, self: MV.apply((shapes.t(self), grad)),
)
DOT = row(
    "dot",
    lambda self, tensor: product(self, tensor),
    tensors="self tensor",
    linear="each",
    batch="dot",
    self=lambda grad, tensor: grad * tensor,
    tensor=lambda grad, self: grad * self,
)
VDOT = row(
    "vdot",
    lambda self, other: np.vdot(self, other),
    tensors="self other",
    analytic=False,
    batch="dot",
    self=lambda grad, other: grad.conj() * other,
    other=lambda grad, self: grad * self,
)


def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    """The product of a matrix and a vector (source: ``torch.mv``)."""
    if out is not None:
        return into(out, mv, input, vec)
    if input.array.ndim != 2 or vec.array.ndim != 1:
        raise noted(RuntimeError(f"vector + matrix @ vector expected, got 1, {input.array.ndim}, {vec.array.ndim}"))
    _same_dtype(input, vec)
    if shape_of(input)[1] != shape_of(vec)[0]:
        raise noted(
            RuntimeError(
                f"size mismatch, got input ({shape_of(input)[0]}), mat ({shape_of(input)[0]}x"
                f"{shape_of(input)[1]}), vec ({shape_of(vec)[0]})"
            )
        )
    return MV.apply((input, vec))


def dot(input: Any, tensor: Any, *, out: Any = None) -> Any:
    """The inner product of two vectors (source: ``torch.dot``)."""
    if out is not None:
        return into(out, dot, input, tensor)
    _check_vectors(input, tensor)
    return DOT.apply((input, tensor))


def vdot(input: Any, other: Any, *, out: Any = None) -> Any:
    """The inner product of two vectors, the first conjugated (source: ``torch.vdot``)."""
    if out is not None:
        return into(out, vdot, input, other)
    _check_vectors(input, other)
    return VDOT.apply((input, other))


def _check_vectors(x: Any, y: Any) -> None:
    if x.array.ndim != 1 or y.array.ndim != 1:
        raise noted(RuntimeError(f"1D tensors expected, but got {x.array.ndim}D and {y.array.ndim}D tensors"))
    if x.dtype is not y.dtype:
        raise noted(
            RuntimeError(
                "dot : expected both vectors to have same dtype, but found "
                f"{_SCALARS[x.dtype.name]} and {_SCALARS[y.dtype.name]}"
            )
        )
    if x.array.shape != y.array.shape:
        raise noted(
            RuntimeError(
                f"inconsistent tensor size, expected tensor [{x.array.size}] and src [{y.array.size}] to have the "
                f"same number of elements, but got {x.array.size} and {y.array.size} elements respectively"
            )
        )


_SCALARS = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "bool": "Bool",
}


def outer(input: Any, vec2: Any, *, out: Any = None) -> Any:
    """The outer product of two vectors (source: ``torch.outer``)."""
    if out is not None:
        return into(out, outer, input, vec2)
    for name, value in (("self", input), ("vec2", vec2)):
        if value.array.ndim != 1:
            raise noted(RuntimeError(f"outer: Expected 1-D argument {name}, but got {value.array.ndim}-D"))
    return _outer(input, vec2)


ger = outer


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


# ---------------------------------------------------------------- batches
def _batched(x: Any, y: Any) -> Any:
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        return np.matmul(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    return np.matmul(x, y)


BMM = row(
    "bmm",
    lambda self, mat2: _batched(self, mat2),
    tensors="self mat2",
    linear="each",
    batch="bmm",
    self=lambda grad, mat2: BMM_NT.apply((grad, mat2)),
    mat2=lambda grad, self: BMM_TN.apply((self, grad)),
)
BMM_NT = row(
    "bmm",
    lambda self, mat2: _batched(self, mat2.swapaxes(1, 2)),
    tensors="self mat2",
    key="bmm.nt",
    node="BmmBackward0",
    linear="each",
    batch="bmm",
    self=lambda grad, mat2: BMM.apply((grad, mat2)),
    mat2=lambda grad, self: BMM_TN.apply((grad, self)),
)
BMM_TN = row(
    "bmm",
    lambda self, mat2: _batched(self.swapaxes(1, 2), mat2),
    tensors="self mat2",
    key="bmm.tn",
    node="BmmBackward0",
    linear="each",
    batch="bmm",
    self=lambda grad, mat2: BMM_NT.apply((mat2, grad)),
    mat2=lambda grad, self: BMM.apply((self, grad)),
)


def _check_bmm(x: Any, y: Any, first: str = "batch1", second: str = "batch2") -> None:
    for value, name in ((x, first), (y, second)):
        if value.array.ndim != 3:
            raise noted(RuntimeError(f"{name} must be a 3D tensor"))
    _same_dtype(x, y, "expected scalar type {1} but found {0}")
    b, _, k = shape_of(x)
    c, m, _ = shape_of(y)
    if (b, k) != (c, m):
        raise noted(
            _refused(
                f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: [{c}, {m}].",
                "bmm",
                x,
                y,
            )
        )


def bmm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """The products of two batches of matrices, [b, n, m] by [b, m, p] (source: ``torch.bmm``)."""
    if out is not None:
        return into(out, bmm, input, mat2)
    _check_bmm(input, mat2)
    return BMM.apply((input, mat2))


# ---------------------------------------------------------------- products plus something
def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any, flipped: bool) -> Any:
    if beta == 1 and alpha == 1 and self.ndim == 1 and self.itemsize > 2:
        return small.affine(self, mat1, mat2)
    out = product(mat1, mat2)
    if alpha != 1:
        out = out * out.dtype.type(alpha)
    if beta == 1:
        out += self
    elif beta != 0:
        out += self * out.dtype.type(beta)
    return out


def _scaled(grad: Any, factor: Any) -> Any:
    return grad if factor == 1 else grad * factor


ADDMM = row(
    "addmm",
    _addmm,
    tensors="self mat1 mat2",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(grad if beta == 1 else grad * beta, self_size),
    mat1=lambda grad, mat2, alpha: _scaled(MM_NT.apply((grad, mat2)), alpha),
    # the gradient takes the memory layout of the matrix, so that a weight's is contiguous after its t() is undone
    mat2=lambda grad, mat1, alpha, flipped: _scaled(
        shapes.t(MM_TN.apply((grad, mat1))) if flipped else MM_TN.apply((mat1, grad)), alpha
    ),
)


def _check_addmm(input: Any, mat1: Any, mat2: Any) -> None:
    for value, name in ((mat1, "mat1"), (mat2, "mat2")):
        if value.array.ndim != 2:
            raise noted(RuntimeError(f"{name} must be a matrix, got {value.array.ndim}-D tensor"))
    _same_dtype(mat1, mat2)
    _check_mm(mat1, mat2)
    if input.dtype is not mat1.dtype:
        raise noted(
            RuntimeError(
                "self and mat2 must have the same dtype, but got "
                f"{_SCALARS[input.dtype.name]} and {_SCALARS[mat2.dtype.name]}"
            )
        )
    want = (shape_of(mat1)[0], shape_of(mat2)[1])
    _check_expands(input, want)


def _check_expands(input: Any, want: Any) -> None:
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


def addmm_(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `addmm`."""
    _check_addmm(self, mat1, mat2)
    return ADDMM.inplace(self, mat1, mat2, beta, alpha, False)


ADDMV = row(
    "addmv",
    lambda self, mat, vec, beta, alpha: _addmm(self, mat, vec, beta, alpha, False),
    tensors="self mat vec",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(_scaled(grad, beta), self_size),
    mat=lambda grad, vec, alpha: _scaled(_outer(grad, vec), alpha),
    vec=lambda grad, mat, alpha: _scaled(MV.apply((shapes.t(mat), grad)), alpha),
)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (mat @ vec)`` (source: ``torch.addmv``)."""
    if out is not None:
        return into(out, addmv, input, mat, vec, beta=beta, alpha=alpha)
    if mat.array.ndim != 2 or vec.array.ndim != 1 or input.array.ndim > 1:
        raise noted(
            RuntimeError(
                f"vector + matrix @ vector expected, got {input.array.ndim}, {mat.array.ndim}, {vec.array.ndim}"
            )
        )
    (n, m), (k,) = shape_of(mat), shape_of(vec)
    if m != k or shape_of(input) not in ((n,), (1,), ()):
        raise noted(RuntimeError(f"size mismatch, got input ({input.array.size}), mat ({n}x{m}), vec ({k})"))
    return ADDMV.apply((input, mat, vec, beta, alpha))


def addmv_(self: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `addmv`."""
    return ADDMV.inplace(self, mat, vec, beta, alpha)


ADDR = row(
    "addr",
    lambda self, vec1, vec2, beta, alpha: _add_outer(self, vec1, vec2, beta, alpha),
    tensors="self vec1 vec2",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(_scaled(grad, beta), self_size),
    vec1=lambda grad, vec2, alpha: _scaled(MV.apply((grad, vec2)), alpha),
    vec2=lambda grad, vec1, alpha: _scaled(MV.apply((shapes.t(grad), vec1)), alpha),
)


def _add_outer(self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    out = np.multiply.outer(vec1, vec2)
    if alpha != 1:
        out = out * out.dtype.type(alpha)
    return out + (self if beta == 1 else self * out.dtype.type(beta)) if beta != 0 else out


def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * outer(vec1, vec2)`` (source: ``torch.addr``)."""
    if out is not None:
        return into(out, addr, input, vec1, vec2, beta=beta, alpha=alpha)
    if vec1.array.ndim != 1 or vec2.array.ndim != 1:
        raise noted(
            RuntimeError(
                f"addr: Expected 1-D argument vec{1 if vec1.array.ndim != 1 else 2}, but got "
                f"{(vec1 if vec1.array.ndim != 1 else vec2).array.ndim}-D"
            )
        )
    _check_expands(input, (vec1.array.size, vec2.array.size))
    return ADDR.apply((input, vec1, vec2, beta, alpha))


def addr_(self: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `addr`."""
    return ADDR.inplace(self, vec1, vec2, beta, alpha)


def _baddbmm(self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    out = _batched(batch1, batch2)
    if alpha != 1:
        out = out * out.dtype.type(alpha)
    return out + (self if beta == 1 else self * out.dtype.type(beta)) if beta != 0 else out


BADDBMM = row(
    "baddbmm",
    _baddbmm,
    tensors="self batch1 batch2",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(_scaled(grad, beta), self_size),
    batch1=lambda grad, batch2, alpha: _scaled(BMM_NT.apply((grad, batch2)), alpha),
    batch2=lambda grad, batch1, alpha: _scaled(BMM_TN.apply((batch1, grad)), alpha),
)
ADDBMM = row(
    "addbmm",
    lambda self, batch1, batch2, beta, alpha: _addbmm(self, batch1, batch2, beta, alpha),
    tensors="self batch1 batch2",
    batch="add_product",
    self=lambda grad, self_size, beta: sum_to(_scaled(grad, beta), self_size),
    batch1=lambda grad, batch1_size, batch2, alpha: _scaled(
        BMM_NT.apply((_repeated(grad, batch1_size[0]), batch2)), alpha
    ),
    batch2=lambda grad, batch1_size, batch1, alpha: _scaled(
        BMM_TN.apply((batch1, _repeated(grad, batch1_size[0]))), alpha
    ),
)


def _repeated(grad: Any, count: int) -> Any:
    return shapes.expand(grad, count, *shape_of(grad))


def _addbmm(self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    out = np.tensordot(batch1, batch2, axes=([0, 2], [0, 1]))
    if alpha != 1:
        out = out * out.dtype.type(alpha)
    return out + (self if beta == 1 else self * out.dtype.type(beta)) if beta != 0 else out


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (batch1 @ batch2)``, batch by batch (source: ``torch.baddbmm``)."""
    if out is not None:
        return into(out, baddbmm, input, batch1, batch2, beta=beta, alpha=alpha)
    _check_bmm(batch1, batch2)
    _check_expands(input, (*shape_of(batch1)[:2], shape_of(batch2)[2]))
    return BADDBMM.apply((input, batch1, batch2, beta, alpha))


def baddbmm_(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `baddbmm`."""
    _check_bmm(batch1, batch2)
    return BADDBMM.inplace(self, batch1, batch2, beta, alpha)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha *`` the sum of the batch's products (source: ``torch.addbmm``)."""
    if out is not None:
        return into(out, addbmm, input, batch1, batch2, beta=beta, alpha=alpha)
    _check_bmm(batch1, batch2)
    _check_expands(input, (shape_of(batch1)[1], shape_of(batch2)[2]))
    return ADDBMM.apply((input, batch1, batch2, beta, alpha))


def addbmm_(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place `addbmm`."""
    _check_bmm(batch1, batch2)
    return ADDBMM.inplace(self, batch1, batch2, beta, alpha)


# ---------------------------------------------------------------- matmul, by the number of dimensions
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """The product of matrices, vectors or batches of matrices, as NumPy's ``@`` (source: ``torch.matmul``).

    >>> import livetape as torch
    >>> torch.matmul(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
    """
    if out is not None:
        return into(out, matmul, input, other)
    if not isinstance(other, TensorBase):
        raise noted(argument_error("matmul", 1, other))
    if not isinstance(input, TensorBase):
        raise noted(argument_error("matmul", 0, input))
    if casting.threads and (autocast := casting.current()) is not None:
        return autocast.lower(matmul, input, other)
    m, n = input.array.ndim, other.array.ndim
    if m == 2 and n == 2:
        return _mm(input, other)
    if m == 0 or n == 0:
        raise noted(RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D"))
    if m == 1 and n == 1:
        return dot(input, other)
    if m == 2 and n == 1:
        return mv(input, other)
    if m == 1 and n == 2:
        return shapes.squeeze_multiple(_mm(shapes.unsqueeze(input, 0), other), (0,))
    return _matmul_batched(input, other, m, n)


def _matmul_batched(input: Any, other: Any, m: int, n: int) -> Any:
    if n <= 2 and m >= 3:  # fold the batch into the rows
        size = shape_of(input)
        folded = (
            shapes.reshape(input, -1, size[-1])
            if input.array.size
            else shapes.reshape(input, int(np.prod(size[:-1])), size[-1])
        )
        if n == 1:
            return shapes.unsafe_view(mv(folded, other), size[:-1])
        return shapes.unsafe_view(_mm(folded, other), (*size[:-1], shape_of(other)[-1]))
    x = shapes.unsqueeze(input, 0) if m == 1 else input
    y = shapes.unsqueeze(other, 1) if n == 1 else other
    a, b = shape_of(x), shape_of(y)
    try:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise noted(_batch_error(a[:-2], b[:-2])) from None
    count = int(np.prod(batch, dtype=np.int64))
    left = shapes.reshape(shapes.expand(x, *batch, *a[-2:]), count, *a[-2:])
    right = shapes.reshape(shapes.expand(y, *batch, *b[-2:]), count, *b[-2:])
    product = bmm(left, right)
    size = (*batch, *(() if m == 1 else (a[-2],)), *(() if n == 1 else (b[-1],)))
    return shapes.unsafe_view(product, size)


def _batch_error(left: Any, right: Any) -> RuntimeError:
    n = max(len(left), len(right))
    for i in range(1, n + 1):
        p = left[-i] if i <= len(left) else 1
        q = right[-i] if i <= len(right) else 1
        if p != q and 1 not in (p, q):
            return RuntimeError(
                f"The size of tensor a ({p}) must match the size of tensor b ({q}) at non-singleton dimension {n - i}"
            )
    return RuntimeError("the batches do not broadcast")


def _check_bias(bias: Any, rows: int, weight: Any) -> None:
    """Raise torch's error for a bias of one dimension that does not fit the outputs."""
    size, count = shape_of(bias), shape_of(weight)[0]
    if len(size) == 1 and size[0] != count and size[0] != 1:
        raise noted(
            _refused(
                f"The expanded size of the tensor ({count}) must match the existing size ({size[0]}) at non-singleton "
                f"dimension 1.  Target sizes: {[rows, count]}.  Tensor sizes: {list(size)}",
                "linear",
                bias,
                weight,
            )
        )


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias`` for input [..., in] and weight [out, in] (source: ``torch.nn.functional.linear``)."""
    if not isinstance(input, TensorBase):
        raise noted(argument_error("linear", 0, input))
    if casting.threads and (autocast := casting.current()) is not None:
        return autocast.lower(linear, input, weight, bias)
    if input.dtype is not weight.dtype:
        if not isinstance(weight, TensorBase):
            raise noted(TypeError(f"linear(): argument 'weight' (position 2) must be Tensor, not {type_name(weight)}"))
        raise noted(
            _refused(
                f"mat1 and mat2 must have the same dtype, but got {_SCALARS[input.dtype.name]} and "
                f"{_SCALARS[weight.dtype.name]}",
                "linear",
                input,
                weight,
            )
        )
    x, w = input.array, weight.array
    ndim = x.ndim
    if w.ndim == 1:
        found = matmul(input, weight)
        return found if bias is None else found + bias
    turned = shapes.t(weight)
    if bias is not None and (bias.dtype is not input.dtype or bias.array.shape != w.shape[:1]):
        return _linear_of_other_bias(input, turned, bias)
    if ndim == 2:
        if x.shape[1] != w.shape[1]:
            _check_mm(input, turned, "linear")
        if bias is None:
            return (MM if input.dtype.itemsize != 2 else MM_HALF).apply((input, turned))
        try:
            return ADDMM.apply((bias, input, turned, 1, 1, True))
        except ValueError:
            _check_bias(bias, shape_of(input)[0], weight)
            raise
    if bias is None:
        return matmul(input, turned)
    size = shape_of(input)
    if ndim == 0:
        raise noted(RuntimeError("both arguments to linear need to be at least 1D, but they are 0D and 2D"))
    rows = int(np.prod(size[:-1], dtype=np.int64))
    folded = (
        shapes.view(input, rows, size[-1]) if input.array.flags.c_contiguous else shapes.reshape(input, rows, size[-1])
    )
    _check_mm(folded, turned, "linear")
    try:
        product = ADDMM.apply((bias, folded, turned, 1, 1, True))
    except ValueError:
        _check_bias(bias, rows, weight)
        raise
    return shapes.view(product, *size[:-1], shape_of(weight)[0])


def _linear_of_other_bias(input: Any, turned: Any, bias: Any) -> Any:
    """`linear` for a bias that is no vector of the right length: one that broadcasts, or torch's error."""
    if bias.dtype is not input.dtype:
        raise noted(
            _refused(
                "self and mat2 must have the same dtype, but got "
                f"{_SCALARS[bias.dtype.name]} and {_SCALARS[turned.dtype.name]}",
                "linear",
                bias,
                turned,
            )
        )
    found = matmul(input, turned)
    size = shape_of(found)
    have, out = shape_of(bias), size[-1]
    if input.array.ndim == 2 or len(have) < 2 or have[-1] != out:
        _check_expands(bias, (found.array.size // out if out else 0, out))
    if input.array.ndim == 2:
        return ADDMM.apply((bias, input, turned, 1, 1, True))
    total = found + bias
    if shape_of(total) != size:
        raise noted(
            RuntimeError(f"output with shape {list(size)} doesn't match the broadcast shape {list(shape_of(total))}")
        )
    return total


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``x1 @ weight[k] @ x2 + bias[k]`` for each k (source: ``torch.nn.functional.bilinear``)."""
    left = matmul(shapes.unsqueeze(input1, -2).unsqueeze(-2), weight)  # [..., out, 1, in2]
    product = matmul(left, shapes.unsqueeze(input2, -2).unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return product if bias is None else product + bias


# ---------------------------------------------------------------- products over chosen dimensions
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """The sum of products over ``dims``: a count, or the dimensions of each (source: ``torch.tensordot``)."""
    if out is not None:
        return into(out, tensordot, a, b, dims)
    if isinstance(dims, TensorBase):
        dims = dims.array.item() if dims.array.size == 1 else dims.array.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise noted(RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}"))
        left: Any = list(range(a.array.ndim - dims, a.array.ndim))
        right: Any = list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left = [d % a.array.ndim for d in left]
    right = [d % b.array.ndim for d in right]
    if len(left) != len(right):
        raise noted(RuntimeError("both dimension lists should have same length"))
    for i, j in zip(left, right):
        p, q = shape_of(a)[i], shape_of(b)[j]
        if p != q:
            raise noted(
                RuntimeError(
                    f"contracted dimensions need to match, but first has size {p} in dim {i} and second has size {q} "
                    f"in dim {j}"
                )
            )
    keep_a = [i for i in range(a.array.ndim) if i not in left]
    keep_b = [i for i in range(b.array.ndim) if i not in right]
    rows = int(np.prod([shape_of(a)[i] for i in keep_a], dtype=np.int64))
    inner_ = int(np.prod([shape_of(a)[i] for i in left], dtype=np.int64))
    columns = int(np.prod([shape_of(b)[i] for i in keep_b], dtype=np.int64))
    x = shapes.reshape(shapes.permute(a, *keep_a, *left), rows, inner_)
    y = shapes.reshape(shapes.permute(b, *right, *keep_b), inner_, columns)
    return shapes.reshape(mm(x, y), *[shape_of(a)[i] for i in keep_a], *[shape_of(b)[i] for i in keep_b])


def kron(input: Any, other: Any, *, out: Any = None) -> Any:
    """The Kronecker product (source: ``torch.kron``)."""
    if out is not None:
        return into(out, kron, input, other)
    n = max(input.array.ndim, other.array.ndim)
    a = (1,) * (n - input.array.ndim) + tuple(shape_of(input))
    b = (1,) * (n - other.array.ndim) + tuple(shape_of(other))
    x = shapes.reshape(input, *[m for k in a for m in (k, 1)])
    y = shapes.reshape(other, *[m for k in b for m in (1, k)])
    return shapes.reshape(mul(x, y), *[p * q for p, q in zip(a, b)])


FUNCTIONS = [
    "mm",
    "mv",
    "dot",
    "vdot",
    "outer",
    "ger",
    "inner",
    "bmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "addbmm",
    "matmul",
    "tensordot",
    "kron",
]
FUNCTIONAL = ["linear", "bilinear"]
METHODS = {
    "mm": mm,
    "mv": mv,
    "dot": dot,
    "vdot": vdot,
    "outer": outer,
    "ger": ger,
    "inner": inner,
    "bmm": bmm,
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
    "matmul": matmul,
    "kron": kron,
}
