"""Distributions: what torch gives for the same programs and seeds, derivatives, and samples against moments."""

from __future__ import annotations

import itertools
import json
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats
from distribution_cases import LONGER, MADE, SEED, names, run

import livetape as torch
from livetape import distributions as D
from livetape.autograd import gradcheck

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "distributions.json").read_text())
GROUPS = {key: list(cases) for key, cases in itertools.groupby(CASES, lambda case: "; ".join(case["program"][:-1]))}


# ---------------------------------------------------------------- against torch
def close(found: Any, wanted: Any, digits: float) -> None:
    want = np.array(wanted, np.float64)
    size = float(np.max(np.abs(want[np.isfinite(want)]), initial=1.0))
    np.testing.assert_allclose(np.array(found, np.float64), want, rtol=digits, atol=digits * size)


def agree(found: Any, wanted: Any, digits: float) -> None:
    if isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted)
        for one, other in zip(found, wanted):
            agree(one, other, digits)
    elif isinstance(wanted, str) or "error" in wanted or not isinstance(found, dict) or "error" in found:
        assert found == wanted
    else:
        digits = {"torch.float32": 3e-6, "torch.float16": 2e-3}.get(wanted["dtype"], digits)
        for name in ("shape", "dtype", "node"):
            assert found.get(name) == wanted.get(name), name
        close(found["values"], wanted["values"], digits)
        assert found.get("grads", {}).keys() == wanted.get("grads", {}).keys()
        for name, grad in wanted.get("grads", {}).items():
            given = ~np.isnan(grad)  # where torch multiplies 0 by infinity, there may be a derivative all the same
            close(np.array(found["grads"][name])[given], np.array(grad)[given], 10 * digits)


@pytest.mark.parametrize("key", GROUPS, ids=lambda key: key[:80] or "alone")
def test_as_torch(key: str) -> None:
    for case in GROUPS[key]:
        single = case.get("single", False)
        found = run(torch, D, case["program"], single)
        try:
            agree(found["result"], case["result"], 3e-6 if single else 1e-8)
            assert found.get("warnings") == case.get("warnings")
        except AssertionError as error:
            error.add_note(f"in {case['program']}")
            raise


def test_all_programs_are_recorded() -> None:
    recorded = {tuple(case["program"]) for case in CASES}
    assert all(tuple(program) in recorded for program in LONGER)
    assert all(f"d = {make}" in GROUPS for make in MADE.values())


def test_every_name_is_exported() -> None:
    for module in (D, D.transforms, D.constraints, D.constraint_registry, D.utils, D.kl):
        for name in module.__all__:
            assert hasattr(module, name), name
    assert len(D.__all__) == len(set(D.__all__)) == 67
    # without being public, these are what other libraries import
    assert D.kl._KL_REGISTRY and D.multivariate_normal._batch_mahalanobis and D.multivariate_normal._batch_mv
    assert D.utils._standard_normal((2,), torch.float64).shape == (2,) and D.utils._sum_rightmost
    assert D.lowrank_multivariate_normal._batch_lowrank_logdet and D.transforms._InverseTransform


def test_loaded_when_first_used() -> None:
    code = "import sys, livetape; assert 'livetape.distributions' not in sys.modules; livetape.distributions.Normal"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------- derivatives
CONTINUOUS = [
    "Beta",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli-logits",
    "Dirichlet",
    "Exponential",
    "FisherSnedecor",
    "Gamma",
    "Gumbel",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "MultivariateNormal-covariance",
    "Normal",
    "RelaxedBernoulli-logits",
    "RelaxedOneHotCategorical-logits",
    "StudentT",
    "TransformedDistribution",
    "VonMises",
    "Weibull",
    "Wishart",
]
DISCRETE = ["Bernoulli-logits", "Binomial-logits", "Categorical-logits", "Geometric-logits", "Multinomial-logits"]
DISCRETE += ["NegativeBinomial-logits", "Poisson", "OneHotCategorical-logits"]


def function_of(label: str, body: Any) -> tuple[Any, list[Any]]:
    """``body(distribution)`` as a function of the parameters that the distribution is made of."""
    make, made = MADE[label], names(torch, D, False)
    used = [name for name in "nmprqkwLWt" if name in make.replace("D.", "").replace("torch.", "")]
    leaves = [made[name].detach().requires_grad_() for name in used]
    return lambda *values: body(eval(make, {**made, **dict(zip(used, values))})), leaves


@pytest.mark.filterwarnings("ignore:Singular sample detected")
@pytest.mark.parametrize("label", CONTINUOUS + DISCRETE)
def test_derivatives_of_log_prob(label: str) -> None:
    torch.manual_seed(SEED)
    make, leaves = function_of(label, lambda d: d)
    value = make(*leaves).sample()
    if label in ("Chi2", "FisherSnedecor"):
        value = value + 0.1  # where x is nearly 0, a difference quotient says nothing
    on_matrices = label.startswith(("LKJ", "Wishart"))  # whose elements do not move freely
    if label in DISCRETE or on_matrices:
        # ... nor do probabilities
        function, leaves = function_of(label, lambda d: d.log_prob(value))
        assert gradcheck(lambda *a: function(*a), leaves, check_grad_dtypes=True)
        return
    value.requires_grad_()
    make, leaves = function_of(label, lambda d: d)
    assert gradcheck(lambda x, *a: _unchecked(make(*a)).log_prob(x), [value, *leaves])


def _unchecked(distribution: Any) -> Any:
    distribution._validate_args = False  # a point beside the simplex is no sample
    for part in ("base_dist", "_dirichlet"):
        if hasattr(distribution, part):
            _unchecked(getattr(distribution, part))
    return distribution


# Those whose samples are smooth functions of the parameters, the random numbers held
EXPLICIT = [
    "Cauchy",
    "Exponential",
    "Gumbel",
    "Kumaraswamy",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "Normal",
    "Pareto",
]
EXPLICIT += [
    "LowRankMultivariateNormal",
    "MultivariateNormal-covariance",
    "RelaxedBernoulli-logits",
    "Uniform",
    "Weibull",
]
EXPLICIT += ["RelaxedOneHotCategorical-logits", "TransformedDistribution", "ContinuousBernoulli-logits", "HalfNormal"]


@pytest.mark.parametrize("label", EXPLICIT)
def test_derivatives_of_samples(label: str) -> None:
    def body(distribution: Any) -> Any:
        torch.manual_seed(SEED)
        return distribution.rsample((2,))

    function, leaves = function_of(label, body)
    assert gradcheck(function, leaves)


def slope(of: Any, at: np.ndarray, step: np.ndarray) -> np.ndarray:
    """A derivative by differences of fourth order."""
    return np.asarray((8 * (of(at + step) - of(at - step)) - (of(at + 2 * step) - of(at - 2 * step))) / (12 * step))


def test_gamma_samples_keep_their_quantile() -> None:
    rng = np.random.default_rng(0)
    alpha = np.exp(rng.uniform(-3, 5, 4000))
    x = np.maximum(rng.gamma(alpha), 1e-30)
    exact = -slope(lambda a: scipy.special.gammainc(a, x), alpha, 1e-3 * alpha) / scipy.stats.gamma.pdf(x, alpha)
    found = torch._standard_gamma_grad(torch.from_numpy(alpha), torch.from_numpy(x)).numpy()
    fine = np.isfinite(exact) & (exact > 1e-8)
    assert fine.mean() > 0.7
    np.testing.assert_allclose(found[fine], exact[fine], rtol=2e-3)


def test_beta_samples_keep_their_quantile() -> None:
    rng = np.random.default_rng(0)
    alpha, beta = np.exp(rng.uniform(-2, 4, (2, 4000)))
    x = np.clip(rng.beta(alpha, beta), 1e-12, 1 - 1e-12)
    moved = slope(lambda a: scipy.special.betainc(a, beta, x), alpha, 1e-3 * alpha)
    exact = -moved / scipy.stats.beta.pdf(x, alpha, beta) / (1 - x)
    found = torch._dirichlet_grad(*(torch.from_numpy(a) for a in (x, alpha, alpha + beta))).numpy()
    fine = np.isfinite(exact) & (exact > 1e-7)
    assert fine.mean() > 0.8
    np.testing.assert_allclose(found[fine], exact[fine], rtol=5e-3)


def test_samples_of_wishart_have_gradients() -> None:
    factor = torch.tensor([[1.2, 0.0], [-0.4, 0.8]], dtype=torch.float64, requires_grad=True)

    def body(factor: Any) -> Any:
        torch.manual_seed(SEED)
        return D.Wishart(torch.tensor(4.5, dtype=torch.float64), scale_tril=factor.tril()).rsample((3,))

    with pytest.warns(UserWarning, match="Singular sample detected"):
        assert gradcheck(body, [factor])


# ---------------------------------------------------------------- samples against moments
# Those without moments, or with NaN for them
NO_MOMENTS = "Cauchy HalfCauchy Categorical VonMises LKJ Logistic Relaxed LogitRelaxed ExpRelaxed Transformed".split()
NO_MOMENTS += ["GeneralizedPareto", "Wishart", "FisherSnedecor"]


@pytest.mark.parametrize("label", [label for label in MADE if not label.startswith(tuple(NO_MOMENTS))])
def test_samples_have_the_mean_and_variance(label: str) -> None:
    torch.manual_seed(0)
    distribution = eval(MADE[label], names(torch, D, False))
    with torch.no_grad():
        mean, variance = distribution.mean.detach().numpy(), distribution.variance.detach().numpy()
        samples = distribution.sample((1500,)).numpy()
    error = np.sqrt(variance / 1500)
    usable = np.isfinite(error)
    assert usable.any()
    assert (np.abs(samples.mean(0) - mean)[usable] < 5 * error[usable] + 1e-9).all()
    kurtosis = ((samples - samples.mean(0)) ** 4).mean(0) / np.maximum(samples.var(0), 1e-30) ** 2
    light = usable & (kurtosis < 12)  # else the variance of so few samples says nothing
    spread = np.abs(samples.var(0) / np.maximum(variance, 1e-30) - 1)
    assert (spread[light] < 5 * np.sqrt((kurtosis[light] + 1) / 1500)).all()


@pytest.mark.parametrize(
    "label",
    ["Normal", "Gamma", "Beta", "Laplace", "Gumbel", "Dirichlet", "StudentT", "MultivariateNormal-factor"],
)
def test_entropy_is_the_mean_of_minus_log_prob(label: str) -> None:
    torch.manual_seed(0)
    distribution = eval(MADE[label], names(torch, D, False))
    with torch.no_grad():
        found = -distribution.log_prob(distribution.sample((1500,))).numpy()
        wanted = distribution.entropy().detach().numpy()
    assert (np.abs(found.mean(0) - wanted) < 5 * found.std(0) / np.sqrt(1500)).all()


@pytest.mark.parametrize(
    "label", ["Normal", "Cauchy", "Laplace", "Gumbel", "Weibull", "Kumaraswamy", "HalfNormal", "Uniform"]
)
def test_icdf_undoes_cdf(label: str) -> None:
    distribution = eval(MADE[label], names(torch, D, False))
    quantiles = torch.linspace(0.05, 0.95, 7, dtype=torch.float64).reshape(-1, *[1] * len(distribution.batch_shape))
    with torch.no_grad():
        found = distribution.cdf(distribution.icdf(quantiles))
        np.testing.assert_allclose(found.numpy(), quantiles.expand_as(found).numpy(), rtol=1e-9)


# ---------------------------------------------------------------- in transforms of functions
def test_inside_vmap_and_jacobians() -> None:
    x = torch.tensor([0.3, -1.2, 2.0])
    each = torch.stack([D.Normal(v, 2.0).log_prob(torch.tensor(0.5)) for v in x])
    assert torch.equal(torch.vmap(lambda v: D.Normal(v, 2.0).log_prob(torch.tensor(0.5)))(x), each)
    jacobian = torch.func.jacrev(lambda v: D.Normal(v, 2.0).log_prob(torch.tensor(0.5)))(x)
    assert torch.allclose(jacobian, torch.diag((0.5 - x) / 4))
    logits = torch.randn(4, 3)
    batched = torch.vmap(lambda row: D.Categorical(logits=row).entropy())(logits)
    assert torch.allclose(batched, D.Categorical(logits=logits).entropy())
    drawn = torch.vmap(lambda row: D.Categorical(logits=row).sample((3,)), randomness="different")(logits * 1000)
    assert torch.equal(drawn, logits.argmax(-1, keepdim=True).expand(4, 3))
    with pytest.raises(ValueError, match=r"to satisfy the constraint GreaterThan\(lower_bound=0.0\)"):
        torch.vmap(lambda s: D.Normal(torch.zeros(2), s).log_prob(torch.tensor(0.5)))(torch.tensor([[1.0, -1.0]]))
