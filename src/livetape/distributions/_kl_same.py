"""KL divergences between two distributions of one family."""

from __future__ import annotations

import math
from typing import Any

from livetape import linalg, ops
from livetape.distributions.bernoulli import Bernoulli
from livetape.distributions.beta import Beta
from livetape.distributions.binomial import Binomial
from livetape.distributions.categorical import Categorical
from livetape.distributions.cauchy import Cauchy
from livetape.distributions.continuous_bernoulli import ContinuousBernoulli
from livetape.distributions.dirichlet import Dirichlet
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.exponential import Exponential
from livetape.distributions.gamma import Gamma
from livetape.distributions.geometric import Geometric
from livetape.distributions.gumbel import Gumbel
from livetape.distributions.half_normal import HalfNormal
from livetape.distributions.independent import Independent
from livetape.distributions.kl import kl_divergence, register_kl
from livetape.distributions.laplace import Laplace
from livetape.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from livetape.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis, log_diagonal
from livetape.distributions.normal import Normal
from livetape.distributions.one_hot_categorical import OneHotCategorical
from livetape.distributions.pareto import Pareto
from livetape.distributions.poisson import Poisson
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.uniform import Uniform
from livetape.distributions.utils import _sum_rightmost, euler_constant
from livetape.ops.smooth import softplus


# ---------------------------------------------------------------- wrappers and whole families
@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    dims = p.reinterpreted_batch_ndims
    if dims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), dims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    """One-to-one transforms change nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot "
            "                            be computed using Bregman divergences"
        )
    params, normalizer, means = p._expected_statistics()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for param, other, mean in zip(params, others, means):
        result = result - _sum_rightmost((other - param) * mean, len(q.event_shape))
    return result


# ---------------------------------------------------------------- discrete
@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    heads = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    heads[q.probs == 0] = math.inf
    heads[p.probs == 0] = 0
    tails = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    tails[q.probs == 1] = math.inf
    tails[p.probs == 1] = 0
    return heads + tails


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    kl[p.total_count > q.total_count] = math.inf
    return kl


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = math.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - ops.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# ---------------------------------------------------------------- continuous
@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    p_sum, q_sum = p1 + p0, q1 + q0
    return (
        (q1.lgamma() + q0.lgamma() + p_sum.lgamma())
        - (p1.lgamma() + p0.lgamma() + q_sum.lgamma())
        + (p1 - q1) * p1.digamma()
        + (p0 - q0) * p0.digamma()
        + (q_sum - p_sum) * p_sum.digamma()
    )


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    together = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return together.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    pull = p.mean * (p.logits - q.logits)
    return pull + (p._cont_bern_log_norm() + ops.log1p(-p.probs)) + (-q._cont_bern_log_norm() - ops.log1p(-q.probs))


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    p_sum, q_sum = p.concentration.sum(-1), q.concentration.sum(-1)
    mean_log = p.concentration.digamma() - p_sum.digamma().unsqueeze(-1)
    return (
        (p_sum.lgamma() - q_sum.lgamma())
        - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
        + ((p.concentration - q.concentration) * mean_log).sum(-1)
    )


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    return (
        q.concentration * (p.rate / q.rate).log()
        + (ops.lgamma(q.concentration) - ops.lgamma(p.concentration))
        + (p.concentration - q.concentration) * ops.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, p_loc, q_loc = p.scale / q.scale, p.loc / q.scale, q.loc / q.scale
    tail = ops.exp(q_loc + (1 + ratio).lgamma() - p_loc)
    return (-ratio.log() - q_loc + p_loc) + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * ops.exp(-apart / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() + -ratio.log() + ratio - 1
    result[p.support.lower_bound < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = math.inf
    return result


# ---------------------------------------------------------------- normal vectors
def _need_same_event(p: Any, q: Any, kind: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {kind}Multivariate Normals with                          "
            "different event shapes cannot be computed"
        )


def _trace_square(matrix: Any) -> Any:
    """The trace of X X^T: the sum of the squares of the elements."""
    rows, columns = matrix.shape[-2:]
    return matrix.reshape(-1, rows * columns).pow(2).sum(-1).reshape(matrix.shape[:-2])


def _low_rank_of(q: Any) -> tuple[Any, Any, Any]:
    return q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril


def _together(batch_p: Any, batch_q: Any, *matrices: Any) -> list[Any]:
    """Matrices expanded to the batch that two batches broadcast to."""
    batch = ops.broadcast_shapes(batch_p, batch_q)
    return [matrix.expand((*batch, *matrix.shape[-2:])) for matrix in matrices]


@register_kl(MultivariateNormal, MultivariateNormal)
def _full_full(p: Any, q: Any) -> Any:
    _need_same_event(p, q, "")
    p_factor, q_factor = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half_logs = log_diagonal(q_factor) - log_diagonal(p_factor)
    wide_q, wide_p = _together(q_factor.shape[:-2], p_factor.shape[:-2], q_factor, p_factor)
    trace = _trace_square(linalg.solve_triangular(wide_q, wide_p, upper=False))
    square = _batch_mahalanobis(q_factor, q.loc - p.loc)
    return half_logs + 0.5 * (trace + square - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_low(p: Any, q: Any) -> Any:
    _need_same_event(p, q, "Low Rank ")
    p_factor, p_diag, p_capacitance = _low_rank_of(p)
    q_factor, q_diag, q_capacitance = _low_rank_of(q)
    logs = _batch_lowrank_logdet(q_factor, q_diag, q_capacitance) - _batch_lowrank_logdet(
        p_factor, p_diag, p_capacitance
    )
    square = _batch_lowrank_mahalanobis(q_factor, q_diag, q.loc - p.loc, q_capacitance)
    # The trace of q's inverse times p's covariance: the Woodbury identity, times a diagonal and factors.
    solved = linalg.solve_triangular(q_capacitance, q_factor.mT / q_diag.unsqueeze(-2), upper=False)
    trace = (
        (p_diag / q_diag).sum(-1)
        + _trace_square(p_factor * q_diag.rsqrt().unsqueeze(-1))
        - _trace_square(solved * p_diag.sqrt().unsqueeze(-2))
        - _trace_square(solved.matmul(p_factor))
    )
    return 0.5 * (logs + trace + square - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_low(p: Any, q: Any) -> Any:
    _need_same_event(p, q, "(Low Rank) ")
    p_factor = p._unbroadcasted_scale_tril
    q_factor, q_diag, q_capacitance = _low_rank_of(q)
    logs = _batch_lowrank_logdet(q_factor, q_diag, q_capacitance) - 2 * log_diagonal(p_factor)
    square = _batch_lowrank_mahalanobis(q_factor, q_diag, q.loc - p.loc, q_capacitance)
    solved = linalg.solve_triangular(q_capacitance, q_factor.mT / q_diag.unsqueeze(-2), upper=False)
    trace = _trace_square(p_factor * q_diag.rsqrt().unsqueeze(-1)) - _trace_square(solved.matmul(p_factor))
    return 0.5 * (logs + trace + square - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_full(p: Any, q: Any) -> Any:
    _need_same_event(p, q, "(Low Rank) ")
    p_factor, p_diag, p_capacitance = _low_rank_of(p)
    q_factor = q._unbroadcasted_scale_tril
    logs = 2 * log_diagonal(q_factor) - _batch_lowrank_logdet(p_factor, p_diag, p_capacitance)
    square = _batch_mahalanobis(q_factor, q.loc - p.loc)
    wide_q, wide_p, roots = _together(
        q_factor.shape[:-2], p_factor.shape[:-2], q_factor, p_factor, ops.diag_embed(p_diag.sqrt())
    )
    trace = _trace_square(linalg.solve_triangular(wide_q, wide_p, upper=False)) + _trace_square(
        linalg.solve_triangular(wide_q, roots, upper=False)
    )
    return 0.5 * (logs + trace + square - p.event_shape[0])
