"""autograd.graph: saved-tensor hooks, hooks on several gradients, versions; anomaly mode."""

from __future__ import annotations

import dis
import threading
import warnings
from typing import Any

import pytest

import livetape as torch
from livetape.autograd import Function, grad, graph
from livetape.autograd._expression import expression_at
from livetape.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def noted(seen: list[str], pack: Any = lambda t: t.detach(), unpack: Any = lambda t: t) -> Any:
    """Hooks that note their calls."""
    return graph.saved_tensors_hooks(
        lambda t: (seen.append("p"), pack(t))[1], lambda t: (seen.append("u"), unpack(t))[1]
    )


# ---------------------------------------------------------------- saved-tensor hooks
@pytest.mark.parametrize(
    ("fn", "calls"),
    [
        (lambda a, b: a / b, "ppuu"),
        (lambda a, b: a * b, "ppuu"),
        (lambda a, b: a**b, "pppuuu"),
        (lambda a, b: a + b, ""),
        (lambda a, b: a.exp(), "pu"),
        (lambda a, b: a * 2, ""),
        (lambda a, b: a * a, "ppuu"),
        (lambda a, b: a.softmax(0), "pu"),
        (lambda a, b: a.logsumexp(0), "ppuu"),
    ],
)
def test_each_saved_tensor_is_packed_and_unpacked_once(fn: Any, calls: str) -> None:
    seen: list[str] = []
    with noted(seen):
        y = fn(leaf(1.0, 2.0), leaf(3.0, 4.0))
    y.sum().backward()
    assert "".join(seen) == calls


def test_unpacked_tensors_take_the_place_of_the_saved_ones() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            y = a**3
            ctx.save_for_backward(a, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, y = ctx.saved_tensors
            return g * 3 * a * a + 0 * y

    x = leaf(2.0, 3.0)
    for make in (lambda: x**3, lambda: (x * 1) ** 3, lambda: Cube.apply(x), lambda: Cube.apply(x * 1)):
        with noted([], lambda t: t.tolist(), torch.tensor):
            y = make()
        (g,) = grad(y.sum(), x, create_graph=True)
        assert g.tolist() == [12.0, 27.0]
        assert grad(g.sum(), x)[0].tolist() == [12.0, 18.0]
    with noted([], lambda t: t.tolist(), torch.tensor):
        y = (x * 1).exp()
    (g,) = grad(y.sum(), x, create_graph=True)
    assert grad(g.sum(), x)[0].tolist() == pytest.approx(y.tolist())


def test_saved_attributes_are_unpacked() -> None:
    seen: list[str] = []
    x = leaf(2.0)
    with noted(seen):
        y = x**2
    saved = y.grad_fn._saved_self
    assert seen == ["p", "u"] and saved.tolist() == [2.0] and saved.requires_grad and saved is not x


def test_packed_tensors_may_change_afterwards() -> None:
    x = leaf(1.0, 2.0)
    h = x * 1
    with noted([], lambda t: t.detach().clone()):
        y = h**2
    h.mul_(5)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_hooks_nest_and_end() -> None:
    outer: list[str] = []
    inner: list[str] = []
    x = leaf(1.0)
    with noted(outer):
        a = x.exp()
        with noted(inner):
            b = a.sin()
        c = b.cos()
    (c.exp() + c).backward()
    assert (outer, inner) == (["p", "p", "u", "u"], ["p", "u"])
    with pytest.raises(ZeroDivisionError), noted(outer):
        _ = 1 / 0
    x.exp()
    assert len(outer) == 4


def test_hooks_belong_to_their_thread() -> None:
    seen: list[str] = []
    with noted(seen):
        thread = threading.Thread(target=lambda: leaf(1.0).exp())
        thread.start()
        thread.join()
    assert seen == []


def test_hooks_that_do_wrong() -> None:
    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: 3):
        y = x.exp()
    with pytest.raises(
        TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor but got result of type int"
    ):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            (x * 1) ** 2
    with pytest.raises(TypeError, match="incompatible function arguments"):
        graph.saved_tensors_hooks(1, 2).__enter__()  # type: ignore[arg-type]
    assert (x**2).grad_fn._saved_self is x


def test_hooks_may_be_forbidden() -> None:
    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match=r"^not here$"), graph.disable_saved_tensors_hooks("not here"), hooks:
        pass
    with pytest.raises(RuntimeError, match=r"^inside$"), hooks, graph.disable_saved_tensors_hooks("inside"):
        pass
    with pytest.raises(RuntimeError, match=r"^outer$"), graph.disable_saved_tensors_hooks("outer"):
        with graph.disable_saved_tensors_hooks("inner"):
            pass
        hooks.__enter__()
    with hooks:
        leaf(1.0).exp()


def test_save_on_cpu() -> None:
    x = leaf(1.0, 2.0)
    with graph.save_on_cpu(pin_memory=True):
        y = (x * x * x).exp().sum()
    y.backward()
    assert x.grad.tolist() == pytest.approx((3 * x**2 * (x**3).exp()).tolist())


# ---------------------------------------------------------------- changes of saved tensors
def test_mutation_of_saved_tensors() -> None:
    with graph.allow_mutation_on_saved_tensors():
        for change in (
            lambda b: b.sin_(),
            lambda b: b[0:1].mul_(3),
            lambda b: b.view(2, 1).add_(1),
            lambda b: b.zero_(),
            lambda b: b.detach().mul_(2),
            lambda b: b.exp_(),
        ):
            a = leaf(1.0, 2.0)
            b = a * 1
            out = (b**2).sum() + b.exp().sum()
            change(b)
            out.backward()
            assert a.grad.tolist() == pytest.approx([2 + 2.7182817, 4 + 7.389056])
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors'"):
        with graph.allow_mutation_on_saved_tensors():
            out = (leaf(1.0) ** 2).sum()
        out.backward()
    with pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"):
        with graph.allow_mutation_on_saved_tensors(), graph.allow_mutation_on_saved_tensors():
            pass


def test_increment_version() -> None:
    a, b = torch.ones(1), torch.ones(1)
    graph.increment_version(a)
    graph.increment_version([a, b])
    assert (a._version, b._version) == (2, 1)
    with pytest.raises(RuntimeError, match=r"increment_version expect a Iterable\[Tensor\] as input"):
        graph.increment_version(3)
    with pytest.raises(RuntimeError, match="increment_version expects each element of the iterable to be a tensor"):
        graph.increment_version([3])


# ---------------------------------------------------------------- several gradients
def lists(grads: Any) -> Any:
    return [None if g is None else g.tolist() for g in grads]


def test_a_hook_that_waits_for_all_gradients() -> None:
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    seen: list[Any] = []
    handle = graph.register_multi_grad_hook((a, b, c), lambda grads: seen.append(lists(grads)))
    (a * b).backward()
    (a * b * c).backward()
    grad((a * b * c).sum(), [a, c])
    handle.remove()
    (a * b).backward()
    assert seen == [[[2.0], [1.0], None], [[6.0], [3.0], [2.0]], [[6.0], None, [2.0]]]


def test_a_hook_on_gradients_on_the_way() -> None:
    x = leaf(1.0)
    v, w = x * 2, x * 3
    seen: list[Any] = []
    graph.register_multi_grad_hook((v, w, x), lambda grads: seen.append(lists(grads)))
    (v * w).backward(retain_graph=True)
    v.backward()
    assert seen == [[[3.0], [2.0], [12.0]], [[1.0], None, [2.0]]]


def test_a_hook_on_the_first_gradient() -> None:
    a, b = leaf(1.0), leaf(2.0)
    seen: list[Any] = []
    graph.register_multi_grad_hook((a, b, torch.ones(1)), lambda g: seen.append(g.item()), mode="any")
    (b * 4).backward()
    (a * 5 + b).backward()
    assert len(seen) == 2 and seen[0] == 4.0


def test_multi_grad_hooks_after_an_error_and_inside_walks() -> None:
    a, b = leaf(1.0), leaf(2.0)
    seen: list[Any] = []
    graph.register_multi_grad_hook((a, b), lambda grads: seen.append(lists(grads)))
    y = a * 3
    armed = [True]

    def hook(g: Any) -> None:
        if armed[0]:
            raise KeyError("first")
        with torch.enable_grad():
            (a * 7).backward()

    y.register_hook(hook)
    out = b * 2 + y
    with pytest.raises(KeyError):
        out.backward(retain_graph=True)
    armed[0] = False
    out.backward()
    assert [[7.0], None] in seen and [[3.0], [2.0]] in seen and len(seen) == 2


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got some"):
        graph.register_multi_grad_hook([leaf(1.0)], print, mode="some")
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        graph.register_multi_grad_hook([torch.ones(1)], print)


def test_node_is_the_class_of_all_nodes() -> None:
    x = leaf(1.0)
    assert isinstance((x * 2).grad_fn, graph.Node)
    assert isinstance((x * 2).grad_fn.next_functions[0][0], graph.Node)
    assert not isinstance(x, graph.Node)


# ---------------------------------------------------------------- anomaly mode
def test_nan_is_found_where_it_arises() -> None:
    x = torch.zeros(2, requires_grad=True)

    def root() -> Any:
        return x.sqrt()

    with torch.autograd.set_detect_anomaly(True):
        y = (root() * 0).sum()
        with pytest.warns(UserWarning) as caught, pytest.raises(RuntimeError) as failed:
            y.backward()
    assert str(failed.value).startswith("Function 'SqrtBackward0' returned nan values in its 0th output.\n")
    assert str(failed.value).endswith("in root\n    return x.sqrt()")
    text = str(caught[0].message)
    assert text.startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n")
    assert "in test_nan_is_found_where_it_arises\n    y = (root() * 0).sum()\n" in text
    assert text.endswith("in root\n    return x.sqrt()\n")


def test_where_nan_arises_in_a_program_without_source() -> None:
    program = "with torch.autograd.set_detect_anomaly(True): (x.sqrt() * 2 + torch.add(x, x, alpha=3)).backward()"
    names = {"torch": torch, "x": torch.tensor(-1.0, requires_grad=True)}
    with pytest.warns(UserWarning), pytest.raises(RuntimeError) as failed:
        exec(compile(program, "<program>", "exec"), names)
    assert str(failed.value).endswith('File "<program>", line 1, in <module>\n    x.sqrt()')
    with torch.set_compat("torch"), pytest.warns(UserWarning), pytest.raises(RuntimeError) as failed:
        exec(compile(program, "<program>", "exec"), names)
    assert str(failed.value) == "Function 'SqrtBackward0' returned nan values in its 0th output."


@pytest.mark.parametrize(
    "text",
    [
        "x.sqrt()",
        "F.pad(x, (1, 2), value=-3)",
        "(x + y).sum(dim=1)",
        "f(x[0], [y, z])",
        "x @ (y ** 2)",
        "-x > 3",
    ],
)
def test_expressions_are_read_from_bytecode(text: str) -> None:
    code = compile(text, "<expression>", "eval")
    last = [step.offset for step in dis.get_instructions(code) if "RETURN" not in step.opname][-1]
    assert expression_at(code, last) == text


def test_other_code_is_no_expression() -> None:
    code = compile("f(*x)", "<expression>", "eval")
    last = [step.offset for step in dis.get_instructions(code) if "RETURN" not in step.opname][-1]
    assert expression_at(code, last) is None


def test_the_mode_in_second_derivatives() -> None:
    a = torch.ones(1, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        (g,) = grad(((a - 1) ** 1.5).sum(), a, create_graph=True)
        with pytest.warns(UserWarning) as caught, pytest.raises(RuntimeError, match="returned nan values"):
            (g * 0).sum().backward()
    assert [str(w.message).split(".")[0] for w in caught] == [
        "Error detected in PowBackward0",
        "\n\nPrevious calculation was induced by PowBackward0",
    ]


def test_errors_are_traced_too() -> None:
    a = leaf(1.0)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        h = a * 1
        y = h * h
        h.add_(1)
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward0"),
            pytest.raises(RuntimeError, match="Hint: the backtrace further above shows the operation that failed"),
        ):
            y.backward()
        h = a * 1
        h.register_hook(lambda g: 1 / 0)
        with pytest.warns(UserWarning, match="Error detected in MulBackward0"), pytest.raises(ZeroDivisionError):
            h.backward()
        assert "h = a * 1" in h.grad_fn.metadata["traceback_"][-1]
    h = a * 1
    h.register_hook(lambda g: 1 / 0)
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="No forward pass information available"),
        pytest.raises(ZeroDivisionError),
    ):
        h.backward()


def test_what_is_no_anomaly() -> None:
    x = torch.zeros(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.autograd.set_detect_anomaly(True):
            x.sqrt().backward()
        assert x.grad.item() == float("inf")
        (x.sqrt() * 0).backward()  # the mode is off: nan goes through
        assert x.grad.isnan().item()


def test_the_state_of_the_mode() -> None:
    assert not is_anomaly_enabled() and is_anomaly_check_nan_enabled()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = torch.autograd.detect_anomaly(check_nan=False)
    assert not is_anomaly_enabled()
    with mode:
        assert is_anomaly_enabled() and not is_anomaly_check_nan_enabled()
        with torch.autograd.set_detect_anomaly(False):
            assert not is_anomaly_enabled()
        assert is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(True)
    assert is_anomaly_enabled() and is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(False)
    assert not is_anomaly_enabled()
    with pytest.raises(TypeError, match=r"argument 'enabled' \(position 1\) must be bool, not int"):
        torch.autograd.set_detect_anomaly(3)  # type: ignore[arg-type]
