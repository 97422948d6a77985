"""KL divergences between distributions of different families.

Mostly -entropy(p) - E_p log q, written out. It is infinite where p gives weight to what q rules out.
"""

from __future__ import annotations

import math
from typing import Any

from livetape import ops
from livetape.distributions.bernoulli import Bernoulli
from livetape.distributions.beta import Beta
from livetape.distributions.binomial import Binomial
from livetape.distributions.continuous_bernoulli import ContinuousBernoulli
from livetape.distributions.exponential import Exponential
from livetape.distributions.gamma import Gamma
from livetape.distributions.gumbel import Gumbel
from livetape.distributions.kl import register_kl
from livetape.distributions.laplace import Laplace
from livetape.distributions.normal import Normal
from livetape.distributions.pareto import Pareto
from livetape.distributions.poisson import Poisson
from livetape.distributions.uniform import Uniform
from livetape.distributions.utils import euler_constant

# q by p, and p's parameter that has the result's shape
_INFINITE: list[tuple[type, str, tuple[type, ...]]] = [
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, "rate", (Bernoulli, Binomial)),
]


def _infinite(name: str) -> Any:
    return lambda p, q: ops.full_like(getattr(p, name), math.inf)


for _kind, _name, _others in _INFINITE:
    for _other in _others:
        register_kl(_kind, _other)(_infinite(_name))


def _x_log_x(x: Any) -> Any:
    return ops.xlogy(x, x)


def _log_gamma_norm(q: Gamma) -> Any:
    """The logarithm of what a gamma density is divided by."""
    return q.concentration.lgamma() - q.concentration * q.rate.log()


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# ---------------------------------------------------------------- beta
@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Any, q: Any) -> Any:
    return -p.entropy() - p.mean * q.logits - ops.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _beta_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Any:
    total = p.concentration1 + p.concentration0
    mean_log = p.concentration1.digamma() - total.digamma()
    return -p.entropy() + _log_gamma_norm(q) - (q.concentration - 1) * mean_log + q.rate * p.concentration1 / total


@register_kl(Beta, Normal)
def _beta_normal(p: Any, q: Any) -> Any:
    mean, variance = p.mean, q.scale.pow(2)
    square = mean * (1 - mean) / (p.concentration1 + p.concentration0 + 1) + mean.pow(2)
    return (
        -p.entropy()
        + 0.5 * (variance * 2 * math.pi).log()
        + (square * 0.5 - q.loc * mean + q.loc.pow(2) * 0.5) / variance
    )


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Any:
    result = -p.entropy() + (q.high - q.low).log()
    result[(q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)] = math.inf
    return result


# ---------------------------------------------------------------- continuous Bernoulli
@register_kl(ContinuousBernoulli, Exponential)
def _continuous_bernoulli_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - ops.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _continuous_bernoulli_normal(p: Any, q: Any) -> Any:
    norm = 0.5 * (math.log(2.0 * math.pi) + ops.square(q.loc / q.scale)) + ops.log(q.scale)
    rest = (p.variance + ops.square(p.mean) - 2.0 * q.loc * p.mean) / (2.0 * ops.square(q.scale))
    return -p.entropy() + norm + rest


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: Any, q: Any) -> Any:
    result = -p.entropy() + (q.high - q.low).log()
    outside = ops.max(ops.ge(q.low, p.support.lower_bound), ops.le(q.high, p.support.upper_bound))
    return ops.where(outside, ops.ones_like(result) * math.inf, result)


# ---------------------------------------------------------------- exponential
@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return (
        -q.concentration * ops.log(ratio)
        + ratio
        + q.concentration.lgamma()
        + q.concentration * euler_constant
        - (1 + euler_constant)
    )


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Any:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - ratio + ops.exp(ratio) * product / (product + 1) + product.reciprocal()


@register_kl(Exponential, Normal)
def _exponential_normal(p: Any, q: Any) -> Any:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    log_term = 0.5 * ops.log(square * variance * 2 * math.pi)
    return log_term - 1 + (square.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5) / variance


# ---------------------------------------------------------------- gamma
@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Any:
    product, ratio = p.rate * q.scale, q.loc / q.scale
    return (
        ((p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration)
        + (product.log() + p.concentration / product)
        + (ops.exp(ratio) * (1 + product.reciprocal()).pow(-p.concentration) - ratio)
    )


@register_kl(Gamma, Normal)
def _gamma_normal(p: Any, q: Any) -> Any:
    variance, square, shape = q.scale.pow(2), p.rate.pow(2), p.concentration
    norm = 0.5 * ops.log(square * variance * 2 * math.pi) - shape - shape.lgamma()
    moments = 0.5 * (shape.pow(2) + shape) / square - q.loc * shape / p.rate + 0.5 * q.loc.pow(2)
    return norm + (shape - 1) * shape.digamma() + moments / variance


# ---------------------------------------------------------------- Gumbel, Laplace, normal
@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    apart = ((p.loc + p.scale * euler_constant - q.loc) / q.scale).pow(2) * 0.5
    return -(ratio / math.sqrt(2 * math.pi)).log() + (math.pi * ratio * 0.5).pow(2) / 3 + apart - (euler_constant + 1)


@register_kl(Laplace, Normal)
def _laplace_normal(p: Any, q: Any) -> Any:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    square = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -(0.5 * ops.log(2 * ratio / math.pi)) + ratio + square / variance - 1


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Any:
    p_loc, q_loc, ratio = p.loc / q.scale, q.loc / q.scale, (p.scale / q.scale).pow(2)
    tail = ops.exp(-p_loc + 0.5 * ratio + q_loc)
    return -(ratio.log() * 0.5) + (p_loc - q_loc) + tail - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    apart = p.loc - q.loc
    relative = apart / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * ops.exp(-0.5 * relative.pow(2)) + apart * ops.erf(
        math.sqrt(0.5) * relative
    )
    return -ops.log(p.scale / q.scale) + mean_distance / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


# ---------------------------------------------------------------- Pareto
@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Any:
    product = p.scale * q.rate
    result = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Any:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    result = (
        (p.alpha.log() - mean_log)
        + _log_gamma_norm(q)
        + (1 - q.concentration) * mean_log
        + q.rate * p.alpha * p.scale / (p.alpha - 1)
        - 1
    )
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Any:
    excess = p.scale / (p.alpha - 1)
    variance = p.alpha * excess.pow(2) / (p.alpha - 2)
    apart = (p.alpha * excess - q.loc).pow(2)
    log_term = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    result = log_term - p.alpha.reciprocal() + (variance + apart) / (2 * q.scale.pow(2)) - 1
    result[p.alpha <= 2] = math.inf
    return result


# ---------------------------------------------------------------- uniform
def _mean_log(low: Any, high: Any) -> Any:
    """The mean of log(x) between two bounds."""
    width = high - low
    return (_x_log_x(high) - _x_log_x(low) - width) / width


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Any:
    width = p.high - p.low
    heads = (q.concentration1 - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    tails = (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    norm = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    result = tails + norm - ops.log(width) - heads
    result[(p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)] = math.inf
    return result


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Any:
    result = -p.entropy() - p.mean * q.logits - ops.log1p(-q.probs) - q._cont_bern_log_norm()
    outside = ops.max(ops.ge(p.high, q.support.upper_bound), ops.le(p.low, q.support.lower_bound))
    return ops.where(outside, ops.ones_like(result) * math.inf, result)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Any:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    result[p.low < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Any:
    width = p.high - p.low
    logs = (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = -width.log() + _log_gamma_norm(q) + logs + q.rate * (p.high + p.low) / 2
    result[p.low < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Any:
    relative = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return relative.log() + 0.5 * (high + low) - relative * (ops.exp(-high) - ops.exp(-low))


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Any:
    width = p.high - p.low
    apart = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    log_term = (math.sqrt(math.pi * 2) * q.scale / width).log()
    return log_term + 0.5 * (width.pow(2) / 12 + apart) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Any:
    log_term = (q.alpha * q.scale.pow(q.alpha) * (p.high - p.low)).log()
    result = _mean_log(p.low, p.high) * (q.alpha + 1) - log_term
    result[p.low < q.support.lower_bound] = math.inf
    return result
