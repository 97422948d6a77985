"""Graphs, tensors and buffers die by reference count, as soon as nothing needs them any more, also after errors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import livetape as torch
from livetape.autograd import Function, grad


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Payload:
    """Something whose death can be watched."""


class Watched:
    """Weak references to what should die, and whether any of it lives."""

    def __init__(self) -> None:
        self.references: list[weakref.ref[Any]] = []

    def __call__(self, value: Any) -> Any:
        self.references.append(weakref.ref(value))
        return value

    @property
    def alive(self) -> int:
        return sum(r() is not None for r in self.references)


@pytest.fixture
def watch() -> Watched:
    return Watched()


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


# ---------------------------------------------------------------- graphs
def test_backward_lets_go_of_what_was_saved(watch: Watched) -> None:
    x = leaf(1.0, 2.0)
    h = watch(x * 2)
    watch(h.array)
    y = (h * h).sum()
    del h
    y.backward(retain_graph=True)
    assert watch.alive == 2
    y.backward()
    assert watch.alive == 0


def test_a_graph_dies_with_its_result(watch: Watched) -> None:
    x = leaf(1.0, 2.0)
    a = watch(x * 2)
    b = watch(a.exp())
    c = watch((a * b).sum())
    watch(b.array)
    del a, b
    assert watch.alive == 4
    del c
    assert watch.alive == 0


def test_the_leaf_outlives_the_graph(watch: Watched) -> None:
    x = watch(leaf(1.0, 2.0))
    y = (x * x).sum()
    del x
    assert watch.alive == 1
    y.backward()
    assert watch.alive == 1
    del y
    assert watch.alive == 0


def test_nodes_do_not_own_their_results(watch: Watched) -> None:
    x = leaf(1.0, 2.0)
    for make in (
        torch.exp,
        torch.tanh,
        torch.sigmoid,
        torch.sqrt,
        torch.relu,
        lambda t: t.softmax(0),
        lambda t: t.prod(),
        lambda t: t.logsumexp(0),
        lambda t: t.max(),
        lambda t: t / t.sum(),
    ):
        y = watch(make(x))
        node = y.grad_fn
        del y
        assert watch.alive == 0, make
        del node


def test_under_no_grad_intermediates_die_at_once(watch: Watched) -> None:
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        h = watch(x * 2)
        y = (h * h).exp()
        del h
        assert watch.alive == 0
        del y


def test_a_sum_of_losses_keeps_their_graphs_and_a_sum_of_items_does_not(watch: Watched) -> None:
    w = leaf(1.0, 2.0)
    total: Any = 0.0
    for _ in range(3):
        loss = (watch(w * 3) ** 2).sum()
        total = total + loss.item()
        del loss
        assert watch.alive == 0
    total = 0.0
    for _ in range(3):
        total = total + (watch(w * 3) ** 2).sum()
    assert watch.alive == 3
    del total
    assert watch.alive == 0


def test_a_training_loop_frees_every_step(watch: Watched) -> None:
    w = leaf(1.0, 2.0)
    for _ in range(3):
        out = watch(w * 3)
        loss = watch((out**2).sum())
        w.grad = None
        loss.backward()
        assert watch.alive == 2
        del out, loss
        assert watch.alive == 0


def test_grad_with_create_graph_makes_no_cycle(watch: Watched) -> None:
    def build() -> None:
        x = watch(leaf(1.0))
        y = watch((x * x * x).sum())
        g = watch(grad(y, x, create_graph=True)[0])
        h = watch(grad(g, x, create_graph=True)[0])
        assert (g.item(), h.item()) == (3.0, 6.0)

    build()
    assert watch.alive == 0


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
def test_a_gradient_with_a_graph_dies_with_its_leaf(watch: Watched) -> None:
    x = leaf(2.0)
    y = watch((x**3).sum())
    y.backward(create_graph=True)
    watch(x.grad)
    del y
    x.grad = None  # .grad leads to x, which owns .grad: only the program can break this circle
    assert watch.alive == 0


def test_in_place_changes_and_views_make_no_cycle(watch: Watched) -> None:
    def build() -> None:
        x = watch(leaf(1.0, 2.0, 3.0))
        base = watch(x * 1)
        view = watch(base[1:])
        view.mul_(2)
        base.add_(1)
        assert view.grad_fn is not None
        part = watch(base.view(3)[0])
        part.exp_()
        first, _ = base.unbind()[:2]
        watch(first)
        (base.sum() + view.sum()).backward(retain_graph=True)

    build()
    assert watch.alive == 0


def test_retained_gradients_make_no_cycle(watch: Watched) -> None:
    x = leaf(1.0)
    h = watch(x * 2)
    h.retain_grad()
    y = h * 3
    y.backward(retain_graph=True)
    watch(h.grad)
    del h
    assert watch.alive == 0 or watch.references[0]() is not None
    del y
    assert watch.alive == 0


def test_walks_leave_nothing_behind(watch: Watched) -> None:
    x = leaf(1.0)
    seed = watch(torch.ones(1, dtype=torch.float64))
    y = x * 2 + x
    y.backward(seed, retain_graph=True)
    grad(y, x, seed, retain_graph=True)
    del seed
    assert watch.alive == 0
    assert y.grad_fn.slot is None and x.slot is None


# ---------------------------------------------------------------- buffers
def test_gradients_are_not_copied_more_than_needed() -> None:
    x = torch.ones(4, dtype=torch.float64, requires_grad=True)
    seen: list[Any] = []
    h = x * 2
    h.register_hook(lambda g: seen.append(weakref.ref(g.array)))
    (h * 3).sum().backward()
    assert seen[0]() is None  # the buffer of the gradient on the way is gone


def test_detached_tensors_share_memory_but_not_the_graph(watch: Watched) -> None:
    x = leaf(1.0, 2.0)
    h = watch(x * 2)
    d = h.detach()
    assert d.array is h.array or np.shares_memory(d.array, h.array)
    del h
    assert watch.alive == 0 and d.tolist() == [2.0, 4.0]


# ---------------------------------------------------------------- hooks and functions
def test_a_removed_hook_lets_go_of_what_it_holds(watch: Watched) -> None:
    x = leaf(1.0)
    payload = watch(Payload())
    handle = x.register_hook(lambda g, p=payload: None)
    del payload
    assert watch.alive == 1
    handle.remove()
    assert watch.alive == 0


def test_a_handle_does_not_keep_the_graph(watch: Watched) -> None:
    x = leaf(1.0)
    payload = watch(Payload())
    h = watch(x * 2)
    handles = [h.register_hook(lambda g, p=payload: None), h.grad_fn.register_hook(lambda gi, go: None)]
    del payload, h
    assert watch.alive == 0
    for handle in handles:
        handle.remove()


class Keep(Function):
    """Saves its input and its output, and keeps an object."""

    @staticmethod
    def forward(ctx: Any, x: Any, payload: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(x, y)
        ctx.payload = payload
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * 2 + 0 * x + 0 * y, None


def test_functions_die_with_their_graph(watch: Watched) -> None:
    x = leaf(1.0)
    y = watch(Keep.apply(watch(x * 1), watch(Payload())))
    assert watch.alive == 3
    y.backward()
    assert watch.alive == 2  # the saved input is gone, what is on ctx is not
    del y
    assert watch.alive == 0


def test_saved_tensor_hooks_make_no_cycle(watch: Watched) -> None:
    x = leaf(1.0)
    for pack in (lambda t: t, lambda t: t.detach(), lambda t: t.tolist()):
        unpack = torch.tensor if pack(torch.ones(1)).__class__ is list else (lambda t: t)
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = watch(watch(x.exp()) * x)
            z = watch(Keep.apply(watch(x * 1), watch(Payload())))
        assert watch.alive > 0
        del y, z
        assert watch.alive == 0


def test_multi_grad_hooks_keep_nothing_after_the_walk(watch: Watched) -> None:
    a, b = leaf(1.0), leaf(2.0)
    seen: list[float] = []
    handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda gs: seen.append(len([watch(g) for g in gs])))
    (a * b).backward()
    a.grad = b.grad = None
    assert seen == [2] and watch.alive == 0
    handle.remove()


def test_checkpoints_keep_only_their_inputs(watch: Watched) -> None:
    from livetape.utils.checkpoint import checkpoint

    x = leaf(1.0, 2.0)
    inside: list[Any] = []

    def block(t: Any) -> Any:
        s = t.sin()
        inside.append(weakref.ref(s))
        return (s * s).exp()

    for reentrant in (True, False):
        inside.clear()
        y = watch(checkpoint(block, watch(x * 1), use_reentrant=reentrant))
        assert inside[0]() is None and watch.alive == 2
        y.sum().backward()
        assert all(r() is None for r in inside) and len(inside) == 2
        del y
        assert watch.alive == 0


# ---------------------------------------------------------------- after errors
class Boom(Exception):
    pass


def failing(run: Callable[[], Any]) -> None:
    """Run something that raises, and drop the traceback, which holds frames."""
    try:
        run()
    except Exception as error:
        error.__traceback__ = None
    else:
        raise AssertionError("nothing was raised")


class Fails(Function):
    """Fails forward or backward."""

    @staticmethod
    def forward(ctx: Any, x: Any, when: str, payload: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.when, ctx.payload = when, payload
        if when == "forward":
            raise Boom
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if ctx.when == "backward":
            raise Boom
        return g, None, None


def test_after_an_error_in_forward(watch: Watched) -> None:
    x = leaf(1.0)

    def run() -> None:
        Fails.apply(watch(x * 2), "forward", watch(Payload()))

    failing(run)
    assert watch.alive == 0


def test_after_an_error_in_an_operation(watch: Watched) -> None:
    def run() -> None:
        h = watch(leaf(1.0, 2.0) * 2)
        _ = h + torch.ones(3)

    failing(run)
    assert watch.alive == 0


def test_after_an_error_in_backward(watch: Watched) -> None:
    x = leaf(1.0)

    def run() -> None:
        h = watch(x * 2)
        y = watch(Fails.apply(h, "backward", watch(Payload())))
        seed = watch(torch.ones(1, dtype=torch.float64))
        (y * h).backward(seed)

    failing(run)
    assert watch.alive == 0 and x.slot is None


@pytest.mark.parametrize("place", ["tensor", "node", "prehook", "leaf", "post"])
def test_after_an_error_in_a_hook(watch: Watched, place: str) -> None:
    x = leaf(1.0)
    armed = [True]

    def hook(*args: Any) -> None:
        if armed[0]:
            raise Boom

    def run() -> None:
        h = watch(x * 2)
        {
            "tensor": h.register_hook,
            "node": h.grad_fn.register_hook,
            "prehook": h.grad_fn.register_prehook,
            "leaf": x.register_hook,
            "post": x.register_post_accumulate_grad_hook,
        }[place](hook)
        y = watch((h * h).sum())
        y.backward()

    failing(run)
    assert watch.alive == 0 and x.slot is None
    armed[0] = False
    x.grad = None
    (x * 3).backward()
    assert x.grad.item() == 3.0


def test_after_an_error_in_a_pack_hook(watch: Watched) -> None:
    x = leaf(1.0)

    def pack(t: Any) -> Any:
        raise Boom

    def run() -> None:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            watch(watch(x * 1).exp())

    failing(run)
    assert watch.alive == 0
    x.exp().backward()


def _refusals() -> list[Callable[[Any], Any]]:
    w = torch.ones(3, requires_grad=True)
    return [
        lambda x: torch.mm(x, torch.ones(9, 9)),
        lambda x: torch.addmm(x, x, torch.ones(9, 9)),
        lambda x: torch.bmm(x, x),
        lambda x: x @ torch.ones(9),
        lambda x: torch.nn.functional.linear(x, torch.ones(9, 9)),
        lambda x: torch.mm(x, torch.ones(4, 4, dtype=torch.float64)),
        lambda x: x + torch.ones(9),
        lambda x: x.add_(torch.ones(3, 4, 4)),
        lambda x: x.view(3, 3),
        lambda x: x.reshape(-1, 7),
        lambda x: torch.cat([x, torch.ones(2, 2)]),
        lambda x: torch.stack([x, torch.ones(2, 2)]),
        lambda x: x[9],
        lambda x: x[torch.tensor([9])],
        lambda x: x.sum("a"),
        lambda x: torch.exp(x, x, x),
        lambda x: x.squeeze("a"),
        lambda x: torch.autograd.grad(x.sum(), w),
        lambda x: torch.autograd.grad(torch.ones(1), x),
        lambda x: x.backward(),
        lambda x: x.sum().backward(torch.ones(3)),
        lambda x: torch.zeros(2, layout=torch.sparse_coo).add(x),
        lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([99, 0, 0, 0])),
        lambda x: torch.nn.functional.conv2d(x, x),
        lambda x: torch.nn.functional.layer_norm(x, (7,)),
        lambda x: x.to("cuda"),
        lambda x: x.to("meta"),
        lambda x: x.item(),
        lambda x: x.numpy(),
        lambda x: torch.vmap(lambda row: row.item())(x),
        lambda x: torch.utils.data.TensorDataset(x, torch.ones(1)),
        lambda x: torch.linalg.cholesky(-x @ x.T - 1),
    ]


@pytest.mark.parametrize("number", range(len(_refusals())))
def test_a_refused_call_keeps_nothing_alive(number: int) -> None:
    call = _refusals()[number]

    def run() -> Any:
        x = torch.ones(4, 4, requires_grad=True).exp()
        with pytest.raises(Exception):  # noqa: B017
            call(x)
        return weakref.ref(x)

    gc.collect()
    gc.disable()
    try:
        assert run()() is None
    finally:
        gc.enable()
