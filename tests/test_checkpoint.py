"""Checkpointing: same gradients, less kept, the same random numbers, and errors where the forwards differ."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import livetape as torch
from livetape.autograd import grad, graph
from livetape.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

both = pytest.mark.parametrize("reentrant", [True, False])


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def block(t: Any) -> Any:
    return t.sin().cos().exp()


@both
def test_gradients_are_the_same(reentrant: bool) -> None:
    x, w = leaf(0.5, 1.5), leaf(2.0, 3.0)

    def scaled(t: Any, k: float, other: Any = None) -> Any:
        return (t * w).tanh() * k, "extra", t * 2

    checkpoint(lambda t: scaled(t, 3.0)[0], x, use_reentrant=reentrant).sum().backward()
    found = x.grad.tolist(), w.grad.tolist()
    x.grad = w.grad = None
    scaled(x, 3.0)[0].sum().backward()
    assert found == (x.grad.tolist(), w.grad.tolist())
    value, extra, second = checkpoint(scaled, x, 3.0, use_reentrant=reentrant)
    assert extra == "extra"
    x.grad = None
    (value.sum() + second.sum()).backward(retain_graph=True)
    first = x.grad.tolist()
    (value.sum() + second.sum()).backward()
    assert x.grad.tolist() == pytest.approx([2 * g for g in first])


def test_when_the_forward_runs() -> None:
    seen: list[bool] = []

    def noted(t: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return t.exp()

    x = leaf(1.0)
    y = checkpoint(noted, x, use_reentrant=False)
    assert seen == [True] and type(y.grad_fn).__name__ == "ExpBackward0"
    y.backward()
    assert seen == [True, True]
    y = checkpoint(noted, x, use_reentrant=True)
    assert type(y.grad_fn).__name__ == "CheckpointFunctionBackward"
    y.backward()
    assert seen == [True, True, False, True]
    with torch.no_grad():
        assert not checkpoint(noted, x, use_reentrant=False).requires_grad


def test_only_the_inputs_are_kept() -> None:
    kept: list[Any] = []
    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: (kept.append(1), t.detach())[1], lambda t: t):
        block(x * 1)
        plain = len(kept)
        y = checkpoint(block, x * 1, use_reentrant=False)
    assert (plain, len(kept) - plain) == (3, 1)
    y.sum().backward()
    first = x.grad.tolist()
    x.grad = None
    block(x).sum().backward()
    assert x.grad.tolist() == first


def test_second_derivatives() -> None:
    x = leaf(2.0)
    (g,) = grad(checkpoint(lambda t: t**3, x, use_reentrant=False).sum(), x, create_graph=True)
    assert g.item() == 12.0 and grad(g.sum(), x)[0].item() == 12.0
    assert torch.autograd.gradgradcheck(lambda t: checkpoint(block, t, use_reentrant=False), (leaf(0.3, 0.7),))


def test_checkpoints_nest() -> None:
    calls: list[str] = []

    def inner(t: Any) -> Any:
        calls.append("inner")
        return t.sin().exp()

    def outer(t: Any) -> Any:
        calls.append("outer")
        return checkpoint(inner, t.cos(), use_reentrant=False).tanh()

    x = leaf(0.5)
    checkpoint(outer, x, use_reentrant=False).backward()
    assert calls == ["outer", "inner", "outer", "inner", "inner"]
    found = x.grad.item()
    x.grad = None
    inner(x.cos()).tanh().backward()
    assert x.grad.item() == pytest.approx(found)


def test_a_look_at_saved_values_recomputes_them() -> None:
    y = checkpoint(lambda t: t.sin().cos(), leaf(1.0), use_reentrant=False)
    for _ in range(2):
        assert y.grad_fn._saved_self.item() == pytest.approx(0.8414709848)
    y.backward()


@both
def test_random_numbers_are_repeated(reentrant: bool) -> None:
    masks: list[Any] = []

    def noisy(t: Any) -> Any:
        mask = torch.rand(4) > 0.5
        masks.append(mask.tolist())
        return (t * mask).exp()

    torch.manual_seed(1)
    x = torch.ones(4, requires_grad=True)
    checkpoint(noisy, x, use_reentrant=reentrant).sum().backward()
    after = torch.rand(1).item()
    torch.manual_seed(1)
    torch.rand(4)
    assert masks[0] == masks[1] and after == torch.rand(1).item()
    masks.clear()
    checkpoint(noisy, x, use_reentrant=reentrant, preserve_rng_state=False).sum().backward()
    assert len(masks) == 2


def test_the_second_forward_stops_early() -> None:
    calls: list[str] = []

    def noted(t: Any) -> Any:
        out = t.sin()
        calls.append("after")
        return out * 2

    x = leaf(1.0)
    checkpoint(noted, x, use_reentrant=False).backward()
    assert len(calls) == 1
    checkpoint(noted, x, use_reentrant=False, early_stop=False).backward()
    with set_checkpoint_early_stop(False):
        checkpoint(noted, x, use_reentrant=False).backward()
    assert len(calls) == 5


def test_contexts_for_both_forwards() -> None:
    seen: list[str] = []

    @contextlib.contextmanager
    def noted(name: str) -> Iterator[None]:
        seen.append(name)
        yield

    checkpoint(block, leaf(1.0), use_reentrant=False, context_fn=lambda: (noted("first"), noted("second"))).backward()
    assert seen == ["first", "second"]


# ---------------------------------------------------------------- what goes wrong
def test_forwards_that_differ() -> None:
    count = [0]

    def again(first: Any, second: Any) -> Any:
        count[0] = 0

        def fn(t: Any) -> Any:
            count[0] += 1
            return first(t) if count[0] == 1 else second(t)

        return fn

    x = leaf(1.0, 2.0)
    with pytest.raises(CheckpointError, match="during forward: 2\nNumber of tensors saved during recomputation: 1"):
        checkpoint(again(lambda t: t.sin().cos(), torch.sin), x, use_reentrant=False).sum().backward()
    with pytest.raises(
        CheckpointError, match="trying to save more tensors during recomputation than during the original"
    ):
        checkpoint(again(torch.sin, lambda t: t.sin().cos()), x, use_reentrant=False, early_stop=False).sum().backward()
    with pytest.raises(
        CheckpointError,
        match=r"tensor at position 0:\nsaved metadata: {'shape': torch.Size\(\[2\]\), "
        r"'dtype': torch.float64, 'device': device\(type='cpu'\)}",
    ):
        checkpoint(again(torch.sin, lambda t: torch.cat([t, t]).sin()), x, use_reentrant=False).sum().backward()
    with pytest.raises(ValueError, match=r"determinism_check should be one of \['default', 'none'\], but got some"):
        checkpoint(block, x, use_reentrant=False, determinism_check="some")


def test_inputs_that_were_changed() -> None:
    w = leaf(1.0) * 1
    y = checkpoint(block, w, use_reentrant=False)
    w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_errors_in_the_second_forward_pass_through() -> None:
    count = [0]

    def fails(t: Any) -> Any:
        count[0] += 1
        if count[0] == 2:
            raise KeyError("second")
        return t.exp()

    x = leaf(1.0)
    y = checkpoint(fails, x, use_reentrant=False)
    with pytest.raises(KeyError):
        y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == pytest.approx(2.718281828)
    assert torch.is_grad_enabled()


def test_the_reentrant_kind_needs_a_whole_backward() -> None:
    x = leaf(1.0)
    y = checkpoint(block, x, use_reentrant=True)
    for call in (lambda: grad(y, x), lambda: y.backward(inputs=[x])):
        with pytest.raises(RuntimeError, match=r"When use_reentrant=True, torch.utils.checkpoint is incompatible with"):
            call()
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
        checkpoint(block, torch.ones(1), use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        checkpoint(lambda t: t.detach() * 2, x, use_reentrant=True).backward()


def test_arguments() -> None:
    x = leaf(1.0)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(block, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(block, x, use_reentrant=True, scale=1)
    with pytest.raises(ValueError, match="Passing `context_fn` or `debug` is only supported when"):
        checkpoint(block, x, use_reentrant=True, debug=True)
    assert checkpoint(lambda t, k: t * k, x, use_reentrant=False, k=3).item() == 3.0


@both
def test_sequences(reentrant: bool) -> None:
    steps = [torch.sin, torch.cos, torch.exp, torch.tanh]
    x = leaf(0.5)
    for segments in (1, 2, 4):
        x.grad = None
        checkpoint_sequential(steps, segments, x, use_reentrant=reentrant).backward()
        assert x.grad.item() == pytest.approx(grad(block(torch.sin(x)) * 0 + x.sin().cos().exp().tanh(), x)[0].item())
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint_sequential(steps, 2, x, use_reentrant=reentrant, scale=1)


@both
def test_the_second_forward_casts_as_the_first_did(reentrant: bool) -> None:
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(3, 4), torch.randn(2, 3, requires_grad=True)
    kinds = []

    def run(t: Any) -> Any:
        out = layer(t)
        kinds.append(out.dtype)
        return out.float().sin()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        plain = layer(x).float().sin()
        y = checkpoint(run, x, use_reentrant=reentrant)
    expected = grad(plain.sum(), x)[0]
    y.sum().backward()
    assert kinds == [torch.bfloat16, torch.bfloat16]
    assert torch.equal(x.grad, expected)


def test_forward_mode_and_transforms() -> None:
    x = torch.ones(2)

    def f(t: Any) -> Any:
        return checkpoint(lambda u: (u * u).sin(), t, use_reentrant=False)

    expected = 2 * torch.cos(torch.ones(2))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(2))
        assert torch.allclose(torch.autograd.forward_ad.unpack_dual(f(dual)).tangent, expected)
    assert torch.allclose(torch.func.jvp(f, (x,), (x,))[1], expected)
    assert torch.allclose(torch.func.grad(lambda t: f(t).sum())(x), expected)
    assert torch.allclose(torch.func.vmap(f)(x), torch.sin(x))


def test_nodes_of_results_that_accumulate_run_too() -> None:
    x, log = torch.ones(2, requires_grad=True), []
    y = (x * 3).exp()
    y.grad_fn.register_hook(lambda inputs, outputs: log.append(inputs))
    (y * 2).sum().backward(inputs=[y])
    assert y.grad.tolist() == [2, 2] and log == [(None,)] and x.grad is None
    y = (x * 3).exp()
    y.grad_fn.register_hook(lambda inputs, outputs: log.append(inputs))
    torch.autograd.grad((y * 2).sum(), y)
    assert len(log) == 1, "only asked for, not accumulated"
    y = checkpoint(torch.sin, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\) or passing an `inputs` parameter"):
        (y * 2).sum().backward(inputs=[y])
