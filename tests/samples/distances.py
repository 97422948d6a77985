"""Samples of ops/distances.py and ops/covariance.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(32)


def _n(*shape: int) -> Any:
    return np.asarray(_g.standard_normal(shape))


_INF = float("inf")
_PAIRS = [
    (_n(3, 2), _n(4, 2)),
    (_n(2, 3, 2), _n(1, 2, 2)),
    (_n(0, 2), _n(3, 2)),
    (_n(2, 0), _n(3, 0)),
    (_n(2, 3).T, _n(2, 2)),
]

SAMPLES: list[Sample] = [
    *[Sample("cdist", "cdist", p, {"p": k}) for p in _PAIRS for k in (1.0, 1.5, 2.0, 3.0, _INF)],
    Sample("cdist", "cdist", _PAIRS[0], {"p": 0.0}),
    Sample("cdist_backward", "cdist", _PAIRS[0]),  # reached through the gradient
    *[
        Sample("euclidean_dist", "cdist", p, {"compute_mode": "use_mm_for_euclid_dist"})
        for p in (*_PAIRS[:2], _PAIRS[4])
    ],
    *[
        Sample(key, "pdist", (x,), {"p": k})
        for key in ("pdist", "pdist_square", "pdist_above")
        for x in (_n(4, 2), _n(2, 3))
        for k in (1.0, 2.0, 3.0)
    ],
    Sample("pdist", "pdist", (_n(1, 2),)),
    Sample("pdist", "pdist", (_n(3, 0),)),
    Sample("pdist", "pdist", (_n(3, 2),), {"p": _INF}),
    *[Sample("renorm", "renorm", (_n(3, 4), p, d, 1.5)) for p in (1, 2, 3) for d in (0, -1)],
    Sample("renorm", "renorm", (_n(2, 3, 2), 2, 1, 0.5)),
    Sample("renorm", "renorm", (_n(0, 3), 2, 1, 0.5)),
    Sample("renorm", "renorm", (_n(3, 2) + 1j * _n(3, 2), 2, 0, 0.5)),
    *[
        Sample("weight_norm_interface", "_weight_norm", p)
        for p in [(_n(3, 2), _n(3, 1), 0), (_n(3, 2), _n(1, 2), 1), (_n(3, 2, 2), _n(3, 1, 1), 0)]
    ],
    Sample("norm.dim", "_weight_norm", (_n(2, 3, 2), _n(1, 3, 1), 1)),
    Sample("norm", "norm_except_dim", (_n(2, 3), 2, -1)),
    *[Sample("norm.dim", "norm_except_dim", (_n(2, 3, 2), p, d)) for p in (1, 2) for d in (0, 1, 2)],
    Sample("norm.dim", "nn.functional.pairwise_distance", (_n(3, 2), _n(3, 2))),
    *[Sample("mm", "cov", (x,), k) for x in (_n(2, 4), _n(4)) for k in ({}, {"correction": 0})],
    Sample("mm", "cov", (_n(2, 3),), {"fweights": np.array([1, 2, 1]), "aweights": np.array([0.5, 1.0, 2.0])}),
    Sample("mm", "corrcoef", (_n(2, 4),), gradgrad=False),
]
