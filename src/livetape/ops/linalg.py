"""What torch itself has of linear algebra: older names of what ``torch.linalg`` holds.

The operations stand in solving.py, determinants.py, decompositions.py, singular.py, lu_factors.py and matrix_functions.py.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape import return_types
from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of, wrap
from livetape.ops import decompositions, determinants, matrix_functions, singular, solving
from livetape.ops import lu_factors as factors
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.dims import as_int, is_integer
from livetape.ops.distances import plain_norm
from livetape.ops.matrices import mH, need, need_kernel, need_square
from livetape.ops.table import into

_warned: set[str] = set()


def _deprecated(name: str, message: str) -> None:
    """Torch's warning, once."""
    if name not in _warned:
        _warned.add(name)
        warnings.warn(message, UserWarning, stacklevel=3)


def _replaced(name: str, better: str, rest: str) -> str:
    return f"torch.{name} is deprecated in favor of {better} and will be removed in a future PyTorch release.\n{rest}"


def _need_bool(name: str, argument: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise noted(TypeError(f"{name}(): argument '{argument}' must be bool, not {type(value).__name__}"))


# ---------------------------------------------------------------- determinants and inverses
def det(input: Any) -> Any:
    """The determinants of square matrices (source: ``torch.det``).

    >>> import livetape as torch
    >>> torch.det(torch.tensor([[2., 0.], [1., 4.]]))
    tensor(8.)
    """
    need("det", "input", input)
    return determinants.det(input)


def slogdet(input: Any, *, out: Any = None) -> Any:
    """The signs of determinants and the logarithms of their sizes (source: ``torch.slogdet``)."""
    if out is not None:
        return into(out, slogdet, input)
    need("slogdet", "input", input)
    return return_types.slogdet(determinants.sign_and_log("linalg.slogdet", input))


@single_in_autocast
def inverse(input: Any, *, out: Any = None) -> Any:
    """The inverses of square matrices (source: ``torch.inverse``).

    >>> import livetape as torch
    >>> torch.inverse(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    need("inverse", "input", input)
    return solving.inv(input, out=out)


@single_in_autocast
def pinverse(input: Any, rcond: Any = 1e-15) -> Any:
    """The pseudoinverses of matrices (source: ``torch.pinverse``)."""
    need("pinverse", "input", input)
    return singular.pseudoinverse(input, None, rcond, False)


# ---------------------------------------------------------------- decompositions
@single_in_autocast
def cholesky(input: Any, upper: bool = False, *, out: Any = None) -> Any:
    """Cholesky factors, see `livetape.linalg.cholesky` (source: ``torch.cholesky``)."""
    if out is not None:
        return into(out, cholesky, input, upper)
    need("cholesky", "input", input)
    _deprecated(
        "cholesky",
        _replaced(
            "cholesky",
            "torch.linalg.cholesky",
            "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
            "U = torch.cholesky(A, upper=True)\nshould be replaced with\n"
            "U = torch.linalg.cholesky(A).mH",
        ),
    )
    need_square("cholesky", input)
    need_kernel("cholesky_cpu", input)
    return decompositions.CHOLESKY_OLD.apply((input, bool(upper)))


@single_in_autocast
def qr(input: Any, some: bool = True, *, out: Any = None) -> Any:
    """Q and R, see `livetape.linalg.qr`; ``some`` is its mode "reduced", else "complete" (source: ``torch.qr``)."""
    if out is not None:
        return into(out, qr, input, some)
    need("qr", "input", input)
    _need_bool("qr", "some", some)
    _deprecated(
        "qr",
        _replaced(
            "qr",
            "torch.linalg.qr",
            "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
            "Q, R = torch.qr(A, some)\nshould be replaced with\n"
            "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')",
        ),
    )
    return return_types.qr(decompositions.q_and_r(input, "reduced" if some else "complete"))


@single_in_autocast
def svd(input: Any, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """U, S and V with ``A = U @ diag(S) @ V^H``, see `livetape.linalg.svd` (source: ``torch.svd``)."""
    if out is not None:
        return into(out, svd, input, some, compute_uv)
    need("svd", "input", input)
    _need_bool("svd", "some", some)
    _need_bool("svd", "compute_uv", compute_uv)
    if input.array.ndim < 2:
        raise noted(
            RuntimeError(
                f"linalg.svd: input should have at least 2 dimensions, but has {input.array.ndim} dimensions instead"
            )
        )
    singular.check_svd(input)
    if compute_uv:
        U, S, Vh = singular.decomposed(input, not some)
        return return_types.svd((U, S, mH(Vh)))
    *batch, m, n = shape_of(input)
    kind = input.dtype
    U, V = [wrap(np.zeros((*batch, k, k), kind.np), kind, None) for k in (m, n)]
    return return_types.svd((U, singular.singular_values(input), V))


def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Packed LU factors and row exchanges, see `livetape.linalg.lu_factor`; with ``get_infos`` also where U's diagonal is 0.

    Source: ``torch.lu``.
    """
    if out is not None:
        return into(out, lu, A, pivot, get_infos)
    need("_lu_with_info", "input", A)
    _deprecated(
        "lu",
        _replaced(
            "lu",
            "torch.linalg.lu_factor / torch.linalg.lu_factor_ex",
            "LU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
            "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
            "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
            "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
        ),
    )
    found = factors.packed(A, pivot)
    return return_types._lu_with_info(found) if get_infos else tuple(found[:2])


@single_in_autocast
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Any:
    """As `livetape.linalg.lu_solve`, with the right-hand sides first (source: ``torch.lu_solve``)."""
    if out is not None:
        return into(out, lu_solve, b, LU_data, LU_pivots)
    for at, (argument, value) in enumerate((("input", b), ("LU_data", LU_data), ("LU_pivots", LU_pivots))):
        need("lu_solve", argument, value, at + 1)
    _deprecated(
        "lu_solve",
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future "
        "PyTorch release.\nNote that torch.linalg.lu_solve has its arguments reversed.\n"
        "X = torch.lu_solve(B, LU, pivots)\nshould be replaced with\n"
        "X = torch.linalg.lu_solve(LU, pivots, B)",
    )
    return factors.lu_solve(LU_data, LU_pivots, b)


@single_in_autocast
def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:
    """As `livetape.linalg.solve_triangular`, with the right-hand sides first; also returns a copy of the coefficients.

    Source: ``torch.triangular_solve``.
    """
    if out is not None:
        return into(out, triangular_solve, b, A, upper, transpose, unitriangular)
    need("triangular_solve", "input", b)
    need("triangular_solve", "A", A, 2)
    _deprecated(
        "triangular_solve",
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will "
        "be removed in a future PyTorch release.\ntorch.linalg.solve_triangular has its "
        "arguments reversed and does not return a copy of one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B).",
    )
    return solving.triangular_solve(b, A, upper, transpose, unitriangular)


# ---------------------------------------------------------------- functions of matrices and vectors
def matrix_power(input: Any, n: Any, *, out: Any = None) -> Any:
    """The n-th powers of square matrices (source: ``torch.matrix_power``)."""
    need("matrix_power", "input", input)
    if not is_integer(n):
        raise noted(TypeError(f"matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}"))
    return matrix_functions.matrix_power(input, as_int(n), out=out)


def matrix_exp(input: Any) -> Any:
    """The exponentials of square matrices (source: ``torch.matrix_exp``)."""
    need("matrix_exp", "input", input)
    return matrix_functions.matrix_exp(input)


def cross(input: Any, other: Any, dim: Any = None, *, out: Any = None) -> Any:
    """The vectors orthogonal to two vectors along ``dim``, by default the first dimension of size 3.

    Source: ``torch.cross``.
    """
    need("cross", "input", input)
    need("cross", "other", other, 2)
    if dim is not None:
        if not is_integer(dim):
            raise noted(TypeError(f"cross(): argument 'dim' must be int, not {type(dim).__name__}"))
        return matrix_functions.cross(input, other, dim=as_int(dim), out=out)
    if input.array.ndim != other.array.ndim:
        raise noted(RuntimeError("linalg.cross: inputs must have the same number of dimensions."))
    _deprecated(
        "cross",
        "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim "
        "explicitly or simply use torch.linalg.cross.\nThe default value of dim will change to agree with "
        "that of linalg.cross in a future release.",
    )
    size = shape_of(input)
    if 3 not in size:
        raise noted(RuntimeError("no dimension of size 3 in input"))
    return matrix_functions.cross(input, other, dim=size.index(3), out=out)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of several matrices, see `livetape.linalg.multi_dot` (source: ``torch.chain_matmul``)."""
    _deprecated(
        "chain_matmul",
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, "
        "which accepts a list of two or more tensors rather than multiple parameters.",
    )
    if not matrices:
        raise noted(RuntimeError("chain_matmul(): Expected one or more matrices"))
    if len(matrices) == 1:
        return matrices[0]
    return matrix_functions.multi_dot(list(matrices), out=out)


def frobenius_norm(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """The roots of sums of squares over one dimension or two (source: ``torch.frobenius_norm``)."""
    if out is not None:
        return into(out, frobenius_norm, input, dim, keepdim)
    count = 1 if is_integer(dim) else len(dim)
    if count > 2:
        raise noted(RuntimeError(f"Expected at most 2 dimensions, but got {count} dimensions instead."))
    return plain_norm(input, 2, dim, keepdim)


FUNCTIONS = [
    "chain_matmul",
    "frobenius_norm",
    "det",
    "slogdet",
    "inverse",
    "pinverse",
    "cholesky",
    "qr",
    "svd",
    "lu",
    "lu_solve",
    "triangular_solve",
    "matrix_power",
    "matrix_exp",
    "cross",
]
METHODS = {
    "det": det,
    "slogdet": slogdet,
    "inverse": inverse,
    "pinverse": pinverse,
    "cholesky": cholesky,
    "qr": qr,
    "svd": svd,
    "lu": lu,
    "lu_solve": lu_solve,
    "triangular_solve": triangular_solve,
    "matrix_power": matrix_power,
    "matrix_exp": matrix_exp,
    "cross": cross,
}
