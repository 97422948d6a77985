"""Selective checkpointing: what a policy keeps is not computed again, and gradients stay the same."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import livetape as torch
from livetape._tape.modes import local, state
from livetape.autograd import Function, grad
from livetape.autograd.profiler import profile
from livetape.utils.checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)

aten = torch.ops.aten
SAVE, RECOMPUTE = CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_RECOMPUTE


def inputs() -> tuple[Any, Any]:
    torch.manual_seed(1)
    return tuple(torch.randn(n, 3, dtype=torch.float64, requires_grad=True) for n in (2, 3))  # type: ignore[return-value]


def piece(x: Any, w: Any) -> Any:
    return ((x @ w).sin() @ w).exp() * 2


def run(function: Callable[..., Any], policy: Any, *args: Any, **options: Any) -> Any:
    contexts = functools.partial(create_selective_checkpoint_contexts, policy, **options)
    return checkpoint(function, *args, use_reentrant=False, context_fn=contexts)


def counted(loss: Any) -> Counter[str]:
    """What a backward runs."""
    with profile() as prof:
        loss.backward()
    return Counter(e.name for e in prof.function_events)


@pytest.mark.parametrize(
    ("policy", "again"),
    [
        ([aten.mm.default], {"aten::sin": 1, "aten::exp": 1}),
        ([aten.sin.default, aten.exp.default], {"aten::mm": 2}),
        (lambda ctx, op, *args: SAVE, {}),
        (lambda ctx, op, *args: CheckpointPolicy.PREFER_CPU_OFFLOAD, {}),
        (lambda ctx, op, *args: False, {"aten::mm": 2, "aten::sin": 1, "aten::exp": 1}),
        (lambda ctx, op, *args: RECOMPUTE, {"aten::mm": 2, "aten::sin": 1, "aten::exp": 1}),
    ],
)
def test_only_what_is_not_kept_is_computed_again(policy: Any, again: dict[str, int]) -> None:
    x, w = inputs()
    plain = counted(piece(x, w).sum())
    expected = [t.grad.clone() for t in (x, w)]
    x.grad = w.grad = None
    found = counted(run(piece, policy, x, w).sum())
    assert {n: found[n] - plain[n] for n in ("aten::mm", "aten::sin", "aten::exp") if found[n] != plain[n]} == again
    assert all(torch.equal(t.grad, e) for t, e in zip((x, w), expected, strict=True))
    assert state.interposed == 0
    assert local.interposers == ()


def test_the_policy_is_told_each_operation_once() -> None:
    seen: list[Any] = []

    def policy(ctx: Any, op: Any, *args: Any) -> CheckpointPolicy:
        assert isinstance(ctx, SelectiveCheckpointContext)
        seen.append((ctx.is_recompute, str(op), [type(a).__name__ for a in args], list(ctx.op_output.shape)))
        return RECOMPUTE

    x, w = inputs()
    loss = run(piece, policy, x, w).sum()
    assert seen == [
        (False, "aten.mm.default", ["Tensor", "Tensor"], [2, 3]),
        (False, "aten.sin.default", ["Tensor"], [2, 3]),
        (False, "aten.mm.default", ["Tensor", "Tensor"], [2, 3]),
        (False, "aten.exp.default", ["Tensor"], [2, 3]),
        (False, "aten.mul.Tensor", ["Tensor", "int"], [2, 3]),
    ]
    loss.backward()
    assert len(seen) == 5


def test_overloads() -> None:
    seen: list[str] = []

    def policy(ctx: Any, op: Any, *args: Any) -> bool:
        seen.append(str(op))
        return False

    def many(x: Any, w: Any) -> Any:
        y = x.pow(2) + 1 / x
        y.relu_()
        y = torch.where(y > 1, y, w[:2]).clamp(0, 1)
        y = torch.softmax(y, 1).sum(1) + torch.nn.functional.layer_norm(y, (3,)).mean(0, keepdim=True).max()
        return torch.cat([y, y.detach()]).float()

    run(many, policy, *inputs()).sum().backward()
    assert seen == [
        "aten.pow.Tensor_Scalar",
        "aten.reciprocal.default",
        "aten.mul.Tensor",
        "aten.add.Tensor",
        "aten.relu_.default",
        "aten.gt.Scalar",
        "aten.slice.Tensor",
        "aten.where.self",
        "aten.clamp.default",
        "aten._softmax.default",
        "aten.sum.dim_IntList",
        "aten.native_layer_norm.default",
        "aten.mean.dim",
        "aten.max.default",
        "aten.add.Tensor",
        "aten.cat.default",
        "aten._to_copy.default",
    ]


def test_several_results_lists_views_and_random_numbers() -> None:
    def many(x: Any, w: Any) -> Any:
        values, places = (x @ w).t().sort(0)
        both = torch.cat([values, values * 2]) / 2
        both.mul_(3)
        return torch.nn.functional.dropout(both, 0.5).sin() * places.sum()

    x, w = inputs()
    state_of = torch.get_rng_state()
    expected = grad(many(x, w).sum(), (x, w))
    for policy in (
        lambda ctx, op, *args: "div" not in str(op),
        [aten.sort.default, aten.cat.default],
        [aten.mm.default],
    ):
        torch.set_rng_state(state_of)
        assert all(
            torch.equal(a, b) for a, b in zip(grad(run(many, policy, x, w).sum(), (x, w)), expected, strict=True)
        )


def test_functions_of_ones_own() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a.pow(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    x, w = inputs()
    expected = grad(Square.apply(x @ w).sum(), x)[0]
    for policy in ([aten.mm.default], [aten.pow.Tensor_Scalar], lambda *a: SAVE):
        assert torch.equal(grad(run(lambda a, b: Square.apply(a @ b), policy, x, w).sum(), x)[0], expected)


def test_casts_are_operations_of_their_own() -> None:
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(3, 4), torch.randn(2, 3, requires_grad=True)
    seen: list[str] = []

    def policy(ctx: Any, op: Any, *args: Any) -> bool:
        seen.append(str(op))
        return op is aten.addmm.default

    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = grad(layer(x).float().sin().sum(), x)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):  # a cast of a weight that was remembered would be none here
        loss = run(lambda t: layer(t).float().sin(), policy, x).sum()
    assert torch.equal(grad(loss, x)[0], expected)
    assert "aten._to_copy.default" in seen and "aten.addmm.default" in seen


def test_second_order() -> None:
    x, w = inputs()

    def penalty(out: Any) -> Any:
        return grad(out.sum(), x, create_graph=True)[0].pow(2).sum()

    expected = grad(penalty(piece(x, w)), w)[0]
    assert torch.allclose(grad(penalty(run(piece, lambda *a: RECOMPUTE, x, w)), w)[0], expected)


def test_a_result_that_was_changed() -> None:
    def changing(x: Any, w: Any) -> Any:
        y = x @ w
        z = y.sin()
        y.add_(1)
        return z * 2

    x, w = inputs()
    loss = run(changing, [aten.mm.default], x, w).sum()
    with pytest.raises(RuntimeError, match="Tensor cached during selective activation checkpoint has been mutated"):
        loss.backward()
    run(changing, [aten.mm.default], x, w, allow_cache_entry_mutation=True).sum().backward()
    run(changing, [aten.sin.default], x, w).sum().backward()
    assert state.interposed == 0


def test_one_backward_only() -> None:
    x, w = inputs()
    loss = run(piece, [aten.mm.default], x, w).sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        loss.backward()


def test_forwards_that_differ() -> None:
    x, w = inputs()
    calls: list[int] = []

    def differing(x: Any, w: Any) -> Any:
        calls.append(1)
        return (x @ w).sin() if len(calls) == 1 else (x @ w).cos().sin()

    with pytest.raises(RuntimeError, match=r"aten.cos.default encountered during backward but not found in storage"):
        run(differing, [aten.mm.default], x, w).sum().backward()


def test_arguments() -> None:
    with pytest.raises(TypeError, match="policy_fn_or_list must be either a function or a list of ops"):
        create_selective_checkpoint_contexts(5)
    with pytest.raises(ValueError, match=r"change it to `torch.ops.aten.mm.default`"):
        create_selective_checkpoint_contexts([aten.mm])
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload but got: 3"):
        create_selective_checkpoint_contexts([3])
    assert aten.detach.default in SAC_IGNORED_OPS
    assert [p.value for p in CheckpointPolicy] == list(range(6))


def test_operations_by_their_dispatched_names() -> None:
    assert aten.add.Tensor is aten.add.Tensor
    assert (str(aten.add.Tensor), repr(aten.add.Tensor)) == (
        "aten.add.Tensor",
        "<OpOverload(op='aten.add', overload='Tensor')>",
    )
    assert (aten.add.Tensor.name(), aten.mm.default.name()) == ("aten::add.Tensor", "aten::mm")
    a = torch.ones(2)
    assert aten.add.Tensor(a, 1).tolist() == [2, 2]
    assert aten.add_.Tensor(a, 1) is a
    assert torch.equal(aten._softmax.default(a, 0), torch.softmax(a, 0))
    with pytest.raises(NotImplementedError, match="aten::not_there cannot be called"):
        aten.not_there(a)
