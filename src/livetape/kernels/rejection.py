"""Laws that draw a varying number of uniforms for each value: Poisson, binomial, gamma, Dirichlet.

torch takes these value by value from one stream, so where a value's draws begin depends on all values before it. Where
all values obey one law, ``_rejection`` still works on whole arrays; the rest goes value by value.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from livetape.kernels.bits import BitSource
from livetape.kernels.compiled import native
from livetape.kernels.draws import DIGITS, F4, F8, SCALAR_NAME, narrow, not_implemented, plain, unit64

Attempt = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

_FEW = 8  # below this, one by one is faster
_CHUNK = 16384  # attempts judged at a time


class _Uniforms:
    """53-bit uniforms one at a time, never drawing one that is not asked for.

    ``left`` counts the values still to be made. Each needs at least one more uniform, so that many may be drawn.
    """

    __slots__ = ("bits", "left", "stock")

    def __init__(self, bits: BitSource, left: int) -> None:
        self.bits = bits
        self.left = left
        self.stock: list[float] = []

    def next(self) -> float:
        """The next uniform."""
        if not self.stock:
            self.stock = unit64(self.bits, max(1, self.left))[::-1].tolist()
        return self.stock.pop()


def _rejection(bits: BitSource, count: int, attempt: Attempt) -> np.ndarray:
    """Make ``count`` values of one law, where each attempt takes two uniforms: those accepted, in order.

    ``attempt(u, v)`` gives the values proposed and whether each is accepted.
    """
    result = np.empty(count, F8)
    done = 0
    while done < count:
        drawn = unit64(bits, 2 * min(count - done, _CHUNK))
        values, accepted = attempt(drawn[0::2], drawn[1::2])
        kept = values[accepted]
        result[done : done + len(kept)] = kept
        done += len(kept)
    return result


# ---------------------------------------------------------------- Poisson
def poisson(bits: BitSource, rates: np.ndarray) -> np.ndarray:
    """``torch.poisson``: counts of the given rates, in their dtype and shape.

    Rates of 10 and more by Hoermann's transformed rejection (PTRS, 1993), smaller ones by multiplying uniforms.
    """
    if native is not None and rates.dtype.char in "fd":
        out = np.empty(rates.shape, rates.dtype)
        with bits.lock:
            if native.poissons(bits.capsule, plain(rates), out):
                return out
    if rates.dtype.name not in DIGITS:
        raise not_implemented("poisson_cpu", rates.dtype)
    flat = rates.astype(F8).reshape(-1)
    if not bool((flat >= 0).all()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    with bits.lock:
        if len(flat) > _FEW and flat[0] >= 10 and bool((flat == flat[0]).all()):
            made = _rejection(bits, len(flat), _ptrs(float(flat[0])))
        else:
            made = np.array(_poisson_serial(bits, flat.tolist()), F8)
    return narrow(made, rates.dtype).reshape(rates.shape)


def _log_factorial(k: np.ndarray) -> np.ndarray:
    """log(k!) for whole numbers: the C library's lgamma, once for each distinct number."""
    distinct, places = np.unique(k, return_inverse=True)
    return np.array([math.lgamma(number + 1.0) for number in distinct.tolist()])[places]


def _ptrs_constants(rate: float) -> tuple[float, float, float, float, float]:
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    return a, b, 0.9277 - 3.6224 / (b - 2), math.log(1.1239 + 1.1328 / (b - 3.4)), math.log(rate)


def _ptrs(rate: float) -> Attempt:
    a, b, bound, log_inverse_alpha, log_rate = _ptrs_constants(rate)

    def attempt(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = u - 0.5
        us = 0.5 - np.abs(u)
        with np.errstate(divide="ignore"):
            k = np.floor((2 * a / us + b) * u + rate + 0.43)
        accepted = (us >= 0.07) & (v <= bound)
        doubt = np.flatnonzero(~accepted & (k >= 0) & ~((us < 0.013) & (v > us)))
        if len(doubt):
            k_, us_ = k[doubt], us[doubt]
            with np.errstate(divide="ignore"):
                left = np.log(v[doubt]) + log_inverse_alpha - np.log(a / (us_ * us_) + b)
            accepted[doubt] = left <= -rate + k_ * log_rate - _log_factorial(k_)
        return k, accepted

    return attempt


def _poisson_serial(bits: BitSource, rates: list[float]) -> list[float]:
    uniforms = _Uniforms(bits, sum(rate > 0 for rate in rates))
    made = []
    for rate in rates:
        count = 0
        if rate >= 10:
            count = _ptrs_one(uniforms, rate)
        elif rate:
            product, limit = uniforms.next(), math.exp(-rate)
            while product > limit:
                count += 1
                product *= uniforms.next()
        uniforms.left -= rate > 0
        made.append(float(count))
    return made


def _ptrs_one(uniforms: _Uniforms, rate: float) -> int:
    a, b, bound, log_inverse_alpha, log_rate = _ptrs_constants(rate)
    while True:
        u, v = uniforms.next() - 0.5, uniforms.next()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= bound:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        log_v = math.log(v) if v else -math.inf
        if log_v + log_inverse_alpha - math.log(a / (us * us) + b) <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return k


# ---------------------------------------------------------------- binomial
def binomial(bits: BitSource, counts: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """``torch.binomial``: successes in ``counts`` trials; float32 or float64, shapes that broadcast.

    Ten and more expected successes by transformed rejection (BTRS), fewer by adding geometric waiting times.
    """
    for name, given in (("count", counts), ("prob", probabilities)):
        if given.dtype.name not in DIGITS:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {SCALAR_NAME[given.dtype.name]}"
            )
    if counts.dtype != probabilities.dtype:
        raise RuntimeError(
            f"Found dtype {SCALAR_NAME[probabilities.dtype.name]} but expected {SCALAR_NAME[counts.dtype.name]}"
        )
    counts, probabilities = np.broadcast_arrays(counts, probabilities)
    if counts.dtype.itemsize == 2:
        raise not_implemented("binomial_cpu", counts.dtype)
    n, p = counts.reshape(-1), probabilities.reshape(-1)
    one = n.dtype.type(1)
    with np.errstate(invalid="ignore"):
        flipped = p > 0.5
        q = np.where(flipped, one - p, p)  # the rarer of success and failure
        sure = (n <= 0) | (p <= 0) | (p >= 1) | np.isnan(p) | np.isnan(n)
        many = n * q >= 10.0
    made = np.zeros(len(n), F8)
    drawn = np.flatnonzero(~sure)
    if len(drawn):
        n_, q_, many_ = n[drawn], q[drawn], many[drawn]
        with bits.lock:
            if len(drawn) > _FEW and many_[0] and bool(((n_ == n_[0]) & (q_ == q_[0])).all()):
                successes = _rejection(bits, len(drawn), _Btrs(n_[:1], q_[:1]).attempt)
            else:
                successes = _binomial_serial(bits, n_, q_, many_)
        made[drawn] = np.where(flipped[drawn], n_ - successes, successes)
    made[(p >= 1) & (n > 0)] = n[(p >= 1) & (n > 0)]
    made[np.isnan(n) | np.isnan(p)] = np.nan
    made[(n <= 0) | (p <= 0)] = 0
    return made.astype(n.dtype).reshape(counts.shape)


_STIRLING_TAIL = [
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
]


def _stirling_tail(k: float) -> float:
    """What Stirling's formula for log(k!) leaves out."""
    if k <= 9:
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


class _Btrs:
    """Transformed rejection for n trials with success p <= 1/2, n * p >= 10: arrays of one dtype, a law an element.

    What torch computes in the dtype of n is computed in it here.
    """

    def __init__(self, n: np.ndarray, p: np.ndarray) -> None:
        one = n.dtype.type(1)
        deviation = np.sqrt(n * p * (one - p)).astype(F8)
        b = 1.15 + 2.53 * deviation
        self.kind = n.dtype.type
        self.n = n.tolist()
        self.b = b.tolist()
        self.a = (-0.0873 + 0.0248 * b + 0.01 * p.astype(F8)).tolist()
        self.centre = ((n * p).astype(F8) + 0.5).tolist()
        self.bound = (0.92 - 4.2 / b).tolist()
        self.odds = (p / (one - p)).astype(F8).tolist()
        self.alpha = ((2.83 + 5.1 / b) * deviation).tolist()
        self.mode = np.floor((n + one) * p).astype(F8).tolist()
        self.next_n = (n + one).tolist()

    def judge(self, i: int, k: float, us: float, v: float) -> bool:
        """Whether law i accepts k where the quick test left it open."""
        n, a, b, m, r = self.n[i], self.a[i], self.b[i], self.mode[i], self.odds[i]
        failures, next_k, rest = n - k + 1, k + 1, n - k
        if n >= 2**24:  # in float32, torch rounds these
            failures, next_k, rest = (
                float(self.kind(self.kind(n) - self.kind(k)) + self.kind(1)),
                float(self.kind(k) + self.kind(1)),
                float(self.kind(n) - self.kind(k)),
            )
        level = v * self.alpha[i] / (a / (us * us) + b)
        if not level:
            return True
        return math.log(level) <= (
            (m + 0.5) * math.log((m + 1) / (r * (n - m + 1)))
            + self.next_n[i] * math.log((n - m + 1) / failures)
            + (k + 0.5) * math.log(r * failures / next_k)
            + _stirling_tail(m)
            + _stirling_tail(n - m)
            - _stirling_tail(k)
            - _stirling_tail(rest)
        )

    def attempt(self, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Many attempts at law 0."""
        u = u - 0.5
        us = 0.5 - np.abs(u)
        with np.errstate(divide="ignore"):
            k = np.floor((2 * self.a[0] / us + self.b[0]) * u + self.centre[0]).astype(self.kind).astype(F8)
        possible = (k >= 0) & (k <= self.n[0])
        accepted = possible & (us >= 0.07) & (v <= self.bound[0])
        doubt = np.flatnonzero(possible & ~accepted)
        accepted[doubt] = [
            self.judge(0, *open_) for open_ in zip(k[doubt].tolist(), us[doubt].tolist(), v[doubt].tolist())
        ]
        return k, accepted

    def one(self, i: int, uniforms: _Uniforms) -> float:
        """One value of law i."""
        while True:
            u, v = uniforms.next() - 0.5, uniforms.next()
            us = 0.5 - abs(u)
            if us == 0:
                continue
            k = float(math.floor((2 * self.a[i] / us + self.b[i]) * u + self.centre[i]))
            if k >= 2**24:
                k = float(self.kind(k))
            if 0 <= k <= self.n[i] and ((us >= 0.07 and v <= self.bound[i]) or self.judge(i, k, us, v)):
                return k


def _binomial_serial(bits: BitSource, n: np.ndarray, p: np.ndarray, many: np.ndarray) -> np.ndarray:
    uniforms = _Uniforms(bits, len(n))
    log_failure = np.log1p(-p).tolist()
    laws = _Btrs(n, p)
    made = []
    for i, (trials, is_many) in enumerate(zip(n.tolist(), many.tolist())):
        if is_many:
            made.append(laws.one(i, uniforms))
        else:
            successes, waited = -1, 0.0
            while waited <= trials:
                u = uniforms.next()
                waited += math.ceil(math.log(u) / log_failure[i]) if u else math.inf
                successes += 1
            made.append(float(successes))
        uniforms.left -= 1
    return np.array(made, F8)


# ---------------------------------------------------------------- gamma
_THIRD, _SQUEEZE = float(np.float32(1) / np.float32(3)), float(np.float32(0.0331))


def _gamma_one(uniforms: _Uniforms, alpha: float, d: float, boost: float) -> float:
    """Marsaglia and Tsang (2000) for shape alpha >= 1 with d = alpha - 1/3, times what a smaller shape asks for."""
    bits = uniforms.bits
    scale = math.pow(1.0 - uniforms.next(), boost) if boost else 1.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        while True:
            if bits.spare is not None:
                x, bits.spare = bits.spare, None
            else:
                turn, height = uniforms.next(), uniforms.next()
                radius, theta = math.sqrt(-2.0 * math.log1p(-height)), 2.0 * math.pi * turn
                x, bits.spare = radius * math.cos(theta), radius * math.sin(theta)
            y = 1.0 + c * x
            if y > 0:
                break
        v = y * y * y
        u = 1.0 - uniforms.next()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _gammas(bits: BitSource, alpha: np.ndarray) -> np.ndarray:
    """Gammas of the shapes in an array, float32 or float64, none smaller than the smallest normal number.

    Arithmetic on the shapes is in their dtype, as in torch, all else in float64.
    """
    if native is not None:
        out = np.empty(alpha.shape, alpha.dtype)
        with bits.lock:
            bits.spare = native.gammas(bits.capsule, plain(alpha), out, bits.spare)
        return out
    made = _gammas_serial(bits, alpha.reshape(-1)).astype(alpha.dtype)
    return np.maximum(made, np.finfo(alpha.dtype).tiny).reshape(alpha.shape)


def _gammas_serial(bits: BitSource, alpha: np.ndarray) -> np.ndarray:
    one = alpha.dtype.type(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        boost = np.where(alpha < 1, one / alpha, 0).astype(F8)
    raised = np.where(alpha < 1, alpha + one, alpha)
    d = (raised - alpha.dtype.type(_THIRD)).astype(F8)
    uniforms = _Uniforms(bits, int(np.count_nonzero(alpha > 0)))
    made = np.zeros(len(alpha), F8)
    with bits.lock:
        for i, (shape, d_, boost_) in enumerate(zip(alpha.tolist(), d.tolist(), boost.tolist())):
            if shape > 0:
                made[i] = _gamma_one(uniforms, shape, d_, boost_)
                uniforms.left -= 1
    return made


def standard_gamma(bits: BitSource, alpha: np.ndarray) -> np.ndarray:
    """``torch._standard_gamma``: gammas of the given shapes and scale 1; float32 or float64."""
    if alpha.dtype not in (F4, F8):
        raise not_implemented("gamma_cpu", alpha.dtype)
    return _gammas(bits, alpha)


# What samples between 0 and 1 are kept in
_INSIDE = {kind: (np.finfo(kind).tiny, np.nextafter(kind.type(1), kind.type(0))) for kind in (F4, F8)}


def dirichlet(bits: BitSource, alpha: np.ndarray) -> np.ndarray:
    """``torch._sample_dirichlet``: points of the simplex, concentrations along the last axis; float32 or float64."""
    if alpha.dtype not in (F4, F8):
        raise not_implemented("dirichlet", alpha.dtype)
    made = _gammas(bits, alpha.astype(F8))
    made /= made.sum(-1, keepdims=True)
    made = made.astype(alpha.dtype, copy=False)
    least, most = _INSIDE[alpha.dtype]
    np.maximum(made, least, out=made)
    return np.minimum(made, most, out=made)
