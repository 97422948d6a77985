"""Samples of ops/combine.py, ops/blends.py and ops/complexes.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(4)


def _n(*shape: int) -> Any:
    return _g.normal(size=shape)


def _p(*shape: int) -> Any:
    return _g.uniform(0.5, 2.0, size=shape)


def _c(*shape: int) -> Any:
    return np.asarray(_g.normal(size=shape) + 1j * _g.normal(size=shape))


def _i(*shape: int) -> Any:
    return np.asarray(_g.integers(-30, 31, size=shape))


def _pairs(make: Any, other: Any) -> list[tuple[Any, ...]]:
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


def _threes(make: Any, other: Any) -> list[tuple[Any, ...]]:
    return [
        (make(3, 4), make(3, 4), other(3, 4)),
        (make(4), make(3, 1), other(1, 4)),
        (make(), make(), other()),
        (make(0), make(0), other(0)),
        (make(4, 3).T, make(3, 4), other(4)),
    ]


SAMPLES: list[Sample] = [
    *[Sample(name, name, p) for name in ("atan2", "hypot", "logaddexp", "logaddexp2", "ldexp") for p in _pairs(_n, _n)],
    Sample("logaddexp", "logaddexp", (_c(3), _c(3))),
    *[Sample("ldexp", "ldexp", (_n(3), np.array([1, -2, 3])), gradgrad=False)],
    *[Sample("xlogy", "xlogy", p) for p in _pairs(_n, _p)],
    *[Sample("xlogy.self_number", "xlogy", (1.5, x), inplace=False) for x in (_p(3), _p(), _p(0))],
    *[Sample("xlogy.other_number", "xlogy", (x, 1.5)) for x in (_n(3), _n(), _n(0))],
    *[Sample("special_xlog1py", "special.xlog1py", p) for p in _pairs(_n, _p)],
    *[Sample("special_xlog1py.self_number", "special.xlog1py", (1.5, x)) for x in (_p(3), _p(), _p(0))],
    *[Sample("special_xlog1py.other_number", "special.xlog1py", (x, 1.5)) for x in (_n(3), _n(), _n(0))],
    *[Sample("copysign", "copysign", p) for p in _pairs(_n, _n)],
    *[Sample("copysign.number", "copysign", (x, -1.0)) for x in (_n(3), _n(), _n(0))],
    # a step of one unit in the last place has no numeric gradient
    *[Sample("nextafter", "nextafter", p, grad=False) for p in _pairs(_n, _n)],
    *[Sample(name, name, p, grad=False) for name in ("gcd", "lcm") for p in _pairs(_i, _i)],
    *[
        Sample("heaviside", "heaviside", p, grad=False, inplace=False)
        for p in [*_pairs(_n, _n), (np.array([0.0, -0.0, 1.0]), _n(3))]
    ],
    *[Sample("lerp", "lerp", p) for p in _threes(_n, _n)],
    Sample("lerp", "lerp", (_c(3), _c(3), _c(3))),
    *[Sample("lerp.number", "lerp", (x, y, w)) for x, y in _pairs(_n, _n) for w in (0.3, 0.8)],
    Sample("lerp.number", "lerp", (_c(3), _c(3), 0.3)),
    *[
        Sample("addcmul", "addcmul", p, {"value": v})
        for p in [*_threes(_n, _n), (_c(3), _c(3), _c(3))]
        for v in (1, 0.5)
    ],
    *[
        Sample("addcdiv", "addcdiv", p, {"value": v})
        for p in [*_threes(_n, _p), (_c(3), _c(3), _c(3) + 3)]
        for v in (1, 0.5)
    ],
    # ------------------------------------------------------------ complex numbers
    *[Sample("view_as_real", "view_as_real", (x,)) for x in (_c(3), _c(), _c(0), _c(2, 6)[:, ::2], _c(4, 3).T)],
    *[Sample("view_as_complex", "view_as_complex", (x,)) for x in (_n(3, 2), _n(2), _n(0, 2), _n(3, 4)[:, :2])],
    *[Sample("view_as_real", name, (_c(3, 2),)) for name in ("real", "imag")],
    *[Sample("complex", "complex", p) for p in _pairs(_n, _n)],
    *[Sample("polar", "polar", p) for p in _pairs(_p, _n)],
    *[Sample("angle", "angle", (x,)) for x in (_c(3, 4), _c(), _c(0), _n(3))],
    *[Sample("conj_physical", "conj_physical", (x,)) for x in (_c(3, 4), _c(), _n(3))],
    *[Sample("conj", "conj", (x,)) for x in (_c(3, 4), _c(), _n(3))],
]
