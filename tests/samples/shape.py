"""Samples of shapes, joining, splitting, diagonals, filling and drawing."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(8)


def _n(*shape: int) -> Any:
    return _g.normal(size=shape)


def _c(*shape: int) -> Any:
    return _g.normal(size=shape) + 1j * _g.normal(size=shape)


def _kinds() -> list[Any]:
    """Matrices: usual, not contiguous, strided, empty, complex."""
    return [_n(3, 4), _n(4, 3).T, _n(3, 8)[:, ::2], _n(0, 4), _c(3, 4)]


_SHAPES = [
    *[
        Sample("view", "reshape", (x, s))
        for x, s in (
            (_n(3, 4), (2, 6)),
            (_n(3, 4), (-1,)),
            (_n(), (1, 1)),
            (_n(0, 3), (3, 0)),
            (_n(3, 8)[:, ::2], (3, 2, 2)),
            (_c(4), (2, 2)),
            (_n(1), ()),
        )
    ],
    Sample("view", "flatten", (_n(2, 3, 2), 1)),
    Sample("view", "unflatten", (_n(2, 6), 1, (3, -1))),
    *[Sample("_reshape_alias", "reshape", (x, (3, 2, 2))) for x in (_n(3, 8)[:, ::2], _c(3, 8)[:, ::2])],
    *[Sample("unsafe_view", "reshape", (x, (2, 6))) for x in (_n(4, 3).T, _c(4, 3).T)],
    *[Sample("transpose", "transpose", (x, 0, 1)) for x in _kinds()],
    Sample("transpose", "transpose", (_n(2, 3, 4), -1, 0)),
    Sample("transpose", "transpose", (_n(), 0, -1)),
    *[Sample("t", "t", (x,)) for x in [*_kinds(), _n(3), _n()]],
    *[Sample("permute", "permute", (x, (2, 0, 1))) for x in (_n(2, 3, 4), _n(0, 2, 1), _c(2, 1, 2), _n(4, 3, 2).T)],
    Sample("permute", "movedim", (_n(2, 3, 4), (0, 2), (1, 0))),
    Sample("permute", "permute", (_n(), ())),
    *[Sample("squeeze", "squeeze", (x,)) for x in (_n(1, 3, 1), _n(), _n(1, 0), _n(3, 1).T, _c(1, 2))],
    *[Sample("squeeze.dims", "squeeze", (x, (0, 1))) for x in (_n(1, 3), _n(1, 1), _n(1, 0, 1), _c(2, 1))],
    *[
        Sample("expand", "Tensor.expand", (x, s))
        for x, s in ((_n(3, 1), (2, 3, 4)), (_n(), (3,)), (_n(1, 3).T, (-1, 2)), (_n(1, 0), (2, 0)), (_c(1), (2,)))
    ],
    *[Sample("unfold", "Tensor.unfold", (x, 1, 2, s)) for x in (_n(3, 5), _n(5, 3).T, _c(2, 4)) for s in (1, 2)],
    Sample("unfold", "Tensor.unfold", (_n(), 0, 1, 1)),
    Sample("unfold_backward", "Tensor.unfold", (_n(6), 0, 3, 1)),
]

_JOINED = [
    *[
        Sample("cat", "cat", ([a, b], d))
        for a, b, d in (
            (_n(3, 4), _n(2, 4), 0),
            (_n(3, 4), _n(3, 1), 1),
            (_n(3, 4), _n(4, 3).T, -1),
            (_n(0), _n(3, 4), 1),
            (_n(0), _n(0), 0),
            (_c(3), _n(2), 0),
            (_n(3, 0), _n(3, 2), 1),
        )
    ],
    Sample("cat", "hstack", ([_n(), _n()],)),
    Sample("cat", "vstack", ([_n(3), _n(2, 3)],)),
    *[
        Sample("stack", "stack", ([a, b], d))
        for a, b, d in (
            (_n(3, 4), _n(3, 4), 0),
            (_n(3, 4), _n(4, 3).T, 1),
            (_n(), _n(), 0),
            (_n(0), _n(0), -1),
            (_c(3), _n(3), 1),
        )
    ],
    *[Sample("unbind", "unbind", (x, 1)) for x in _kinds()],
    Sample("unbind", "unbind", (_n(3),)),
    Sample("block_diag", "block_diag", (_n(2, 3), _n(2), _n())),
    Sample("block_diag", "block_diag", (_n(0, 2), _n(3, 1))),
    *[Sample("repeat", "Tensor.repeat", (x, (2, 1, 2))) for x in (_n(3, 4), _n(4, 3).T, _n(2), _n(), _c(2))],
    Sample("repeat", "Tensor.repeat", (_n(3), (0,))),
    Sample("repeat", "tile", (_n(2, 3), (2,))),
    *[Sample("split", "split", (x, 2, 1)) for x in (_n(3, 5), _n(5, 3).T, _n(2, 0), _c(2, 3))],
    Sample("split", "chunk", (_n(5), 2)),
    *[Sample("split_with_sizes", "split", (x, [1, 0, 3], 1)) for x in (_n(3, 4), _n(4, 3).T, _c(2, 4))],
    *[Sample("unsafe_split", "unsafe_split", (x, 2, 1)) for x in (_n(3, 5), _n(5, 3).T)],
    *[Sample("unsafe_split_with_sizes", "unsafe_split_with_sizes", (x, [1, 3], 1)) for x in (_n(3, 4), _n(4, 3).T)],
    *[Sample("index_select", "repeat_interleave", (_n(2, 3), np.array([2, 0, 1]), 1))],
    Sample("clone.layout", "repeat_interleave", (_n(2, 3), 2, 1)),
]

_DIAGONALS = [
    *[Sample("diagonal", "diagonal", (x, k)) for x in _kinds() for k in (0, 1, -1)],
    Sample("diagonal", "diagonal", (_n(2, 3, 3), 0, 1, 2)),
    Sample("diagonal_backward", "diagonal", (_n(2, 3, 3), 1, 0, -1)),
    *[Sample("diagonal_copy", "diag", (x, 1)) for x in _kinds()],
    *[Sample("diag_embed", "diag_embed", (x, k)) for x in (_n(3), _n(2, 3), _n(0), _n(3, 2).T, _c(2)) for k in (0, -1)],
    Sample("diag_embed", "diag", (_n(3), 1)),
    Sample("diag_embed", "diagflat", (_n(2, 2),)),
    *[Sample("diagonal_scatter", "diagonal_scatter", (x, _n(3))) for x in (_n(3, 4), _n(4, 3).T)],
    *[Sample(key, key, (x, k)) for key in ("tril", "triu") for x in [*_kinds(), _n(2, 3, 3)] for k in (0, 1)],
    *[Sample("trace", "trace", (x,)) for x in _kinds()],
    *[Sample("flip", "flip", (x, (0, -1))) for x in _kinds()],
    Sample("flip", "flip", (_n(3), ())),
    *[Sample("roll", "roll", (x, (1, -2), (0, 1))) for x in _kinds()],
    Sample("roll", "roll", (_n(3, 4), 5)),
    *[Sample("rot90", "rot90", (x, k)) for x in _kinds() for k in (1, 2, -1)],
]

_FILLED = [
    *[Sample("fill", "fill", (x, 2.5)) for x in [*_kinds(), _n()]],
    *[Sample("fill.tensor", "fill", (x, _n())) for x in (_n(3, 4), _n(4, 3).T, _n(), _n(0))],
    *[Sample("zero", "zero_", (x,), grad=False) for x in (_n(3, 4), _n(4, 3).T, _n(0))],
]


def _fixed(key: str, fn: str, *args: Any, **kwargs: Any) -> Sample:
    """A draw that can only come out one way: laws are compared with torch's numbers elsewhere."""
    return Sample(key, fn, args, kwargs, grad=False, inplace=False)


_DRAWN = [
    *[_fixed("uniform", "Tensor.uniform_", x, 2.0, 2.0) for x in (_n(3), _n(4, 3).T, _n(0))],
    *[_fixed("normal", "Tensor.normal_", x, 1.5, 0.0) for x in (_n(3), _n(20), _n(4, 3).T)],
    _fixed("random", "Tensor.random_", _n(0)),
    _fixed("random.to", "Tensor.random_", _n(3), 1),
    _fixed("random.from", "Tensor.random_", _n(3), 2, 3),
    _fixed("exponential", "Tensor.exponential_", _n(0)),
    _fixed("geometric", "Tensor.geometric_", _n(0), 0.5),
    _fixed("cauchy", "Tensor.cauchy_", _n(3), 2.0, 1e-30),
    _fixed("log_normal", "Tensor.log_normal_", _n(3), 0.0, 1e-30),
    _fixed("bernoulli.p", "Tensor.bernoulli_", _n(3), 1.0),
    _fixed("bernoulli", "bernoulli", np.array([0.0, 1.0])),
    _fixed("bernoulli.like", "bernoulli", _n(3), 0.0),
    _fixed("bernoulli.tensor", "Tensor.bernoulli_", _n(2), np.array([0.0, 1.0])),
    _fixed("normal.mean", "normal", _n(3), 0.0),
    _fixed("normal.std", "normal", 2.0, np.zeros(3)),
    _fixed("normal.both", "normal", _n(3), np.zeros(3)),
    _fixed("poisson", "poisson", np.zeros(3)),
    _fixed("binomial", "binomial", np.full(3, 4.0), np.ones(3)),
    _fixed("multinomial", "multinomial", np.array([0.0, 2.0]), 1),
    *[_fixed("_standard_gamma", "_standard_gamma", np.zeros(size)) for size in (3, (), 0)],
    *[_fixed("_sample_dirichlet", "_sample_dirichlet", np.ones(size)) for size in ((3, 1), (0, 2), (2, 0))],
    *[
        _fixed("_standard_gamma_grad", "_standard_gamma_grad", *pair)
        for pair in (
            (np.array([0.1, 2.0, 3.0, 20.0, 20.0, 20.0]), np.array([0.01, 0.5, 4.0, 21.0, 9.0, 31.0])),
            (np.array(2.0), np.array([[0.3, 3.0]])),
            (np.empty((0, 3)), np.empty(3)),
        )
    ],
    *[
        _fixed("_dirichlet_grad", "_dirichlet_grad", x, a, t)
        for x, a, t in (
            (
                np.array([0.01, 0.99, 0.4, 0.41, 0.2, 0.9, 0.5, 1e-9]),
                np.array([0.5, 3.0, 8.0, 8.0, 9.0, 7.0, 3.0, 0.01]),
                np.array([2.0, 4.0, 20.0, 20.0, 21.0, 15.0, 6.5, 1.0]),
            ),
            (np.array(0.3), np.array([[1.0], [2.0]]), np.array([5.0, 9.0])),
            (np.empty(0), np.empty(0), np.empty(0)),
        )
    ],
]
SAMPLES: list[Sample] = [*_SHAPES, *_JOINED, *_DIAGONALS, *_FILLED, *_DRAWN]
SAMPLES += [
    Sample("as_strided_scatter", "as_strided_scatter", (x, _n(2, 2), (2, 2), (1, 3), 1)) for x in (_n(3, 4), _n(12))
]
