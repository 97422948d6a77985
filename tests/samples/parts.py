"""Samples of operations on parts of tensors and numbers, and of those that torch's public functions are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_rng = rng(29)


def _n(*shape: int) -> Any:
    return np.asarray(_rng.standard_normal(shape))


_LENGTHS = np.array([1, 3, 0, 2])
_MASK = np.array([True, False, True])
_PLACES = np.array([0, 2, 1])
_STATISTICS = (np.array([0.3, -0.2, 0.1]), np.array([1.0, 2.0, 0.5]))

SAMPLES: list[Sample] = [
    *[Sample("frexp", "frexp", (x,)) for x in (_n(3, 4), _n(), _n(0, 2), _n(4, 3).T)],
    *[
        Sample("hash_tensor", "hash_tensor", (x,), k, grad=False)
        for x, k in ((_n(3, 4), {}), (_n(), {}), (_n(3, 4), {"dim": 1, "keepdim": True}), (_PLACES, {}))
    ],
    *[
        Sample("segment_reduce", "segment_reduce", (_n(6, 2), how), {"lengths": _LENGTHS}, gradgrad=False)
        for how in ("sum", "prod")
    ],
    *[
        Sample("segment_reduce", "segment_reduce", (_n(6), how), {"lengths": np.array([4, 2])}, gradgrad=False)
        for how in ("mean", "max", "min")
    ],
    Sample(
        "segment_reduce",
        "segment_reduce",
        (_n(2, 5), "sum"),
        {"offsets": np.array([[0, 2, 5], [0, 1, 5]]), "axis": 1},
        gradgrad=False,
    ),
    Sample("_segment_reduce_backward", "segment_reduce", (_n(6), "sum"), {"lengths": _LENGTHS}, gradgrad=False),
    Sample("native_dropout", "native_dropout", (_n(3, 4), 0.3, False)),
    Sample("native_dropout_backward", "native_dropout", (_n(3), 0.3, False)),
    Sample(
        "_native_batch_norm_legit",
        "_native_batch_norm_legit",
        (_n(4, 3), _n(3), _n(3), *_STATISTICS, True, 0.1, 1e-5),
        grad=False,
    ),
    Sample("_native_batch_norm_legit.no_stats", "_native_batch_norm_legit", (_n(4, 3), _n(3), _n(3), True, 0.1, 1e-5)),
    Sample(
        "_native_batch_norm_legit_no_training",
        "_native_batch_norm_legit_no_training",
        (_n(4, 3), _n(3), _n(3), *_STATISTICS, 0.1, 1e-5),
        grad=False,
    ),
    Sample(
        "_batch_norm_with_update",
        "ops.aten._batch_norm_with_update",
        (_n(4, 3), _n(3), _n(3), *_STATISTICS, 0.1, 1e-5),
        grad=False,
    ),
    Sample(
        "max_pool2d_with_indices_backward.indices",
        "ops.aten.max_pool2d_with_indices_backward",
        (_n(1, 1, 1, 2), _n(1, 1, 2, 4), (2, 2), (2, 2), (0, 0), (1, 1), False, np.array([[[[0, 3]]]])),
        gradgrad=False,
    ),
    *[Sample("_safe_softmax", "_safe_softmax", (x, -1)) for x in (_n(3, 4), _n(), _n(2, 0), _n(4, 3).T)],
    Sample("_unsafe_masked_index", "_unsafe_masked_index", (_n(3, 2), _MASK[:, None], [_PLACES], 0.0), grad=False),
    Sample(
        "_unsafe_masked_index_put_accumulate",
        "_unsafe_masked_index_put_accumulate",
        (_n(3, 2), _MASK[:, None], [_PLACES], _n(3, 2)),
        grad=False,
    ),
    *[
        Sample("div.number", "gradient", (x,), k)
        for x, k in ((_n(3, 4), {}), (_n(5), {"spacing": 0.5, "edge_order": 2}))
    ],
]
