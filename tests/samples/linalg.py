"""Samples of linear algebra: matrices well away from singular ones, and values that do not depend on choices of sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(31)


def _n(*shape: int) -> Any:
    return np.asarray(_g.standard_normal(shape))


def _c(*shape: int) -> Any:
    return np.asarray(_g.standard_normal(shape) + 1j * _g.standard_normal(shape))


def _square(*shape: int, make: Any = _n) -> Any:
    """Matrices whose singular values lie between 1 and 2."""
    u, s, vh = np.linalg.svd(make(*shape), full_matrices=False)
    return (u * np.linspace(2, 1, s.shape[-1])) @ vh


def _positive(*shape: int, make: Any = _n) -> Any:
    x = _square(*shape, make=make)
    return x @ x.conj().swapaxes(-2, -1)


def _diagonal_heavy(*shape: int, make: Any = _n) -> Any:
    """Matrices whose largest elements stand on the diagonal, well apart, so that no small change makes other pivots."""
    n = shape[-1]
    return 0.1 * make(*shape) + np.eye(*shape[-2:]) * np.linspace(1, 2, n)


_SQUARES = [
    _square(3, 3),
    _square(1, 1),
    _square(2, 3, 3),
    _n(0, 0),
    _n(2, 0, 0),
    _n(0, 3, 3),
    _square(4, 4).T,
    _square(3, 3, make=_c),
    _square(2, 2, 2, make=_c),
]
_RIGHT = [_n(3, 2), _n(1, 1), _n(2, 3, 2), _n(0, 2), _n(2, 0, 1), _n(0, 3, 2), _n(4, 3), _c(3, 2), _c(2, 2, 1)]
_TRIANGLES = [np.tril(a) + np.eye(a.shape[-1]) for a in _SQUARES]
_ANY = [
    _square(4, 3),
    _square(3, 4),
    _square(3, 3),
    _square(2, 3, 2),
    _square(4, 4)[:, 1:].T,
    _n(0, 3),
    _n(3, 0),
    _square(4, 2, make=_c),
    _square(2, 4, make=_c),
]
_PLAIN = [s for s in _ANY if s.size]
_POSITIVE = [_positive(3, 3), _positive(2, 2, 2), _positive(1, 1), _n(0, 0), _positive(3, 3, make=_c)]


def _lu(a: Any) -> tuple[Any, Any]:
    """Packed factors of a matrix that needs no exchanges, and the exchanges, which make some nevertheless."""
    packed = _diagonal_heavy(*a.shape, make=_c if a.dtype.kind == "c" else _n)
    pivots = np.broadcast_to(np.array([2, 2, 3, 4][: a.shape[-1]], np.int32), a.shape[:-1]).copy()
    return packed, pivots


SAMPLES: list[Sample] = [
    # inverses, determinants, systems
    *[Sample("linalg_inv_ex", "linalg.inv", (a,)) for a in _SQUARES],
    Sample("linalg_inv_ex", "inverse", (_SQUARES[0],)),
    Sample("linalg_inv_ex", "linalg.tensorinv", (_square(4, 4).reshape(4, 2, 2),), {"ind": 1}),
    *[Sample("linalg_det", "linalg.det", (a,)) for a in _SQUARES],
    Sample("linalg_det", "det", (np.diag([1.0, 2.0, 0.0]),)),  # singular
    Sample("linalg_det", "det", (np.stack((np.diag([1.0, 2.0, 0.0]), _square(3, 3))),)),
    *[Sample("linalg_slogdet", "linalg.slogdet", (a,)) for a in _SQUARES if a.size],
    Sample("linalg_slogdet", "logdet", (_positive(3, 3),)),
    *[Sample("linalg_solve_ex", "linalg.solve", p) for p in zip(_SQUARES, _RIGHT)],
    Sample("linalg_solve_ex", "linalg.solve", (_SQUARES[0], _n(2, 3)), {"left": False}),
    Sample("linalg_solve_ex", "linalg.solve", (_SQUARES[0], _n(2, 3, 2))),
    Sample("linalg_solve_ex", "linalg.tensorsolve", (_square(6, 6).reshape(2, 3, 6), _n(2, 3))),
    *[
        Sample("linalg_solve_ex.vector", "linalg.solve", p)
        for p in [(_SQUARES[0], _n(3)), (_SQUARES[2], _n(2, 3)), (_SQUARES[2], _n(3))]
    ],
    *[
        Sample("linalg_solve_triangular", "linalg.solve_triangular", p, {"upper": False})
        for p in zip(_TRIANGLES, _RIGHT)
    ],
    *[
        Sample("linalg_solve_triangular", "linalg.solve_triangular", (_TRIANGLES[0], b), k)
        for b, k in [
            (_n(3, 2), {"upper": True}),
            (_n(2, 3), {"upper": False, "left": False}),
            (_n(2, 3, 2), {"upper": False}),
            (_n(3, 2), {"upper": False, "unitriangular": True}),
        ]
    ],
    Sample(
        "linalg_solve_triangular",
        "linalg.solve_triangular",
        (np.tril(_diagonal_heavy(40, 40)), _n(40, 1)),
        {"upper": False},
        gradgrad=False,
    ),
    *[
        Sample("triangular_solve", "triangular_solve", (_n(3, 2), _TRIANGLES[0]), k)
        for k in ({"upper": False}, {"upper": False, "transpose": True}, {"upper": False, "unitriangular": True})
    ],
    Sample("triangular_solve", "triangular_solve", (_c(3, 2), _TRIANGLES[7]), {"upper": False, "transpose": True}),
    *[Sample("cholesky_solve", "cholesky_solve", (b, a), grad=False) for a, b in zip(_TRIANGLES, _RIGHT)],
    Sample("cholesky_solve", "cholesky_solve", (_n(3, 2), _TRIANGLES[0].T), {"upper": True}, grad=False),
    *[Sample("cholesky_inverse", "cholesky_inverse", (a,), grad=False) for a in _TRIANGLES],
    Sample("cholesky_inverse", "cholesky_inverse", (_TRIANGLES[0].T,), {"upper": True}, grad=False),
    # decompositions
    *[
        Sample("linalg_cholesky_ex", "linalg.cholesky", (a,), k, grad=False)
        for a in _POSITIVE
        for k in ({}, {"upper": True})
    ],
    Sample("cholesky", "cholesky", (_POSITIVE[0],), grad=False),
    Sample("cholesky", "cholesky", (_POSITIVE[4],), {"upper": True}, grad=False),
    *[Sample("linalg_qr", "linalg.qr", (a,)) for a in _ANY],
    Sample("linalg_qr", "linalg.qr", (_square(3, 3),), {"mode": "complete"}),
    Sample("linalg_qr", "qr", (_square(3, 2),)),
    *[Sample("linalg_svd", "linalg.svdvals", (a,)) for a in _ANY],
    Sample("linalg_svd", "norm", (_square(3, 2), "nuc")),
    *[Sample("linalg_eigh", "linalg.eigvalsh", (a,), grad=False) for a in _POSITIVE],
    Sample("repeated_limit", "linalg.eigvalsh", (np.diag([2.0, 2.0, 3.0]),), grad=False),  # met in gradients alone
    Sample("lobpcg", "lobpcg", (_positive(7, 7), 1), {"tol": 1e-9}, grad=False, gradgrad=False),
    *[
        Sample("linalg_eig", "linalg.eigvals", (_diagonal_heavy(*s, make=m),))
        for s, m in (((3, 3), _n), ((2, 2, 2), _n), ((3, 3), _c))
    ],
    *[
        Sample("linalg_lu", "linalg.lu", (_diagonal_heavy(*s, make=m),))
        for s, m in (((3, 3), _n), ((2, 3, 3), _n), ((4, 3), _n), ((3, 4), _n), ((3, 3), _c), ((0, 3), _n))
    ],
    Sample("linalg_lu", "linalg.lu", (_diagonal_heavy(3, 3)[::-1].copy(),)),
    *[
        Sample("linalg_lu_factor_ex", "linalg.lu_factor", (_diagonal_heavy(*s, make=m),))
        for s, m in (((3, 3), _n), ((2, 3, 3), _n), ((4, 3), _n), ((3, 4), _n), ((3, 3), _c))
    ],
    *[
        Sample("lu_unpack", "lu_unpack", (a, np.broadcast_to(np.array([2, 2, 3], np.int32), (*a.shape[:-2], 3)).copy()))
        for a in (_n(3, 3), _n(4, 3), _n(3, 4), _c(2, 3, 3))
    ],
    *[
        Sample("linalg_lu_solve", "linalg.lu_solve", (*_lu(a), b), k)
        for a, b, k in [
            (_n(3, 3), _n(3, 2), {}),
            (_n(3, 3), _n(3, 2), {"adjoint": True}),
            (_n(3, 3), _n(2, 3), {"left": False}),
            (_n(2, 3, 3), _n(3, 2), {}),
            (_c(3, 3), _c(3, 2), {"adjoint": True}),
            (_c(3, 3), _c(2, 3), {"left": False, "adjoint": True}),
        ]
    ],
    *[Sample("linalg_ldl_factor_ex", "linalg.ldl_factor", (a,), grad=False) for a in _POSITIVE],
    Sample("linalg_ldl_solve", "linalg.ldl_solve", (np.eye(3), np.arange(1, 4, dtype=np.int32), _n(3, 2)), grad=False),
    Sample("geqrf", "geqrf", (_square(4, 3),), grad=False),
    # pseudoinverses, ranks, least squares
    *[Sample("linalg_pinv", "linalg.pinv", (a,)) for a in _ANY],
    Sample("linalg_pinv", "pinverse", (_ANY[0],)),
    Sample("linalg_pinv", "linalg.pinv", (_POSITIVE[0],), {"hermitian": True}, grad=False),
    *[Sample("linalg_matrix_rank", "linalg.matrix_rank", (a,)) for a in (*_ANY, np.ones((3, 2)))],
    *[
        Sample("linalg_lstsq", "linalg.lstsq", (a, b), {"driver": d}, gradgrad=False)
        for d in ("gelsy", "gelsd", "gels")
        for a, b in [
            (_square(4, 2), _n(4, 3)),
            (_square(2, 4), _n(2, 1)),
            (_square(2, 4, 2), _n(2, 4, 1)),
            (_square(2, 4, 2), _n(2, 4)),
            (_square(3, 2, make=_c), _c(3, 2)),
        ]
    ],
    # reflections
    *[
        Sample("linalg_householder_product", "linalg.householder_product", p)
        for p in [(_n(4, 3), _n(3)), (_n(3, 3), _n(2)), (_n(2, 3, 2), _n(2, 2)), (_c(3, 2), _c(2)), (_n(3, 2), _n(0))]
    ],
    *[
        Sample("ormqr", "ormqr", (a, t, o), k)
        for a, t, o in [(_n(4, 3), _n(3), _n(4, 2)), (_c(3, 2), _c(2), _c(3, 2))]
        for k in ({}, {"transpose": True})
    ],
    *[
        Sample("ormqr", "ormqr", (_n(4, 3), _n(3), _n(2, 4)), k)
        for k in ({"left": False}, {"left": False, "transpose": True})
    ],
    # functions of matrices
    *[Sample("linalg_matrix_exp", "linalg.matrix_exp", (a,)) for a in _SQUARES],
    Sample("linalg_matrix_exp", "matrix_exp", (20 * _square(2, 2),), gradgrad=False),
    *[Sample("mm", "linalg.matrix_power", (_square(3, 3), n)) for n in (0, 1, 2, 3, 5, -2)],
    Sample("mm", "linalg.multi_dot", ([_n(2, 3), _n(3, 4), _n(4, 1)],)),
    *[
        Sample("linalg_cross", "linalg.cross", p)
        for p in [(_n(3), _n(3)), (_n(2, 3), _n(1, 3)), (_n(0, 3), _n(0, 3)), (_c(3), _c(3))]
    ],
    Sample("linalg_cross", "linalg.cross", (_n(3, 2), _n(3, 2)), {"dim": 0}),
    *[Sample("sum.dim", "linalg.vecdot", p) for p in [(_n(2, 3), _n(2, 3)), (_c(2, 3), _c(3))]],
    Sample("linalg_vector_norm", "linalg.matrix_norm", (_n(3, 2),)),
    *[
        Sample("linalg_vector_norm", "linalg.matrix_norm", (_n(2, 3, 2), o), k)
        for o in (1, -1, float("inf"), float("-inf"), 2, -2, "nuc")
        for k in ({}, {"dim": (0, 1), "keepdim": True})
    ],
    *[Sample("linalg_svd", "linalg.cond", (_square(3, 3), p)) for p in (None, 1, -2, "fro", "nuc")],
    Sample("linalg_vector_norm", "linalg.norm", (_n(3, 2), 2)),
    Sample("cumprod", "linalg.vander", (_n(2, 3),)),
]
