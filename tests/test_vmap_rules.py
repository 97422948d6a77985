"""Functions that are run on a batch at once: the values are those of the samples, and nothing warns of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import livetape as torch
import livetape.nn.functional as F
from livetape import vmap
from livetape.func import _rules, grad

B = 3


def normal(*shape: int, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((B, *shape)))


def whole(high: int, *shape: int, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, high, (B, *shape)))


X, V, S = normal(4, 5), normal(6), normal(4, 4)
S = S @ S.mT + torch.eye(4, dtype=torch.float64)
WITH_NAN = V.clone()
WITH_NAN[1, 2] = float("nan")
PLACES = torch.tensor([[0, 2], [1, -1], [3, 0]])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "quantile": (lambda x: torch.quantile(x, 0.3), (WITH_NAN,)),
    "quantile of rows": (lambda x, q: torch.quantile(x, q, dim=1, keepdim=True), (X, normal(2).sigmoid())),
    "nanquantile": (lambda x: torch.nanquantile(x, 0.3), (WITH_NAN,)),
    "corrcoef": (torch.corrcoef, (X,)),
    "ldl": (lambda s, b: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(s), b), (S, X)),
    "lu_solve": (lambda s, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(s), b), (S, X)),
    "lstsq": (lambda a, b: torch.linalg.lstsq(a, b).solution, (normal(5, 3), normal(5, 2, seed=1))),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (X, normal(5), normal(5, seed=2))),
    "batch_norm of images": (lambda x: F.batch_norm(x, None, None, training=True), (normal(2, 3, 4, 4),)),
    "batch_norm in eval": (lambda x, m, v: F.batch_norm(x, m, v), (X, normal(5), normal(5).exp())),
    "batch_norm's gradient": (
        grad(lambda x, w: (F.batch_norm(x, None, None, w, training=True) ** 3).sum(), (0, 1)),
        (X, normal(5)),
    ),
    "batch_norm's gradient in eval": (
        grad(lambda x, w: (F.batch_norm(x, torch.zeros(5).double(), torch.ones(5).double(), w) ** 3).sum(), (0, 1)),
        (X, normal(5)),
    ),
    "batch_norm's second derivative": (
        grad(lambda x: grad(lambda t: (F.batch_norm(t, None, None, training=True) ** 3).sum())(x).pow(2).sum()),
        (X,),
    ),
    "group_norm's gradient": (
        grad(lambda x, w: (F.group_norm(x, 2, w) ** 3).sum(), (0, 1)),
        (normal(2, 4, 3), normal(4)),
    ),
    "instance_norm": (F.instance_norm, (normal(2, 4, 3),)),
    "take": (lambda x, i: x.take(i), (X, PLACES)),
    "take's gradient": (grad(lambda x: (x.take(torch.tensor([0, 7, 7])) ** 2).sum()), (X,)),
    "put": (lambda x, i, v: x.put(i, v), (X, PLACES, normal(2))),
    "put that adds": (lambda x, v: x.put(torch.tensor([1, 1]), v, accumulate=True), (X, normal(2))),
    "put_": (lambda x, v: x.clone().put_(torch.tensor([1, -3]), v), (X, normal(2))),
    "put's gradient": (grad(lambda x, v: (x.put(torch.tensor([1, 4]), v) ** 2).sum(), (0, 1)), (X, normal(2))),
    "masked_select": (lambda x: x.masked_select(torch.eye(4, 5) > 0), (X,)),
    "masked_select's gradient": (grad(lambda x: (x.masked_select(torch.eye(4, 5) > 0) ** 2).sum()), (X,)),
    "scatter that adds": (lambda x, i, s: x.scatter(1, i, s, reduce="add"), (X, whole(5, 4, 5), X)),
    "scatter of a number that multiplies": (
        lambda x, i: x.scatter(1, i, 2.0, reduce="multiply"),
        (X, whole(5, 4, 5)),
    ),
    "index_fill": (lambda x, v: x.index_fill(1, torch.tensor([0, 2]), v), (X, normal())),
    "index_fill from the end": (lambda x, v: x.index_fill(-2, torch.tensor([0, 2]), v), (X, normal())),
    "searchsorted": (torch.searchsorted, (V.sort(1)[0], normal(2))),
    "searchsorted of one": (lambda s: torch.searchsorted(s, torch.tensor(0.1).double()), (V.sort(1)[0],)),
    "searchsorted of rows": (torch.searchsorted, (X.sort(2)[0], normal(4, 2))),
    "bucketize": (lambda v: torch.bucketize(v, torch.tensor([0.0, 1.0]).double()), (V,)),
    "dist": (torch.dist, (X, X.flip(0))),
    "dist of other shapes": (lambda a, b: torch.dist(a, b, 1), (X, normal(5))),
    "norm": (torch.norm, (X,)),
    "norm's gradient": (grad(lambda x: torch.norm(x, 3)), (X,)),
    "block_diag": (torch.block_diag, (X, normal(2), normal())),
    "adaptive_max_pool": (lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True), (normal(2, 5, 6),)),
    "adaptive_max_pool in space": (lambda x: F.adaptive_max_pool3d(x, 2), (normal(2, 3, 4, 5),)),
    "prelu's gradient": (grad(lambda x, w: (F.prelu(x, w) ** 2).sum(), (0, 1)), (X, normal(1))),
    "prelu by channels": (grad(lambda x, w: (F.prelu(x, w) ** 2).sum(), (0, 1)), (X, normal(5))),
}


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
@pytest.mark.parametrize("name", CASES)
def test_a_batch_at_once(name: str) -> None:
    function, batches = CASES[name]
    _rules._warned.clear()  # and warnings are errors
    found = as_list(vmap(function)(*batches))
    for column, batch in enumerate(found):
        rows = [as_list(function(*[b[i] for b in batches]))[column] for i in range(B)]
        np.testing.assert_allclose(batch.numpy(), np.stack([r.numpy() for r in rows]), rtol=1e-9, atol=1e-12)


def test_running_statistics_of_each_sample() -> None:
    mean, var = torch.zeros(B, 5, dtype=torch.float64), torch.ones(B, 5, dtype=torch.float64)
    twins = [mean.clone(), var.clone()]
    vmap(lambda x, m, v: F.batch_norm(x, m, v, training=True, momentum=0.3))(X, mean, var)
    for i in range(B):
        F.batch_norm(X[i], twins[0][i], twins[1][i], training=True, momentum=0.3)
    assert torch.allclose(mean, twins[0]) and torch.allclose(var, twins[1])
    strided = torch.zeros(5, B, dtype=torch.float64)
    vmap(lambda x, m, v: F.batch_norm(x, m, v, training=True, momentum=0.3), (0, 1, 0))(X, strided, var)
    assert torch.allclose(strided.t(), twins[0])
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input while the running_mean"):
        vmap(lambda x: F.batch_norm(x, torch.zeros(5).double(), torch.ones(5).double(), training=True))(X)


def test_random_slopes() -> None:
    x = -torch.ones(B, 50)
    different = vmap(lambda t: F.rrelu(t, training=True), randomness="different")(x)
    same = vmap(lambda t: F.rrelu(t, training=True), randomness="same")(x)
    assert -different.max() >= 1 / 8 and -different.min() <= 1 / 3
    assert not torch.equal(different[0], different[1])
    assert torch.equal(same[0], same[1])
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda t: F.rrelu(t, training=True))(x)
