"""Special functions: error functions, gamma functions, Bessel functions, the normal distribution."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.kernels import special
from livetape.kernels.compiled import compiled
from livetape.kernels.select import refuse
from livetape.kernels.special import late, real_function
from livetape.ops.choose import where
from livetape.ops.pointwise import exp, log
from livetape.ops.refuse import must_be_tensors, no_overload
from livetape.ops.table import elementwise, into, unary

_PI = math.pi
_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)

# ---------------------------------------------------------------- error functions
erf = unary(
    "erf",
    compiled("erf", late("erf", "erf_vml_cpu")),
    "The error function of each element.",
    self=lambda grad, self: grad * (_TWO_BY_ROOT_PI * exp(-(self * self))),
)
erfc = unary(
    "erfc",
    compiled("erfc", late("erfc", "erfc_vml_cpu")),
    "1 - erf(x), exact for large x.",
    self=lambda grad, self: grad * (-_TWO_BY_ROOT_PI * exp(-(self * self))),
)
erfinv = unary(
    "erfinv",
    compiled("erfinv", real_function(special.erfinv, "erfinv_vml_cpu")),
    "The inverse of `erf`.",
    self=lambda grad, self: grad * (0.5 * math.sqrt(_PI) * exp(erfinv(self) ** 2)),
)
erfcx = unary(
    "special_erfcx",
    late("erfcx", "erfcx_cpu"),
    "exp(x * x) * erfc(x).",
    self=lambda grad, self, result: grad * (2 * self * result - _TWO_BY_ROOT_PI),
)

# ---------------------------------------------------------------- gamma functions
lgamma = unary(
    "lgamma",
    real_function(special.lgamma, "lgamma_vml_cpu"),
    "The logarithm of the absolute value of the gamma function.",
    self=lambda grad, self: grad * digamma(self),
)
digamma = unary(
    "digamma",
    real_function(special.digamma, "digamma"),
    "The logarithmic derivative of the gamma function.",
    self=lambda grad, self: grad * polygamma(1, self),
)
POLYGAMMA = elementwise(
    "polygamma",
    lambda self, n: _polygamma(self, int(n)),
    promote="float",
    self=lambda grad, self, n: grad * polygamma(n + 1, self),
)


_POLYGAMMA = {0: "digamma", 1: "trigamma"}  # torch's kernels


def _polygamma(x: Any, n: int) -> Any:
    if x.dtype.char in "fd":
        return special.polygamma(n, x)
    return special.in_single(lambda wide: special.polygamma(n, wide), _POLYGAMMA.get(n, "polygamma"), x)


def polygamma(n: int, input: Any, *, out: Any = None) -> Any:
    """The ``n``-th derivative of `digamma` (source: ``torch.polygamma``)."""
    if out is not None:
        return into(out, polygamma, n, input)
    if n < 0:
        raise noted(RuntimeError("polygamma(n, x) does not support negative n."))
    return POLYGAMMA.apply((input, n))


def polygamma_method(self: Any, n: int) -> Any:
    """The ``n``-th derivative of `digamma` (source: ``torch.Tensor.polygamma``)."""
    return polygamma(n, self)


def polygamma_(self: Any, n: int) -> Any:
    """In-place `polygamma`."""
    if n < 0:
        raise noted(RuntimeError("polygamma(n, x) does not support negative n."))
    return POLYGAMMA.inplace(self, n)


def _mvlgamma(x: Any, p: int) -> Any:
    if x.dtype.kind == "c":
        raise noted(refuse("arange_cpu", x.dtype))  # torch's label
    if x.itemsize == 2:
        return _mvlgamma(x.astype(np.float32), p).astype(x.dtype)
    total = np.full(x.shape, p * (p - 1) / 4 * math.log(_PI), x.dtype)
    for j in range(p):
        total += special.lgamma(x - x.dtype.type(j / 2))
    return total


MVLGAMMA = elementwise(
    "mvlgamma",
    lambda self, p: _mvlgamma(self, int(p)),
    promote="float",
    self=lambda grad, self, p: grad * _mvlgamma_slope(self, p),
)


def _mvlgamma_slope(x: Any, p: int) -> Any:
    return sum([digamma(x - j / 2) for j in range(1, p)], digamma(x))


def mvlgamma(input: Any, p: int, *, out: Any = None) -> Any:
    """The logarithm of the multivariate gamma function of dimension ``p`` (source: ``torch.mvlgamma``)."""
    if out is not None:
        return into(out, mvlgamma, input, p)
    if p < 1:
        raise noted(RuntimeError("p has to be greater than or equal to 1"))
    return MVLGAMMA.apply((input, p))


def mvlgamma_(self: Any, p: int) -> Any:
    """In-place `mvlgamma`."""
    if p < 1:
        raise noted(RuntimeError("p has to be greater than or equal to 1"))
    return MVLGAMMA.inplace(self, p)


# ---------------------------------------------------------------- incomplete gamma functions
def _no_gradient(what: str) -> Any:
    def formula(grad: Any) -> NoReturn:
        raise noted(NotImplementedError(f"the derivative for '{what}' is not implemented."))

    return formula


def _gamma_density(self: Any, other: Any) -> Any:
    return exp((self - 1) * log(other) - other - lgamma(self))


IGAMMA = elementwise(
    "igamma",
    late("gammainc", "igamma_cpu"),
    params="self other",
    tensors="self other",
    self=_no_gradient("igamma: input"),
    other=lambda grad, self, other: grad * _gamma_density(self, other),
)
IGAMMAC = elementwise(
    "igammac",
    late("gammaincc", "igammac_cpu"),
    params="self other",
    tensors="self other",
    self=_no_gradient("igammac: input"),
    other=lambda grad, self, other: -grad * _gamma_density(self, other),
)


def igamma(input: Any, other: Any, *, out: Any = None) -> Any:
    """The regularised lower incomplete gamma function (source: ``torch.igamma``)."""
    if out is not None:
        return into(out, igamma, input, other)
    must_be_tensors("igamma", input=input, other=other)
    return IGAMMA.call2(input, other)


def igammac(input: Any, other: Any, *, out: Any = None) -> Any:
    """The regularised upper incomplete gamma function (source: ``torch.igammac``)."""
    if out is not None:
        return into(out, igammac, input, other)
    must_be_tensors("igammac", input=input, other=other)
    return IGAMMAC.call2(input, other)


def igamma_(self: Any, other: Any) -> Any:
    """In-place `igamma`."""
    return IGAMMA.inplace(self, other)


def igammac_(self: Any, other: Any) -> Any:
    """In-place `igammac`."""
    return IGAMMAC.inplace(self, other)


# ---------------------------------------------------------------- Bessel functions
i0 = unary(
    "i0",
    late("i0", "i0_vml_cpu"),
    "The modified Bessel function of the first kind, order 0.",
    self=lambda grad, self: grad * i1(self),
)
i0e = unary(
    "special_i0e",
    late("i0e", "i0e_cpu"),
    "exp(-|x|) * i0(x).",
    node="SpecialI0EBackward0",
    self=lambda grad, self, result: grad * (i1e(self) - self.sgn() * result),
)


def _i1_backward(grad: Any, self: Any, result: Any) -> Any:
    # i0(x) - i1(x) / x, which at 0 is 1/2
    near = ~(self.abs() > np.finfo(self.dtype.np).eps)
    safe = where(near, 1, self)
    return grad * where(near, 0.5, i0(safe) - result / safe)


def _i1e_backward(grad: Any, self: Any, result: Any) -> Any:
    near = ~(self.abs() > np.finfo(self.dtype.np).eps)
    safe = where(near, 1, self)
    return grad * where(near, 0.5, i0e(safe) - result * (self.sgn() + 1 / safe))


i1 = unary(
    "special_i1", late("i1", "i1_cpu"), "The modified Bessel function of the first kind, order 1.", self=_i1_backward
)
i1e = unary("special_i1e", late("i1e", "i1e_cpu"), "exp(-|x|) * i1(x).", node="SpecialI1EBackward0", self=_i1e_backward)

# ---------------------------------------------------------------- the normal distribution, and entropy
ndtri = unary(
    "special_ndtri",
    late("ndtri", "ndtri_cpu"),
    "The quantile of the normal distribution.",
    self=lambda grad, result: grad * (math.sqrt(2 * _PI) * exp(result * result * 0.5)),
)
log_ndtr = unary(
    "special_log_ndtr",
    late("log_ndtr", "log_ndtr_cpu"),
    "The logarithm of the normal distribution function.",
    self=lambda grad, self: grad * _log_ndtr_slope(self),
)


def _log_ndtr_slope(x: Any) -> Any:
    return math.sqrt(2 / _PI) / erfcx(-x / math.sqrt(2))


def ndtr(input: Any, *, out: Any = None) -> Any:
    """The normal distribution function (source: ``torch.special.ndtr``)."""
    if out is not None:
        return into(out, ndtr, input)
    return erfc(input * -math.sqrt(0.5)) * 0.5


def _entr(x: Any) -> Any:
    safe = np.where(x > 0, x, x.dtype.type(1))
    found = np.where(x > 0, -safe * np.log(safe), np.where(x == 0, x.dtype.type(0), x.dtype.type(-np.inf)))
    return np.where(np.isnan(x), x, found)


entr = unary(
    "special_entr",
    real_function(_entr, "entr_cpu"),
    "-x log(x); 0 at 0, minus infinity left of it.",
    self=lambda grad, self: grad * (-log(self) - 1),
)

# ---------------------------------------------------------------- zeta
ZETA = elementwise(
    "special_zeta",
    late("zeta", "zeta_cpu"),
    params="self other",
    tensors="self other",
    promote="float",
    self=_no_gradient("zeta"),
    other=lambda grad, self, other: grad * (-self * zeta(self + 1, other)),
)


def zeta(input: Any, other: Any, *, out: Any = None) -> Any:
    """The Hurwitz zeta function; the gradient of ``input`` is an error (source: ``torch.special.zeta``)."""
    if out is not None:
        return into(out, zeta, input, other)
    if not (isinstance(input, TensorBase) or isinstance(other, TensorBase)):
        raise noted(no_overload("special_zeta"))
    return ZETA.apply((input, other))


_METHODS = [erf, erfc, erfinv, lgamma, digamma, i0]
METHODS = {f.__name__: f for f in _METHODS} | {f.__name__ + "_": f.inplace for f in _METHODS}
METHODS |= {"igamma": igamma, "igamma_": igamma_, "igammac": igammac, "igammac_": igammac_}
METHODS |= {"polygamma": polygamma_method, "polygamma_": polygamma_, "mvlgamma": mvlgamma, "mvlgamma_": mvlgamma_}
erf_, erfc_, i0_ = erf.inplace, erfc.inplace, i0.inplace
FUNCTIONS = [
    "erf",
    "erf_",
    "erfc",
    "erfc_",
    "erfinv",
    "lgamma",
    "digamma",
    "polygamma",
    "mvlgamma",
    "igamma",
    "igammac",
    "i0",
    "i0_",
]
