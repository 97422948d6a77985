"""Samples of ops/reduce.py and ops/norms.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_rng = rng(11)


def _n(*shape: int) -> Any:
    return np.asarray(_rng.standard_normal(shape))


def _c(*shape: int) -> Any:
    return np.asarray(_rng.standard_normal(shape) + 1j * _rng.standard_normal(shape))


def _with_zeros(*shape: int) -> Any:
    x = _n(*shape)
    x[_rng.random(shape) < 0.3] = 0.0
    return x


def _with_nan(*shape: int) -> Any:
    x = _n(*shape)
    x[_rng.random(shape) < 0.3] = np.nan
    return x


_ALL = [_n(3, 4), _n(), _n(0), _n(4, 3).T, _n(2, 3, 4)[:, ::2]]
_DIMS: list[tuple[Any, dict[str, Any]]] = [
    (_n(3, 4), {"dim": 0}),
    (_n(3, 4), {"dim": -1, "keepdim": True}),
    (_n(2, 3, 4), {"dim": (0, 2)}),
    (_n(), {"dim": 0}),
    (_n(0, 3), {"dim": 0}),
    (_n(4, 3).T, {"dim": 1}),
    (_n(2, 3, 2), {"dim": (1,), "keepdim": True}),
    (_n(3, 2), {"dim": ()}),
]
_ONE_DIM = [(x, k) for x, k in _DIMS if not isinstance(k["dim"], tuple)]
_MOMENTS = [(x, k) for x, k in _DIMS if x.size > 1]

SAMPLES: list[Sample] = [
    *[Sample("sum", "sum", (x,)) for x in [*_ALL, _c(3)]],
    Sample("sum.dtype", "sum", (_n(3),), {"dtype": None}, grad=False),
    *[Sample("sum.dim", "sum", (x,), k) for x, k in [*_DIMS, (_c(3, 2), {"dim": 0})]],
    *[Sample("nansum", "nansum", (x,)) for x in _ALL],
    *[Sample("nansum", "nansum", (x,), k) for x, k in _DIMS],
    Sample("nansum", "nansum", (_with_nan(3, 4),), {"dim": 1}, grad=False),
    *[Sample("mean", "mean", (x,)) for x in [_n(3, 4), _n(), _n(4, 3).T, _c(3)]],
    Sample("mean.dtype", "mean", (_n(3),), {"dtype": None}, grad=False),
    *[Sample("mean.dim", "mean", (x,), k) for x, k in [*_MOMENTS, (_c(3, 2), {"dim": 0})]],
    Sample("nansum", "nanmean", (_n(3, 4),), {"dim": 0}),
    *[Sample("prod", "prod", (x,)) for x in [_n(3, 2), _n(), _n(0), _n(3, 2).T, _c(3), _with_zeros(5), np.zeros(3)]],
    *[
        Sample("prod.dim", "prod", (x,), k)
        for x, k in [*_ONE_DIM, (_with_zeros(3, 5), {"dim": 1}), (_c(3, 2), {"dim": 0})]
    ],
    *[
        Sample(f, f, (x,), k, grad=False)
        for f in ("all", "any")
        for x, k in [(_with_zeros(3, 4), {}), *_DIMS, (_c(3), {})]
    ],
    *[
        Sample("count_nonzero", "count_nonzero", (x,), k, grad=False)
        for x, k in [
            (_with_zeros(3, 4), {}),
            (_with_zeros(3, 4), {"dim": (0, 1)}),
            (_with_zeros(3, 4), {"dim": 1}),
            (_n(0), {}),
            (_n(), {}),
        ]
    ],
    *[Sample("reduce.spread", "sum", (x,), k) for x, k in _DIMS[:3]],
    *[Sample("reduce.reshape", "amax", (x,), k) for x, k in _DIMS[:3]],
    # ------------------------------------------------------------ norms
    *[
        Sample(f, f, (x,), k)
        for f in ("var", "std")
        for x, k in [
            *_MOMENTS,
            (_n(3, 4), {}),
            (_n(3, 4), {"correction": 0}),
            (_n(2, 5), {"dim": 1, "unbiased": False}),
            (_c(4), {}),
            (_n(4, 3).T, {"correction": 0.5}),
        ]
    ],
    *[
        Sample(f, f, (x,), k)
        for f in ("var_mean", "std_mean")
        for x, k in [
            (_n(3, 4), {}),
            (_n(3, 4), {"dim": 1, "keepdim": True}),
            (_n(3, 4), {"dim": (0, 1), "correction": 0}),
            (_c(4), {}),
        ]
    ],
    *[
        Sample("linalg_vector_norm", "norm", (x, p), k)
        for p in (2, 1, 3, 0.5, 1.5, 4, -1, -2.5)
        for x, k in [
            (_n(3, 4), {}),
            (_n(3, 4), {"dim": 1}),
            (_n(2, 3, 2), {"dim": (0, 2), "keepdim": True}),
            (_n(), {}),
            (_n(4, 3).T, {}),
            (_c(4), {}),
        ]
    ],
    *[
        Sample("linalg_vector_norm", "norm", (x, p), k)
        for p in (0, float("inf"), -float("inf"))
        for x, k in [(_n(3, 4), {}), (_n(3, 4), {"dim": 1}), (_c(4), {})]
    ],
    Sample("linalg_vector_norm", "norm", (_n(0),)),
    Sample("linalg_vector_norm", "norm", (np.zeros(3),), grad=False),
    Sample("vector_norm_shares", "norm", (_n(3, 4), float("inf")), {"dim": 0}),
    *[
        Sample("dist", "dist", (a, b, p))
        for p in (2, 1, 3, float("inf"))
        for a, b in [(_n(3, 4), _n(3, 4)), (_n(3, 1), _n(4)), (_n(), _n(2)), (_n(4, 3).T, _n(3, 4))]
    ],
    Sample("dist", "dist", (_c(3), _c(3))),
    Sample("dist", "dist", (_n(0), _n(0))),
    *[Sample("logsumexp", "logsumexp", (x,), k) for x, k in [*_DIMS, (_c(3, 2), {"dim": 0})]],
]
