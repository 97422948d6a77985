"""autograd.Function: what forward may do, what backward must give, and what is saved in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import livetape as torch
from livetape.autograd import Function, grad
from livetape.autograd.function import FunctionCtx, once_differentiable


def made(forward: Callable[..., Any], backward: Callable[..., Any], name: str = "F") -> Any:
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def same(ctx: Any, *grads: Any) -> Any:
    return grads[0]


# ---------------------------------------------------------------- the node
def test_the_node_is_named_after_the_function() -> None:
    x = leaf(1.0)
    y = made(lambda ctx, a: a * 2, same, "Mine").apply(x)
    node = y.grad_fn
    assert node.name() == type(node).__name__ == "MineBackward" and isinstance(node, FunctionCtx)
    assert repr(y) == "tensor([2.], grad_fn=<MineBackward>)"
    assert node.needs_input_grad == (True,) and node.next_functions[0][0].variable is x


def test_needs_input_grad() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, a: Any, b: Any, k: int) -> Any:
        seen.append(ctx.needs_input_grad)
        return a * b * k

    made(forward, lambda ctx, g: (g, None, None)).apply(leaf(1.0), torch.ones(1), 3)
    assert seen == [(True, False, False)]


def test_grad_mode_in_forward_and_backward() -> None:
    seen: list[bool] = []

    def noted(value: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return value

    fn = made(lambda ctx, a: noted(a * 1), lambda ctx, g: noted(g))
    x = leaf(1.0)
    fn.apply(x).backward()
    grad(fn.apply(x), x, create_graph=True)
    assert seen == [False, False, False, True]
    with torch.no_grad():
        assert not fn.apply(x).requires_grad


# ---------------------------------------------------------------- what backward gives
@pytest.mark.parametrize(
    ("arguments", "returned", "message"),
    [
        (2, lambda g: g, r"function FBackward returned an incorrect number of gradients \(expected 2, got 1\)"),
        (1, lambda g: (g, g), r"function FBackward returned an incorrect number of gradients \(expected 1, got 2\)"),
        (1, lambda g: 3.0, r"expected Variable or None \(got float\)"),
        (1, lambda g: [g], r"expected Variable or None \(got list\)"),
        (
            1,
            lambda g: torch.ones(3),
            r"Function FBackward returned an invalid gradient at index 0 - got \[3\] but expected "
            r"shape compatible with \[2\]",
        ),
    ],
)
def test_wrong_gradients(arguments: int, returned: Callable[[Any], Any], message: str) -> None:
    fn = made(lambda ctx, *a: a[0] * 1, lambda ctx, g: returned(g))
    y = fn.apply(*[leaf(1.0, 2.0) for _ in range(arguments)])
    with pytest.raises(RuntimeError, match=message):
        y.sum().backward()


def test_a_gradient_for_what_is_no_tensor() -> None:
    y = made(lambda ctx, a, k: a * k, lambda ctx, g: (g, g)).apply(leaf(1.0), 3.0)
    with pytest.raises(RuntimeError, match="returned a gradient different than None at position 2, but the"):
        y.backward()


def test_gradients_are_fitted_to_their_inputs() -> None:
    x = leaf(1.0, 2.0)
    made(lambda ctx, a: a * 1, lambda ctx, g: torch.ones(5, 2, dtype=torch.float64)).apply(x).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0] and x.grad.dtype is torch.float32


def test_none_and_superfluous_none() -> None:
    x = leaf(1.0)
    made(lambda ctx, a: a * 1, lambda ctx, g: None).apply(x).backward()
    assert x.grad is None
    made(lambda ctx, a: a * 1, lambda ctx, g: (g, None)).apply(x).backward()
    assert x.grad.item() == 1.0


def test_keyword_arguments_need_gradients_too() -> None:
    x = leaf(1.0)
    made(lambda ctx, a, k=1: a * k, lambda ctx, g: (g * 2, None)).apply(x, k=2).backward()
    assert x.grad.item() == 2.0


def test_gradients_that_nothing_has_reached() -> None:
    seen: list[Any] = []

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        seen.append(None if h is None else h.tolist())
        return g

    def quiet(ctx: Any, a: Any) -> Any:
        ctx.set_materialize_grads(False)
        return a * 1, a * 2

    made(lambda ctx, a: (a * 1, a * 2), backward).apply(leaf(1.0))[0].backward()
    made(quiet, backward).apply(leaf(1.0))[0].backward()
    made(lambda ctx, a: (a * 1, (a * 2).long()), backward).apply(leaf(1.0))[0].backward()
    assert seen == [[0.0], None, [0]]


def test_missing_methods() -> None:
    x = leaf(1.0)
    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        type("N", (Function,), {}).apply(x)
    y = type("N", (Function,), {"forward": staticmethod(lambda ctx, a: a * 1)}).apply(x)
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        y.backward()


def test_vjp_is_another_name_for_backward() -> None:
    x = leaf(1.0)
    forward = staticmethod(lambda ctx, a: a * 1)
    type("V", (Function,), {"forward": forward, "vjp": staticmethod(lambda ctx, g: g * 5)}).apply(x).backward()
    assert x.grad.item() == 5.0
    both = type("B", (Function,), {"forward": forward, "vjp": staticmethod(same), "backward": staticmethod(same)})
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        both.apply(x).backward()


def test_instances_are_of_no_use() -> None:
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = made(lambda ctx, a: a, same)()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method"):
        instance(leaf(1.0))


# ---------------------------------------------------------------- what forward gives
def test_outputs_that_are_no_tensors() -> None:
    fn = made(lambda ctx, a: (a * 1, 3, "s", None), lambda ctx, g, *rest: g if rest == (None,) * 3 else None)
    x = leaf(1.0)
    y, *others = fn.apply(x)
    assert others == [3, "s", None]
    y.backward()
    assert x.grad.item() == 1.0
    assert made(lambda ctx, a: None, same).apply(x) is None
    listed = made(lambda ctx, a: [a * 1], same).apply(x)
    assert isinstance(listed, list) and not listed[0].requires_grad


def test_an_input_as_output_is_a_new_view() -> None:
    x = leaf(1.0)
    fn = made(lambda ctx, a: a, lambda ctx, g: g * 2)
    y = fn.apply(x)
    assert y is not x
    y.backward()
    assert x.grad.item() == 2.0
    z = fn.apply(x * 1)
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        z.add_(1)
    a = torch.ones(1)
    assert fn.apply(a) is not a and not fn.apply(a).requires_grad


def test_outputs_without_gradient() -> None:
    def forward(ctx: Any, a: Any) -> Any:
        other = a * 3
        ctx.mark_non_differentiable(other)
        return a * 1, other

    first, second = made(forward, lambda ctx, g, h: g + h).apply(leaf(1.0))
    assert first.requires_grad and not second.requires_grad


def test_changes_in_place() -> None:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(a)
        return a.mul_(2)

    fn = made(forward, lambda ctx, g: g * 2)
    x = leaf(1.0, 2.0)
    a = x * 1
    assert fn.apply(a) is a and a.grad_fn.name() == "FBackward"
    base = x * 1
    fn.apply(base[:1])
    assert type(base.grad_fn).__name__ == "CopySlices"
    base.sum().backward()
    assert x.grad.tolist() == [2.0, 1.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation"):
        fn.apply(leaf(1.0))


def test_dirty_tensors_must_be_returned() -> None:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(a)
        return a * 1

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned"):
        made(forward, same).apply(leaf(1.0) * 1)


def test_setup_context() -> None:
    class Scaled(Function):
        @staticmethod
        def forward(a: Any, k: float) -> Any:
            return a * k, "extra"

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            assert output[1] == "extra"
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any) -> Any:
            return g * ctx.k, None

    x = leaf(1.0)
    Scaled.apply(x, 3.0)[0].backward()
    assert x.grad.item() == 3.0


# ---------------------------------------------------------------- saved tensors
def test_saved_tensors() -> None:
    x = leaf(1.0, 2.0)
    seen: list[Any] = []

    def forward(ctx: Any, a: Any) -> Any:
        y = a.exp()
        ctx.save_for_backward(a, None, y)
        return y

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(ctx.saved_tensors)
        return g * ctx.saved_tensors[2]

    y = made(forward, backward).apply(x)
    (g,) = grad(y.sum(), x, create_graph=True)
    a, nothing, out = seen[0]
    assert a is x and nothing is None and out.grad_fn is y.grad_fn
    (h,) = grad(g.sum(), x)
    assert h.tolist() == pytest.approx(y.tolist())


def test_saved_tensors_that_have_changed() -> None:
    def keeps_input(ctx: Any, a: Any) -> Any:
        ctx.save_for_backward(a)
        return a * 1

    def keeps_output(ctx: Any, a: Any) -> Any:
        y = a.exp()
        ctx.save_for_backward(y)
        return y

    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]

    a = leaf(1.0) * 1
    y = made(keeps_input, backward).apply(a)
    a.add_(1)
    with pytest.raises(RuntimeError, match="which is output 0 of Add, is at version 1; expected version 0 instead"):
        y.backward()
    y = made(keeps_output, backward).apply(leaf(1.0))
    y.add_(1)
    with pytest.raises(RuntimeError, match="which is output 0 of F, is at version 1; expected version 0 instead"):
        y.backward()


def test_only_tensors_are_saved() -> None:
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 0 is of type int"):
        made(lambda ctx, a: ctx.save_for_backward(3), same).apply(leaf(1.0))


def test_saved_tensors_are_freed() -> None:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.save_for_backward(a)
        return a * 1

    y = made(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(1.0))
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    z = made(lambda ctx, a: a * 1, same).apply(leaf(1.0))
    z.backward()
    z.backward()  # nothing was saved


def test_attributes_of_the_context_stay() -> None:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.scale = 3
        return a * 3

    y = made(forward, lambda ctx, g: g * ctx.scale).apply(leaf(1.0))
    y.backward()
    assert y.grad_fn.scale == 3


# ---------------------------------------------------------------- higher derivatives
def test_backward_is_recorded() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            return g * 3 * a * a

    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Cube.apply, (x,))
    assert torch.autograd.gradgradcheck(Cube.apply, (x,))


def test_once_differentiable() -> None:
    fn = made(lambda ctx, a: a * 2, once_differentiable(lambda ctx, g: g * 2))
    x = leaf(1.0)
    assert not grad(fn.apply(x), x, create_graph=True)[0].requires_grad
    start = torch.ones(1, requires_grad=True)
    (g,) = grad(fn.apply(x), x, start, create_graph=True)
    assert repr(g) == "tensor([2.], grad_fn=<Error>)"
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with"):
        g.backward()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad(g, start)


def test_what_is_marked_dirty_changes_its_version() -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.mark_dirty(a)
            return a.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return 2 * grad

    c = torch.ones(2)
    assert Twice.apply(c) is c and c._version == 2, "by the change, and by the mark"
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    Twice.apply(y[:2])
    assert y._version == 2
    (y * torch.arange(4.0)).sum().backward()
    assert x.grad.tolist() == [0, 2, 2, 3]


def _marking(mark: Callable[[Any, Any, Any], Any]) -> Any:
    class Marking(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            out = a * 2
            return mark(ctx, a, out)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0]

    return Marking


def test_marks_on_what_is_no_tensor_or_no_input() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^mark_dirty can only accept variables, but argument $"):
        _marking(lambda ctx, a, out: (ctx.mark_dirty(3), out)[1]).apply(x)
    with pytest.raises(RuntimeError, match=r"^mark_non_differentiable only accepts variable arguments, but got $"):
        _marking(lambda ctx, a, out: (ctx.mark_non_differentiable(3), out)[1]).apply(x)
    with pytest.warns(UserWarning, match=r"^ctx.mark_dirty\(\) received a tensor that was not an input. Only input"):
        y = _marking(lambda ctx, a, out: (ctx.mark_dirty(out), out)[1]).apply(x)
    assert (y.grad_fn.name(), y._version) == ("MarkingBackward", 1)
    plain = _marking(lambda ctx, a, out: (ctx.save_for_backward(3), out)[1])
    assert plain.apply(x.detach()).tolist() == [2.0, 2.0]  # nothing is saved where nothing is recorded
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 0 is of type int"):
        plain.apply(x)


def test_a_changed_view_is_the_only_output() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    both = _marking(lambda ctx, a, out: (ctx.mark_dirty(a), (a.add_(1), out))[1])
    with pytest.raises(
        RuntimeError, match=r"^If your Function modifies inplace an input that is a view of another Tensor"
    ):
        both.apply((x * 1)[0])
    assert [t.tolist() for t in both.apply(torch.ones(1))] == [[2.0], [2.0]]


def test_old_names_of_contexts() -> None:
    x = torch.ones(2, requires_grad=True)
    node = _marking(lambda ctx, a, out: (ctx.save_for_backward(a), out)[1]).apply(x).grad_fn
    assert type(node).__mro__[1].__name__ == "BackwardCFunction"
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
        assert node.saved_variables[0] is x


def test_arguments_given_by_name_take_their_places() -> None:
    seen: list[Any] = []

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any, c: Any = 3, *, d: Any = 4) -> Any:
            return a * b + c

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return grad * 2, None, None

    x = torch.ones(1, requires_grad=True)
    Scaled.apply(x, c=4, b=2).backward()
    assert seen == [(True, False, False)] and x.grad.tolist() == [2.0]
    for given, words in (
        ({"c": 5}, "forward() missing required argument: 'b' (position 1)"),
        ({"a": x}, "forward() got multiple values for argument 'a'"),
        ({"d": 5}, "forward() got an unexpected keyword argument 'd'"),
        ({"z": 5}, "forward() got an unexpected keyword argument 'z'"),
    ):
        with pytest.raises(TypeError) as failed:
            Scaled.apply(x, **given)
        assert str(failed.value) == words


def test_setup_context_gets_defaults_too() -> None:
    seen: list[Any] = []

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(a: Any, b: Any = 2) -> Any:
            return a * b

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            seen.append(inputs[1:])

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad, None

    x = torch.ones(1, requires_grad=True)
    Scaled.apply(x).backward()
    Scaled.apply(b=5, a=x)
    assert seen == [(2,), (5,)]
    for given, words in (({}, "missing a required argument: 'a'"), ({"z": 1}, "missing a required argument: 'a'")):
        with pytest.raises(TypeError) as failed:
            Scaled.apply(**given)
        assert str(failed.value) == words
