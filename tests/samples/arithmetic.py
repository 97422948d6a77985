"""Samples of ops/arithmetic.py and ops/powers.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(1)


def _n(*shape: int) -> Any:
    return _g.normal(size=shape)


def _p(*shape: int) -> Any:
    return _g.uniform(0.5, 2.0, size=shape)


def _c(*shape: int) -> Any:
    return _g.normal(size=shape) + 1j * _g.normal(size=shape)


def _pairs(make: Any, other: Any) -> list[tuple[Any, Any]]:
    """Two tensors: equal shapes, broadcast both ways, 0-d, empty, not contiguous."""
    return [
        (make(3, 4), other(3, 4)),
        (make(3, 1), other(1, 4)),
        (make(4), other(2, 3, 4)),
        (make(), other(3)),
        (make(), other()),
        (make(0, 3), other(0, 3)),
        (make(4, 3).T, other(3, 8)[:, ::2]),
    ]


SAMPLES: list[Sample] = [
    *[Sample("add", "add", p) for p in [*_pairs(_n, _n), (_n(3), 2.5), (_n(), 2), (_c(3), _c(3)), (_c(3), _n(3))]],
    *[Sample("add.alpha", "add", p, {"alpha": 0.5}) for p in _pairs(_n, _n)],
    *[Sample("sub", "sub", p) for p in [*_pairs(_n, _n), (_n(3), 2.5), (_c(2, 2), _c(2))]],
    *[Sample("sub.alpha", "sub", p, {"alpha": 3}) for p in _pairs(_n, _n)],
    *[Sample("rsub", "rsub", p) for p in _pairs(_n, _n)],
    Sample("rsub", "rsub", (_n(3), _n(3)), {"alpha": 2.0}),
    *[Sample("rsub.number", "rsub", (x, 2.0)) for x in (_n(3), _n(), _n(0), _n(4, 3).T)],
    *[Sample("mul", "mul", p) for p in [*_pairs(_n, _n), (_n(3), -2.0), (_n(), 3), (_c(3), _c(3)), (_c(3), _n(3))]],
    *[Sample("div", "div", p) for p in [*_pairs(_n, _p), (_n(3), -2.0), (_c(3), _c(3) + 2), (_n(3), _c(3) + 2)]],
    *[
        Sample("div.mode", "div", p, {"rounding_mode": m}, gradgrad=False)
        for p in [(_n(3, 4), _p(3, 4)), (_n(3), 0.7)]
        for m in ("floor", "trunc")
    ],
    *[
        Sample("floor_divide", "floor_divide", p, grad=False)
        for p in [(_n(3, 4), _p(3, 4)), (_n(3), 0.7), (_n(), _p(2))]
    ],
    *[Sample("reciprocal", "reciprocal", (x,)) for x in (_p(3, 4), _p(), _p(0), _p(4, 3).T, _c(3) + 2)],
    *[Sample("neg", "neg", (x,)) for x in (_n(3, 4), _n(), _n(0), _n(4, 3).T, _c(3))],
    *[Sample("remainder", "remainder", p) for p in [(_n(3, 4), _p(3, 4)), (_n(3, 1), _p(4)), (_n(), _p())]],
    *[Sample("remainder.number", "remainder", (x, 0.7)) for x in (_n(3, 4), _n(), _n(0))],
    *[Sample("fmod", "fmod", p) for p in [(_n(3, 4), _p(3, 4)), (_n(3, 1), _p(4)), (_n(), _p())]],
    *[Sample("fmod.number", "fmod", (x, 0.7)) for x in (_n(3, 4), _n(), _n(0))],
    *[Sample("pow.number", "pow", (_p(3, 4), e)) for e in (2, 3.5, -1, 0, 0.5, 1, -2.5)],
    Sample("pow.number", "pow", (_n(3), 2)),
    Sample("pow.number", "pow", (_n(), 3)),
    Sample("pow.number", "pow", (_n(0), 2)),
    Sample("pow.number", "pow", (_c(3), 2)),
    Sample("pow.number", "pow", (_c(3), 1.5)),
    *[Sample("pow", "pow", p) for p in [*_pairs(_p, _n), (_c(3) + 2, _c(3))]],
    *[Sample("pow.base", "pow", (2.5, x), inplace=False) for x in (_n(3, 4), _n(), _n(0))],
    *[Sample("square", "square", (x,)) for x in (_n(3, 4), _n(), _n(0), _c(3))],
    # reached through the gradient of a power
    *[Sample("pow.where", "pow", (_p(3), np.array([0.0, 1.0, 2.0])), gradgrad=False)],
    *[Sample("pow.log", "pow", p) for p in [(_p(3), _n(3)), (_p(3, 1), _n(4))]],
]
