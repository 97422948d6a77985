"""Inverses, and solutions of linear systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.dtypes import SCALAR_TYPE
from livetape.kernels import matrices as kernels
from livetape.kernels.triangular import solve_triangular as triangular_kernel
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.basics import conj, sum_to
from livetape.ops.matrices import (
    mH,
    mT,
    need,
    need_broadcast,
    need_float,
    need_kernel,
    need_square,
    plus,
    product,
    same_dtype,
    tril,
    triu,
)
from livetape.ops.table import into, row

# ---------------------------------------------------------------- inverses
INVERSE = row(
    "linalg_inv_ex",
    lambda A, label: kernels.inverse(A, label),
    batch="any",
    tensors="A",
    outputs=2,
    A=lambda grad, result0: -product(mT(result0), grad, mT(result0)),
)


def _inverse(A: Any, label: str, name: str, argument: str = "A") -> Any:
    need(name, argument, A)
    need_square("linalg.inv", A)
    need_float("linalg.inv", A)
    return INVERSE.apply((A, label))


@single_in_autocast
def inv(A: Any, *, out: Any = None) -> Any:
    """The inverses of square matrices; a _LinAlgError where there is none (source: ``torch.linalg.inv``).

    >>> import livetape as torch
    >>> torch.linalg.inv(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    if out is not None:
        _check_out("linalg.inv", A, out)
        return into(out, inv, A)
    return _inverse(A, "linalg.inv", "linalg_inv")[0]


def _check_out(label: str, A: Any, out: Any) -> None:
    if out.dtype is not A.dtype:
        shown = {
            "float64": "double",
            "float32": "float",
            "complex64": "c10::complex<float>",
            "complex128": "c10::complex<double>",
        }
        have, want = shown.get(out.dtype.name, out.dtype.name), shown.get(A.dtype.name, A.dtype.name)
        raise noted(RuntimeError(f"Expected out tensor to have dtype {want}, but got {have} instead"))


@single_in_autocast
def inv_ex(A: Any, *, check_errors: bool = False, out: Any = None) -> Any:
    """The inverses, and 0 or the place of the first zero pivot (source: ``torch.linalg.inv_ex``)."""
    if out is not None:
        return into(out, inv_ex, A, check_errors=check_errors)
    return return_types.linalg_inv_ex(_inverse(A, "linalg.inv_ex" if check_errors else "", "linalg_inv_ex"))


# ---------------------------------------------------------------- solutions
def _by_matrix(by_b: Any, x: Any, left: bool, size: Any) -> Any:
    """The gradient of A from those of the right-hand sides."""
    return sum_to(-product(by_b, mT(x)) if left else -product(mT(x), by_b), size)


def _solve_backward(grad: Any, A: Any, result0: Any, A_size: Any, B_size: Any, left: bool, wanted: list[bool]) -> Any:
    by_b = SOLVE.apply((mT(A), grad, left, ""))[0]
    by_a = _by_matrix(by_b, result0, left, A_size) if wanted[0] else None
    return by_a, sum_to(by_b, B_size) if wanted[1] else None


def _solve_vector_backward(grad: Any, A: Any, result0: Any, A_size: Any, B_size: Any, wanted: list[bool]) -> Any:
    by_b = SOLVE_VECTOR.apply((mT(A), grad, ""))[0]
    by_a = _by_matrix(by_b.unsqueeze(-1), result0.unsqueeze(-1), True, A_size) if wanted[0] else None
    return by_a, sum_to(by_b, B_size) if wanted[1] else None


SOLVE = row(
    "linalg_solve_ex",
    lambda A, B, left, label: kernels.solve(A, B, left, label),
    tensors="A B",
    outputs=2,
    batch="broadcast",
)
SOLVE.joint("A B", _solve_backward)
SOLVE_VECTOR = row(
    "linalg_solve_ex",
    lambda A, B, label: kernels.solve_vectors(A, B, label),
    tensors="A B",
    outputs=2,
    key="linalg_solve_ex.vector",
    batch="any",
)
SOLVE_VECTOR.joint("A B", _solve_vector_backward)


def _solve(A: Any, B: Any, left: bool, label: str, name: str) -> Any:
    need(name, "A", A)
    need(name, "B", B, 2)
    need_float("linalg.solve", A, "lu_cpu")
    same_dtype("linalg.solve", "A", A, "B", B)
    a, b = shape_of(A), shape_of(B)
    need_square("linalg.solve", A)
    vector = len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])
    need_pair("linalg.solve", a, (*b, 1) if vector else b, left, vector and not left)
    if not vector:
        return SOLVE.apply((A, B, left, label))
    if len(b) != len(a) - 1:  # one vector for a batch of matrices
        B = B.expand(a[:-1])
    return SOLVE_VECTOR.apply((A, B, label))


def need_pair(label: str, a: Any, b: Any, left: bool, vector: bool = False) -> None:
    """Raise torch's error unless A and B fit into the equation AX = B (or XA = B)."""
    if len(b) < 2:
        raise noted(RuntimeError(f"{label}: The input tensor B must have at least 2 dimensions."))
    if (a[-2] != b[-2]) if left else (a[-1] != b[-1]):
        equation = "AX = B" if left else "XA = B"
        raise noted(
            RuntimeError(
                f"{label}: Incompatible shapes of A and B for the equation {equation} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
            )
        )
    need_broadcast(b[:-2], a[:-2])


@single_in_autocast
def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    """X with ``A @ X = B``, or ``X @ A = B`` if not ``left`` (source: ``torch.linalg.solve``).

    A is [..., n, n] and B [..., n, k], or [..., n] for vectors. A singular matrix is a _LinAlgError.

    >>> import livetape as torch
    >>> torch.linalg.solve(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([1., 1.]))
    tensor([0.5000, 0.2500])
    """
    if out is not None:
        return into(out, solve, A, B, left=left)
    return _solve(A, B, left, "torch.linalg.solve", "linalg_solve")[0]


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """As `solve`, and 0 or the place of the first zero pivot (source: ``torch.linalg.solve_ex``)."""
    if out is not None:
        return into(out, solve_ex, A, B, left=left, check_errors=check_errors)
    label = "torch.linalg.solve_ex" if check_errors else ""
    return return_types.linalg_solve_ex(_solve(A, B, left, label, "linalg_solve_ex"))


# ---------------------------------------------------------------- triangular systems
def _triangle(x: Any, upper: bool, unit: bool) -> Any:
    return triu(x, int(unit)) if upper else tril(x, -int(unit))


def _solve_triangular_backward(
    grad: Any,
    self: Any,
    result: Any,
    self_size: Any,
    B_size: Any,
    upper: bool,
    left: bool,
    unitriangular: bool,
    wanted: list[bool],
) -> Any:
    by_b = SOLVE_TRIANGULAR.apply((mT(self), grad, not upper, left, unitriangular))
    by_a = None
    if wanted[0]:
        full = -product(by_b, mT(result)) if left else -product(mT(result), by_b)
        by_a = sum_to(_triangle(full, upper, unitriangular), self_size)
    return by_a, sum_to(by_b, B_size) if wanted[1] else None


SOLVE_TRIANGULAR = row(
    "linalg_solve_triangular",
    lambda self, B, upper, left, unitriangular: np.ascontiguousarray(
        triangular_kernel(self, B, upper, left, unitriangular)
    ),
    batch="broadcast",
    tensors="self B",
)
SOLVE_TRIANGULAR.joint("self B", _solve_triangular_backward)


def solve_triangular(
    input: Any, B: Any, *, upper: Any = None, left: bool = True, unitriangular: bool = False, out: Any = None
) -> Any:
    """As `solve` for triangular matrices, of which only one triangle is read; inf and nan where one is singular.

    Source: ``torch.linalg.solve_triangular``.

    >>> import livetape as torch
    >>> torch.linalg.solve_triangular(torch.tensor([[2., 1.], [0., 4.]]), torch.tensor([[4.], [8.]]), upper=True)
    tensor([[1.],
            [2.]])
    """
    if upper is None:
        raise noted(TypeError('linalg_solve_triangular() missing 1 required positional arguments: "upper"'))
    if out is not None:
        return into(out, solve_triangular, input, B, upper=upper, left=left, unitriangular=unitriangular)
    need("linalg_solve_triangular", "input", input)
    need("linalg_solve_triangular", "B", B, 2)
    need_square("linalg.solve_triangular", input)
    need_pair("linalg.solve_triangular", shape_of(input), shape_of(B), left)
    need_kernel("triangular_solve_cpu", input)
    same_dtype("linalg.solve_triangular", "A", input, "B", B)
    return SOLVE_TRIANGULAR.apply((input, B, bool(upper), bool(left), bool(unitriangular)))


def _triangular_solve_backward(
    grads: Any,
    A: Any,
    result0: Any,
    A_size: Any,
    self_size: Any,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    wanted: list[bool],
) -> Any:
    by_a, by_b = grads[1], None
    if grads[0] is not None:
        by_b = TRIANGULAR_SOLVE.apply((grads[0], conj(A), upper, not transpose, unitriangular))[0]
        if wanted[1]:
            full = -product(conj(result0), mT(by_b)) if transpose else -product(by_b, mH(result0))
            by_a = plus(by_a, sum_to(_triangle(full, upper, unitriangular), A_size))
    return None if by_b is None else sum_to(by_b, self_size), by_a


def _triangular_solve(self: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> tuple[Any, Any]:
    batch = np.broadcast_shapes(self.shape[:-2], A.shape[:-2])
    matrix = np.broadcast_to(A, (*batch, *A.shape[-2:]))
    turned = matrix.swapaxes(-2, -1) if transpose else matrix
    return triangular_kernel(turned, self, upper != transpose, True, unitriangular), matrix.copy()


TRIANGULAR_SOLVE = row(
    "triangular_solve", _triangular_solve, batch="broadcast", tensors="self A", outputs=2, analytic=False
)
TRIANGULAR_SOLVE.joint("self A", _triangular_solve_backward)


@single_in_autocast
def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:
    """The older `solve_triangular`: the solutions and a copy of the coefficients (source: ``torch.triangular_solve``)."""
    if out is not None:
        return into(out, triangular_solve, b, A, upper, transpose, unitriangular)
    need("triangular_solve", "input", b)
    need("triangular_solve", "A", A, 2)
    for name, value in (("b", b), ("A", A)):
        if value.array.ndim < 2:
            raise noted(
                RuntimeError(
                    f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has "
                    f"{value.array.ndim} dimensions instead"
                )
            )
    check_system("triangular_solve", b, A)
    return return_types.triangular_solve(TRIANGULAR_SOLVE.apply((b, A, upper, transpose, unitriangular)))


def check_system(name: str, b: Any, A: Any) -> None:
    """Torch's checks of the older solvers."""
    rows, columns = shape_of(A)[-2:]
    if b.dtype is not A.dtype:
        raise noted(
            RuntimeError(
                f"Expected b and A to have the same dtype, but found b of type {SCALAR_TYPE[b.dtype]} and A of "
                f"type {SCALAR_TYPE[A.dtype]} instead."
            )
        )
    if rows != columns:
        raise noted(RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices"))
    if columns != shape_of(b)[-2]:
        raise noted(
            RuntimeError(
                f"Incompatible matrix sizes for {name}: each A matrix is {rows} by {columns} but each b matrix is "
                f"{shape_of(b)[-2]} by {shape_of(b)[-1]}"
            )
        )
    need_broadcast(shape_of(b)[:-2], shape_of(A)[:-2])
    need_kernel(f"{name}_cpu", A)


# ---------------------------------------------------------------- systems with a Cholesky factor
def _cholesky_solve_backward(
    grad: Any, input2: Any, result: Any, self_size: Any, input2_size: Any, upper: bool, wanted: list[bool]
) -> Any:
    by_b = CHOLESKY_SOLVE.apply((grad, input2, upper))
    by_factor = None
    if wanted[1]:
        common = product(by_b, mH(result))
        common = common + mH(common)
        by_factor = sum_to(-product(input2, common) if upper else -product(common, input2), input2_size)
    return sum_to(by_b, self_size) if wanted[0] else None, by_factor


CHOLESKY_SOLVE = row(
    "cholesky_solve",
    lambda self, input2, upper: kernels.cholesky_solve(self, input2, upper),
    batch="broadcast",
    tensors="self input2",
    analytic=False,
)
CHOLESKY_SOLVE.joint("self input2", _cholesky_solve_backward)


@single_in_autocast
def cholesky_solve(B: Any, L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """X with ``A @ X = B`` from the Cholesky factor of A (source: ``torch.cholesky_solve``)."""
    if out is not None:
        return into(out, cholesky_solve, B, L, upper)
    need("cholesky_solve", "input", B)
    need("cholesky_solve", "input2", L, 2)
    for name, value in (("b", B), ("u", L)):
        if value.array.ndim < 2:
            raise noted(
                RuntimeError(f"{name} should have at least 2 dimensions, but has {value.array.ndim} dimensions instead")
            )
    check_system("cholesky_solve", B, L)
    return CHOLESKY_SOLVE.apply((B, L, bool(upper)))


def _cholesky_inverse_backward(grad: Any, self: Any, result: Any, upper: bool) -> Any:
    common = product(result, grad + mH(grad), result)
    return -product(self, common) if upper else -product(common, self)


CHOLESKY_INVERSE = row(
    "cholesky_inverse",
    lambda self, upper: kernels.cholesky_inverse(self, upper),
    batch="any",
    analytic=False,
    self=_cholesky_inverse_backward,
)


@single_in_autocast
def cholesky_inverse(L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """The inverse of a matrix from its Cholesky factor (source: ``torch.cholesky_inverse``)."""
    if out is not None:
        return into(out, cholesky_inverse, L, upper)
    need("cholesky_inverse", "input", L)
    need_square("cholesky_inverse", L)
    need_kernel("cholesky_inverse_out_cpu", L)
    return CHOLESKY_INVERSE.apply((L, bool(upper)))


FUNCTIONS = ["cholesky_solve", "cholesky_inverse"]
METHODS = {"cholesky_solve": cholesky_solve, "cholesky_inverse": cholesky_inverse}
