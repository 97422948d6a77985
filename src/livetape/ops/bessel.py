"""Bessel functions, the Airy function and orthogonal polynomials: none of them is differentiable in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.kernels.special import late, real_function, scipy_function
from livetape.ops.refuse import no_overload
from livetape.ops.table import elementwise, into, unary


def _function(name: str, kernel: Any, doc: str) -> Any:
    return unary("special_" + name, kernel, doc)


airy_ai = _function(
    "airy_ai", real_function(lambda x: scipy_function("airy")(x)[0], "airy_ai_cpu"), "The Airy function Ai."
)
bessel_j0 = _function("bessel_j0", late("j0", "bessel_j0_cpu"), "The Bessel function of the first kind, order 0.")
bessel_j1 = _function("bessel_j1", late("j1", "bessel_j1_cpu"), "The Bessel function of the first kind, order 1.")
bessel_y0 = _function("bessel_y0", late("y0", "bessel_y0_cpu"), "The Bessel function of the second kind, order 0.")
bessel_y1 = _function("bessel_y1", late("y1", "bessel_y1_cpu"), "The Bessel function of the second kind, order 1.")
modified_bessel_i0 = _function(
    "modified_bessel_i0",
    late("i0", "modified_bessel_i0_cpu"),
    "The modified Bessel function of the first kind, order 0.",
)
modified_bessel_i1 = _function(
    "modified_bessel_i1",
    late("i1", "modified_bessel_i1_cpu"),
    "The modified Bessel function of the first kind, order 1.",
)
modified_bessel_k0 = _function(
    "modified_bessel_k0",
    late("k0", "modified_bessel_k0_cpu"),
    "The modified Bessel function of the second kind, order 0.",
)
modified_bessel_k1 = _function(
    "modified_bessel_k1",
    late("k1", "modified_bessel_k1_cpu"),
    "The modified Bessel function of the second kind, order 1.",
)
scaled_modified_bessel_k0 = _function(
    "scaled_modified_bessel_k0", late("k0e", "scaled_modified_bessel_k0_cpu"), "exp(x) * modified_bessel_k0(x)."
)
scaled_modified_bessel_k1 = _function(
    "scaled_modified_bessel_k1", late("k1e", "scaled_modified_bessel_k1_cpu"), "exp(x) * modified_bessel_k1(x)."
)


def _spherical_j0(x: Any) -> Any:
    safe = np.where(x == 0, x.dtype.type(1), x)
    found = np.where(x == 0, x.dtype.type(1), np.sin(safe) / safe)
    return np.where(np.isinf(x), x.dtype.type(0), found)


spherical_bessel_j0 = _function(
    "spherical_bessel_j0",
    real_function(_spherical_j0, "spherical_bessel_j0_cpu"),
    "The spherical Bessel function of the first kind, order 0: sin(x) / x.",
)


# ---------------------------------------------------------------- orthogonal polynomials
def _polynomial(name: str, value: Callable[[Any, Any], Any], doc: str) -> Any:
    """``value(n, x)`` takes degrees as integers, 0 or more."""

    def kernel(x: Any, n: Any) -> Any:
        degree = np.trunc(n).astype(np.int64)
        found = value(np.maximum(degree, 0), x.astype(np.float64))
        return np.where(degree < 0, 0.0, found).astype(x.dtype)

    op = elementwise(
        "special_" + name,
        real_function(kernel, name + "_cpu"),
        params="self other",
        tensors="self other",
        promote="float",
    )

    def function(input: Any, n: Any, *, out: Any = None) -> Any:
        if out is not None:
            return into(out, function, input, n)
        if not (isinstance(input, TensorBase) or isinstance(n, TensorBase)):
            raise noted(no_overload("special_" + name))
        return op.call2(input, n)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}, of degree ``n``.\n\nSource: ``torch.special.{name}``."
    function.row = op  # type: ignore[attr-defined]
    return function


def _first(n: Any, x: Any) -> Any:
    return scipy_function("eval_chebyt")(n, x)


def _second(n: Any, x: Any) -> Any:
    return scipy_function("eval_chebyu")(n, x)


def _third(n: Any, x: Any) -> Any:
    return _second(n, x) - np.where(n > 0, _second(np.maximum(n - 1, 0), x), 0.0)


def _fourth(n: Any, x: Any) -> Any:
    return _second(n, x) + np.where(n > 0, _second(np.maximum(n - 1, 0), x), 0.0)


def _shifted(value: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda n, x: value(n, 2 * x - 1)


def _scipy(name: str) -> Callable[[Any, Any], Any]:
    return lambda n, x: scipy_function(name)(n, x)


chebyshev_polynomial_t = _polynomial("chebyshev_polynomial_t", _first, "The Chebyshev polynomial of the first kind")
chebyshev_polynomial_u = _polynomial("chebyshev_polynomial_u", _second, "The Chebyshev polynomial of the second kind")
chebyshev_polynomial_v = _polynomial("chebyshev_polynomial_v", _third, "The Chebyshev polynomial of the third kind")
chebyshev_polynomial_w = _polynomial("chebyshev_polynomial_w", _fourth, "The Chebyshev polynomial of the fourth kind")
shifted_chebyshev_polynomial_t = _polynomial(
    "shifted_chebyshev_polynomial_t", _shifted(_first), "The Chebyshev polynomial of the first kind at 2 x - 1"
)
shifted_chebyshev_polynomial_u = _polynomial(
    "shifted_chebyshev_polynomial_u", _shifted(_second), "The Chebyshev polynomial of the second kind at 2 x - 1"
)
shifted_chebyshev_polynomial_v = _polynomial(
    "shifted_chebyshev_polynomial_v", _shifted(_third), "The Chebyshev polynomial of the third kind at 2 x - 1"
)
shifted_chebyshev_polynomial_w = _polynomial(
    "shifted_chebyshev_polynomial_w", _shifted(_fourth), "The Chebyshev polynomial of the fourth kind at 2 x - 1"
)
hermite_polynomial_h = _polynomial("hermite_polynomial_h", _scipy("eval_hermite"), "The physicist's Hermite polynomial")
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he", _scipy("eval_hermitenorm"), "The probabilist's Hermite polynomial"
)
laguerre_polynomial_l = _polynomial("laguerre_polynomial_l", _scipy("eval_laguerre"), "The Laguerre polynomial")
legendre_polynomial_p = _polynomial("legendre_polynomial_p", _scipy("eval_legendre"), "The Legendre polynomial")

FUNCTIONS: list[str] = []  # of torch.special alone
METHODS: dict[str, Any] = {}
