"""Probability distributions, whose samples and likelihoods gradients come through (source: ``torch.distributions``).

Two ways to differentiate an expectation of a random variable: by the score function, for which `log_prob` is all that is
needed (REINFORCE), or through samples made by `rsample`, where a distribution has that (the reparameterisation trick).

>>> import livetape as torch
>>> from livetape.distributions import Normal
>>> loc = torch.tensor(2.0, requires_grad=True)
>>> Normal(loc, 1.0).log_prob(torch.tensor(3.0)).backward()
>>> loc.grad
tensor(1.)
"""

from __future__ import annotations

from livetape.distributions import (
    _kl_cross,
    _kl_same,
    constraint_registry,
    constraints,
    kl,
    relaxed_categorical,
    transforms,
    utils,
)
from livetape.distributions.bernoulli import Bernoulli
from livetape.distributions.beta import Beta
from livetape.distributions.binomial import Binomial
from livetape.distributions.categorical import Categorical
from livetape.distributions.cauchy import Cauchy
from livetape.distributions.chi2 import Chi2
from livetape.distributions.constraint_registry import biject_to, transform_to
from livetape.distributions.continuous_bernoulli import ContinuousBernoulli
from livetape.distributions.dirichlet import Dirichlet
from livetape.distributions.distribution import Distribution
from livetape.distributions.exp_family import ExponentialFamily
from livetape.distributions.exponential import Exponential
from livetape.distributions.fishersnedecor import FisherSnedecor
from livetape.distributions.gamma import Gamma
from livetape.distributions.generalized_pareto import GeneralizedPareto
from livetape.distributions.geometric import Geometric
from livetape.distributions.gumbel import Gumbel
from livetape.distributions.half_cauchy import HalfCauchy
from livetape.distributions.half_normal import HalfNormal
from livetape.distributions.independent import Independent
from livetape.distributions.inverse_gamma import InverseGamma
from livetape.distributions.kl import kl_divergence, register_kl
from livetape.distributions.kumaraswamy import Kumaraswamy
from livetape.distributions.laplace import Laplace
from livetape.distributions.lkj_cholesky import LKJCholesky
from livetape.distributions.log_normal import LogNormal
from livetape.distributions.logistic_normal import LogisticNormal
from livetape.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from livetape.distributions.mixture_same_family import MixtureSameFamily
from livetape.distributions.multinomial import Multinomial
from livetape.distributions.multivariate_normal import MultivariateNormal
from livetape.distributions.negative_binomial import NegativeBinomial
from livetape.distributions.normal import Normal
from livetape.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from livetape.distributions.pareto import Pareto
from livetape.distributions.poisson import Poisson
from livetape.distributions.relaxed_bernoulli import RelaxedBernoulli
from livetape.distributions.relaxed_categorical import RelaxedOneHotCategorical
from livetape.distributions.studentT import StudentT
from livetape.distributions.transformed_distribution import TransformedDistribution
from livetape.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from livetape.distributions.uniform import Uniform
from livetape.distributions.von_mises import VonMises
from livetape.distributions.weibull import Weibull
from livetape.distributions.wishart import Wishart

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "Poisson",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "TransformedDistribution",
    "biject_to",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "Transform",
    "identity_transform",
]
