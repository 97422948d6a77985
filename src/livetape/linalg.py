"""Linear algebra (source: ``torch.linalg``).

>>> import livetape as torch
>>> torch.linalg.solve(torch.tensor([[3., 1.], [1., 2.]]), torch.tensor([9., 8.]))
tensor([2., 3.])
"""

from __future__ import annotations

from livetape.kernels.matrices import LinAlgError
from livetape.ops.boundary import publish
from livetape.ops.decompositions import cholesky, cholesky_ex, eig, eigh, eigvals, eigvalsh, qr
from livetape.ops.determinants import det, slogdet
from livetape.ops.lu_factors import ldl_factor, ldl_factor_ex, ldl_solve, lu, lu_factor, lu_factor_ex, lu_solve
from livetape.ops.matrix_functions import (
    cross,
    diagonal,
    matrix_exp,
    matrix_power,
    multi_dot,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from livetape.ops.matrix_norms import cond, matrix_norm, norm
from livetape.ops.norms import vector_norm
from livetape.ops.products import matmul
from livetape.ops.reflectors import householder_product
from livetape.ops.singular import lstsq, matrix_rank, pinv, svd, svdvals
from livetape.ops.solving import inv, inv_ex, solve, solve_ex, solve_triangular

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
publish(globals(), __all__, "livetape.linalg", "linalg_")
