"""Derivatives of random numbers by their parameters: gamma and Dirichlet samples, reparameterised implicitly.

A sample x of a law with distribution function F and density f moves with a parameter by -(dF/dparameter) / f, the
quantile held (Figurnov, Mohamed and Mnih 2018; Jankowiak and Obermeyer 2018). F's derivatives have no closed form. Like
torch, these kernels take a series where x is near the border, Rice's saddle point expansion (Temme's uniform one, in
effect) for large parameters, and between them a rational function that was fitted to exact values; its error, up to a
few in 10,000, is torch's error too. All is computed in float64, but for the beta distribution's series, which torch
sums in the dtype of the sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.compiled import native
from livetape.kernels.draws import F4, F8, not_implemented, plain
from livetape.kernels.special import scipy_function

# torch compares with constants in single precision.
_BORDER, _BELOW, _ABOVE = (float(np.float32(c)) for c in (0.8, 0.9, 1.1))

# B_2k / 2k, of digamma's asymptotic series.
_PSI_TAIL = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)

# log of a gamma sample's derivative: a ratio of polynomials in u = log(x / alpha) (by rows) and v = log(alpha) (columns;
# the first four are the numerator's).
_GAMMA_FIT = np.array(
    [
        [0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084],
        [0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623],
        [
            0.040121004,
            -0.0065914022,
            -0.0026286047,
            -0.0013441777,
            0.017050642,
            -0.0021309326,
            0.00085092367,
            -1.5247877e-7,
        ],
    ]
)

# A beta sample's derivative, relative to a simple approximation: numerator, then denominator, by powers of u = log(x),
# a = log(alpha / x) and b = log(total x / alpha).
_BETA_FIT = np.array(
    [
        [
            [1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
            [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
            [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013],
            [0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
            [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
            [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05],
            [-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
            [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
            [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05],
        ],
        [
            [1, -0.02924021934, -0.04438342661, 0.007285809825],
            [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
            [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149],
            [0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
            [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
            [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05],
            [0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
            [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
            [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06],
        ],
    ]
)


def _flat(label: str, *arrays: np.ndarray) -> tuple[list[np.ndarray], tuple[int, ...], np.dtype]:
    """The arrays broadcast and flat, and the shape and dtype of the result."""
    dtype = arrays[0].dtype
    if dtype not in (F4, F8):
        raise not_implemented(label, dtype)
    for array in arrays[1:]:
        if array.dtype != dtype:
            name = {F4: "Float", F8: "Double"}
            raise RuntimeError(f"Found dtype {name.get(array.dtype, array.dtype.name)} but expected {name[dtype]}")
    same = all(array.shape == arrays[0].shape for array in arrays)
    together = arrays if same else np.broadcast_arrays(*arrays)
    return [array.reshape(-1) for array in together], together[0].shape, dtype


def _choose(regions: list[tuple[np.ndarray, Any]], *arrays: np.ndarray) -> np.ndarray:
    """Each element by the function of the first region that it lies in."""
    result = np.empty_like(arrays[0])
    left = np.ones(result.shape, bool)
    with np.errstate(all="ignore"):
        for region, function in regions:
            here = left & region
            left &= ~region
            if here.any():
                result[here] = function(*[array[here] for array in arrays])
    return result


def _psi(x: np.ndarray) -> np.ndarray:
    """Digamma of positive numbers. In float32 with torch's rounding, which the series below magnify."""
    if x.dtype == F8:
        return scipy_function("psi")(x)
    x, shifted = x.copy(), np.zeros(x.shape, F8)
    small = x < 10
    while small.any():
        shifted[small] -= 1 / x[small]
        x[small] += 1
        small = x < 10
    square = (x * x).astype(F8)
    tail = np.polynomial.polynomial.polyval(1 / square, _PSI_TAIL) / square
    return (shifted + np.log(x) - 0.5 / x - tail).astype(x.dtype)


# ---------------------------------------------------------------- gamma
def standard_gamma_grad(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``torch._standard_gamma_grad``: dx/dalpha of a gamma sample ``x`` of shape ``alpha`` and scale 1."""
    (alpha, x), shape, dtype = _flat("_standard_gamma_grad_cpu", alpha, x)
    if native is not None:
        out = np.empty(shape, dtype)
        native.gamma_slopes(plain(alpha), plain(x), out.reshape(-1), _GAMMA_FIT)
        return out
    alpha, x = alpha.astype(F8), x.astype(F8)
    large = alpha > 8
    regions = [
        (x < _BORDER, _gamma_small),
        (large & (_BELOW * alpha <= x) & (x <= _ABOVE * alpha), _gamma_middle),
        (large, _gamma_large),
        (np.ones_like(large), _gamma_fit),
    ]
    return _choose(regions, alpha, x).astype(dtype).reshape(shape)


def _gamma_small(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """By the power series of the incomplete gamma function, to x^5."""
    first = second = 0.0
    term = np.ones_like(x)
    for power in range(6):
        if power:
            term = term * (-x / power)
        first = first + term / (alpha + power)
        second = second + term / ((alpha + power) * (alpha + power))
    slope = (np.log(x) - _psi(alpha)) * first - second
    # d F / d alpha and f share the factor x^alpha: taken apart, as torch does, both are 0 for a tiny x
    moved = np.power(x, alpha) * slope
    found = -moved / (np.power(x, alpha - 1) * np.exp(-x))
    return np.where(np.isnan(found), 0.0, found)


def _gamma_middle(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The saddle point expansion where x is near alpha, as a series in their difference."""
    square = alpha * alpha
    first = 1 + 24 * alpha * (1 + 12 * alpha)
    second = 1440 * square + 6 * x * (53 - 120 * x) - 65 * x * x / alpha + alpha * (107 + 3600 * x)
    return first * second / (1244160 * square * square)


def _gamma_large(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The saddle point expansion elsewhere."""
    ratio, apart = np.log(x / alpha), alpha - x
    width = np.sqrt(8 * alpha)
    curve = np.power(-apart - alpha * ratio, -1.5)
    both = width / apart + np.where(apart > 0, -curve, curve)
    inner = ratio * both - np.sqrt(2 / alpha) * (alpha + x) / (apart * apart)
    stirling = 1 + 1 / (12 * alpha) * (1 + 1 / (24 * alpha))
    return -stirling * x * inner / width


def _gamma_fit(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    u, v = np.log(x / alpha), np.log(alpha)
    columns = np.polynomial.polynomial.polyval(u, _GAMMA_FIT)
    numerator, denominator = (_horner(v, columns[start : start + 4]) for start in (0, 4))
    return np.exp(numerator / denominator)


def _horner(at: np.ndarray, coefficients: Any) -> np.ndarray:
    c0, c1, c2, c3 = coefficients
    return c0 + at * (c1 + at * (c2 + at * c3))


# ---------------------------------------------------------------- beta, and Dirichlet by way of it
def dirichlet_grad(x: np.ndarray, alpha: np.ndarray, total: np.ndarray) -> np.ndarray:
    """``torch._dirichlet_grad``: dx/dalpha / (1 - x) of a beta sample ``x`` of alpha and total - alpha."""
    (x, alpha, total), shape, dtype = _flat("_dirichlet_grad_cpu", x, alpha, total)
    if native is not None:
        out = np.empty(shape, dtype)
        native.beta_slopes(plain(x), plain(alpha), plain(total), out.reshape(-1), _BETA_FIT)
        return out
    beta, border = total - alpha, total * x * (1 - x)
    regions = [
        ((x <= 0.5) & (border < 2.5), _beta_near_0),
        ((x >= 0.5) & (border < 0.75), _beta_near_1),
        ((alpha > 6) & (beta > 6), _beta_large),
        (np.ones(x.shape, bool), _beta_fit),
    ]
    return _choose(regions, x, alpha, beta).astype(dtype).reshape(shape)


def _beta_near_0(x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """By the power series of the incomplete beta function, to x^10."""
    factor = _psi(alpha) - _psi(alpha + beta) - np.log(x)
    series, term = 0.0, np.ones_like(x)
    for power in range(11):
        if power:
            term = term * ((power - beta) * x / power)
        series = series + term / (alpha + power) * (factor + 1 / (alpha + power))
    found = x * np.power(1 - x, -beta) * series
    return np.where(np.isnan(found), 0.0, found)


def _beta_near_1(x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """By the same series from the other end, whose second parameter moves: to (1 - x)^8."""
    rest = 1 - x
    factor = _psi(alpha + beta) - _psi(alpha)
    term, product, slope = np.ones_like(x), np.ones_like(x), np.zeros_like(x)
    series = factor / beta
    for power in range(1, 9):
        term = term * (-rest / power)
        slope = slope * (alpha - power) + product
        product = product * (alpha - power)
        series = series + term / (beta + power) * (slope + factor * product)
    found = np.power(x, 1 - alpha) * series
    return np.where(np.isnan(found), 0.0, found)


def _beta_large(x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    x, alpha, beta = x.astype(F8), alpha.astype(F8), beta.astype(F8)
    total = alpha + beta
    mean, width = alpha / total, np.sqrt(alpha * beta / (total + 1)) / total
    near = (mean - 0.1 * width <= x) & (x <= mean + 0.1 * width)
    return _choose([(near, _beta_middle), (~near, _beta_away)], x, alpha, beta)


def _beta_middle(x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The saddle point expansion where x is near the mean: a polynomial in alpha, whose coefficients follow."""
    total = alpha + beta
    b2 = beta * beta
    by_alpha = (
        47 * x * b2 * b2,
        (43 + 20 * (16 + 27 * beta) * x) * b2 * beta,
        3 * (59 + 180 * beta - 90 * x) * b2,
        (453 + 1620 * beta * (1 - x) - 455 * x) * beta,
        8 * (1 - x) * (135 * beta - 11),
    )
    poly = by_alpha[4]
    for coefficient in by_alpha[3::-1]:
        poly = coefficient + alpha * poly
    above = (1 + 12 * alpha) * (1 + 12 * beta) / (total * total)
    return above / (1 - x) * poly / (12960 * alpha * alpha * alpha * b2 * (1 + 12 * total))


def _beta_away(x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The saddle point expansion elsewhere."""
    total = alpha + beta
    root = np.sqrt(2 * alpha * beta / total)
    apart = alpha * (x - 1) + beta * x
    pull = np.log(alpha / (total * x))
    first = (2 * alpha * alpha * (x - 1) + alpha * beta * (x - 1) - x * beta * beta) / (
        np.sqrt(2 * alpha / beta) * np.power(total, 1.5) * apart * apart
    )
    curve = np.power(beta * np.log(beta / (total * (1 - x))) + alpha * pull, -1.5)
    second = 0.5 * pull * (2 * root / apart + np.where(x < alpha / total, curve, -curve))
    stirling = _stirling(alpha) * _stirling(beta) / _stirling(total)
    return stirling * (-x / root) * (first + second)


def _stirling(of: np.ndarray) -> np.ndarray:
    return 1 + 1 / (12 * of) + 1 / (288 * of * of)


def _beta_fit(x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    x, alpha, beta = x.astype(F8), alpha.astype(F8), beta.astype(F8)
    total = alpha + beta
    u = np.log(x)
    a = np.log(alpha) - u
    b = np.log(total) - a
    powers = [u**i * a**j for i in range(3) for j in range(3)]
    above, below = (sum(power * _horner(b, c) for power, c in zip(powers, fit)) for fit in _BETA_FIT)
    return above / below * (x * (_psi(total) - _psi(alpha)) / beta)
