"""Samples of ops/products.py."""

from __future__ import annotations

from typing import Any

from samples import Sample, rng

_g = rng(2)


def _n(*shape: int) -> Any:
    return _g.normal(size=shape)


def _c(*shape: int) -> Any:
    return _g.normal(size=shape) + 1j * _g.normal(size=shape)


_MATRICES = [
    (_n(3, 4), _n(4, 2)),
    (_n(1, 1), _n(1, 1)),
    (_n(0, 3), _n(3, 2)),
    (_n(2, 0), _n(0, 3)),
    (_n(4, 3).T, _n(4, 2)),
    (_n(3, 4), _n(2, 4).T),
    (_n(6, 4)[::2], _n(4, 4)[:, ::2]),
    (_c(2, 3), _c(3, 2)),
]
_BATCHES = [
    (_n(2, 3, 4), _n(2, 4, 2)),
    (_n(0, 3, 4), _n(0, 4, 2)),
    (_n(2, 4, 3).swapaxes(1, 2), _n(2, 4, 2)),
    (_c(2, 2, 3), _c(2, 3, 1)),
]

SAMPLES: list[Sample] = [
    *[Sample("mm", "mm", p) for p in _MATRICES],
    *[Sample("mm", "matmul", p) for p in _MATRICES[:2]],
    # reached through the gradients of a product, and through linear layers
    *[Sample(key, "mm", p) for key in ("mm.nt", "mm.tn") for p in _MATRICES[:2]],
    Sample("mm.nt", "nn.functional.linear", (_n(3, 4), _n(2, 4))),
    Sample("mm.half", "mm", _MATRICES[0], grad=False),
    *[Sample("mv", "mv", p) for p in [(_n(3, 4), _n(4)), (_n(0, 3), _n(3)), (_n(4, 3).T, _n(4)), (_c(2, 3), _c(3))]],
    *[Sample("dot", "dot", p) for p in [(_n(4), _n(4)), (_n(0), _n(0)), (_n(8)[::2], _n(4)), (_c(3), _c(3))]],
    Sample("vdot", "vdot", (_c(3), _c(3))),
    Sample("vdot", "vdot", (_n(3), _n(3))),
    *[Sample("bmm", "bmm", p) for p in _BATCHES],
    *[Sample(key, "bmm", p) for key in ("bmm.nt", "bmm.tn") for p in _BATCHES[:1]],
    *[
        Sample("bmm", "matmul", p)
        for p in [
            (_n(2, 3, 4), _n(4, 2)),
            (_n(3, 4), _n(2, 4, 2)),
            (_n(2, 1, 3, 4), _n(3, 4, 2)),
            (_n(4), _n(2, 4, 3)),
            (_n(2, 3, 4), _n(4)),
            (_n(4), _n(4, 2)),
        ]
    ],
    *[
        Sample("addmm", "addmm", (b, *p), k)
        for p in _MATRICES[:1]
        for b in (_n(3, 2), _n(2), _n(3, 1), _n())
        for k in ({}, {"beta": 0.5, "alpha": 2.0})
    ],
    Sample("addmm", "addmm", (_n(0, 2), _n(0, 3), _n(3, 2))),
    Sample("addmm", "addmm", (_c(2, 2), _c(2, 3), _c(3, 2))),
    Sample("addmm", "nn.functional.linear", (_n(3, 4), _n(2, 4), _n(2))),
    Sample("addmm", "nn.functional.linear", (_n(2, 3, 4), _n(2, 4), _n(2))),
    *[
        Sample("addmv", "addmv", (b, _n(3, 4), _n(4)), k)
        for b in (_n(3), _n(1))
        for k in ({}, {"beta": 0.5, "alpha": 2.0})
    ],
    *[
        Sample("addr", "addr", (b, _n(3), _n(4)), k)
        for b in (_n(3, 4), _n(4))
        for k in ({}, {"beta": 0.5, "alpha": 2.0})
    ],
    *[
        Sample("baddbmm", "baddbmm", (b, *_BATCHES[0]), k)
        for b in (_n(2, 3, 2), _n(3, 2))
        for k in ({}, {"beta": 0.5, "alpha": 2.0})
    ],
    *[
        Sample("addbmm", "addbmm", (b, *_BATCHES[0]), k)
        for b in (_n(3, 2), _n(2))
        for k in ({}, {"beta": 0.5, "alpha": 2.0})
    ],
    Sample("mm", "tensordot", (_n(2, 3, 4), _n(3, 4, 2)), {"dims": [[1, 2], [0, 1]]}),
    *[
        Sample("bmm", "einsum", (e, *ops))
        for e, *ops in [
            ("ij,jk->ik", _n(2, 3), _n(3, 4)),
            ("bij,bjk->bik", _n(2, 2, 3), _n(2, 3, 2)),
            ("ii->i", _n(3, 3)),
            ("ij->ji", _n(2, 3)),
            ("i,j->ij", _n(2), _n(3)),
            ("ij,j->i", _n(2, 3), _n(3)),
            ("...ij,...jk->...ik", _n(2, 2, 3), _n(3, 2)),
            ("ij,jk,kl->il", _n(2, 3), _n(3, 2), _n(2, 3)),
            ("ij->", _n(2, 3)),
            ("bn,anm,bm->ba", _n(2, 3), _n(4, 3, 2), _n(2, 2)),
        ]
    ],
]
