"""The tape and its engine: what is recorded, in which order it is walked, what is accumulated, checked and freed."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import livetape as torch
from livetape.autograd import Function, grad

FREED = "Trying to backward through the graph a second time"


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def names(tensor: Any) -> list[str]:
    """The names of the nodes along the first edges."""
    found, node = [], tensor.grad_fn
    while node is not None:
        found.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return found


# ---------------------------------------------------------------- recording
def test_nodes_lead_from_the_result_to_the_leaves() -> None:
    x = leaf(1.0, 2.0)
    y = (x * 2).exp().sum()
    assert names(y) == ["SumBackward0", "ExpBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    assert y.grad_fn is y.grad_fn
    mul = y.grad_fn.next_functions[0][0].next_functions[0][0]
    assert mul.next_functions[0][0].variable is x
    assert mul.next_functions[1] == (None, 0)


def test_nothing_is_recorded_without_need() -> None:
    x = torch.ones(2)
    y = x * 2
    assert y.grad_fn is None and not y.requires_grad and y.is_leaf
    a = leaf(1.0)
    assert (a * 2).requires_grad
    with torch.no_grad():
        assert (a * 2).grad_fn is None
    assert (a > 0).grad_fn is None and not (a > 0).requires_grad
    assert a.long().requires_grad is False


def test_outputs_of_one_node_are_numbered() -> None:
    parts = leaf(1.0, 2.0, 3.0).unbind()
    assert [p.output_nr for p in parts] == [0, 1, 2]
    assert parts[0].grad_fn is parts[2].grad_fn


def test_saved_values_can_be_seen() -> None:
    x, y = leaf(2.0), leaf(3.0)
    node = (x * y).grad_fn
    assert node._saved_self is x and node._saved_other is y
    e = x.exp()
    assert torch.equal(e.grad_fn._saved_result, e)
    with pytest.raises(AttributeError):
        _ = node._saved_result
    (x * y).backward()
    product = x * y
    node = product.grad_fn
    product.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        _ = node._saved_self


# ---------------------------------------------------------------- order
def test_newest_nodes_run_first() -> None:
    x = leaf(1.0)
    order: list[str] = []

    def noted(tensor: Any, name: str) -> Any:
        tensor.grad_fn.register_hook(lambda gi, go: order.append(name))
        return tensor

    a = noted(x * 1, "a")
    b = noted(x * 2, "b")
    c = noted(a * 3, "c")
    d = noted(b * c, "d")
    e = noted(a + d, "e")
    e.sum().backward()
    assert order == ["e", "d", "c", "b", "a"]


def test_leaves_receive_their_gradient_as_soon_as_it_is_complete() -> None:
    x, w = leaf(1.0), leaf(2.0)
    order: list[str] = []
    w.register_post_accumulate_grad_hook(lambda t: order.append("w"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("x"))
    h = x * 3
    h.register_hook(lambda g: order.append("h"))
    (h * w).sum().backward()
    assert order == ["w", "h", "x"]


def test_a_node_runs_once_on_the_sum_of_its_gradients() -> None:
    x = leaf(1.0)
    h = x * 1
    seen: list[float] = []
    h.register_hook(lambda g: seen.append(g.item()))
    total = h * 0
    for k in range(1, 11):
        total = total + h * k
    total.sum().backward()
    assert seen == [55.0] and x.grad.item() == 55.0


# ---------------------------------------------------------------- accumulation
def test_grad_accumulates_in_place() -> None:
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    first = x.grad
    (x * 4).sum().backward()
    assert x.grad is first and first.tolist() == [7.0, 7.0] and first._version == 1


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")  # said once a process
def test_grad_is_replaced_under_create_graph() -> None:
    x = leaf(2.0)
    (x**2).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    (x**2).sum().backward(create_graph=True)
    assert x.grad is not first and x.grad.item() == 8.0 and first.item() == 4.0
    x.grad = None


def test_gradients_do_not_share_memory() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    start = torch.ones(2, dtype=torch.float64)
    (x + y).backward(start)
    x.grad.mul_(10)
    assert y.grad.tolist() == [1.0, 1.0] and start.tolist() == [1.0, 1.0]
    x.grad = y.grad = None
    torch.stack([x, y]).sum(0).sum().backward()
    x.grad.mul_(10)
    assert y.grad.tolist() == [1.0, 1.0]
    h = x * 1
    h.retain_grad()
    x.grad = None
    (h + 0).backward(start)
    x.grad.mul_(3)
    assert h.grad.tolist() == [1.0, 1.0] and start.tolist() == [1.0, 1.0]


def test_hooks_that_keep_a_gradient_see_it_unchanged() -> None:
    x = leaf(1.0, 2.0)
    kept: list[Any] = []
    a = x * 1
    a.register_hook(kept.append)
    b = x * 2
    (a + b + a * b).sum().backward()
    assert kept[0].tolist() == [3.0, 5.0]
    assert x.grad.tolist() == [1 + 2 + 4.0, 1 + 2 + 8.0]


def test_sums_of_expanded_gradients() -> None:
    # an expanded gradient repeats its elements in memory: nothing may be added to it in place
    x = leaf(1.0, 2.0)
    w = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    v = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64, requires_grad=True)
    (g,) = grad(v.sum(0) - v, v, w, create_graph=True)
    (h,) = grad(g, w, torch.arange(6.0, dtype=torch.float64).reshape(3, 2))
    assert h.tolist() == [[6.0, 8.0], [4.0, 6.0], [2.0, 4.0]]
    assert x.grad is None


def test_gradients_keep_the_shape_and_dtype_of_their_inputs() -> None:
    x = torch.ones(3, 1, dtype=torch.float32, requires_grad=True)
    y = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.shape == (3, 1) and x.grad.dtype is torch.float32
    assert y.grad.shape == (2,) and y.grad.dtype is torch.float64


# ---------------------------------------------------------------- retain_graph and create_graph
def test_a_graph_is_freed_unless_it_is_retained() -> None:
    x = leaf(3.0)
    y = x**2
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match=FREED) as caught:
        y.backward()
    assert "PowBackward0" in "".join(caught.value.__notes__)
    assert x.grad.item() == 12.0


def test_a_graph_that_saved_nothing_can_be_walked_again() -> None:
    x = leaf(1.0, 2.0)
    y = (x + 1).view(2, 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_nothing_is_accumulated_when_a_part_was_freed() -> None:
    x, w = leaf(1.0), leaf(1.0)
    h = x.exp()
    h.backward()
    before = x.grad.item()
    with pytest.raises(RuntimeError, match=FREED):
        (w * 2 + h).backward()
    assert w.grad is None and x.grad.item() == before


def test_higher_derivatives() -> None:
    x = leaf(2.0)
    y = x**5
    for expected in (80.0, 160.0, 240.0, 240.0, 120.0):
        (y,) = grad(y.sum(), x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_create_graph_with_freed_graph() -> None:
    x = leaf(3.0)
    y = x**3
    (g,) = grad(y, x, create_graph=True, retain_graph=False)
    assert g.item() == 27.0 and g.requires_grad
    with pytest.raises(RuntimeError, match=FREED):
        grad(y, x)


# ---------------------------------------------------------------- grad()
def test_grad_walks_only_what_leads_to_its_inputs() -> None:
    x, w = leaf(1.0), leaf(2.0)
    seen: list[str] = []
    side = w * 3
    side.register_hook(lambda g: seen.append("side"))
    y = (x * 2) * side
    (g,) = grad(y.sum(), x)
    assert g.item() == 12.0 and seen == [] and x.grad is None and w.grad is None


def test_grad_is_captured_before_the_hooks_unless_the_walk_ends_there() -> None:
    x = leaf(1.0)
    h = x * 1
    h.register_hook(lambda g: g * 10)
    y = (h * 3).sum()
    assert [g.item() for g in grad(y, [h, x], retain_graph=True)] == [3.0, 30.0]
    assert grad(y, h)[0].item() == 30.0


def test_prehooks_run_only_for_nodes_that_run() -> None:
    x = leaf(1.0)
    h = x * 1
    seen: list[str] = []
    h.grad_fn.register_prehook(lambda go: seen.append("prehook"))
    y = (h * 3).sum()
    grad(y, h, retain_graph=True)
    assert seen == []
    grad(y, x)
    assert seen == ["prehook"]


def test_unused_inputs() -> None:
    x, z = leaf(1.0), leaf(1.0)
    y = (x * 2).sum()
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used"):
        grad(y, [x, z], retain_graph=True)
    assert grad(y, [x, z], allow_unused=True, retain_graph=True)[1] is None
    assert grad(y, [x, z], materialize_grads=True)[1].tolist() == [0.0]


def test_gradient_edges_stand_for_tensors() -> None:
    edge = torch.autograd.graph.get_gradient_edge
    x = leaf(2.0)
    y = x**2
    node, nr, token = edge(y)
    assert node is y.grad_fn and nr == 0 and token is None
    assert grad(y.sum(), edge(x), retain_graph=True)[0].item() == 4.0
    start, leaf_edge = edge(y), edge(x)
    del y
    torch.autograd.backward(start, torch.tensor([10.0], dtype=torch.float64), inputs=leaf_edge)
    assert x.grad.item() == 40.0
    _, second = leaf(1.0, 2.0).unbind()
    assert edge(second).output_nr == 1
    with pytest.raises(RuntimeError, match="It is not possible to get the gradient edge"):
        edge(torch.ones(1))


# ---------------------------------------------------------------- hooks
def test_order_of_hooks() -> None:
    x = leaf(2.0)
    y = x * 5
    order: list[str] = []
    y.grad_fn.register_hook(lambda gi, go: order.append("node"))
    y.grad_fn.register_prehook(lambda go: order.append("pre"))
    y.register_hook(lambda g: order.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("post"))
    x.register_hook(lambda g: order.append("leaf"))
    y.backward()
    assert order == ["tensor", "pre", "node", "leaf", "post"]


def test_hooks_may_replace_gradients() -> None:
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_prehook(lambda go: (go[0] + 1,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 100, None))
    y.retain_grad()
    y.backward()
    assert x.grad.item() == 2200.0 and y.grad.item() == 11.0


def test_hooks_of_leaves_and_their_node() -> None:
    x = leaf(1.0)
    node = (x * 1).grad_fn.next_functions[0][0]
    seen: list[Any] = []
    node.register_prehook(lambda go: (go[0] * 2,))
    node.register_hook(lambda gi, go: seen.append((len(gi), go[0].item(), x.grad.item())))
    (x * 3).backward()
    assert x.grad.item() == 6.0 and seen == [(0, 6.0, 6.0)]


def test_hooks_may_be_removed_and_added_while_they_run() -> None:
    x = leaf(1.0)
    seen: list[str] = []
    handles: list[Any] = []

    def first(g: Any) -> None:
        seen.append("first")
        handles[0].remove()
        x.register_hook(lambda g: seen.append("late"))

    handles.append(x.register_hook(first))
    (x * 1).backward()
    (x * 1).backward()
    assert seen == ["first", "late"]


def test_retain_grad_follows_in_place_changes() -> None:
    x = leaf(1.0, 2.0, 3.0)
    h = x * 1
    h.retain_grad()
    h.mul_(2)
    (h * 5).sum().backward()
    assert h.grad.tolist() == [5.0, 5.0, 5.0]
    view = (x * 1)[1:]
    view.retain_grad()
    view[0] = 0.0
    (view * view).sum().backward()
    assert view.grad.tolist() == [0.0, 6.0]


# ---------------------------------------------------------------- versions, views and in-place changes
def changed(make: Callable[[Any], Any], change: Callable[[Any], Any]) -> Any:
    x = leaf(1.0, 2.0)
    h = x * 1
    y = make(h)
    change(h)
    return y


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.add_(1),
        lambda h: h.zero_(),
        lambda h: h[0:1].mul_(2),
        lambda h: h.detach().mul_(2),
        lambda h: h.view(2, 1).exp_(),
        lambda h: h.__setitem__(0, 5.0),
        lambda h: h.copy_(torch.ones(2)),
    ],
)
def test_changes_of_saved_values_are_noticed(change: Callable[[Any], Any]) -> None:
    y = changed(lambda h: h**2, change)
    with pytest.raises(
        RuntimeError,
        match=r"modified by an inplace operation: \[torch.DoubleTensor \[2\]\].*is at "
        "version 1; expected version 0",
    ):
        y.sum().backward()


def test_changes_of_values_that_are_not_needed_are_fine() -> None:
    changed(lambda h: h + 1, lambda h: h.zero_()).sum().backward()
    changed(lambda h: h.exp(), lambda h: h.zero_()).sum().backward()


def test_results_that_were_changed() -> None:
    x = leaf(1.0)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="which is output 0 of Exp, is at version 1; expected version 0") as caught:
        y.backward()
    assert "ExpBackward0" in "".join(caught.value.__notes__)


@pytest.mark.parametrize(
    ("make", "name"),
    [(lambda x: x.clamp(max=5.0), "Clamp1"), (lambda x: x * 1, "Mul"), (lambda x: x.sum(0, keepdim=True), "Sum1")],
)
def test_names_in_version_errors(make: Callable[[Any], Any], name: str) -> None:
    y = make(leaf(1.0))
    z = y * y
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match=f"which is output 0 of {name}, is at version 1"):
        z.backward()


def test_in_place_changes_of_views_rewrite_the_history_of_the_base() -> None:
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    view = base[1:]
    view.mul_(10)
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    assert type(view.grad_fn).__name__ == "AsStridedBackward0"
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0]


def _first(x: Any) -> Any:
    y = x * 1
    y[:, 1:3].mul_(x[:, :2])
    return (y * y).sum()


def _second(x: Any) -> Any:
    y = (x.t() * 1)[1:]
    y[:, 1].mul_(3.0)
    return (y * y).sum()


def _third(x: Any) -> Any:
    y = (x * 1)[1:, 1:]
    z = y.t()
    z[0] = x[0, :2]
    z[1:].exp_()
    return (y * y * y).sum() + z.sum()


def _fourth(x: Any) -> Any:
    y = x.t() * 2.0
    y[1] = y.sum() * 0.1
    return (y * y).sum()


def _fifth(x: Any) -> Any:
    y = x * 1
    flat = y.view(2, 6)
    flat[1] = flat[0].clone() * 2
    y.t()[1:3].neg_()
    return (y * y).sum()


@pytest.mark.parametrize("fn", [_first, _second, _third, _fourth, _fifth])
def test_gradients_through_views_changed_in_place(fn: Callable[[Any], Any]) -> None:
    x = (torch.arange(12, dtype=torch.float64).reshape(3, 4) / 7).requires_grad_()
    assert torch.autograd.gradcheck(fn, (x,))
    assert torch.autograd.gradgradcheck(fn, (x,))


def test_leaves_and_their_views_are_not_changed_in_place() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad is being used in an"):
        x.add_(1)
    with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable that requires grad is being used"):
        x[0] = 3.0
    assert x.tolist() == [1.0, 2.0] and x._version == 0
    first, _ = (x * 1).unbind()
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace"):
        first.add_(1)


# ---------------------------------------------------------------- walks inside walks
def test_backward_inside_a_hook() -> None:
    x, w = leaf(2.0), leaf(3.0)
    side = (w * w).sum()

    def hook(g: Any) -> Any:
        side.backward()
        return g * w.grad

    h = x * 5
    h.register_hook(hook)
    h.sum().backward()
    assert w.grad.item() == 6.0 and x.grad.item() == 30.0


def test_backward_of_the_same_graph_inside_a_hook() -> None:
    x = leaf(2.0)
    h = x * 5
    y = (h * h).sum()
    depth = [0]

    def hook(g: Any) -> None:
        if depth[0] < 3:
            depth[0] += 1
            y.backward(retain_graph=True)

    h.register_hook(hook)
    y.backward(retain_graph=True)
    assert x.grad.item() == 4 * 100.0


def test_backward_inside_a_function() -> None:
    class Inner(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = ctx.x**3
            return ctx.y.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with torch.enable_grad():
                ctx.y.backward(g)
            return ctx.x.grad

    x = leaf(2.0)
    y = x * 1
    for _ in range(3):
        y = Inner.apply(y)
    (y + x).sum().backward()
    assert x.grad.item() == pytest.approx(27 * 2.0**26 + 1)


def test_grad_inside_a_recorded_forward() -> None:
    x = leaf(3.0)
    (g,) = grad((x**3).sum(), x, create_graph=True)
    (g * x).sum().backward()
    assert x.grad.item() == pytest.approx(9 * 9.0)


# ---------------------------------------------------------------- errors and interrupts
class Boom(Exception):
    pass


@pytest.mark.parametrize("error", [Boom, KeyboardInterrupt])
def test_an_exception_in_a_hook_leaves_everything_usable(error: type[BaseException]) -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = x * w
    armed = [True]

    def hook(g: Any) -> None:
        if armed[0]:
            raise error

    h.register_hook(hook)
    y = (h * h).sum()
    with pytest.raises(error):
        y.backward(retain_graph=True)
    assert torch.is_grad_enabled() and (x * 1).requires_grad
    assert x.grad is None and w.grad is None
    armed[0] = False
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [18.0, 64.0]
    assert grad(y, w)[0].tolist() == [6.0, 32.0]


def test_an_exception_in_backward_reaches_the_caller() -> None:
    class Fails(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise Boom("inside")

    x = leaf(1.0)
    with pytest.raises(Boom, match="inside"), torch.no_grad():
        with torch.enable_grad():
            Fails.apply(x).backward()
    assert torch.is_grad_enabled()
    (x * 2).backward()
    assert x.grad.item() == 2.0


# ---------------------------------------------------------------- threads
def together(*targets: Callable[[], None]) -> None:
    """Run functions at the same time, switching often; raise what they raise."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(targets))

    def guarded(target: Callable[[], None]) -> None:
        try:
            start.wait()
            target()
        except BaseException as error:
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=guarded, args=(t,)) for t in targets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    if errors:
        raise errors[0]


def test_modes_belong_to_threads() -> None:
    found: list[Any] = []
    x = leaf(1.0)
    with torch.no_grad():
        together(lambda: found.append((torch.is_grad_enabled(), (x * 2).requires_grad)))
        assert not (x * 2).requires_grad
    assert found == [(True, True)]

    def off() -> None:
        with torch.no_grad():
            for _ in range(200):
                assert not (x * 2).requires_grad

    def on() -> None:
        for _ in range(200):
            assert (x * 2).requires_grad

    together(off, on, off, on)
    assert torch.is_grad_enabled() and (x * 2).requires_grad


def test_threads_with_graphs_of_their_own_share_a_leaf() -> None:
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)

    def work() -> None:
        for _ in range(200):
            (w * 2).sum().backward()

    together(work, work, work)
    assert w.grad.tolist() == [1200.0] * 3


def test_threads_walk_one_graph() -> None:
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    h = (w * 2).sin()
    loss = (h * h + h.exp()).sum()
    (expected,) = grad(loss, w, retain_graph=True)

    def backward() -> None:
        for _ in range(50):
            loss.backward(retain_graph=True)

    def gradients() -> None:
        for _ in range(50):
            (g,) = grad(loss, w, retain_graph=True)
            assert np.allclose(g.numpy(), expected.numpy(), rtol=1e-12)

    together(backward, gradients, backward, gradients)
    assert np.allclose(w.grad.numpy(), 100 * expected.numpy(), rtol=1e-12)


# ---------------------------------------------------------------- depth
DEEP = 200_000


@pytest.fixture(autouse=True)
def _collect_less() -> Iterator[None]:
    """The collector would look through the long chains again and again."""
    gc.disable()
    yield
    gc.enable()


def test_deep_chains() -> None:
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(DEEP):
        y = y * 1.0
    y.backward()
    assert x.grad.item() == 1.0
    del y
    y = x
    for _ in range(DEEP // 4):
        y = y + 1
    del y  # a graph that was never walked is freed, too


def test_deep_graphs_of_nodes_with_two_inputs() -> None:
    x = torch.ones((), requires_grad=True)
    y, z = x * 1, x * 0
    for _ in range(DEEP // 10):
        y, z = y + z, y * 0
    grad(y, x, retain_graph=True)
    del y, z


def test_deep_chains_of_functions_and_views() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = Same.apply(y)
    y.sum().backward()
    z = x * 1
    for _ in range(10_000):
        z = z.view(2)
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    del y, z


def test_gradients_lie_in_memory_as_their_leaves() -> None:
    def strides(p: Any, call: Any) -> list[Any]:
        call(p).sum().backward()
        first = p.grad.stride()
        call(p).sum().backward()
        return [first, p.grad.stride()]

    calls = (lambda p: p * 2, lambda p: p * p, lambda p: p, lambda p: p.reshape(-1) * 2)
    for call in calls:
        assert strides(torch.randn(4, 3).t().requires_grad_(), call) == [(1, 3)] * 2
        assert strides(torch.randn(2, 3, 4).permute(2, 0, 1).requires_grad_(), call) == [(1, 12, 4)] * 2
        assert strides(torch.randn(4, 6)[:, ::2].requires_grad_(), call) == [(3, 1)] * 2  # it has gaps
        assert strides(torch.randn(1, 3).expand(4, 3).requires_grad_(), call) == [(3, 1)] * 2
    p = torch.empty(2, 3, 4).permute(2, 0, 1).requires_grad_()
    with torch.autograd.enforce_grad_layout_policy(False):
        (p * torch.ones(4, 2, 3)).sum().backward()
    assert p.grad.stride() == (6, 3, 1)
    q = torch.empty(2, 3).t().requires_grad_()
    torch.autograd.enforce_grad_layout_policy(False)(lambda: (q * torch.ones(3, 2)).sum().backward())()
    assert q.grad.stride() == (2, 1)
    q.grad = None
    (q * torch.ones(3, 2)).sum().backward()
    assert q.grad.stride() == (1, 3)


def test_grad_dtype_decides_what_accumulates():
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.float64
    seen = []
    x.register_hook(lambda g: seen.append(g.dtype))
    for _ in range(2):
        x.sum().backward()
    assert x.grad.tolist() == [2, 2] and x.grad.dtype is torch.float64 and seen == [torch.float64] * 2
    with pytest.raises(RuntimeError, match="Cannot set grad_dtype to 'Half' because there is already a gradient"):
        x.grad_dtype = torch.half
    with pytest.raises(RuntimeError, match="'float' to a tensor with grad_dtype 'Double'"):
        x.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="can only be set on leaf tensors"):
        (x * 2).grad_dtype = None
    with pytest.raises(RuntimeError, match=r"must be a torch\.dtype or None, but got int"):
        x.grad_dtype = 1


def test_without_a_grad_dtype_gradients_stay_as_a_function_gives_them():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, n, x, y):
            return x * n + y

        @staticmethod
        def backward(ctx, g):
            return None, g.double(), g.double()

    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y.grad_dtype = None
    Doubled.apply(2, x, y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (torch.float32, torch.float64)


def test_the_order_of_a_leafs_hooks():
    log = []
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    x.register_hook(lambda g: log.append("tensor"))
    node = x.view_as(x).grad_fn.next_functions[0][0]
    node.register_hook(lambda gi, go: log.append("node"))
    node.register_prehook(lambda g: log.append("before node"))
    x.sum().backward()
    assert log == ["tensor", "before node", "accumulated", "node"]
    log.clear()
    torch.autograd.grad(x.sum(), x)
    assert log == ["tensor"]  # nothing accumulates


@pytest.mark.parametrize(
    ("register", "hook", "words"),
    [
        ("register_prehook", lambda g: (g[0], g[0]), r"incorrect number of values \(got 2, but expected 1\)"),
        ("register_prehook", lambda g: (g[0][:1],), "has changed the size of value"),
        ("register_hook", lambda gi, go: (gi[0][:1], None), "has changed the size of value"),
        ("register_hook", lambda gi, go: (gi[0].double(), None), "has changed the type of value"),
        ("register_hook", lambda gi, go: (gi[0], gi[0]), "can't replace a None gradient with a non-None value"),
    ],
)
def test_what_node_hooks_return_is_checked(register, hook, words):
    y = torch.ones(2, requires_grad=True) * 2
    getattr(y.grad_fn, register)(hook)
    with pytest.raises(RuntimeError, match=words):
        y.sum().backward()


def test_read_only_attributes_say_so():
    x = torch.ones(2)
    for name in ("grad_fn", "is_leaf", "is_cuda", "T", "retains_grad", "_version"):
        with pytest.raises(
            AttributeError, match=rf"attribute '{name}' of 'torch\._C\.TensorBase' objects is not writable"
        ):
            setattr(x, name, None)


def test_gradients_to_start_with_take_the_dtype_of_the_output():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    for g in (torch.ones(3).double(), torch.ones(3, dtype=torch.long)):
        (found,) = torch.autograd.grad(y, x, g, retain_graph=True)
        assert found.dtype is torch.float32 and found.tolist() == [2, 2, 2]


def test_gradients_to_start_with_are_checked_in_torchs_words():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    ones = torch.ones(3)
    for call, error, words in [
        (lambda: torch.autograd.backward(y, ["a"]), TypeError, "gradients can be either Tensors or None, but got str"),
        (lambda: torch.autograd.backward([3]), AssertionError, r"Expected output to be a torch\.Tensor"),
        (lambda: torch.autograd.grad((y, y), x, (ones,)), RuntimeError, "got 2 tensors and 1 gradients"),
        (lambda: torch.autograd.grad(edge, x, torch.ones(4)), RuntimeError, r"has a shape of torch\.Size\(\[4\]\)"),
        (
            lambda: torch.autograd.grad(edge, x, torch.ones(2, 4), is_grads_batched=True),
            RuntimeError,
            "Batched grads are not supported with GradientEdge",
        ),
    ]:
        with pytest.raises(error, match=words):
            call()
    assert torch.autograd.grad(y, x, (ones, ones))[0].tolist() == [2, 2, 2]  # the rest is not looked at


class _Nested(Function):
    """Its backward starts another, ``depth`` deep."""

    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        if ctx.depth == 0:
            return g, None
        with torch.enable_grad():
            t = torch.ones(2, requires_grad=True)
            _Nested.apply(t * 1.01, ctx.depth - 1).sum().backward()
        return g * t.grad, None


def test_walks_inside_walks_do_not_end_pythons_stack():
    x = torch.ones(2, requires_grad=True)
    _Nested.apply(x, 400).sum().backward()
    assert torch.allclose(x.grad, torch.full((2,), 1.01**400), rtol=1e-4)


def test_an_error_deep_inside_walks_comes_back():
    class Broken(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if ctx.depth == 0:
                raise ValueError("at the bottom")
            with torch.enable_grad():
                Broken.apply(torch.ones(2, requires_grad=True) * 2, ctx.depth - 1).sum().backward()
            return g, None

    with pytest.raises(ValueError, match="at the bottom"):
        Broken.apply(torch.ones(2, requires_grad=True), 70).sum().backward()
    assert torch.is_grad_enabled()
    x = torch.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_other_threads_compute_inf_and_nan_without_a_word():
    found = []

    def work():
        x = torch.tensor([0.0], requires_grad=True)
        (1 / x).sum().backward()
        found.extend([(1 / x).item(), torch.tensor([-1.0]).sqrt().item(), x.grad.item()])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert str(found) == "[inf, nan, -inf]"
    assert sys.getprofile() is None
