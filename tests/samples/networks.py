"""Samples of the operations of networks: activations, losses, normalisation, convolution, pooling and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(11)
F = "nn.functional."


def _n(*shape: int) -> Any:
    return np.asarray(_g.normal(size=shape))


def _away(low: float, high: float, *shape: int) -> Any:
    """Values of both signs whose sizes are between two numbers: kinks lie elsewhere."""
    return np.asarray(_g.uniform(low, high, size=shape) * np.where(_g.random(shape) < 0.5, -1, 1))


def _p(*shape: int) -> Any:
    return np.asarray(_g.uniform(0.2, 0.8, size=shape))


def _c(*shape: int) -> Any:
    return np.asarray(_n(*shape) + 1j * _n(*shape))


def both(forward: str, backward: str, fn: str, *cases: Any, **options: Any) -> list[Sample]:
    """Samples of a row, which reach the row of its backward through their gradients."""
    made = [Sample(forward, fn, c if isinstance(c, tuple) else (c,), **options) for c in cases]
    return [*made, Sample(backward, fn, made[0].args, made[0].kwargs)]


_SHAPES = [(3, 4), (), (0, 2)]
_SOFT = [*[_n(*s) for s in _SHAPES], _n(4, 3).T]
_HARD = [*[_away(0.2, 2.5, *s) for s in _SHAPES], _away(0.2, 2.5, 4, 3).T]
_T = np.array([2, 0, 3])
_PLACES = _g.integers(0, 3, size=(2, 2, 3))


def _distinct(*shape: int) -> Any:
    """Values that all differ, for maxima."""
    return _g.permutation(int(np.prod(shape))).reshape(shape) * 0.07


_ACTIVATIONS = [
    *both("relu", "threshold_backward", F + "relu", *_HARD),
    *both("threshold", "threshold_backward", F + "threshold", *[(x, 0.1, 0.5) for x in _HARD]),
    *both("leaky_relu", "leaky_relu_backward", F + "leaky_relu", *[(x, s) for x in _HARD for s in (0.1, -0.5)]),
    *both("hardtanh", "hardtanh_backward", F + "hardtanh", *[(x, -2.7, 0.1) for x in _HARD]),
    *both("hardtanh", "hardtanh_backward", F + "relu6", *_HARD),
    *both("hardsigmoid", "hardsigmoid_backward", F + "hardsigmoid", *_HARD, _away(3.1, 5.0, 4)),
    *both("hardswish", "hardswish_backward", F + "hardswish", *_HARD, _away(3.1, 5.0, 4)),
    *both("hardshrink", "hardshrink_backward", F + "hardshrink", *[(x, 0.1) for x in _HARD], _away(0.6, 1.0, 3)),
    *both("softshrink", "softshrink_backward", F + "softshrink", *[(x, 0.1) for x in _HARD], _away(0.6, 1.0, 3)),
    *both(
        "prelu_kernel",
        "prelu_kernel_backward",
        F + "prelu",
        *[
            (_away(0.2, 2.5, *s), _p(*w))
            for s, w in [((2, 3), (3,)), ((2, 3, 2), (1,)), ((3,), (1,)), ((), ()), ((0, 3), (3,))]
        ],
    ),
    *both("elu", "elu_backward", F + "elu", *[(x, a) for x in _HARD for a in (1.0, 0.7)]),
    *both("elu", "elu_backward", F + "selu", *_HARD),
    *both("celu", "elu_backward", F + "celu", *[(x, a) for x in _HARD for a in (1.0, 0.7)]),
    *both("gelu", "gelu_backward", F + "gelu", *_SOFT),
    *[
        Sample(key, F + "gelu", (x,), {"approximate": "tanh"})
        for key in ("gelu.tanh", "gelu_backward.tanh")
        for x in _SOFT
    ],
    *both("silu", "silu_backward", F + "silu", *_SOFT, _c(3)),
    *both("mish", "mish_backward", F + "mish", *_SOFT),
    *both("softplus", "softplus_backward", F + "softplus", *_SOFT, (_n(4), 2.0, 1.0)),
    *both("log_sigmoid", "log_sigmoid_backward", F + "logsigmoid", *_SOFT),
    *both("glu", "glu_backward", F + "glu", (_n(3, 4),), (_n(4, 3), 0), (_n(2, 0),), (_n(4, 6).T, 0)),
    *both(
        "rrelu_with_noise",
        "rrelu_with_noise_backward",
        F + "rrelu",
        *[(x, 0.25, 0.25, t) for x in _HARD for t in (False, True)],
    ),
    *[
        Sample(key, F + name, (_away(0.2, 2.0, 3, 4), *more), grad=False)
        for key, name, more in [
            ("leaky_relu.inplace", "leaky_relu_", (0.1,)),
            ("elu.inplace", "elu_", ()),
            ("celu.inplace", "celu_", ()),
            ("rrelu_with_noise.inplace", "rrelu_", (0.2, 0.2, True)),
        ]
    ],
    *both(
        "softmax",
        "softmax_backward_data",
        "softmax",
        *[(_n(*s), d) for s, d in [((3, 4), 1), ((3, 4), 0), ((2, 3, 2), 1), ((), 0), ((0, 2), 1), ((2, 0), 1)]],
    ),
    *both(
        "log_softmax",
        "log_softmax_backward_data",
        "log_softmax",
        *[(_n(*s), d) for s, d in [((3, 4), 1), ((3, 4), 0), ((2, 3, 2), 1), ((), 0), ((0, 2), 1), ((2, 0), 1)]],
    ),
]

_REDUCTIONS = [{"reduction": r} for r in ("mean", "sum", "none")]


def losses(forward: str, backward: str, fn: str, *args: Any) -> list[Sample]:
    return [*[Sample(forward, F + fn, args, k) for k in _REDUCTIONS], Sample(backward, F + fn, args)]


_LOSSES = [
    *losses("nll_loss", "nll_loss_backward", "nll_loss", _n(3, 4), _T),
    Sample("nll_loss", F + "nll_loss", (_n(4), np.array(2))),
    Sample("nll_loss", F + "nll_loss", (_n(3, 4), _T, None, None, 3)),
    *losses("nll_loss2d", "nll_loss_backward", "nll_loss", _n(2, 3, 2, 3), _PLACES),
    Sample("nll_loss2d", F + "nll_loss", (_n(2, 3, 4), _g.integers(0, 3, size=(2, 4)))),
    *[Sample("nll_loss", F + "cross_entropy", (_n(3, 4), _T), k) for k in (*_REDUCTIONS, {"label_smoothing": 0.1})],
    *[
        Sample("div.number", F + "cross_entropy", (_n(3, 4), _p(3, 4)), k)
        for k in (*_REDUCTIONS, {"label_smoothing": 0.1})
    ],
    Sample("mul.number", F + "cross_entropy", (_n(3, 4), _T), {"label_smoothing": 0.1}),
    *losses("mse_loss", "mse_loss_backward", "mse_loss", _n(3, 4), _n(3, 4)),
    Sample("mse_loss", F + "mse_loss", (_n(), _n())),
    *losses("huber_loss", "huber_loss_backward", "huber_loss", _away(1.5, 2.0, 3, 4), _p(3, 4) * 0.4),
    Sample("huber_loss", F + "huber_loss", (_p(3), _p(3))),
    *losses("smooth_l1_loss", "smooth_l1_loss_backward", "smooth_l1_loss", _away(1.5, 2.0, 3, 4), _p(3, 4) * 0.4),
    Sample("smooth_l1_loss", F + "smooth_l1_loss", (_p(3), _p(3)), {"beta": 2.0}),
    *losses("binary_cross_entropy", "binary_cross_entropy_backward", "binary_cross_entropy", _p(3, 4), _p(3, 4)),
    *losses(
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy_with_logits_backward",
        "binary_cross_entropy_with_logits",
        _n(3, 4),
        _p(3, 4),
    ),
    *[
        Sample("soft_margin_loss", F + "soft_margin_loss", (_n(3, 2), np.array([[1], [-1], [1]])), k)
        for k in _REDUCTIONS
    ],
    Sample("soft_margin_loss_backward", F + "soft_margin_loss", (_n(3, 2), np.array([[1], [-1], [1]]))),
    *[
        Sample("multi_margin_loss", F + "multi_margin_loss", (_distinct(3, 4), _T, p), k, gradgrad=False)
        for k in _REDUCTIONS
        for p in (1, 2)
    ],
    Sample("multi_margin_loss_backward", F + "multi_margin_loss", (_distinct(4), np.array(1)), gradgrad=False),
    *[
        Sample(
            "multilabel_margin_loss",
            F + "multilabel_margin_loss",
            (_distinct(2, 4), np.array([[0, 2, -1, 1], [3, -1, 0, 0]])),
            k,
            gradgrad=False,
        )
        for k in _REDUCTIONS
    ],
    Sample(
        "multilabel_margin_loss_backward",
        F + "multilabel_margin_loss",
        (_distinct(3), np.array([1, -1, 0])),
        gradgrad=False,
    ),
]

_I = np.array([[1, 4], [1, 0]])
_TABLES = [
    *both(
        "embedding",
        "embedding_dense_backward",
        "embedding",
        (_n(5, 3), _I),
        (_n(5, 3), np.array(2)),
        (_n(5, 3), np.zeros((0, 2), np.int64)),
    ),
    *[Sample("embedding", "embedding", (_n(5, 3), _I, *more), grad=False) for more in [(1,), (-1, True)]],
    *[
        Sample("embedding_bag", F + "embedding_bag", (_I, _distinct(5, 3)), {"mode": m, **k})
        for m in ("sum", "mean", "max")
        for k in ({}, {"padding_idx": 1})
    ],
    Sample("embedding_bag", F + "embedding_bag", (_I, _n(5, 3)), {"mode": "sum", "per_sample_weights": _p(2, 2)}),
    Sample("embedding_bag", F + "embedding_bag", (_I[0], _n(5, 3), np.array([0, 1]))),
]

_MAY_ATTEND = np.array([[True, False, True], [False, False, False], [True, True, True], [False, True, False]])
_ATTENTION = both(
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    F + "scaled_dot_product_attention",
    (_n(2, 2, 4, 3), _n(2, 2, 3, 3), _n(2, 2, 3, 3)),
    (_n(1, 2, 4, 3), _n(1, 2, 3, 3), _n(1, 2, 3, 3), _MAY_ATTEND),
    (_n(1, 2, 4, 3), _n(1, 2, 4, 3), _n(1, 2, 4, 3), None, 0.0, True),
    (*[_n(2, 4, 2, 3).swapaxes(1, 2) for _ in range(3)], None, 0.0, True),
)
_ATTENTION = [
    *_ATTENTION,
    Sample(
        "_scaled_dot_product_flash_attention_for_cpu",
        F + "scaled_dot_product_attention",
        (_n(1, 2, 4, 3), _n(1, 2, 4, 3), _n(1, 2, 4, 3), None, 0.0, True),
        {"scale": 0.7},
    ),
]
_NORMS = [
    *both(
        "native_layer_norm",
        "native_layer_norm_backward",
        F + "layer_norm",
        (_n(3, 4), (4,), _n(4), _n(4)),
        (_n(2, 3, 2), (3, 2), _n(3, 2)),
        (_n(3, 4), (4,)),
        (_n(4), (4,), None, _n(4)),
        (_n(0, 3), (3,), _n(3), _n(3)),
        (_n(4, 3).T, (4,), _n(4), _n(4)),
    ),
    *both(
        "native_group_norm",
        "native_group_norm_backward",
        F + "group_norm",
        (_n(2, 4, 3), 2, _n(4), _n(4)),
        (_n(2, 4), 2),
        (_n(2, 6, 2, 2), 3, _n(6)),
    ),
    *both(
        "native_batch_norm",
        "native_batch_norm_backward",
        F + "batch_norm",
        *[
            (x, None, None, *p, True)
            for x, p in [
                (_n(4, 3), (_n(3), _n(3))),
                (_n(3, 2, 4), (None, None)),
                (_n(2, 3, 2, 2), (_n(3), _n(3))),
                (_n(3, 2), (None, _n(2))),
            ]
        ],
    ),
]

_CONVOLUTIONS = [
    *both(
        "convolution",
        "convolution_backward",
        F + "conv2d",
        *[
            (_n(2, 4, 5, 4), _n(*w), None if b is None else _n(b), *more)
            for w, b, more in [
                ((3, 4, 2, 3), 3, ()),
                ((2, 4, 2, 2), None, (2, 1)),
                ((4, 2, 2, 2), 4, (1, 0, 2, 2)),
                ((8, 1, 3, 2), 8, (1, 1, 1, 4)),
                ((4, 1, 2, 2), None, (2, 1, 1, 4)),
                ((3, 4, 1, 1), 3, ()),
            ]
        ],
    ),
    *both(
        "convolution",
        "convolution_backward",
        F + "conv1d",
        (_n(2, 3, 7), _n(2, 3, 3), _n(2)),
        (_n(3, 7), _n(2, 3, 2)),
        (_c(1, 2, 5), _c(2, 2, 2), _c(2)),
        (_c(1, 2, 5), _c(2, 1, 2), None, 1, 0, 1, 2),
        (_n(0, 2, 4), _n(2, 2, 2)),
    ),
    *both("convolution", "convolution_backward", F + "conv3d", (_n(1, 2, 3, 4, 3), _n(2, 2, 2, 2, 2), _n(2), 1, 1)),
    *both(
        "convolution",
        "convolution_backward",
        F + "conv_transpose2d",
        *[
            (_n(2, 4, 3, 3), _n(*w), *more)
            for w, more in [
                ((4, 3, 2, 2), (_n(3),)),
                ((4, 2, 3, 2), (None, 2, 1, 1)),
                ((4, 2, 2, 2), (_n(4), 1, 0, 0, 2)),
                ((4, 1, 2, 2), (None, 2, 0, 0, 4)),
                ((4, 2, 2, 2), (None, 2, 0, 2, 1, 3)),
            ]
        ],
    ),
    *both("convolution", "convolution_backward", F + "conv_transpose1d", (_n(2, 3, 4), _n(3, 2, 3))),
    Sample("conv_tbc", "conv_tbc", (_n(5, 2, 3), _n(3, 3, 4), _n(4), 1)),
]

_POOLS = [
    *[
        Sample(key, F + "max_pool2d", (_distinct(2, 5, 6), *more))
        for key in (
            "max_pool2d_with_indices.values",
            "max_pool2d_with_indices_backward",
            "max_pool_places",
            "max_pool_indices_backward",
        )
        for more in [(2,), (3, 2, 1), ((2, 3), 1, 0, 2)]
    ],
    *[
        Sample("max_pool2d_with_indices", F + "max_pool2d", (_distinct(2, 5, 6), *more), {"return_indices": True})
        for more in [(2,), (3, 2, 1)]
    ],
    Sample("max_pool2d_with_indices.values", F + "max_pool1d", (_distinct(1, 2, 7), 3)),
    *[
        Sample(key, F + "max_pool3d", (_distinct(1, 3, 4, 3), 2))
        for key in ("max_pool3d_with_indices.values", "max_pool3d_with_indices_backward")
    ],
    Sample("max_pool3d_with_indices", F + "max_pool3d", (_distinct(1, 3, 4, 3), 2), {"return_indices": True}),
    *both(
        "avg_pool2d",
        "avg_pool2d_backward",
        F + "avg_pool2d",
        *[(_n(2, 5, 6), *more) for more in [(2,), (3, 2, 1), (3, 2, 1, True, False), (2, 1, 0, False, True, 3)]],
    ),
    *both("avg_pool3d", "avg_pool3d_backward", F + "avg_pool3d", (_n(1, 3, 4, 3), 2), (_n(1, 3, 4, 3), 2, 1, 1)),
    *both(
        "adaptive_avg_pool2d",
        "adaptive_avg_pool2d_backward",
        F + "adaptive_avg_pool2d",
        (_n(2, 5, 4), (2, 3)),
        (_n(1, 2, 3), 5),
    ),
    *both(
        "adaptive_avg_pool3d", "adaptive_avg_pool3d_backward", F + "adaptive_avg_pool3d", (_n(1, 3, 4, 3), (2, 3, 1))
    ),
    Sample("adaptive_max_pool2d", F + "adaptive_max_pool2d", (_distinct(2, 5, 4), (2, 3))),
    Sample("adaptive_max_pool3d", F + "adaptive_max_pool3d", (_distinct(1, 3, 4, 3), 2)),
    *[
        Sample(
            f"fractional_max_pool{d}d",
            F + f"fractional_max_pool{d}d",
            (_distinct(*s), 2, 2),
            {"_random_samples": _p(1, 2, d)},
            grad=False,
        )
        for d, s in ((2, (1, 2, 5, 4)), (3, (1, 2, 4, 3, 4)))
    ],
    *[Sample("max_unpool2d", F + "max_unpool2d", (_n(1, 2, 2), np.array([[[0, 3], [9, 14]]]), 2))],
    *[Sample("max_unpool3d", F + "max_unpool3d", (_n(1, 1, 1, 2), np.array([[[[0, 13]]]]), 2))],
]

_PADS = [
    *[Sample("constant_pad_nd", F + "pad", (_n(3, 4), w, "constant", 1.5)) for w in [(1, 2), (-1, 1, 2, -1), (0, 0)]],
    *[
        sample
        for name, mode in (("reflection", "reflect"), ("replication", "replicate"))
        for d, s, w in [
            (1, (2, 5), (2, 1)),
            (1, (2, 5), (-1, 3)),
            (2, (1, 4, 3), (1, 2, 2, 1)),
            (3, (1, 3, 3, 4), (1, 1, 2, 0, 0, 2)),
        ]
        for sample in both(f"{name}_pad{d}d", f"{name}_pad{d}d_backward", F + "pad", (_n(*s), w, mode))
    ],
    Sample("pixel_shuffle", F + "pixel_shuffle", (_n(8, 2, 3), 2)),
    Sample("pixel_unshuffle", F + "pixel_unshuffle", (_n(2, 4, 6), 2)),
    Sample("channel_shuffle", F + "channel_shuffle", (_n(2, 6, 2), 3)),
    *[
        Sample(key, F + "unfold", (_n(2, 5, 4), (2, 3), *more))
        for key in ("im2col", "col2im")
        for more in [(), (1, 1, 2)]
    ],
    Sample("col2im", F + "fold", (_n(8, 6), (3, 4), 2)),
]


def resampled(key: str, mode: str, shape: tuple[int, ...], **more: Any) -> list[Sample]:
    big, small = [n + 2 for n in shape[2:]], [n - 1 for n in shape[2:]]
    return [
        *[Sample(key, F + "interpolate", (_n(*shape), size, None, mode), more) for size in (big, small)],
        Sample(key + "_backward", F + "interpolate", (_n(*shape), big, None, mode), more),
    ]


_IMAGES = [(1, 2, 5), (1, 2, 4, 3), (1, 1, 3, 4, 3)]
_RESAMPLED = [
    *[
        s
        for d, shape in enumerate(_IMAGES, 1)
        for s in (
            *resampled(f"upsample_nearest{d}d", "nearest", shape),
            *resampled(f"upsample_nearest_exact{d}d", "nearest-exact", shape),
        )
    ],
    *resampled("upsample_linear1d", "linear", _IMAGES[0]),
    *resampled("upsample_bilinear2d", "bilinear", _IMAGES[1]),
    *resampled("upsample_bilinear2d", "bilinear", _IMAGES[1], align_corners=True),
    *resampled("upsample_trilinear3d", "trilinear", _IMAGES[2]),
    *resampled("upsample_bicubic2d", "bicubic", _IMAGES[1]),
    *[
        s
        for mode in ("bilinear", "bicubic", "lanczos")
        for s in resampled(f"upsample_{mode}2d_aa", mode, _IMAGES[1], antialias=True)
    ],
]


def _inside(*shape: int) -> Any:
    """Places between pixels, some of them outside of the image."""
    return np.asarray(_g.uniform(-1.3, 1.3, size=shape))


_GRIDS = [
    *[
        Sample("grid_sampler_2d", "grid_sampler_2d", (_n(1, 2, 3, 2), _inside(1, 2, 1, 2), mode, padding, aligned))
        for mode, padding, aligned in (
            (0, 0, False),
            (0, 1, True),
            (0, 2, False),
            (1, 0, True),
            (2, 1, False),
            (2, 2, True),
        )
    ],
    *[
        Sample(
            "grid_sampler_3d", "grid_sampler_3d", (_n(1, 1, 3, 2, 2), _inside(1, 1, 2, 1, 3), mode, padding, aligned)
        )
        for mode, padding, aligned in ((0, 0, False), (0, 2, True), (1, 1, False))
    ],
    Sample("affine_grid_generator", "affine_grid_generator", (_n(2, 2, 3), (2, 1, 3, 2), False)),
    Sample("affine_grid_generator", "affine_grid_generator", (_n(1, 3, 4), (1, 1, 2, 3, 2), True)),
]

SAMPLES: list[Sample] = [
    *_GRIDS,
    *_ACTIVATIONS,
    *_LOSSES,
    *_TABLES,
    *_ATTENTION,
    *_NORMS,
    *_CONVOLUTIONS,
    *_POOLS,
    *_PADS,
    *_RESAMPLED,
]
