"""Every row of the derivative table, driven by its samples."""

from __future__ import annotations

import copy
from functools import reduce
from typing import Any

import numpy as np
import pytest
from samples import Sample, everything

import livetape as torch
from livetape.autograd.gradcheck import gradcheck, gradgradcheck
from livetape.ops.table import TABLE

pytestmark = [
    pytest.mark.filterwarnings("ignore:index_reduce:UserWarning"),
    pytest.mark.filterwarnings("ignore:torch.* is deprecated in favor of:UserWarning"),
    pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter:UserWarning"),
]
SAMPLES = everything()


def names(samples: list[Sample]) -> list[str]:
    """An id for each sample, numbered so that all differ."""
    return [f"{i}-{s!r}" for i, s in enumerate(samples)]


def function_of(sample: Sample) -> Any:
    return reduce(getattr, sample.fn.split("."), torch)


def has_arrays(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, (list, tuple)) and any(map(has_arrays, value)))


def to_tensors(value: Any, requires_grad: bool) -> Any:
    """Arrays become tensors; lists and tuples are searched."""
    if isinstance(value, np.ndarray):
        tensor = torch.from_numpy(value.copy() if value.flags.c_contiguous else value)
        return tensor.requires_grad_(requires_grad and value.dtype.kind in "fc")
    if isinstance(value, (list, tuple)) and has_arrays(value):
        return type(value)(to_tensors(v, requires_grad) for v in value)
    return value


def leaves_of(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad else []
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves_of(v)]
    return []


def replaced(value: Any, leaves: Any) -> Any:
    """``value`` with its leaves taken from an iterator."""
    if isinstance(value, torch.Tensor):
        return next(leaves) if value.requires_grad else value
    if isinstance(value, (list, tuple)) and leaves_of(value):
        return type(value)(replaced(v, leaves) for v in value)
    return value


def as_function(sample: Sample) -> tuple[Any, list[Any]]:
    """The call as a function of its differentiable inputs alone."""
    fn = function_of(sample)
    args, kwargs = to_tensors(sample.args, True), {k: to_tensors(v, True) for k, v in sample.kwargs.items()}
    inputs = [*leaves_of(args), *leaves_of(tuple(kwargs.values()))]

    def call(*leaves: Any) -> Any:
        feed = iter(leaves)
        out = fn(*replaced(args, feed), **{k: replaced(v, feed) for k, v in kwargs.items()})
        outs = out if isinstance(out, (tuple, list)) else (out,)
        return tuple(o for o in outs if isinstance(o, torch.Tensor) and o.requires_grad)

    return call, inputs


DIFFERENTIABLE = [s for s in SAMPLES if s.grad]


@pytest.mark.parametrize("key", sorted(TABLE))
def test_every_row_has_samples(key: str) -> None:
    assert any(s.key == key for s in SAMPLES), f"the row {key!r} has no samples"


@pytest.mark.parametrize("sample", DIFFERENTIABLE, ids=names(DIFFERENTIABLE))
def test_gradient_is_the_numeric_one(sample: Sample) -> None:
    call, inputs = as_function(sample)
    if not inputs:
        pytest.skip("no differentiable input")
    assert gradcheck(call, tuple(inputs))


TWICE = [s for s in DIFFERENTIABLE if s.gradgrad]


@pytest.mark.parametrize("sample", TWICE, ids=names(TWICE))
def test_second_order_gradient_is_the_numeric_one(sample: Sample) -> None:
    call, inputs = as_function(sample)
    if not inputs:
        pytest.skip("no differentiable input")
    assert gradgradcheck(call, tuple(inputs))


UP_TO_SIGN = {"lobpcg"}  # eigenvectors, found from random numbers that differ between the two


@pytest.mark.parametrize("sample", SAMPLES, ids=names(SAMPLES))
def test_single_precision_is_close_to_double(sample: Sample) -> None:
    fn = function_of(sample)

    def narrowed(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            return value.astype(np.float32 if value.dtype.kind == "f" else np.complex64)
        if isinstance(value, (list, tuple)) and has_arrays(value):
            return type(value)(narrowed(v) for v in value)
        return value

    wide = fn(*to_tensors(sample.args, False), **{k: to_tensors(v, False) for k, v in sample.kwargs.items()})
    narrow = fn(
        *to_tensors(narrowed(sample.args), False),
        **{k: to_tensors(narrowed(v), False) for k, v in sample.kwargs.items()},
    )
    for w, n in zip(*(o if isinstance(o, (tuple, list)) else (o,) for o in (wide, narrow))):
        if isinstance(w, torch.Tensor):
            assert w.shape == n.shape
            if (w.dtype.is_floating_point or w.dtype.is_complex) and not any(
                isinstance(a, torch.dtype) for a in sample.args
            ):
                assert n.dtype in (torch.float32, torch.complex64)
                found, expected = n.numpy(), w.numpy()
                if sample.key in UP_TO_SIGN:
                    found, expected = np.abs(found), np.abs(expected)
                np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)


def _inplace_name(sample: Sample) -> str:
    return sample.fn.rsplit(".", 1)[-1] + "_"


IN_PLACE = [
    s for s in SAMPLES if s.inplace and hasattr(torch.Tensor, _inplace_name(s)) and isinstance(s.args[0], np.ndarray)
]


@pytest.mark.parametrize("sample", IN_PLACE, ids=names(IN_PLACE))
def test_in_place_equals_plain(sample: Sample) -> None:
    fn, change = function_of(sample), getattr(torch.Tensor, _inplace_name(sample))
    args, kwargs = to_tensors(sample.args, True), {k: to_tensors(v, True) for k, v in sample.kwargs.items()}
    plain = fn(*args, **kwargs)
    if not isinstance(plain, torch.Tensor) or plain.shape != args[0].shape or plain.dtype != args[0].dtype:
        pytest.skip("the result does not fit into the input")
    again = to_tensors(copy.deepcopy(sample.args), True)
    more = {k: to_tensors(v, True) for k, v in sample.kwargs.items()}
    target = again[0] * 1
    changed = change(target, *again[1:], **more)
    assert changed is target
    np.testing.assert_array_equal(changed.detach().numpy(), plain.detach().numpy())
    if not plain.requires_grad or type(plain.grad_fn).__name__ == "NotImplemented":
        return
    cotangent = torch.ones_like(plain)
    left, right = leaves_of(args), leaves_of(again)
    want = torch.autograd.grad(plain, left, cotangent, allow_unused=True)
    got = torch.autograd.grad(changed, right, cotangent, allow_unused=True)
    for w, g in zip(want, got):
        if w is None or g is None:
            assert w is None or not w.any()
            assert g is None or not g.any()
        else:
            np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-12, atol=1e-12)
