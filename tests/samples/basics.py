"""Samples of ops/basics.py: copies, casts, expansion and strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(3)


def _n(*shape: int) -> Any:
    return _g.normal(size=shape)


SAMPLES: list[Sample] = [
    *[Sample("clone", "clone", (x,)) for x in (_n(2, 3), _n(), _n(0), _n(3, 2).T, _n(2) + 1j)],
    *[Sample("clone.layout", "Tensor.contiguous", (x,)) for x in (_n(3, 2).T, _n(2, 6)[:, ::2])],
    Sample("to_copy", "Tensor.to", (_n(2, 3), "cpu"), {"copy": True}, inplace=False),
    # the gradient of a broadcast sums, and the gradient of that expands
    *[Sample(key, "add", (_n(2, 3), _n(3))) for key in ("sum_to_size", "expand")],
    *[
        Sample("as_strided", "as_strided", (_n(6), s, t, o))
        for s, t, o in [((2, 3), (3, 1), 0), ((2, 2), (1, 1), 1), ((3,), (2,), 0), ((0,), (1,), 0), ((), (), 2)]
    ],
    Sample("as_strided_backward", "as_strided", (_n(4, 3), (2, 2), (3, 1), 1)),
    Sample("copy", "Tensor.copy_", (np.zeros(3, np.int64), np.arange(3)), grad=False),
    *[Sample("conj", "conj", (_n(3) + 1j * _n(3),)), Sample("conj", "conj", (_n(2, 2) + 1j,))],
]
