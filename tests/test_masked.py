"""torch.masked: values as PyTorch has them, gradients only where the mask lets through."""

from __future__ import annotations

import math

import pytest

import livetape as torch
from livetape import masked

x = torch.tensor([[1.0, 2.0, 3.0], [-4.0, 5.0, math.nan]], dtype=torch.float64)
mask = torch.tensor([[True, False, True], [True, True, False]])
ALONG = {
    "sum": [4.0, 1.0],
    "prod": [3.0, -20.0],
    "amax": [3.0, 5.0],
    "amin": [1.0, -4.0],
    "argmax": [2.0, 1.0],
    "argmin": [0.0, 0.0],
    "mean": [2.0, 0.5],
    "median": [1.0, -4.0],
    "var": [2.0, 40.5],
    "std": [1.414213562373, 6.363961030679],
    "logsumexp": [3.126928011043, 5.00012340219],
}
EACH = {
    "cumsum": [[1.0, 1.0, 4.0], [-4.0, 1.0, 1.0]],
    "cumprod": [[1.0, 1.0, 3.0], [-4.0, -20.0, -20.0]],
    "softmax": [[0.119202922022, 0.0, 0.880797077978], [0.000123394576, 0.999876605424, 0.0]],
    "log_softmax": [[-2.126928011043, -math.inf, -0.126928011043], [-9.00012340219, -0.00012340219, -math.inf]],
    "softmin": [[0.880797077978, 0.0, 0.119202922022], [0.999876605424, 0.000123394576, 0.0]],
}


@pytest.mark.parametrize("name", ALONG)
def test_reductions(name):
    function = getattr(masked, name)
    assert function(x, 1, mask=mask).tolist() == pytest.approx(ALONG[name])
    assert function(x, 1, keepdim=True, mask=mask).shape == (2, 1)
    leaf = x.nan_to_num().requires_grad_()
    found = function(leaf, 1, mask=mask)
    if found.requires_grad:
        found.sum().backward()
        assert not leaf.grad[~mask].any()


@pytest.mark.parametrize("name", EACH)
def test_normalizations(name):
    for found, expected in zip(getattr(masked, name)(x, 1, mask=mask).tolist(), EACH[name]):
        assert found == pytest.approx(expected)


def test_norms():
    assert masked.norm(x, 2.0, 1, mask=mask).tolist() == pytest.approx([3.162277660168, 6.403124237433])
    found = masked.normalize(x, 2.0, 1, mask=mask).tolist()
    assert found[1] == pytest.approx([-0.6246950475544, 0.7808688094430, 0.0])
    assert masked.logaddexp(x, x, input_mask=mask, other_mask=~mask).tolist()[0] == [1.0, 2.0, 3.0]


def test_nothing_counts():
    y, none = torch.tensor([1.0, 2.0]), torch.tensor([False, False])
    found = [getattr(masked, n)(y, mask=none).item() for n in ("sum", "prod", "amax", "amin", "logsumexp")]
    assert found == [0.0, 1.0, -math.inf, math.inf, -math.inf]
    assert math.isnan(masked.mean(y, mask=none).item())


def test_integers():
    y, some = torch.tensor([[3, 1, 2]], dtype=torch.int32), torch.tensor([True, False, True])
    assert masked.sum(y, mask=some).dtype is torch.int64
    assert masked.amax(y, 1, mask=~some).tolist() == [1]
    assert masked.median(y, 1, mask=some).tolist() == [2]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: masked.sum(x, mask=mask[None]), IndexError, "_input_mask expected broadcastable mask"),
        (lambda: masked.sum(x, (0, 0)), RuntimeError, "dim=0 appears multiple times in the list of dims"),
        (lambda: masked.sum(x, 2), IndexError, "Dimension out of range"),
        (lambda: masked.mean(mask), ValueError, r"Could not infer output dtype. Input dtype must be either"),
        (lambda: masked.var(x, unbiased=True, correction=1), AssertionError, "Only one of unbiased and correction"),
    ],
)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
