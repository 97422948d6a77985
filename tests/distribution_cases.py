"""Programs on distributions, and what they give: run on torch by record/distribution_values.py, then on livetape."""

from __future__ import annotations

import warnings
from typing import Any

# Inputs by name. Those that require gradients get theirs recorded.
INPUTS = {
    "n": "torch.tensor([[-1.3, 0.2, 1.7], [0.0, 2.5, -0.4]], dtype=F)",  # any numbers
    "m": "torch.tensor([0.3, -0.9, 1.1], dtype=F)",
    "p": "torch.tensor([[0.4, 1.1, 2.5], [3.7, 0.15, 12.0]], dtype=F)",  # positive
    "r": "torch.tensor([0.7, 1.9, 3.1], dtype=F)",
    "q": "torch.tensor([[0.05, 0.5, 0.9], [0.25, 0.62, 0.4995]], dtype=F)",  # probabilities
    "k": "torch.tensor([0.35, 0.8, 0.6], dtype=F)",
    "w": "torch.tensor([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], dtype=F)",  # rows sum to 1
    "L": "torch.tensor([[1.2, 0.0, 0.0], [-0.4, 0.8, 0.0], [0.3, 0.6, 1.5]], dtype=F)",  # a Cholesky factor
    "W": "torch.tensor([[0.5, -0.2], [1.1, 0.3], [-0.7, 0.9]], dtype=F)",
    "t": "torch.tensor(0.6, dtype=F)",
}
LEAVES = tuple(INPUTS)
SEED = 11

# How each distribution is made, by a label.
MADE = {
    "Bernoulli-probs": "D.Bernoulli(q)",
    "Bernoulli-logits": "D.Bernoulli(logits=n)",
    "Bernoulli-number": "D.Bernoulli(0.3)",
    "Beta": "D.Beta(p, r)",
    "Beta-numbers": "D.Beta(0.5, 2)",
    "Binomial-probs": "D.Binomial(5, q)",
    "Binomial-logits": "D.Binomial(torch.tensor([3., 20., 60.], dtype=F), logits=m)",
    "Categorical-probs": "D.Categorical(p)",
    "Categorical-logits": "D.Categorical(logits=n)",
    "Categorical-vector": "D.Categorical(logits=m)",
    "Cauchy": "D.Cauchy(n, r)",
    "Chi2": "D.Chi2(p)",
    "ContinuousBernoulli-probs": "D.ContinuousBernoulli(q)",
    "ContinuousBernoulli-logits": "D.ContinuousBernoulli(logits=n)",
    "Dirichlet": "D.Dirichlet(p)",
    "Dirichlet-vector": "D.Dirichlet(r)",
    "Exponential": "D.Exponential(p)",
    "Exponential-number": "D.Exponential(2.5)",
    "FisherSnedecor": "D.FisherSnedecor(p, r)",
    "FisherSnedecor-large": "D.FisherSnedecor(p, torch.tensor([6., 3., 20.], dtype=F))",
    "Gamma": "D.Gamma(p, r)",
    "Gamma-numbers": "D.Gamma(2., 3)",
    "GeneralizedPareto": "D.GeneralizedPareto(torch.zeros_like(r), r, torch.full_like(r, 0.2))",
    "Geometric-probs": "D.Geometric(q)",
    "Geometric-logits": "D.Geometric(logits=n)",
    "Gumbel": "D.Gumbel(n, r)",
    "Gumbel-numbers": "D.Gumbel(1, 2)",
    "HalfCauchy": "D.HalfCauchy(r)",
    "HalfNormal": "D.HalfNormal(p)",
    "Independent": "D.Independent(D.Normal(n, r), 1)",
    "Independent-2": "D.Independent(D.Bernoulli(q), 2)",
    "Independent-0": "D.Independent(D.Bernoulli(k), 0)",
    "InverseGamma": "D.InverseGamma(p, r)",
    "Kumaraswamy": "D.Kumaraswamy(p, r)",
    "Laplace": "D.Laplace(n, r)",
    "LKJCholesky": "D.LKJCholesky(3, r)",
    "LKJCholesky-number": "D.LKJCholesky(2)",
    "LogNormal": "D.LogNormal(n, r)",
    "LogisticNormal": "D.LogisticNormal(n, r)",
    "LogisticNormal-numbers": "D.LogisticNormal(0.5, 1.5)",
    "LowRankMultivariateNormal": "D.LowRankMultivariateNormal(n, W, r)",
    "LowRankMultivariateNormal-vector": "D.LowRankMultivariateNormal(m, W, r)",
    "MixtureSameFamily": "D.MixtureSameFamily(D.Categorical(w), D.Normal(n, r))",
    "MixtureSameFamily-vectors": "D.MixtureSameFamily(D.Categorical(k), D.Independent(D.Normal(torch.stack([m, r, k]), 1.), 1))",
    "Multinomial-probs": "D.Multinomial(4, w)",
    "Multinomial-logits": "D.Multinomial(2, logits=m)",
    "MultivariateNormal-factor": "D.MultivariateNormal(n, scale_tril=L)",
    "MultivariateNormal-covariance": "D.MultivariateNormal(m, L @ L.mT)",
    "MultivariateNormal-precision": "D.MultivariateNormal(m, precision_matrix=L @ L.mT)",
    "MultivariateNormal-batch": "D.MultivariateNormal(m, scale_tril=torch.stack([L, 2 * L]))",
    "NegativeBinomial-probs": "D.NegativeBinomial(torch.tensor([2., 0.5, 8.5], dtype=F), k)",
    "NegativeBinomial-logits": "D.NegativeBinomial(3, logits=m)",
    "Normal": "D.Normal(n, r)",
    "Normal-numbers": "D.Normal(0.5, 2)",
    "OneHotCategorical": "D.OneHotCategorical(w)",
    "OneHotCategorical-logits": "D.OneHotCategorical(logits=m)",
    "OneHotCategoricalStraightThrough": "D.OneHotCategoricalStraightThrough(w)",
    "Pareto": "D.Pareto(r, p)",
    "Poisson": "D.Poisson(p)",
    "Poisson-large": "D.Poisson(p * 20)",
    "RelaxedBernoulli": "D.RelaxedBernoulli(t, q)",
    "RelaxedBernoulli-logits": "D.RelaxedBernoulli(t, logits=m)",
    "LogitRelaxedBernoulli": "D.relaxed_bernoulli.LogitRelaxedBernoulli(t, k)",
    "RelaxedOneHotCategorical": "D.RelaxedOneHotCategorical(t, w)",
    "RelaxedOneHotCategorical-logits": "D.RelaxedOneHotCategorical(t, logits=m)",
    "ExpRelaxedCategorical": "D.relaxed_categorical.ExpRelaxedCategorical(t, logits=n)",
    "StudentT": "D.StudentT(p, m, r)",
    "StudentT-number": "D.StudentT(3.)",
    "TransformedDistribution": "D.TransformedDistribution(D.Normal(m, r), [D.TanhTransform(cache_size=1)])",
    "TransformedDistribution-list": (
        "D.TransformedDistribution(D.Uniform(0 * t, 1), [D.SigmoidTransform().inv, D.AffineTransform(m, -r)])"
    ),
    "TransformedDistribution-vectors": "D.TransformedDistribution(D.MultivariateNormal(m, scale_tril=L), D.ExpTransform())",
    "Uniform": "D.Uniform(n, n + r)",
    "Uniform-numbers": "D.Uniform(-1, 3.)",
    "VonMises": "D.VonMises(n, r)",
    "Weibull": "D.Weibull(p, r)",
    "Wishart": "D.Wishart(torch.tensor(4.5, dtype=F), L @ L.mT)",
    "Wishart-batch": "D.Wishart(r + 3, scale_tril=L)",
    "Wishart-precision": "D.Wishart(torch.tensor([3.5, 9.], dtype=F), precision_matrix=L @ L.mT)",
}
ASKED = [
    "d",
    "d.batch_shape",
    "d.event_shape",
    "d.support",
    "d.has_rsample",
    "d.mean",
    "d.mode",
    "d.variance",
    "d.stddev",
    "d.entropy()",
    "d.perplexity()",
    "d.sample()",
    "d.sample((4,))",
    "d.rsample((2, 3))",
    "d.log_prob(d.sample((2,)))",
    "d.log_prob(d.rsample())",
    "d.cdf(d.sample((2,)))",
    "d.icdf(torch.linspace(0.1, 0.9, 3, dtype=F))",
    "d.enumerate_support()",
    "d.enumerate_support(expand=False)",
    "d.expand((2, *d.batch_shape))",
    "d.expand((2, *d.batch_shape)).sample()",
    "d.expand((2, *d.batch_shape)).log_prob(d.sample())",
    "d.expand((2, *d.batch_shape)).variance",
]
SINGLE = ["d.sample((4,))", "d.rsample((2, 3))", "d.log_prob(d.sample((2,)))"]  # what is asked in float32 too

_ONE = {  # a distribution of each class that has a divergence, and another one
    "Bernoulli": ("D.Bernoulli(q)", "D.Bernoulli(logits=n)"),
    "Beta": ("D.Beta(p, r)", "D.Beta(r, p)"),
    "Binomial": ("D.Binomial(5, q)", "D.Binomial(5, logits=n)"),
    "Categorical": ("D.Categorical(w)", "D.Categorical(logits=n)"),
    "Cauchy": ("D.Cauchy(n, r)", "D.Cauchy(m, p)"),
    "Chi2": ("D.Chi2(p)", "D.Chi2(r)"),
    "ContinuousBernoulli": ("D.ContinuousBernoulli(q)", "D.ContinuousBernoulli(logits=n)"),
    "Dirichlet": ("D.Dirichlet(p)", "D.Dirichlet(r)"),
    "Exponential": ("D.Exponential(p)", "D.Exponential(r)"),
    "Gamma": ("D.Gamma(p, r)", "D.Gamma(r, p)"),
    "Geometric": ("D.Geometric(q)", "D.Geometric(logits=n)"),
    "Gumbel": ("D.Gumbel(n, r)", "D.Gumbel(m, p)"),
    "HalfNormal": ("D.HalfNormal(p)", "D.HalfNormal(r)"),
    "Independent": ("D.Independent(D.Normal(n, r), 1)", "D.Independent(D.Normal(m, p), 1)"),
    "Laplace": ("D.Laplace(n, r)", "D.Laplace(m, p)"),
    "LogNormal": ("D.LogNormal(n, r)", "D.LogNormal(m, p)"),
    "LowRankMultivariateNormal": (
        "D.LowRankMultivariateNormal(n, W, r)",
        "D.LowRankMultivariateNormal(m, 2 * W, r + 1)",
    ),
    "MultivariateNormal": ("D.MultivariateNormal(n, scale_tril=L)", "D.MultivariateNormal(m, L @ L.mT + torch.eye(3))"),
    "Normal": ("D.Normal(n, r)", "D.Normal(m, p)"),
    "OneHotCategorical": ("D.OneHotCategorical(w)", "D.OneHotCategorical(logits=n)"),
    "Pareto": ("D.Pareto(r, p)", "D.Pareto(k, r)"),
    "Poisson": ("D.Poisson(p)", "D.Poisson(r)"),
    "Uniform": ("D.Uniform(q, q + r)", "D.Uniform(-k, q + 4)"),
    "StudentT": ("D.StudentT(p)", "D.StudentT(r)"),
}
# Every pair that some class of one of the two has a divergence with, and one that has none.
_CROSS = (
    "Bernoulli Beta Binomial ContinuousBernoulli Exponential Gamma Gumbel Laplace Normal Pareto Poisson Uniform".split()
)
PAIRS = [
    *[f"D.kl_divergence({p}, {q})" for p, q in _ONE.values()],
    *[f"D.kl_divergence({_ONE[p][0]}, {_ONE[q][1]})" for p in _CROSS for q in _CROSS if p != q],
    "D.kl_divergence(D.MultivariateNormal(n, scale_tril=L), D.LowRankMultivariateNormal(m, W, r))",
    "D.kl_divergence(D.LowRankMultivariateNormal(n, W, r), D.MultivariateNormal(m, scale_tril=L))",
    "D.kl_divergence(D.MultivariateNormal(m, scale_tril=torch.stack([L, 2 * L])), D.MultivariateNormal(m, scale_tril=L))",
    "D.kl_divergence(D.MultivariateNormal(m, scale_tril=L), D.MultivariateNormal(m[:2], scale_tril=L[:2, :2]))",
    "D.kl_divergence(D.Beta(p, r), D.Uniform(-k, k + 1))",
    "D.kl_divergence(D.Uniform(q.detach() * 0, q.detach()), D.Beta(p, r))",
    "D.kl_divergence(D.Uniform(q * 0.5, q), D.ContinuousBernoulli(k))",
    "D.kl_divergence(D.Uniform(r, r + 1), D.Pareto(k, r))",
    "D.kl_divergence(D.Pareto(k, r), D.Pareto(r, p))",
    "D.kl_divergence(D.Categorical(torch.tensor([0.5, 0.5, 0.])), D.Categorical(torch.tensor([1., 0., 0.])))",
    "D.kl_divergence(D.Bernoulli(torch.tensor([0., 1., 0., 1.])), D.Bernoulli(torch.tensor([0., 1., 1., 0.])))",
    "D.kl_divergence(D.Binomial(3, q), D.Binomial(2, q))",
    "D.kl_divergence(D.Binomial(2, q), D.Binomial(3, q))",
    "D.kl_divergence(D.Independent(D.Normal(n, r), 1), D.Independent(D.Normal(n, r), 2))",
    "D.kl_divergence(D.LogNormal(n, r), D.HalfNormal(r))",
    "D.kl_divergence(D.Dirichlet(r), D.Normal(n, r))",
    "D.kl_divergence(D.Wishart(4., L @ L.mT), D.Wishart(5., scale_tril=L))",
    "D.kl_divergence(D.Normal(n, r), D.Gamma(p, r))",
    "D.kl_divergence(D.Chi2(p), D.Gamma(p, r))",
    "D.ExponentialFamily.entropy(D.Normal(n, r))",
    "D.ExponentialFamily.entropy(D.Gamma(p, r))",
    "D.ExponentialFamily.entropy(D.Exponential(p))",
    "D.ExponentialFamily.entropy(D.Bernoulli(q))",
    "D.ExponentialFamily.entropy(D.ContinuousBernoulli(q))",
]

TRANSFORMS = {
    "D.AbsTransform()": "n",
    "D.AffineTransform(m, r)": "n",
    "D.AffineTransform(2, -3., cache_size=1)": "n",
    "D.AffineTransform(m, r, event_dim=1)": "n",
    "D.ExpTransform()": "n",
    "D.ExpTransform().inv": "p",
    "D.PowerTransform(t)": "p",
    "D.PowerTransform(r)": "p",
    "D.SigmoidTransform()": "n",
    "D.SigmoidTransform(cache_size=1)": "n",
    "D.SoftplusTransform()": "n",
    "D.TanhTransform()": "n",
    "D.SoftmaxTransform()": "n",
    "D.StickBreakingTransform()": "n",
    "D.StickBreakingTransform().inv": "w",
    "D.CorrCholeskyTransform()": "n",
    "D.LowerCholeskyTransform()": "L + 0.1",
    "D.PositiveDefiniteTransform()": "L + 0.1",
    "D.ReshapeTransform((3,), (3, 1))": "n",
    "D.ReshapeTransform((2, 3), (6,))": "n",
    "D.IndependentTransform(D.ExpTransform(), 1)": "n",
    "D.ComposeTransform([D.AffineTransform(m, r), D.ExpTransform()])": "n",
    "D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()], cache_size=1)": "n",
    "D.ComposeTransform([])": "n",
    "D.CatTransform([D.ExpTransform(), D.AffineTransform(1., 2.)], dim=1, lengths=[1, 2])": "n",
    "D.StackTransform([D.ExpTransform(), D.TanhTransform()])": "n",
    "D.CumulativeDistributionTransform(D.Normal(m, r))": "n",
    "D.biject_to(D.constraints.simplex)": "n",
    "D.transform_to(D.constraints.simplex)": "n",
    "D.biject_to(D.constraints.positive)": "n",
    "D.biject_to(D.constraints.greater_than(k))": "n",
    "D.biject_to(D.constraints.less_than(2.))": "n",
    "D.biject_to(D.constraints.interval(-1, 2.5))": "n",
    "D.biject_to(D.constraints.unit_interval)": "n",
    "D.biject_to(D.constraints.real_vector)": "n",
    "D.biject_to(D.constraints.corr_cholesky)": "n",
    "D.transform_to(D.constraints.lower_cholesky)": "L + 0.1",
    "D.transform_to(D.constraints.positive_definite)": "L + 0.1",
    "D.biject_to(D.constraints.stack([D.constraints.positive, D.constraints.unit_interval]))": "n",
    "D.biject_to(D.constraints.cat([D.constraints.real, D.constraints.positive], 1, [1, 2]))": "n",
}
OF_TRANSFORM = [
    "f",
    "f(x)",
    "f.inv",
    "f.inv(f(x))",
    "f.log_abs_det_jacobian(x, f(x))",
    "f.inv.log_abs_det_jacobian(f(x), x)",
    "f.domain",
    "f.codomain",
    "f.codomain.check(f(x))",
    "f.bijective",
    "f.event_dim",
    "f.sign",
    "f.forward_shape(x.shape)",
    "f.inverse_shape(f(x).shape)",
    "f.with_cache()(x)",
    "f == f.inv.inv",
    "f == f.with_cache()",
]


# Constraints, errors, registries, helpers, subclasses: single programs.
OTHERS = [
    # what is refused
    "D.Normal(n, -r)",
    "D.Normal(0., -1.)",
    "D.Normal(torch.tensor([float('nan'), 0.]), 1.)",
    "D.Normal(n, -r, validate_args=False).scale",
    "D.Normal('a', 1.)",
    "D.Normal(n, torch.ones(4))",
    "D.Normal(n, r).log_prob(1.)",
    "D.Normal(n, r).log_prob(torch.ones(2))",
    "D.Normal(n, r).log_prob(torch.tensor(float('nan')))",
    "D.Normal(n, r, validate_args=False).log_prob(torch.tensor(float('nan'), dtype=F))",
    "D.Normal(n, r).log_prob(torch.ones(4, 1, 1, dtype=F)).shape",
    "D.Categorical()",
    "D.Categorical(w, n)",
    "D.Categorical(torch.tensor(1.))",
    "D.Categorical(logits=torch.tensor(1.))",
    "D.Categorical(torch.tensor([-1., 2.]))",
    "D.Categorical(torch.tensor([0., 0.]))",
    "D.Categorical(logits=torch.tensor([float('nan'), 0.]))",
    "D.Categorical(w).log_prob(torch.tensor([3, 0]))",
    "D.Categorical(w).log_prob(torch.tensor([1.5, 0.]))",
    "D.Categorical(w).log_prob(torch.tensor([0, 1, 2]))",
    "D.Categorical(w).log_prob(torch.tensor([[1, 2], [0, 1]]))",
    "D.Bernoulli(torch.tensor([1.5]))",
    "D.Bernoulli(q, q)",
    "D.Bernoulli(q).log_prob(torch.tensor(0.5))",
    "D.Bernoulli(q).log_prob(torch.tensor(2.))",
    "D.Beta(-p, r)",
    "D.Beta(p, r).log_prob(torch.tensor(1.5))",
    "D.Binomial(5, q).log_prob(torch.tensor(6.))",
    "D.Binomial(-5, q)",
    "D.Binomial(torch.tensor([1., 2.]), torch.tensor([0.1, 0.2])).enumerate_support()",
    "D.Binomial(torch.tensor([1., 2.]), torch.tensor([0.1, 0.2])).entropy()",
    "D.ContinuousBernoulli(torch.tensor(1.5), validate_args=True)",
    "D.ContinuousBernoulli(torch.tensor(1.5))",
    "D.Dirichlet(torch.tensor(1.))",
    "D.Dirichlet(r).log_prob(w * 2)",
    "D.Dirichlet(r).log_prob(torch.ones(2))",
    "D.Dirichlet(-r)",
    "D.Exponential(-1.)",
    "D.Exponential(p).log_prob(-p)",
    "D.Geometric(torch.tensor([0., 0.5]))",
    "D.Geometric(torch.tensor([1., 0.5])).log_prob(torch.tensor([0., 2.]))",
    "D.Independent(D.Normal(n, r), 3)",
    "D.Independent(D.Normal(n, r), 1).enumerate_support()",
    "D.Independent(D.Normal(n, r), 1).log_prob(n[:, :2])",
    "D.LKJCholesky(1)",
    "D.LKJCholesky(3).log_prob(L)",
    "D.LowRankMultivariateNormal(t, W, r)",
    "D.LowRankMultivariateNormal(m, m, r)",
    "D.LowRankMultivariateNormal(m, W.mT, r)",
    "D.LowRankMultivariateNormal(m, W, r[:2])",
    "D.LowRankMultivariateNormal(torch.ones(4, 3), torch.ones(2, 3, 2), torch.ones(3))",
    "D.MixtureSameFamily(D.Normal(n, r), D.Normal(n, r))",
    "D.MixtureSameFamily(D.Categorical(w), n)",
    "D.MixtureSameFamily(D.Categorical(w), D.Normal(torch.ones(3, 3), 1.))",
    "D.MixtureSameFamily(D.Categorical(w), D.Normal(torch.ones(2, 2), 1.))",
    "D.MixtureSameFamily(D.Categorical(w), D.Bernoulli(q)).log_prob(torch.tensor([0.5, 1.]))",
    "D.Multinomial(torch.tensor([1, 2]), w)",
    "D.Multinomial(4, w).log_prob(torch.tensor([3., 3., 0.]))",
    "D.MultivariateNormal(t, L)",
    "D.MultivariateNormal(m)",
    "D.MultivariateNormal(m, L, L)",
    "D.MultivariateNormal(m, m)",
    "D.MultivariateNormal(m, precision_matrix=m)",
    "D.MultivariateNormal(m, scale_tril=m)",
    "D.MultivariateNormal(m, L)",
    "D.MultivariateNormal(m, scale_tril=-L)",
    "D.MultivariateNormal(m, scale_tril=L.mT)",
    "D.MultivariateNormal(m, torch.tensor([[1., 2., 0.], [2., 1., 0.], [0., 0., 1.]], dtype=F))",
    "D.NegativeBinomial(3, torch.tensor(1.))",
    "D.Pareto(r, p).log_prob(torch.zeros(3, dtype=F))",
    "D.Poisson(-r)",
    "D.Poisson(r).log_prob(torch.tensor(0.5))",
    "D.Poisson(torch.tensor([0., 1.])).log_prob(torch.tensor([0., 0.]))",
    "D.StudentT(-1.)",
    "D.TransformedDistribution(D.Normal(n, r), 3)",
    "D.TransformedDistribution(D.Normal(n, r), [3])",
    "D.TransformedDistribution(D.Normal(t, 1), D.StickBreakingTransform())",
    "D.TransformedDistribution(D.Normal(n, r), []).log_prob(n)",
    "D.TransformedDistribution(D.Normal(n, r), [])",
    "D.Uniform(r, r)",
    "D.Uniform(torch.tensor([0., 3.]), torch.tensor([1., 2.]))",
    "D.Uniform(0., 1.).log_prob(torch.tensor(2.))",
    "D.Uniform(0., 1., validate_args=False).log_prob(torch.tensor([2., 0.5, 1.]))",
    "D.Wishart(1., L @ L.mT)",
    "D.Wishart(4.)",
    "D.Wishart(4., m)",
    "D.Wishart(torch.tensor(2.5, dtype=F), L @ L.mT)",
    "D.Wishart(torch.tensor(4., dtype=F), L @ L.mT).log_prob(L)",
    "D.HalfNormal(r).log_prob(-r)",
    "D.HalfNormal(r, validate_args=False).log_prob(torch.tensor([-1., 1., 0.], dtype=F))",
    "D.HalfCauchy(r, validate_args=False).log_prob(torch.tensor([-1., 1., 0.], dtype=F))",
    "D.Gamma(p, r).log_prob(2.)",
    "D.Distribution.set_default_validate_args('x')",
    "D.Distribution().mean",
    "D.Distribution(validate_args=False).log_prob(t)",
    "D.Distribution(validate_args=False).mode",
    "D.Distribution(validate_args=False).expand((2,))",
    "D.Normal(n, r).enumerate_support()",
    "D.Normal(n, r).expand((2, 2))",
    "D.Normal(n, r).sample_n(2)",
    "D.Poisson(r).rsample()",
    "D.Poisson(r).cdf(r)",
    "D.Categorical(w).mode, D.Categorical(w).param_shape",
    # constraints
    *[
        f"D.constraints.{name}.check({value})"
        for name, value in (
            ("boolean", "torch.tensor([0., 1., 0.5])"),
            ("nonnegative_integer", "torch.tensor([0., 1.5, -1.])"),
            ("positive_integer", "torch.tensor([0, 1, -1])"),
            ("integer_interval(1, 3)", "torch.tensor([0., 1., 3., 2.5, 4.])"),
            ("real", "torch.tensor([0., float('inf'), float('nan')])"),
            ("positive", "n"),
            ("nonnegative", "n"),
            ("greater_than(t)", "n"),
            ("greater_than_eq(0.2)", "n"),
            ("less_than(0.2)", "n"),
            ("multinomial(3)", "torch.tensor([[1, 2, 0], [3, 1, 0], [-1, 2, 2]])"),
            ("unit_interval", "n"),
            ("interval(-k, k)", "n"),
            ("half_open_interval(-1.3, 1.7)", "n"),
            ("one_hot", "torch.tensor([[0., 1., 0.], [1., 1., 0.], [0.5, 0.5, 0.]])"),
            ("simplex", "torch.stack([w, n.abs()])"),
            ("real_vector", "n"),
            ("real_vector", "t"),
            ("independent(D.constraints.positive, 2)", "n"),
            ("lower_triangular", "torch.stack([L, L.mT])"),
            ("lower_cholesky", "torch.stack([L, -L, L.mT])"),
            ("corr_cholesky", "torch.stack([L, L / L.norm(dim=-1, keepdim=True)])"),
            ("square", "torch.ones(2, 3, 3)"),
            ("square", "torch.ones(2, 3)"),
            ("symmetric", "torch.stack([L, L + L.mT])"),
            ("symmetric", "W"),
            ("positive_definite", "torch.stack([L @ L.mT, -torch.eye(3, dtype=F)])"),
            ("positive_semidefinite", "torch.stack([L @ L.mT, -torch.eye(3, dtype=F)])"),
            ("cat([D.constraints.positive, D.constraints.real], 0, [1, 1])", "n"),
            ("cat([D.constraints.positive, D.constraints.real], 5)", "n"),
            ("stack([D.constraints.positive, D.constraints.real], 0)", "n"),
            ("dependent", "n"),
        )
    ],
    *[
        f"D.constraints.{name}"
        for name in (
            "boolean real positive nonnegative_integer positive_integer simplex real_vector lower_cholesky "
            "corr_cholesky positive_definite one_hot unit_interval dependent nonnegative square symmetric"
        ).split()
    ],
    "D.constraints.interval(0, 2.)",
    "D.constraints.half_open_interval(t.detach(), 2)",
    "D.constraints.integer_interval(0, 3)",
    "D.constraints.less_than(3)",
    "D.constraints.independent(D.constraints.positive, -1)",
    "D.constraints.independent(3, 1)",
    "D.constraints.cat([3])",
    "D.constraints.cat([D.constraints.real], lengths=[1, 2])",
    "D.constraints.dependent.event_dim",
    "D.constraints.dependent(event_dim=1).event_dim, D.constraints.dependent.is_discrete",
    "D.constraints.is_dependent(D.Uniform.support), D.Uniform.support.event_dim, D.Uniform.support.is_discrete",
    "D.constraints.is_dependent(D.Normal.support), D.Categorical.support.is_discrete",
    "D.constraints.stack([D.constraints.real, D.constraints.simplex], -1).event_dim",
    "D.constraints.MixtureSameFamilyConstraint(D.constraints.simplex)",
    "D.constraints.Constraint().check(n)",
    # registries
    "D.biject_to(D.constraints.lower_cholesky)",
    "D.biject_to(D.constraints.dependent)",
    "D.biject_to.register(3, 4)",
    "D.transform_to(D.constraints.interval(0., 1.))",
    "D.biject_to(D.Normal.arg_constraints['scale'])(n)",
    # transforms
    "D.ExpTransform(cache_size=2)",
    "D.ExpTransform() == D.ExpTransform(), D.ExpTransform() == D.AbsTransform(), D.ExpTransform() != D.ExpTransform()",
    "D.AffineTransform(1, 2) == D.AffineTransform(1., 2), D.AffineTransform(m, 2) == D.AffineTransform(m.clone(), 2)",
    "D.AffineTransform(1, 2) == D.AffineTransform(1., 3)",
    "D.PowerTransform(2.) == D.PowerTransform(2), D.PowerTransform(2.).inv == D.PowerTransform(2).inv",
    "D.CorrCholeskyTransform() == D.CorrCholeskyTransform()",
    "hash(D.ExpTransform())",
    "D.Transform().event_dim",
    "D.StickBreakingTransform().event_dim",
    "D.CorrCholeskyTransform().event_dim",
    "D.CorrCholeskyTransform().forward_shape((4,))",
    "D.CorrCholeskyTransform().forward_shape((5, 3)), D.CorrCholeskyTransform().inverse_shape((5, 3, 3))",
    "D.CorrCholeskyTransform().inverse_shape((3, 4))",
    "D.StickBreakingTransform().forward_shape(torch.Size((2, 3))), D.StickBreakingTransform().forward_shape(())",
    "D.ReshapeTransform((2,), (3,))",
    "D.ReshapeTransform((2,), (2, 1)).forward_shape((5, 3))",
    "D.ReshapeTransform((2,), (2, 1)).forward_shape(())",
    "D.IndependentTransform(D.ExpTransform(), 2)(m)",
    "D.ComposeTransform([D.ExpTransform(), D.ExpTransform().inv])",
    "D.ComposeTransform([D.ExpTransform()]) == D.ComposeTransform([D.ExpTransform()])",
    "D.CatTransform([D.ExpTransform()], lengths=[1, 2])",
    "D.CatTransform([3])",
    "D.CatTransform([D.ExpTransform(), D.ExpTransform()])(torch.ones(3))",
    "D.CatTransform([D.ExpTransform(), D.ExpTransform()], dim=1)(torch.ones(3))",
    "D.StackTransform([D.ExpTransform(), D.ExpTransform()])(torch.ones(3))",
    "D.StackTransform([D.ExpTransform(), D.ExpTransform()], dim=1).inv(torch.ones(3))",
    "D.SoftmaxTransform().log_abs_det_jacobian(n, n)",
    "D.AbsTransform().sign",
    "D.Gumbel(0., 1.).transforms",
    "D.LogNormal(n, r).expand((4, 2, 3)).base_dist",
    # helpers
    "D.utils.broadcast_all(1, 2.5, n)",
    "D.utils.broadcast_all(True, 2)",
    "D.utils.broadcast_all([1], 2)",
    "D.utils.clamp_probs(torch.tensor([0., 0.5, 1.]))",
    "D.utils.logits_to_probs(n), D.utils.logits_to_probs(n, is_binary=True)",
    "D.utils.probs_to_logits(q), D.utils.probs_to_logits(q, is_binary=True)",
    "D.utils.tril_matrix_to_vec(L), D.utils.tril_matrix_to_vec(L, -1), D.utils.tril_matrix_to_vec(L, 1)",
    "D.utils.tril_matrix_to_vec(L, 3)",
    "D.utils.vec_to_tril_matrix(n), D.utils.vec_to_tril_matrix(n, -1)",
    "D.utils.vec_to_tril_matrix(torch.ones(5), 1)",
    "D.utils.vec_to_tril_matrix(torch.ones(4))",
    "isinstance(D.Bernoulli.logits, property)",
    # moments at the edges
    "D.StudentT(torch.tensor([0.5, 1.5, 3.])).variance, D.StudentT(torch.tensor([0.5, 1.5, 3.])).mean",
    "D.FisherSnedecor(torch.tensor([1., 3.]), torch.tensor([2., 5.])).mean",
    "D.FisherSnedecor(torch.tensor([1., 3.]), torch.tensor([2., 5.])).variance",
    "D.Dirichlet(torch.tensor([[0.5, 0.2], [2., 3.], [0.5, 3.]])).mode",
    "D.Beta(torch.tensor([0.5, 2.]), torch.tensor([0.6, 3.])).mode",
    "D.Pareto(torch.tensor([1., 1., 1.]), torch.tensor([0.5, 1.5, 3.])).variance",
    "D.InverseGamma(torch.tensor([0.5, 1.5, 3.]), 1.).mean, D.InverseGamma(torch.tensor([0.5, 1.5, 3.]), 1.).variance",
    "D.Kumaraswamy(torch.tensor([0.5, 2.]), torch.tensor([2., 3.])).mode",
    "D.Bernoulli(torch.tensor([0.2, 0.5, 0.7])).mode",
    "D.GeneralizedPareto(0., 1., torch.tensor([-0.5, 0., 0.3, 0.7, 1.5])).variance",
    "D.GeneralizedPareto(0., 1., torch.tensor([-0.5, 0., 0.3])).log_prob(torch.tensor(0.7))",
    "D.GeneralizedPareto(0., 1., torch.tensor([-0.5, 0., 0.3])).icdf(torch.tensor(0.7))",
    "D.GeneralizedPareto(0., 1., torch.tensor([-0.5, 0., 0.3])).support",
    "D.NegativeBinomial(torch.tensor([0., 2.]), torch.tensor(0.5)).log_prob(torch.tensor([0., 3.]))",
    "D.Multinomial(3, torch.tensor([0., 0.4, 0.6])).log_prob(torch.tensor([0., 1., 2.]))",
    "D.Multinomial(3, w).expand((2, 2)).sample()",
    "D.Multinomial(3, w).entropy()",
    "D.Categorical(torch.tensor([0., 0.4, 0.6])).entropy()",
    "D.Categorical(w).expand((3, 2)).sample((2,))",
    "D.Bernoulli(q).sample().dtype, D.Categorical(w).sample().dtype, D.Poisson(r).sample().dtype",
    "D.Bernoulli(torch.tensor([0.5], dtype=torch.float16)).logits",
    "D.Normal(n.half(), r.half()).log_prob(n.half())",
    "D.Normal(torch.zeros(2), 1).sample(torch.Size([3])).shape, D.Normal(torch.zeros(2), 1).sample([3]).shape",
]
# Longer programs: lines, the last an expression.
LONGER = [
    ["class A(D.Normal): pass", "A(n, r).expand((2, 2, 3)), A(n, r)"],
    ["class A(D.Normal):\n  def __init__(self, x): super().__init__(x, 1.)", "A(n).expand((2, 2, 3))"],
    [
        "class A(D.Normal):\n"
        "  def __init__(self, x): super().__init__(x, 1.)\n"
        "  def expand(self, batch_shape, _instance=None):\n"
        "    return super().expand(batch_shape, _instance=self._get_checked_instance(A, _instance))",
        "A(n).expand((2, 2, 3))",
    ],
    [
        "class A(D.Distribution):\n  arg_constraints = {'a': D.constraints.positive}\n"
        "  def __init__(self, a, check=None):\n    self.a = a\n    super().__init__(a.shape, validate_args=check)",
        "A(p)",
    ],
    [
        "class A(D.Distribution):\n  arg_constraints = {'a': D.constraints.positive}\n"
        "  def __init__(self, a):\n    self.a = a\n    super().__init__(a.shape)",
        "A(-p)",
    ],
    ["class A(D.Distribution):\n  def __init__(self): super().__init__()", "A()"],
    ["class A(D.Distribution):\n  arg_constraints = {}", "A()._validate_sample(t)"],
    ["class A(D.Distribution):\n  arg_constraints = {}", "A().mode"],
    [
        "class A(D.Normal): pass",
        "class B(D.Normal): pass",
        "D.register_kl(A, D.Normal)(lambda p, q: t)",
        "D.register_kl(D.Normal, B)(lambda p, q: t)",
        "D.kl_divergence(A(n, r), B(n, r))",
    ],
    [
        "class A(D.constraints.Constraint):\n  def check(self, x): return x > 100",
        "class B(D.Normal):\n  support = A()",
        "B(n, r).log_prob(n)",
    ],
    [
        "D.Distribution.set_default_validate_args(False)",
        "d = D.Normal(n, -r)",
        "D.Distribution.set_default_validate_args(True)",
        "d",
    ],
    ["f = D.TanhTransform(cache_size=1)", "y = f(n * 30)", "f.inv(y) is f.inv(y), f.inv(y)"],
    ["f = D.ExpTransform()", "f.inv is f.inv, f.inv.inv is f, f(n) is f(n)"],
    ["f = D.ComposeTransform([D.ExpTransform(), D.TanhTransform()])", "f.inv is f.inv, f.inv.inv is f, f.inv"],
    ["import pickle", "f = D.ExpTransform()", "f.inv", "pickle.loads(pickle.dumps(f)) == f"],
    ["import copy", "d = copy.deepcopy(D.Normal(n.detach(), r.detach()))", "d.log_prob(m)"],
    ["d = D.Bernoulli(logits=n)", "d.probs", "e = d.expand((2, 2, 3))", "'probs' in e.__dict__, e, e.probs"],
    ["d = D.Categorical(logits=n)", "d.probs", "d"],
    ["d = D.MultivariateNormal(m, scale_tril=L)", "d.covariance_matrix, d.precision_matrix"],
    ["d = D.MultivariateNormal(m, L @ L.mT)", "d.scale_tril, d.precision_matrix"],
    ["d = D.LowRankMultivariateNormal(m, W, r)", "d.scale_tril, d.covariance_matrix, d.precision_matrix, d.variance"],
    ["d = D.Wishart(torch.tensor(4., dtype=F), scale_tril=L)", "d.covariance_matrix, d.precision_matrix, d.scale_tril"],
    [
        "d = D.MultivariateNormal(torch.zeros(2, 1, 3, dtype=F), scale_tril=L.expand(4, 3, 3))",
        "d.log_prob(n.reshape(2, 1, 1, 3)), d.entropy()",
    ],
    # inference and learning
    [
        "w1 = torch.linspace(-1, 1, 12, dtype=F).reshape(3, 4).requires_grad_()",
        "h = n.detach() @ w1",
        "d = D.Normal(h[:, :2], h[:, 2:].exp())",
        "z = d.rsample()",
        "loss = (z ** 2).sum() + D.kl_divergence(d, D.Normal(torch.zeros_like(z), torch.ones_like(z))).sum()",
        "loss, torch.autograd.grad(loss, w1)[0]",
    ],
    [
        "d = D.Categorical(logits=n)",
        "a = d.sample()",
        "loss = -(d.log_prob(a) * torch.tensor([1., -0.5])).sum() - 0.01 * d.entropy().sum()",
        "a, loss, torch.autograd.grad(loss, n)[0]",
    ],
    [
        "d = D.Independent(D.Normal(n, r.expand(2, 3)), 1)",
        "a = d.sample()",
        "ratio = (d.log_prob(a) - d.log_prob(a).detach()).exp()",
        "loss = -torch.min(ratio * t, ratio.clamp(0.8, 1.2) * t).mean() - d.entropy().mean()",
        "loss, torch.autograd.grad(loss, [n, r])[0]",
    ],
    [
        "d = D.TransformedDistribution(D.Normal(n, r), [D.TanhTransform(cache_size=1)])",
        "a = d.rsample()",
        "loss = d.log_prob(a).sum(-1).mean() - a.sum()",
        "a, loss, torch.autograd.grad(loss, n)[0]",
    ],
    [
        "flow = [D.AffineTransform(m, r), D.TanhTransform(), D.AffineTransform(0., 2.), D.SigmoidTransform()]",
        "d = D.TransformedDistribution(D.Independent(D.Normal(torch.zeros(3, dtype=F), 1.), 1), flow)",
        "x = d.sample((5,))",
        "loss = -d.log_prob(x).mean()",
        "loss, torch.autograd.grad(loss, r)[0]",
    ],
    [
        "mu = torch.zeros(2, requires_grad=True)",
        "s = torch.eye(2).requires_grad_()",
        "opt = torch.optim.Adam([mu, s], lr=0.1)",
        "data = torch.randn(20, 2) * 2 + 1",
        "for _ in range(10):\n"
        "  opt.zero_grad()\n"
        "  loss = -D.MultivariateNormal(mu, scale_tril=s.tril()).log_prob(data).mean()\n"
        "  loss.backward()\n"
        "  opt.step()",
        "mu, s, loss",
    ],
    [
        "a = torch.tensor([2., 0.5], requires_grad=True)",
        "x = D.Gamma(a, 1.).rsample((6,))",
        "(x * x).sum().backward()",
        "x, a.grad",
    ],
    ["d = D.RelaxedOneHotCategorical(t, logits=n)", "x = d.rsample()", "x, torch.autograd.grad(x[:, 0].sum(), n)[0]"],
    ["x = D.OneHotCategoricalStraightThrough(logits=n).rsample()", "torch.autograd.grad((x * m).sum(), n)[0]"],
]


def names(torch: Any, distributions: Any, single: bool) -> dict[str, Any]:
    """What programs may use."""
    made = {"torch": torch, "D": distributions, "F": torch.float32 if single else torch.float64}
    for name, text in INPUTS.items():
        made[name] = eval(text, dict(made)).requires_grad_()
    return made


def _numbers(tensor: Any) -> list[Any]:
    return [float(f"{value:.9g}") for value in tensor.detach().double().flatten().tolist()]


def shown(torch: Any, value: Any, made: dict[str, Any]) -> Any:
    """A result in a form that JSON keeps: tensors with their gradients, all else as it prints."""
    if type(value) is tuple:
        return [shown(torch, v, made) for v in value]
    if not isinstance(value, torch.Tensor):
        return repr(value)
    found: dict[str, Any] = {"shape": list(value.shape), "dtype": str(value.dtype), "values": _numbers(value)}
    if value.requires_grad and value.grad_fn is not None:
        found["node"] = type(value.grad_fn).__name__
        weights = torch.linspace(0.5, 1.5, value.numel(), dtype=value.dtype).reshape(value.shape)
        leaves = [made[name] for name in LEAVES]
        grads = torch.autograd.grad((value * weights).sum(), leaves, allow_unused=True)
        found["grads"] = {name: _numbers(grad) for name, grad in zip(LEAVES, grads) if grad is not None}
    return found


def run(torch: Any, distributions: Any, program: list[str], single: bool = False) -> Any:
    """What a program gives: assignments, then an expression. With its warnings; an error is a result as well."""
    made = names(torch, distributions, single)
    torch.manual_seed(SEED)
    result: Any
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for line in program[:-1]:
                exec(line, made)
            result = shown(torch, eval(program[-1], made), made)
        except Exception as error:
            result = {"error": type(error).__name__, "message": str(error).split("\n")[0]}
    texts = [str(w.message).split("\n")[0][:60] for w in caught]
    return {"result": result, "warnings": texts} if texts else {"result": result}


def programs() -> list[tuple[list[str], bool]]:
    """All programs, and whether each is run in float32."""
    found = []
    for label, make in MADE.items():
        for asked, single in [*[(a, False) for a in ASKED], *[(a, True) for a in SINGLE]]:
            # Two things fail in torch: GeneralizedPareto in float64, and the gradients of several Wishart samples.
            if label.startswith("Wishart"):
                asked = asked.replace("rsample((2, 3))", "sample((2, 3))")
            if single or label != "GeneralizedPareto" or asked not in SINGLE:
                found.append(([f"d = {make}", asked], single or label == "GeneralizedPareto"))
    found += [([expression], False) for expression in [*PAIRS, *OTHERS]]
    found += [(program, False) for program in LONGER]
    for transform, x in TRANSFORMS.items():
        found += [([f"x = {x}", f"f = {transform}", asked], False) for asked in OF_TRANSFORM]
    return found
