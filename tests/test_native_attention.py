"""Attention in C++ against its NumPy twin, and which calls reach it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import livetape as torch
from livetape.kernels import attention
from livetape.kernels.compiled import NATIVE, TWINS, native

FLOATS = (np.float32, np.float64)
needs_native = pytest.mark.skipif(not NATIVE, reason="the C++ kernels are not built")
attend = torch.nn.functional.scaled_dot_product_attention


def draw(shape: tuple[int, ...], kind: Any, seed: int = 0, inside: bool = False) -> np.ndarray:
    """``inside``: with the heads inside of the rows in memory."""
    x = np.random.default_rng(seed).standard_normal(shape).astype(kind)
    return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2) if inside else x


def check(name: str, *args: Any) -> Any:
    with np.errstate(all="ignore"):
        want = TWINS[name](*args)
    for g, w in zip(getattr(native, name)(*args), want, strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype and g.strides == w.strides
        eps = 128 * float(ml_dtypes.finfo(w.dtype).eps)
        g, w = g.astype(np.float64), w.astype(np.float64)
        largest = float(np.abs(w[np.isfinite(w)]).max(initial=1))
        np.testing.assert_allclose(g, w, rtol=eps, atol=eps * largest)
    return want


@needs_native
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(
    "batch, heads, queries, keys, width",
    [(1, 1, 1, 1, 1), (2, 3, 5, 7, 4), (2, 2, 33, 40, 9), (1, 2, 140, 300, 16), (2, 2, 70, 70, 64)],
)
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_attention(
    kind: Any, batch: int, heads: int, queries: int, keys: int, width: int, inside: bool, causal: bool, isa: str
) -> None:
    numbers = np.random.default_rng(9)
    q, k, v, grad = (
        draw((batch, heads, rows, width), kind, seed, inside)
        for seed, rows in enumerate((queries, keys, keys, queries))
    )
    some = numbers.random((queries, keys)) < 0.7
    some[queries // 2] = False
    masks = [None, some, draw((queries, keys), kind, 5), draw((batch, 1, 1, keys), kind, 6)]
    for mask in [*masks, numbers.random((1, heads, queries, keys)) < 0.5]:
        found = check("attention", q, k, v, mask, causal, 0.3)
        check("attention_backward", grad, q, k, v, *found, mask, causal, 0.3)


@needs_native
def test_other_memory_and_numbers(isa: str) -> None:
    q, k, v = (draw((2, 2, 6, 4), np.float32, seed) for seed in range(3))
    want = native.attention(q, k, v, None, False, 0.5)
    for odd in (np.asfortranarray(q), np.repeat(q, 2, 3)[..., ::2], q[:, ::-1][:, ::-1], q.astype(">f4")):
        got = native.attention(odd, k, v, None, False, 0.5)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-6)
    check("attention_backward", np.broadcast_to(np.float32(1), q.shape), q, k, v, *want, None, False, 0.5)
    for half in (np.float16, ml_dtypes.bfloat16):
        check("attention", q.astype(half), k.astype(half), v.astype(half), None, True, 0.5)
    for value in (np.nan, np.inf, -np.inf):
        odd = k.copy()
        odd[0, 1, 2, 3] = value
        check("attention", q, odd, v, None, True, 0.5)
        check("attention", odd, k, v, None, False, 0.5)


@needs_native
def test_results_do_not_depend_on_the_number_of_threads() -> None:
    q, k, v = (draw((2, 3, 150, 16), np.float32, seed) for seed in range(3))
    before = torch.get_num_threads()
    found = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            out, logs = attention.attention(q, k, v, None, True, 0.25)
            found.append((out, *attention.attention_backward(v, q, k, v, out, logs, None, True, 0.25)))
    finally:
        torch.set_num_threads(before)
    for one, three in zip(*found):
        np.testing.assert_array_equal(one, three)


def node(*args: Any, **kwargs: Any) -> str:
    return type(attend(*args, **kwargs).grad_fn).__name__


def test_where_torch_has_one_node() -> None:
    """As torch 2.13 on the CPU."""
    q, k, v = (torch.randn(2, 3, 5, 4, requires_grad=True) for _ in range(3))
    flash = "ScaledDotProductFlashAttentionForCpuBackward0"
    may = torch.ones(5, 5, dtype=torch.bool)
    assert (
        node(q, k, v) == node(q, k, v, is_causal=True) == node(q, k, v, may) == node(q, k, v, may[None, None]) == flash
    )
    assert node(q, torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 4)) == flash
    assert node(q, k, v, torch.zeros(5, 5)) == flash and node(q.double(), k.double(), v.double()) == flash
    others = [
        node(q, k, v, may.expand(3, 5, 5)),
        node(q, k, v, torch.zeros(5, 5, requires_grad=True)),
        node(q[0], k[0], v[0]),
        node(q, k, torch.randn(2, 3, 5, 6)),
        node(q, k[:1], v[:1]),
        node(q, k, v, dropout_p=0.5),
        node(q[..., ::2], k[..., ::2], v[..., ::2]),
    ]
    assert flash not in others


def test_memory_of_the_result() -> None:
    """Heads stay inside of rows, so that turning them back and flattening copies nothing."""
    x = torch.randn(2, 5, 36)
    q, k, v = (z.reshape(2, 5, 3, 4).transpose(1, 2) for z in x.chunk(3, -1))
    assert attend(q, k, v, is_causal=True).stride() == (60, 4, 12, 1)
    assert attend(q.contiguous(), k, v).stride() == (60, 20, 4, 1)


def test_queries_without_keys_give_zeros() -> None:
    q, k, v = (torch.randn(1, 2, 3, 4, requires_grad=True) for _ in range(3))
    may = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    for mask in (may, torch.zeros(3, 3).masked_fill(may.logical_not(), -torch.inf)):
        for grad in (q, k, v):
            grad.grad = None
        out = attend(q, k, v, mask)
        out.sum().backward()
        assert (out[:, :, 1] == 0).all() and (q.grad[:, :, 1] == 0).all()
        assert all(t.grad.isfinite().all() for t in (q, k, v))


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}])
def test_all_derivatives(options: dict[str, Any]) -> None:
    q, k, v = (torch.randn(1, 2, 3, 2, dtype=torch.float64, requires_grad=True) for _ in range(3))
    torch.autograd.gradcheck(
        lambda *a: attend(*a, **options), (q, k, v), check_forward_ad=True, check_batched_grad=True
    )
    torch.autograd.gradgradcheck(lambda *a: attend(*a, **options), (q, k, v))
