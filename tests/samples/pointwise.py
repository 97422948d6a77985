"""Samples of ops/pointwise.py, ops/rounding.py, ops/special.py and ops/bessel.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import Sample, rng

_g = rng(3)


def _u(low: float, high: float) -> Any:
    """Arrays between two numbers: some shapes, empty, 0-d, not contiguous."""
    made = [_g.uniform(low, high, size=s) for s in [(3, 4), (), (0, 2), (4, 3)]]
    return (*made[:3], made[3].T)


def _c(*shape: int) -> Any:
    return np.asarray(_g.uniform(0.2, 0.8, size=shape) + 1j * _g.uniform(-0.8, 0.8, size=shape))


_ANY = (
    "exp",
    "expm1",
    "exp2",
    "sin",
    "cos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "sigmoid",
    "sinc",
    "deg2rad",
    "rad2deg",
    "erf",
    "erfc",
    "i0",
)
_POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma")
_SMALL = ("tan", "asin", "acos", "atanh", "erfinv")
_ANALYTIC = (
    "exp",
    "expm1",
    "exp2",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sigmoid",
    "sinc",
)
_STEPS = ("sign", "ceil", "floor", "trunc", "round", "frac")
_ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 2.5, -2.5, 0.5])
_INTEGERS = np.array([-2, 0, 3])
_NONE = ("bessel_j0", "bessel_j1", "modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0", "airy_ai")
_RIGHT = (
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
)
_POLYNOMIALS = (
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
)

SAMPLES: list[Sample] = [
    *[Sample(name, name, (x,)) for name in _ANY for x in _u(-2, 2)],
    *[Sample(name, name, (x,)) for name in _POSITIVE for x in _u(0.3, 3)],
    *[Sample(name, name, (x,)) for name in _SMALL for x in _u(-0.9, 0.9)],
    *[Sample("acosh", "acosh", (x,)) for x in _u(1.2, 3)],
    *[Sample(name, name, (_c(*s),)) for name in _ANALYTIC for s in [(3,), ()]],
    *[Sample(name, name, (_INTEGERS,), grad=False) for name in ("exp", "tanh", "sigmoid", "erf", "abs", "sign")],
    *[Sample(name, name, (_ODD,), grad=False) for name in (*_ANY, *_POSITIVE, *_STEPS, "abs", "signbit", "logit")],
    *[Sample("abs", "abs", (x,)) for x in (*_u(-2, 2), _c(3), _c())],
    *[Sample("sgn", "sgn", (x,)) for x in (*_u(-2, 2), _c(3))],
    *[Sample(name, name, (x,), gradgrad=False) for name in _STEPS for x in _u(0.1, 0.4)],
    *[Sample("signbit", "signbit", (x,), grad=False) for x in _u(-2, 2)],
    # rounded values whose gradient is that of the number before
    *[
        Sample(
            "fake_quantize_per_tensor_affine_cachemask",
            "fake_quantize_per_tensor_affine",
            (x, 0.5, 1, 0, 7),
            grad=False,
        )
        for x in _u(-2, 4)
    ],
    Sample(
        "fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        "fake_quantize_per_tensor_affine",
        (_g.uniform(-2, 4, size=(2, 3)), np.float32([0.5]), np.int32([1]), 0, 7),
        grad=False,
    ),
    Sample(
        "fake_quantize_per_channel_affine_cachemask",
        "fake_quantize_per_channel_affine",
        (_g.uniform(-2, 4, size=(2, 3)), np.float32([0.5, 0.1]), np.int32([1, 0]), 0, 0, 7),
        grad=False,
    ),
    *[Sample("round.decimals", "round", (x,), {"decimals": d}, gradgrad=False) for x in _u(0.1, 0.14) for d in (1, 0)],
    *[Sample("nan_to_num", "nan_to_num", (x,)) for x in _u(-2, 2)],
    Sample("nan_to_num", "nan_to_num", (_ODD, 1.0, 2.0, 3.0), grad=False),
    *[Sample("logit", "logit", (x,)) for x in _u(0.1, 0.9)],
    *[Sample("logit.eps", "logit", (x, 0.2)) for x in _u(0.1, 0.9)],
    # reached through the gradients of tanh and sigmoid
    *[Sample("tanh_backward", "tanh", (x,)) for x in (_g.normal(size=3), _c(2))],
    *[Sample("sigmoid_backward", "sigmoid", (x,)) for x in (_g.normal(size=3), _c(2))],
    # ------------------------------------------------------------ special functions
    *[Sample("polygamma", "polygamma", (n, x), inplace=False) for n in (0, 1, 2, 3) for x in _u(0.5, 3)],
    *[Sample("mvlgamma", "mvlgamma", (x, p)) for p in (1, 3) for x in _u(2, 4)],
    *[
        Sample("special_" + name, "special." + name, (x,))
        for name in ("i0e", "i1", "i1e", "erfcx", "log_ndtr")
        for x in _u(-2, 2)
    ],
    *[Sample("special_ndtri", "special.ndtri", (x,)) for x in _u(0.1, 0.9)],
    *[Sample("special_entr", "special.entr", (x,)) for x in _u(0.1, 2)],
    *[
        Sample("special_zeta", "special.zeta", (x, y), grad=False)
        for x, y in [(_g.uniform(1.5, 3, size=(2, 3)), _g.uniform(0.5, 3, size=3)), (2.5, _g.uniform(0.5, 3, size=3))]
    ],
    *[
        Sample(name, name, (x, y), grad=False, inplace=False)
        for name in ("igamma", "igammac")
        for x, y in [(_g.uniform(0.5, 3, size=(2, 3)), _g.uniform(0.5, 3, size=3)), (np.array(1.5), np.array(0.5))]
    ],
    *[Sample("special_" + name, "special." + name, (x,), grad=False) for name in _NONE for x in _u(-3, 3)],
    *[Sample("special_" + name, "special." + name, (x,), grad=False) for name in _RIGHT for x in _u(0.3, 3)],
    *[
        Sample("special_" + name, "special." + name, (x, n), grad=False)
        for name in _POLYNOMIALS
        for x, n in [(_g.uniform(-1, 1, size=(3, 1)), np.arange(5.0)), (_g.uniform(-1, 1, size=3), 4)]
    ],
]
