"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import argument_error, noted, refused, with_note
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import C_NAME, SCALAR_TYPE, boolean
from livetape.kernels import small
from livetape.kernels.select import refuse
from livetape.kernels.small import product
from livetape.ops import shape as shapes
from livetape.ops.arithmetic import mul
from livetape.ops.autocasting import brought_together
from livetape.ops.table import into, row
from livetape.thread_modes import casting

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


def check_mm(x: Any, y: Any, name: str = "mm") -> None:
    (n, k), (m, p) = shape_of(x), shape_of(y)
    if k != m:
        words = f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})"
        hint = f"livetape: the last dimension of the first ({k}) must equal the first of the second ({m})."
        raise with_note(refused(words, name, x, y), hint)


def same_dtype(x: Any, y: Any) -> None:
    if x.dtype is not y.dtype and not brought_together(x, y):
        words = f"expected m1 and m2 to have the same dtype, but got: {C_NAME[x.dtype]} != {C_NAME[y.dtype]}"
        hint = "livetape: bring both to one dtype, for example with .float() or .to(other.dtype)."
        raise with_note(refused(words, "mm", x, y), hint)


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
        same_dtype(x, y)
    refuse_bools("addmm_impl_cpu_", x)
    if shape_of(x)[1] != shape_of(y)[0]:
        check_mm(x, y)
    return (MM if x.dtype.itemsize != 2 else MM_HALF).apply((x, y))


# ---------------------------------------------------------------- vectors
def outer_of(left: Any, right: Any) -> Any:
    return mul(shapes.view(left, (-1, 1)), right)


MV = row(
    "mv",
    lambda self, vec: product(self, vec),
    tensors="self vec",
    linear="each",
    batch="mv",
    self=lambda grad, vec: outer_of(grad, vec),
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


def check_mv_dtypes(input: Any, mat: Any, vec: Any) -> None:
    """Raise torch's error unless a matrix, a vector and what their product is added to have one dtype."""
    if (mat.dtype is not vec.dtype or input.dtype is not mat.dtype) and not brought_together(input, mat, vec):
        names = [SCALAR_TYPE[value.dtype] for value in (input, mat, vec)]
        raise noted(
            refused(
                "addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names), "mv", mat, vec
            )
        )


def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    """The product of a matrix and a vector (source: ``torch.mv``)."""
    if out is not None:
        return into(out, mv, input, vec)
    if input.array.ndim != 2 or vec.array.ndim != 1:
        raise noted(RuntimeError(f"vector + matrix @ vector expected, got 1, {input.array.ndim}, {vec.array.ndim}"))
    check_mv_dtypes(vec, input, vec)
    if shape_of(input)[1] != shape_of(vec)[0]:
        raise noted(
            RuntimeError(
                f"size mismatch, got input ({shape_of(input)[0]}), mat ({shape_of(input)[0]}x"
                f"{shape_of(input)[1]}), vec ({shape_of(vec)[0]})"
            )
        )
    refuse_bools("addmv_impl_cpu", input)
    return MV.apply((input, vec))


def dot(input: Any, tensor: Any, *, out: Any = None) -> Any:
    """The inner product of two vectors (source: ``torch.dot``)."""
    if out is not None:
        return into(out, dot, input, tensor)
    check_vectors(input, tensor)
    return DOT.apply((input, tensor))


def vdot(input: Any, other: Any, *, out: Any = None) -> Any:
    """The inner product of two vectors, the first conjugated (source: ``torch.vdot``)."""
    if out is not None:
        return into(out, vdot, input, other)
    check_vectors(input, other)
    return VDOT.apply((input, other))


def refuse_bools(label: str, x: Any) -> None:
    """Raise torch's error for a product of bools, of which it has none."""
    if x.dtype is boolean:
        raise noted(refuse(label, x.array.dtype))


def check_vectors(x: Any, y: Any) -> None:
    if x.array.ndim != 1 or y.array.ndim != 1:
        raise noted(RuntimeError(f"1D tensors expected, but got {x.array.ndim}D and {y.array.ndim}D tensors"))
    if x.dtype is not y.dtype:
        raise noted(
            RuntimeError(
                "dot : expected both vectors to have same dtype, but found "
                f"{SCALAR_TYPE[x.dtype]} and {SCALAR_TYPE[y.dtype]}"
            )
        )
    if x.array.shape != y.array.shape:
        raise noted(
            RuntimeError(
                f"inconsistent tensor size, expected tensor [{x.array.size}] and src [{y.array.size}] to have the "
                f"same number of elements, but got {x.array.size} and {y.array.size} elements respectively"
            )
        )
    refuse_bools("dot", x)


def outer(input: Any, vec2: Any, *, out: Any = None) -> Any:
    """The outer product of two vectors (source: ``torch.outer``)."""
    if out is not None:
        return into(out, outer, input, vec2)
    for name, value in (("self", input), ("vec2", vec2)):
        if value.array.ndim != 1:
            raise noted(RuntimeError(f"outer: Expected 1-D argument {name}, but got {value.array.ndim}-D"))
    return outer_of(input, vec2)


ger = outer


# ---------------------------------------------------------------- batches
def batched(x: Any, y: Any) -> Any:
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        return np.matmul(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    return np.matmul(x, y)


BMM = row(
    "bmm",
    lambda self, mat2: batched(self, mat2),
    tensors="self mat2",
    linear="each",
    batch="bmm",
    self=lambda grad, mat2: BMM_NT.apply((grad, mat2)),
    mat2=lambda grad, self: BMM_TN.apply((self, grad)),
)
BMM_NT = row(
    "bmm",
    lambda self, mat2: batched(self, mat2.swapaxes(1, 2)),
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
    lambda self, mat2: batched(self.swapaxes(1, 2), mat2),
    tensors="self mat2",
    key="bmm.tn",
    node="BmmBackward0",
    linear="each",
    batch="bmm",
    self=lambda grad, mat2: BMM_NT.apply((mat2, grad)),
    mat2=lambda grad, self: BMM.apply((self, grad)),
)


def check_bmm(x: Any, y: Any, first: str = "batch1", second: str = "batch2") -> None:
    for value, name in ((x, first), (y, second)):
        if value.array.ndim != 3:
            raise noted(RuntimeError(f"{name} must be a 3D tensor"))
    if x.dtype is not y.dtype and not brought_together(x, y):
        words = f"expected scalar type {SCALAR_TYPE[x.dtype]} but found {SCALAR_TYPE[y.dtype]}"
        raise noted(refused(words, "bmm", x, y))
    b, _, k = shape_of(x)
    c, m, _ = shape_of(y)
    if (b, k) != (c, m):
        raise noted(
            refused(
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
    check_bmm(input, mat2)
    refuse_bools("bmm", input)
    return BMM.apply((input, mat2))


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


FUNCTIONS = ["mm", "mv", "dot", "vdot", "outer", "ger", "bmm", "matmul"]
METHODS = {
    "mm": mm,
    "mv": mv,
    "dot": dot,
    "vdot": vdot,
    "outer": outer,
    "ger": ger,
    "bmm": bmm,
    "matmul": matmul,
}
