"""Samples of square brackets, gathering and scattering."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(7)
_GET = "Tensor.__getitem__"


def _n(*shape: int) -> Any:
    return _g.normal(size=shape)


def _c(*shape: int) -> Any:
    return _g.normal(size=shape) + 1j * _g.normal(size=shape)


def _i(*values: Any) -> Any:
    return np.array(values, np.int64)


_mask = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, False]])
_row = np.array([True, False, True, True])

_VIEWS = [
    *[Sample("select", _GET, (x, 1)) for x in (_n(3, 4), _n(3), _n(4, 3).T, _n(2, 0), _c(3))],
    Sample("select", _GET, (_n(3, 4), -1)),
    Sample("select", "select", (_n(3, 4), 1, -2)),
    *[Sample("slice", _GET, (x, slice(1, None, 2))) for x in (_n(5, 2), _n(5), _n(2, 5).T, _n(0), _c(4))],
    Sample("slice", "narrow", (_n(3, 4), 1, 1, 2)),
    Sample("unsqueeze", _GET, (_n(3), None)),
    Sample("unsqueeze", _GET, (_n(), None)),
    *[Sample("unsqueeze", "unsqueeze", (x, -1)) for x in (_n(3, 4), _n(), _n(0), _n(4, 3).T, _c(2))],
    *[Sample("squeeze.dim", "squeeze", (x, 0)) for x in (_n(1, 4), _n(), _n(3, 1), _n(1, 0), _c(1, 2))],
    Sample("alias", _GET, (_n(3, 4), Ellipsis)),
    Sample("alias", _GET, (_n(), Ellipsis)),
    Sample("alias", _GET, (_n(0), ())),
    # reached through gradients of gradients
    Sample("select_backward", _GET, (_n(3, 4), 0)),
    Sample("slice_backward", _GET, (_n(5), slice(0, 3))),
]

_GATHERED = [
    *[
        Sample("index", _GET, (_n(3, 4), index))
        for index in (
            _i(0, 2, 0),
            _i(-1),
            _i(),
            _i([0, 1], [2, 2]),
            (slice(None), _i(3, 3, 0)),
            (_i(0, 1, 0), _i(2, 3, 2)),
            _mask,
            (slice(None), _row),
            True,
            False,
            (None, _i(1, 1)),
            (0, _i(1, 1)),
            (Ellipsis, _i(0, 0), None),
        )
    ],
    Sample("index", _GET, (_c(3, 2), _i(0, 0))),
    Sample("index", _GET, (_n(4, 3).T, (_i(0, 0), slice(1, 3)))),
    Sample("index", _GET, (_n(2, 3, 4), (_i(0, 1, 0), slice(None), _i(3, 3, 0)))),
    Sample("index_backward", _GET, (_n(3, 4), (slice(None), _i(3, 3, 0)))),
    *[Sample("index_select", "index_select", (x, 1, _i(0, 2, 0))) for x in (_n(2, 3), _n(0, 3), _n(3, 2).T, _c(2, 3))],
    Sample("index_select", "index_select", (_n(4), 0, _i())),
    Sample("index_select", "index_select", (_n(), 0, _i(0))),
    Sample("index_select", "index_select", (_n(2, 3, 2), -1, np.array(1))),
    Sample("index_select_backward", "index_select", (_n(2, 3, 2), 1, _i(0, 0))),
    *[Sample("gather", "gather", (x, 1, _i([0, 2, 0], [1, 1, 1]))) for x in (_n(2, 3), _n(4, 3), _n(3, 2).T, _c(2, 3))],
    Sample("gather", "gather", (_n(), 0, np.array(0))),
    Sample("gather", "gather", (_n(3), 0, _i())),
    Sample("gather", "take_along_dim", (_n(3, 4), _i([0], [2], [1]), 1)),
    Sample("gather_backward", "gather", (_n(3, 2), 0, _i([0, 0], [0, 2]))),
    *[
        Sample("take", "take", (x, index))
        for x in (_n(2, 3), _n(3, 2).T, _c(4, 2))
        for index in (_i(0, 5, 0), _i([1, -1]))
    ],
    Sample("take", "take", (_n(), _i(0))),
    Sample("take_backward", "take", (_n(4), _i(1, 1))),
    *[Sample("masked_select", "masked_select", (x, _mask)) for x in (_n(3, 4), _n(4, 3).T, _n(4), _n(3, 1), _n())],
    Sample("masked_select", "masked_select", (_c(3, 4), _mask)),
    Sample("masked_select", "masked_select", (_n(3, 4), _row)),
    Sample("masked_select_backward", "masked_select", (_n(4), _row)),
    *[Sample("narrow_copy", "narrow_copy", (x, 0, 1, 2)) for x in (_n(3, 4), _n(3), _n(4, 3).T, _c(3))],
]

_index = _i([0, 2, 0], [1, 1, 2])
_PLACED = [
    *[
        Sample("index_put", "index_put", (_n(3, 4), index, value))
        for index, value in (
            ((_i(0, 2),), _n(2, 4)),
            ((_i(0, 2),), _n(4)),
            ((_i(0, 2),), _n()),
            ((_mask,), _n(6)),
            ((_mask,), _n()),
            ((_i(0, 1), _i(2, 3)), _n(2)),
        )
    ],
    *[
        Sample("index_put", "index_put", (_n(3, 4), (_i(0, 0, 1),), value, True))
        for value in (_n(3, 4), _n(4), _n(1, 4))
    ],
    Sample("index_put", "index_put", (_n(3, 4), (None, _i(1, 1)), _n(3, 2), True)),
    Sample("index_put", "index_put", (_c(3), (_i(0),), _c(1))),
    Sample("index_put.zero", "index_put", (_n(3), (_i(1),), _n(1))),
    *[Sample("masked_fill", "masked_fill", (x, _mask, 2.5)) for x in (_n(3, 4), _n(4, 3).T, _c(3, 4))],
    Sample("masked_fill", "masked_fill", (_n(4), _mask, 1.0), inplace=False),
    Sample("masked_fill", "masked_fill", (_n(0), _row[:0], 1)),
    *[Sample("masked_fill.tensor", "masked_fill", (x, _mask, _n())) for x in (_n(3, 4), _n(4, 3).T)],
    Sample("masked_fill.tensor", "masked_fill", (_n(2, 4), _row, _n())),
    *[Sample("masked_scatter", "masked_scatter", (x, _mask, _n(7))) for x in (_n(3, 4), _n(4, 3).T)],
    Sample("masked_scatter", "masked_scatter", (_n(2, 4), _row, _n(3, 3))),
    Sample("masked_scatter_backward", "masked_scatter", (_n(4), _row, _n(4))),
    *[Sample("put", "put", (x, _i(5, 0), _n(2), add)) for x in (_n(2, 3), _n(3, 2).T) for add in (False, True)],
    Sample("put", "put", (_n(4), _i([1, 1]), _n(1, 2), True)),
    *[Sample("select_scatter", "select_scatter", (x, _n(3), 1, 2)) for x in (_n(3, 4), _n(4, 3).T)],
    Sample("select_scatter", "select_scatter", (_n(3), _n(), 0, -1)),
    *[Sample("slice_scatter", "slice_scatter", (x, _n(3, 2), 1, 0, 4, 2)) for x in (_n(3, 4), _n(4, 3).T)],
    *[Sample("scatter", "scatter", (x, 1, _i([0, 2], [1, 0]), _n(2, 3))) for x in (_n(2, 3), _n(3, 3), _n(3, 2).T)],
    Sample("scatter", "scatter", (_n(), 0, np.array(0), _n())),
    Sample("scatter", "scatter", (_c(3), 0, _i(2, 0), _c(2))),
    *[Sample("scatter.value", "scatter", (x, 1, _index, 1.5)) for x in (_n(2, 3), _n(3, 3), _n(3, 2).T)],
    *[
        Sample("scatter.reduce", "scatter", (_n(2, 3), 1, _index, _n(2, 3)), {"reduce": r}, grad=False, inplace=False)
        for r in ("add", "multiply")
    ],
    *[
        Sample("scatter.value_reduce", "scatter", (_n(2, 3), 1, _index, 2.0), {"reduce": r}, grad=False, inplace=False)
        for r in ("add", "multiply")
    ],
    *[
        Sample("scatter_add", "scatter_add", (x, 1, _index, s))
        for x in (_n(2, 3), _n(3, 3), _n(3, 2).T)
        for s in (_n(2, 3), _n(2, 5))
    ],
    Sample("scatter_add", "scatter_add", (_n(), 0, np.array(0), _n())),
    Sample("scatter_add", "scatter_add", (_c(3), 0, _i(0, 0), _c(2))),
    *[
        Sample("index_add", "index_add", (x, 1, _i(0, 0, 2), _n(2, 3)), {"alpha": a})
        for x in (_n(2, 3), _n(3, 2).T)
        for a in (1, 2.5)
    ],
    Sample("index_add", "index_add", (_n(3, 2, 2), 0, _i(1, 1), _n(2, 2, 2))),
    Sample("index_add", "index_add", (_n(), 0, _i(0), _n())),
    *[Sample("index_copy", "index_copy", (x, 1, _i(2, 0), _n(2, 2))) for x in (_n(2, 3), _n(3, 2).T)],
    Sample("index_copy", "index_copy", (_n(), 0, _i(0), _n())),
    *[Sample("index_fill", "index_fill", (x, 1, _i(2, 0, 2), 1.5)) for x in (_n(2, 3), _n(3, 2).T, _c(2, 3))],
    *[Sample("index_fill.tensor", "index_fill", (x, 1, _i(2, 0, 2), _n())) for x in (_n(2, 3), _n(3, 2).T)],
    *[
        Sample("scatter_reduce", "scatter_reduce", (_n(3, 3), 1, _index, _n(2, 3), r), {"include_self": s})
        for r in ("sum", "prod", "mean", "amax", "amin")
        for s in (True, False)
    ],
    Sample(
        "scatter_reduce", "scatter_reduce", (_n(2), 0, _i(0, 0, 1), np.array([0.0, 2.0, 0.0]), "prod"), gradgrad=False
    ),
    *[
        Sample("index_reduce", "index_reduce", (_n(3, 2), 0, _i(0, 0, 2), _n(3, 2), r), {"include_self": s})
        for r in ("prod", "mean", "amax", "amin")
        for s in (True, False)
    ],
]
SAMPLES: list[Sample] = [*_VIEWS, *_GATHERED, *_PLACED]
