"""Samples of ops/scan.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_rng = rng(13)


def _n(*shape: int) -> Any:
    return np.asarray(_rng.standard_normal(shape))


def _c(*shape: int) -> Any:
    return np.asarray(_rng.standard_normal(shape) + 1j * _rng.standard_normal(shape))


def _with_zeros(*shape: int) -> Any:
    x = _n(*shape)
    x[_rng.random(shape) < 0.4] = 0.0
    return x


_ANY = [(_n(3, 4), 0), (_n(3, 4), -1), (_n(), 0), (_n(0), 0), (_n(2, 0), 1), (_n(4, 3).T, 1), (_n(1, 3), 0)]
_COMPLEX = [(_c(3), 0), (_c(2, 3), 1)]

SAMPLES: list[Sample] = [
    *[Sample("cumsum", "cumsum", p) for p in [*_ANY, *_COMPLEX]],
    *[Sample("cumprod", "cumprod", p) for p in [*_ANY, *_COMPLEX, (_with_zeros(5), 0), (_with_zeros(3, 5), 1)]],
    *[Sample("scan.cumsum_reversed", "cumsum", p) for p in _ANY[:2]],
    *[Sample(key, "cumprod", (_with_zeros(4), 0)) for key in ("scan.recurrence", "scan.exclusive")],
    Sample("scan.shift", "prod", (_with_zeros(4),)),
    *[Sample(f, f, p) for f in ("cummax", "cummin") for p in _ANY],
    *[Sample("logcumsumexp", "logcumsumexp", p) for p in [*_ANY, (_c(3), 0)]],
    *[Sample("cumsum", "cumulative_trapezoid", (_n(3, 4),), k) for k in ({}, {"dx": 0.5}, {"dim": 0})],
    Sample("cumsum", "cumulative_trapezoid", (_n(3, 4), _n(4))),
    *[Sample("sum.dim", "trapezoid", (_n(3, 4),), k) for k in ({}, {"dx": 0.5}, {"dim": 0})],
    Sample("sum.dim", "trapezoid", (_n(3, 4), _n(4))),
    *[
        Sample("sub", "diff", (_n(3, 4),), k)
        for k in ({}, {"n": 2}, {"dim": 0}, {"prepend": _n(3, 1), "append": _n(3, 2)})
    ],
]
