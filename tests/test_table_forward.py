"""Every row of the derivative table under forward mode and under vmap, driven by its samples.

Forward mode is held against reverse mode, and a batch against its samples one at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from samples import Sample, everything
from test_table import as_function, function_of

import livetape as torch
from livetape.autograd import forward_ad
from livetape.func import grad, jvp, vjp, vmap
from livetape.ops.table import TABLE

BY_KEY: dict[str, list[Sample]] = {}
for _sample in everything():
    BY_KEY.setdefault(_sample.key, []).append(_sample)
KEYS = sorted(BY_KEY)
COUNT = 3  # samples in a batch

# What cannot run on a batch, as in torch: the shape of the result, or the way to it, depends on the values.
REFUSED = (
    "masked_select",
    "do not support batching operators",
    "calling .item()",
    "doesn't have storage",
    "inplace arithmetic",
    "randomness error mode",
    "which will be updated in place, were not batched",
)


def random_like(array: np.ndarray, rng: np.random.Generator) -> Any:
    made = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        made = made + 1j * rng.standard_normal(array.shape)
    return torch.from_numpy(np.asarray(made).astype(array.dtype))


def dot(left: Any, right: Any) -> float:
    return float(np.vdot(left.detach().numpy(), right.detach().numpy()).real)


# ---------------------------------------------------------------- forward mode
def check_forward(sample: Sample) -> None:
    call, inputs = as_function(sample)
    outputs = call(*inputs) if inputs else ()
    if not outputs:
        return
    rng = np.random.default_rng(1)
    cotangents = [random_like(o.detach().numpy(), rng) for o in outputs]
    tangents = [random_like(i.detach().numpy(), rng) for i in inputs]
    grads = torch.autograd.grad(outputs, inputs, cotangents, allow_unused=True)
    backward = sum(dot(g, t) for g, t in zip(grads, tangents) if g is not None)
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(i, t) for i, t in zip(inputs, tangents)]
        pushed = [forward_ad.unpack_dual(o) for o in call(*duals)]
    for primal, tangent in pushed:
        assert tangent is None or tangent.shape == primal.shape
    forward = sum(dot(c, p.tangent) for c, p in zip(cotangents, pushed) if p.tangent is not None)
    np.testing.assert_allclose(forward, backward, rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_forward_mode_agrees_with_reverse_mode(key: str) -> None:
    for sample in BY_KEY[key]:
        if sample.grad and sample.gradgrad:
            check_forward(sample)


# ---------------------------------------------------------------- batches of gradients
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_a_batch_of_gradients_gives_what_single_ones_give(key: str) -> None:
    for sample in BY_KEY[key]:
        if not sample.grad:
            continue
        call, inputs = as_function(sample)
        outputs = call(*inputs) if inputs else ()
        if not outputs:
            continue
        rng = np.random.default_rng(1)
        seeds = [[random_like(o.detach().numpy(), rng) for _ in range(2)] for o in outputs]
        single = [
            torch.autograd.grad(outputs, inputs, [s[k] for s in seeds], allow_unused=True, retain_graph=True)
            for k in range(2)
        ]
        batches = [torch.stack(s) for s in seeds]
        both = torch.autograd.grad(outputs, inputs, batches, allow_unused=True, is_grads_batched=True)
        for found, *rows in zip(both, *single, strict=True):
            assert (found is None) == (rows[0] is None)
            if found is not None:
                expected = np.stack([r.detach().numpy() for r in rows])
                np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-6, atol=1e-8)


# ---------------------------------------------------------------- arguments as arrays
def arrays_in(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, (list, tuple)):
        return [a for v in value for a in arrays_in(v)]
    return []


def rebuilt(value: Any, feed: Any) -> Any:
    if isinstance(value, np.ndarray):
        return next(feed)
    if isinstance(value, (list, tuple)) and arrays_in(value):
        return type(value)(rebuilt(v, feed) for v in value)
    return value


def by_tensors(sample: Sample) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """The call as a function of all its tensors, which gives a tuple of tensors."""
    function = function_of(sample)
    arrays = [*arrays_in(sample.args), *arrays_in(tuple(sample.kwargs.values()))]

    def call(*tensors: Any) -> Any:
        feed = iter(tensors)
        args = rebuilt(sample.args, feed)
        kwargs = {name: rebuilt(v, feed) for name, v in sample.kwargs.items()}
        out = function(*args, **kwargs)
        return tuple(o for o in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(o, torch.Tensor))

    return call, arrays


def tensor(array: np.ndarray) -> Any:
    return torch.from_numpy(np.array(array))


def check_forward_over_reverse(sample: Sample) -> None:
    call, arrays = by_tensors(sample)
    places = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    if not places or any(a.dtype.kind == "c" for a in arrays):
        return
    fixed = [tensor(a) for a in arrays]

    def total(*values: Any) -> Any:
        tensors = list(fixed)
        for i, value in zip(places, values):
            tensors[i] = value
        found: Any = None
        for o in call(*tensors):
            if o.dtype.is_floating_point:
                part = (o * torch.from_numpy(np.cos(np.arange(o.numel(), dtype=np.float64))).reshape(o.shape)).sum()
                found = part if found is None else found + part
        return found

    primals = tuple(fixed[i] for i in places)
    if total(*primals) is None:
        return
    rng = np.random.default_rng(7)
    left = tuple(random_like(arrays[i], rng) for i in places)
    right = tuple(random_like(arrays[i], rng) for i in places)
    gradient = grad(total, argnums=tuple(range(len(places))))
    pushed = jvp(gradient, primals, left)[1]
    pulled = vjp(gradient, *primals)[1](right)
    forward = sum(dot(p, r) for p, r in zip(pushed, right))
    backward = sum(dot(p, v) for p, v in zip(pulled, left))
    np.testing.assert_allclose(forward, backward, rtol=1e-7, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_forward_over_reverse_agrees_with_reverse_over_reverse(key: str) -> None:
    for sample in BY_KEY[key]:
        if sample.grad and sample.gradgrad:
            check_forward_over_reverse(sample)


# ---------------------------------------------------------------- batches
def batch_of(array: np.ndarray) -> np.ndarray:
    """Samples that differ, where the sample's values may be changed a little."""
    if array.dtype.kind in "fc" and array.size:
        return np.stack([array, array * 1.01, array * 0.97])
    return np.stack([array] * COUNT)


def check_batch(sample: Sample, flags: list[bool]) -> None:
    call, arrays = by_tensors(sample)
    batches = [batch_of(a) if f else a for a, f in zip(arrays, flags)]
    want = [call(*[tensor(b[i] if f else b) for b, f in zip(batches, flags)]) for i in range(COUNT)]
    if not want[0]:
        return
    in_dims = tuple(0 if f else None for f in flags)
    try:
        got = vmap(call, in_dims=in_dims)(*[tensor(b) for b in batches])
    except RuntimeError as error:
        if any(words in str(error) for words in REFUSED):
            return
        raise
    for column, batch in enumerate(got):
        single = np.stack([w[column].numpy() for w in want])
        assert batch.numpy().dtype == single.dtype
        np.testing.assert_allclose(batch.numpy(), single, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
def test_a_batch_agrees_with_its_samples(key: str) -> None:
    if {"law", "bits"} & set(TABLE[key].params if key in TABLE else ()):
        pytest.skip("draws random numbers")
    for sample in BY_KEY[key]:
        count = len(by_tensors(sample)[1])
        if count and not (key == "sort" and sample.args[0].size == 0):
            check_batch(sample, [True] * count)
            for i in range(count if count > 1 else 0):
                check_batch(sample, [i == j for j in range(count)])


def test_rows_without_a_rule_warn_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from livetape.func import _rules

        _rules._warned.discard("renorm")
        for _ in range(2):
            vmap(lambda x: torch.renorm(x, 2, 0, 1.0))(torch.ones(2, 3, 3))
    assert [str(w.message)[:30] for w in caught] == ["There is a performance drop be"]
