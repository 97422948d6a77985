"""Samples of ops/compare.py, ops/choose.py and ops/bounds.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(2)


def _n(*shape: int) -> Any:
    return _g.normal(size=shape)


def _i(*shape: int) -> Any:
    return np.asarray(_g.integers(-8, 9, size=shape))


def _b(*shape: int) -> Any:
    return np.asarray(_g.uniform(size=shape) > 0.4)


def _c(*shape: int) -> Any:
    return np.asarray(_g.normal(size=shape) + 1j * _g.normal(size=shape))


def _pairs(make: Any) -> list[tuple[Any, ...]]:
    """Two tensors: equal shapes, broadcast both ways, 0-d, empty, not contiguous."""
    return [
        (make(3, 4), make(3, 4)),
        (make(3, 1), make(1, 4)),
        (make(4), make(2, 3, 4)),
        (make(2, 3, 4), make(4)),
        (make(), make(3)),
        (make(), make()),
        (make(0, 3), make(0, 3)),
        (make(4, 3).T, make(3, 8)[:, ::2]),
    ]


_TIED = (np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 2.0]))
_ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5])
_ONES = (_n(3, 4), _n(), _n(0), _n(4, 3).T, _ODD)
_CLOSE = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.000001, 3.1])

SAMPLES: list[Sample] = [
    *[
        Sample(name, name, p, grad=False)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for p in [*_pairs(_n), _TIED, (_n(3), 0.0), (_i(3), 2), (_i(3), 1.5)]
    ],
    *[
        Sample(name + ".number", f"Tensor.{name}_", (x, 0.0), grad=False)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for x in (_n(3), _n())
    ],
    Sample("eq", "eq", (_c(3), _c(3)), grad=False),
    Sample("ne", "ne", (_c(3), 1.0), grad=False),
    *[
        Sample(name, name, p, grad=False)
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
        for p in [*_pairs(_i), *_pairs(_b), (_i(3), 5), (_b(3), True)]
    ],
    *[
        Sample(name, name, (x, np.abs(y)), grad=False)
        for name in ("bitwise_left_shift", "bitwise_right_shift")
        for x, y in [*_pairs(_i), (_i(3), 2)]
    ],
    *[Sample("bitwise_not", "bitwise_not", (x,), grad=False) for x in (_i(3, 4), _i())],
    Sample("bitwise_not", "bitwise_not", (_b(3),), grad=False, inplace=False),
    *[
        Sample(name, name, p, grad=False)
        for name in ("logical_and", "logical_or", "logical_xor")
        for p in [*_pairs(_i), *_pairs(_b), (_n(3), _i(3))]
    ],
    *[Sample("logical_not", "logical_not", (x,), grad=False) for x in (_i(3, 4), _b(3), _ODD, _c(2))],
    *[
        Sample(name, name, (x,), grad=False)
        for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal")
        for x in _ONES
    ],
    Sample("isreal", "isreal", (_c(3),), grad=False),
    Sample("isfinite", "isfinite", (_c(3),), grad=False),
    *[Sample("isclose", "isclose", p, grad=False) for p in [_CLOSE, *_pairs(_n), (_i(3), _i(3))]],
    # ------------------------------------------------------------ choices
    *[
        Sample("where", "where", (np.asarray(_b(*s)), x, y))
        for s, x, y in [
            ((3, 4), _n(3, 4), _n(3, 4)),
            ((3, 1), _n(1, 4), _n()),
            ((), _n(3), _n(2, 3)),
            ((0,), _n(0), _n(0)),
            ((3,), _n(3), 2.0),
            ((3,), 2.0, _n(3)),
            ((3,), _c(3), _c(3)),
            ((5000,), _n(1), _n(1)),
        ]
    ],
    *[Sample(name, name, p) for name in ("maximum", "minimum", "fmax", "fmin") for p in _pairs(_n)],
    *[Sample(name, name, _TIED, grad=False) for name in ("maximum", "minimum", "fmax", "fmin")],
    *[
        Sample("maximum_backward", name, p)
        for name in ("maximum", "minimum")
        for p in [(_n(3, 1), _n(4)), (_n(), _n(2))]
    ],
    *[Sample("fmax_backward", name, p) for name in ("fmax", "fmin") for p in [(_n(3, 1), _n(4)), (_n(), _n(2))]],
    *[
        Sample("clamp", "clamp", (x,), k)
        for x in (_n(3, 4), _n(), _n(0), _n(4, 3).T)
        for k in ({"min": -0.5}, {"max": 0.5}, {"min": -0.5, "max": 0.5}, {"min": 1.0, "max": 0.0})
    ],
    *[Sample("clamp_backward", "clamp", (x, -0.5, 0.5)) for x in (_n(3, 4), _n(5000))],
    Sample("clamp", "clip", (_n(3), 0.0)),
    Sample("clamp", "clamp", (_i(3), 0, 4)),
    *[Sample("clamp_min", "clamp_min", (x, 0.1)) for x in (_n(3, 4), _n(), _n(0))],
    *[Sample("clamp_max", "clamp_max", (x, 0.1)) for x in (_n(3, 4), _n(), _n(0))],
    *[
        Sample("clamp.tensors", "clamp", p)
        for p in [
            (_n(3, 4), _n(3, 4) - 1, _n(3, 4) + 1),
            (_n(3, 4), _n(4), _n(3, 1)),
            (_n(2, 4), _n(), _n(4)),
            (_n(0), _n(0), _n(0)),
            (_n(), _n(), _n()),
        ]
    ],
    *[Sample("clamp.min_tensor", "clamp", p) for p in _pairs(_n)],
    *[Sample("clamp.max_tensor", "clamp", (x,), {"max": y}) for x, y in _pairs(_n)],
    *[Sample("clamp_min.tensor", "clamp_min", p) for p in _pairs(_n)],
    *[Sample("clamp_max.tensor", "clamp_max", p) for p in _pairs(_n)],
    # the part of a gradient that goes through, reached through the gradients of these
    *[Sample("masked_fill.drop", "clamp", (_n(3, 4), _n(4))), Sample("masked_fill.drop", "nan_to_num", (_n(3),))],
]
