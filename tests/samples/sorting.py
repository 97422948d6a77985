"""Samples of ops/extremes.py, ops/sorting.py, ops/searching.py and ops/along.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_rng = rng(12)


def _n(*shape: int) -> Any:
    return np.asarray(_rng.standard_normal(shape))


def _i(*shape: int) -> Any:
    return np.asarray(_rng.integers(0, 4, shape))


_ALL = [_n(3, 4), _n(), _n(4, 3).T, _n(2, 3, 4)[:, ::2]]
_ONE = [
    (_n(3, 4), {"dim": 0}),
    (_n(3, 4), {"dim": -1, "keepdim": True}),
    (_n(), {"dim": 0}),
    (_n(4, 3).T, {"dim": 1}),
    (_n(3, 0), {"dim": 0}),
]
_SEVERAL = [
    *_ONE[:4],
    (_n(2, 3, 4), {"dim": (0, 2)}),
    (_n(2, 3), {"dim": ()}),
    (_n(2, 3, 2), {"dim": (1, 2), "keepdim": True}),
]

SAMPLES: list[Sample] = [
    *[Sample(f, f, (x,)) for f in ("amax", "amin", "max", "min", "median", "nanmedian") for x in _ALL],
    *[Sample(f, f, (x,), k) for f in ("amax", "amin") for x, k in _SEVERAL],
    *[Sample(f, f, (x,), grad=False) for f in ("amax", "max", "median") for x in (_i(5).astype(float),)],
    *[Sample(f + ".dim", f, (x,), k) for f in ("max", "min", "median", "nanmedian") for x, k in _ONE],
    *[Sample("aminmax", "aminmax", (x,), k) for x, k in [*_ONE[:4], (_n(3, 4), {}), (_n(3), {"keepdim": True})]],
    *[Sample("ties", "amax", (x,)) for x in _ALL],
    *[
        Sample(f, f, (x,), k, grad=False)
        for f in ("argmax", "argmin")
        for x, k in [*_ONE, (_n(3, 4), {}), (_n(4, 3).T, {"keepdim": True})]
    ],
    *[Sample("mode", "mode", (x,), k) for x, k in [*_ONE, (_n(3, 4), {})]],
    *[
        Sample("kthvalue", "kthvalue", (x, k), d)
        for x, k, d in [
            (_n(3, 4), 2, {}),
            (_n(3, 4), 1, {"dim": 0, "keepdim": True}),
            (_n(), 1, {}),
            (_n(4, 3).T, 3, {"dim": 0}),
        ]
    ],
    *[
        Sample("sort", "sort", (x,), k)
        for x, k in [
            (_n(3, 4), {}),
            (_n(3, 4), {"dim": 0, "descending": True}),
            (_n(), {}),
            (_n(0), {}),
            (_n(4, 3).T, {}),
        ]
    ],
    *[
        Sample("sort.stable", "sort", (x,), {"stable": True, **k})
        for x, k in [(_n(3, 4), {}), (_n(4), {"descending": True})]
    ],
    *[
        Sample("argsort", "argsort", (x,), k, grad=False)
        for x, k in [(_n(3, 4), {}), (_n(3, 4), {"dim": 0}), (_n(), {})]
    ],
    *[Sample("sort", "msort", (x,)) for x in (_n(3, 4), _n())],
    *[
        Sample("topk", "topk", (x, k), d)
        for x, k, d in [
            (_n(3, 4), 2, {}),
            (_n(4, 3), 2, {"dim": 0, "largest": False}),
            (_n(), 1, {}),
            (_n(4), 0, {}),
            (_n(4, 3).T, 3, {}),
        ]
    ],
    *[
        Sample("reduce.take_any", "quantile", (x, q), k)
        for x, q, k in [
            (_n(3, 4), 0.3, {}),
            (_n(3, 4), 0.6, {"dim": 1, "keepdim": True}),
            (_n(5), 0.5, {"interpolation": "midpoint"}),
            (_n(), 0.5, {}),
            (_n(4, 3).T, 0.25, {"dim": 0, "interpolation": "lower"}),
        ]
    ],
    *[Sample("reduce.take_any", "nanquantile", (x, 0.3), k) for x, k in [(_n(3, 4), {}), (_n(3, 4), {"dim": 0})]],
    Sample("reduce.take", "sort", (_n(3, 4),)),
    Sample("reduce.put", "max", (_n(3, 4), 1)),
    Sample("reduce.add_along", "cummax", (_n(3, 4), 1)),
    # ------------------------------------------------------------ searching
    *[
        Sample("unique2", "unique", (x,), k, grad=False)
        for x, k in [
            (_i(3, 4), {}),
            (_i(5).astype(float), {"return_inverse": True, "return_counts": True}),
            (_n(), {}),
            (_n(0), {}),
        ]
    ],
    *[
        Sample("unique_dim", "unique", (x,), {"return_inverse": True, "return_counts": True, "dim": d}, grad=False)
        for x, d in [(_i(4, 2), 0), (_i(2, 5), 1), (_i(0, 3), 0)]
    ],
    *[
        Sample("unique_consecutive", "unique_consecutive", (x,), k, grad=False)
        for x, k in [
            (_i(6), {"return_counts": True}),
            (_i(2, 5), {"dim": 1, "return_inverse": True}),
            (_i(0), {}),
            (_i(), {}),
        ]
    ],
    *[
        Sample("searchsorted", "searchsorted", (b, x), k, grad=False)
        for b, x, k in [
            (np.sort(_n(5)), _n(2, 3), {}),
            (np.sort(_n(3, 5)), _n(3, 2), {"right": True}),
            (np.sort(_n(4)), _n(), {}),
            (np.sort(_n(70, 5)), _n(70, 3), {"out_int32": True}),
        ]
    ],
    Sample("searchsorted", "bucketize", (_n(3), np.sort(_n(4))), grad=False),
    *[Sample("bincount", "bincount", (x,), k, grad=False) for x, k in [(_i(6), {}), (_i(0), {"minlength": 3})]],
    *[
        Sample("histc", "histc", (x,), k, grad=False)
        for x, k in [
            (_n(20), {"bins": 5, "min": -2, "max": 2}),
            (_n(), {"bins": 3, "min": -1, "max": 1}),
            (_n(0), {"bins": 2}),
        ]
    ],
    *[
        Sample("histogram", "histogram", (x, 4), k, grad=False)
        for x, k in [(_n(20), {"range": (-2.0, 2.0)}), (_n(3, 3), {"range": (-1.0, 1.0), "density": True})]
    ],
    *[
        Sample("histogram", "histogramdd", (x, [3, 2]), k, grad=False)
        for x, k in [(_n(20, 2), {"weight": _n(20)}), (_n(3, 3, 2), {"density": True}), (_n(0, 2), {})]
    ],
    *[Sample("isin", "isin", (x, y), grad=False) for x, y in [(_i(3, 4), _i(2)), (_i(), _i(3)), (_i(0), _i(2))]],
]
