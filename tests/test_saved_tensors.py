"""Hooks on single saved tensors: ``grad_fn._raw_saved_*`` and ``_raw_saved_tensors`` of Functions."""

from __future__ import annotations

from typing import Any

import pytest

import livetape as torch
from livetape.autograd import Function, SavedTensor


def leaf() -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_a_pair_of_hooks_on_an_input() -> None:
    x, log = leaf(), []
    y = x.exp() * x
    saved = y.grad_fn._raw_saved_self
    assert type(saved) is SavedTensor

    def pack(t: Any) -> Any:
        log.append("pack")
        return t.detach().numpy()

    def unpack(a: Any) -> Any:
        log.append("unpack")
        return torch.from_numpy(a)

    saved.register_hooks(pack, unpack)
    assert log == ["pack"]
    assert y.grad_fn._saved_self.grad_fn.name() == "ExpBackward0"
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        saved.register_hooks(pack, unpack)
    y.sum().backward()
    assert log == ["pack", "unpack", "unpack"]
    assert torch.allclose(x.grad, (x.exp() * (1 + x)).detach())
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor after it has been freed"):
        saved.register_hooks(pack, unpack)


def test_what_unpack_gives_is_used() -> None:
    x = leaf()
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t * 3, lambda t: t)
    y.sum().backward()
    assert torch.allclose(x.grad, 3 * x.detach().exp())


def test_functions() -> None:
    class Product(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            out = a * b
            ctx.save_for_backward(a, b, out, None)
            return out

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            a, b, out, nothing = ctx.saved_tensors
            assert nothing is None and out.grad_fn is not None
            return grad * b, grad * a

    x = leaf()
    y = Product.apply(x, x)
    raw = y.grad_fn._raw_saved_tensors
    assert [type(r) for r in raw] == [SavedTensor] * 4
    raw[0].register_hooks(lambda t: t * 10, lambda t: t)
    raw[2].register_hooks(lambda t: t.tolist(), lambda v: torch.tensor(v))
    assert raw[2].unpack().tolist() == [1, 4]
    with pytest.raises(RuntimeError, match="only one pair of hooks"):
        raw[2].register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [11, 22]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.grad_fn._raw_saved_tensors  # noqa: B018


def test_misuse() -> None:
    y = leaf() ** 2
    saved = y.grad_fn._raw_saved_self
    with pytest.raises(TypeError, match=r"register_hooks\(\): incompatible function arguments"):
        saved.register_hooks(3, len)
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        SavedTensor()
    with pytest.raises(AttributeError, match="'PowBackward0' object has no attribute '_raw_saved_exponent'"):
        y.grad_fn._raw_saved_exponent  # noqa: B018
    assert "_raw_saved_self" in dir(y.grad_fn)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        packed = leaf() ** 2
    with pytest.raises(RuntimeError, match="only one pair of hooks"):
        packed.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_changes_that_are_not_counted() -> None:
    x = leaf()
    y = x * 1
    z = y * y
    with torch.autograd._unsafe_preserve_version_counter(y), torch.no_grad():
        y.mul_(2)
    assert y._version == 0
    z.sum().backward()
    assert x.grad.tolist() == [4, 8]
