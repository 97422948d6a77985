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


def test_pack_hooks_are_not_recorded_and_get_indices_too():
    seen = []
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(torch.is_grad_enabled()) or t * 1, lambda t: t):
        y = x.exp()
        z = y[torch.tensor([0, 1])]
    assert seen == [False, False]
    z.sum().backward()
    assert torch.allclose(x.grad, torch.tensor([2.718281828, 2.718281828, 0.0]))


def test_late_hooks_get_a_tensor_without_history():
    x = torch.ones(3, requires_grad=True)
    y = x * x
    seen = []
    y.grad_fn._raw_saved_self.register_hooks(lambda t: seen.append((t.requires_grad, t.tolist())) or t, lambda t: t)
    assert seen == [(False, [1.0, 1.0, 1.0])]


def test_a_pack_hook_that_changes_a_leaf_is_told_so():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
        with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
            x * x


def test_a_view_whose_base_changed_still_says_that_it_requires_grad():
    y = torch.ones(4, requires_grad=True).clone()
    part = y.chunk(2)[0]
    y.mul_(2)
    assert part.requires_grad
    assert repr(part).endswith("grad_fn=<Invalid>)")
