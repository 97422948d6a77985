"""VonMises: the normal distribution's like on a circle."""

from __future__ import annotations

import math

from livetape import ops
from livetape._tape.tensor import shape_of
from livetape.autograd import no_grad
from livetape.distributions import constraints
from livetape.distributions.distribution import Distribution, Shape
from livetape.distributions.utils import Value, broadcast_all, lazy_property
from livetape.dtypes import float64
from livetape.size import SCALAR
from livetape.tensor import Tensor

__all__ = ["VonMises"]

# The modified Bessel functions I0 and I1: Abramowitz and Stegun 9.8.1 and 9.8.3 below 3.75, 9.8.2 and 9.8.4 above.
_BELOW = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_ABOVE = (
    (
        0.39894228,
        0.1328592e-1,
        0.225319e-2,
        -0.157565e-2,
        0.916281e-2,
        -0.2057706e-1,
        0.2635537e-1,
        -0.1647633e-1,
        0.392377e-2,
    ),
    (
        0.39894228,
        -0.3988024e-1,
        -0.362018e-2,
        0.163801e-2,
        -0.1031555e-1,
        0.2282967e-1,
        -0.2895312e-1,
        0.1787654e-1,
        -0.420059e-2,
    ),
)


def _polynomial(y: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """Horner's rule, for powers from 0 up."""
    result: Tensor | float = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = coefficient + y * result
    return result  # type: ignore[return-value]


def _log_bessel_i(x: Tensor, order: int) -> Tensor:
    """log of I0 or I1, for x >= 0."""
    ratio = x / 3.75
    small = _polynomial(ratio * ratio, _BELOW[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _ABOVE[order]).log()
    return ops.where(x < 3.75, small.log(), large)


class VonMises(Distribution):
    """Angles around ``loc``, in radians, in [-pi, pi) (source: ``torch.distributions.VonMises``).

    ``concentration`` is the inverse of the variance, nearly, where it is large.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Value, concentration: Value, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(shape_of(self.loc), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: VonMises | None = None) -> VonMises:
        try:
            return super().expand(batch_shape)
        except NotImplementedError:
            loc, concentration = self.loc.expand(batch_shape), self.concentration.expand(batch_shape)
            return type(self)(loc, concentration, validate_args=self.__dict__.get("_validate_args"))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        pull = self.concentration * ops.cos(value - self.loc)
        return pull - math.log(2 * math.pi) - _log_bessel_i(self.concentration, 0)

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(float64)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(float64)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The proposal's parameter; by a series where the concentration is so small that differences cancel."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return ops.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Shape = SCALAR) -> Tensor:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher 1979), all values again at each turn."""
        with no_grad():
            loc, kappa, r = self._loc, self._concentration, self._proposal_r
            angle = ops.empty(self._extended_shape(sample_shape), dtype=float64)
            done = ops.zeros(angle.shape, dtype=bool)
            while not done.all():
                u1, u2, u3 = ops.rand((3, *angle.shape), dtype=float64).unbind()
                z = ops.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                if accept.any():
                    angle = ops.where(accept, (u3 - 0.5).sign() * f.acos(), angle)
                    done = done | accept
            return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The circular mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The circular variance."""
        return 1 - (_log_bessel_i(self.concentration, 1) - _log_bessel_i(self.concentration, 0)).exp()
