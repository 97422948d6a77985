"""autograd.functional and Variable: products with Jacobians and Hessians, and the matrices themselves."""

from __future__ import annotations

from typing import Any

import pytest

import livetape as torch
from livetape.autograd import Function, Variable, grad
from livetape.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

X, Y, V = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([1.0, 10.0])


def lists(value: Any) -> Any:
    return value.tolist() if isinstance(value, torch.Tensor) else tuple(lists(v) for v in value)


def cube(a: Any) -> Any:
    return a**3


def total(a: Any) -> Any:
    return (a**3).sum()


def mixed(a: Any, b: Any) -> Any:
    return (a**3 * b).sum()


# ---------------------------------------------------------------- values
def test_products() -> None:
    assert lists(vjp(cube, X, V)) == ([1.0, 8.0], [3.0, 120.0])
    assert lists(vjp(total, X)) == (9.0, [3.0, 12.0])
    assert lists(vjp(lambda a, b: a**3 * b, (X, Y), V)) == ([3.0, 32.0], ([9.0, 480.0], [1.0, 80.0]))
    assert lists(jvp(cube, X, V)) == ([1.0, 8.0], [3.0, 120.0])
    assert lists(jvp(lambda a, b: a**3 * b, (X, Y), (V, V))) == ([3.0, 32.0], [10.0, 560.0])
    assert lists(jvp(lambda a: ((a**2).sum(), a**3), X, V)) == ((5.0, [1.0, 8.0]), (42.0, [3.0, 120.0]))
    for product in (hvp, vhp):
        assert lists(product(total, X, V)) == (9.0, [6.0, 120.0])
        assert lists(product(mixed, (X, Y), (V, V))) == (35.0, ([21.0, 600.0], [3.0, 120.0]))


def test_matrices() -> None:
    assert lists(jacobian(cube, X)) == [[3.0, 0.0], [0.0, 12.0]]
    assert lists(jacobian(cube, (X,))) == ([[3.0, 0.0], [0.0, 12.0]],)
    assert lists(jacobian(lambda a: ((a**2).sum(), a**3), X)) == ([2.0, 4.0], [[3.0, 0.0], [0.0, 12.0]])
    assert lists(jacobian(lambda a, b: (a**3, (a * b).sum()), (X, Y))) == (
        ([[3.0, 0.0], [0.0, 12.0]], [[0.0, 0.0], [0.0, 0.0]]),
        ([3.0, 4.0], [1.0, 2.0]),
    )
    assert jacobian(torch.exp, torch.zeros(2, 3)).shape == (2, 3, 2, 3)
    assert lists(hessian(total, X)) == [[6.0, 0.0], [0.0, 12.0]]
    assert lists(hessian(mixed, (X, Y))) == (
        ([[18.0, 0.0], [0.0, 48.0]], [[3.0, 0.0], [0.0, 12.0]]),
        ([[3.0, 0.0], [0.0, 12.0]], [[0.0, 0.0], [0.0, 0.0]]),
    )


@pytest.mark.parametrize("options", [{"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_ways_to_the_jacobian(options: dict[str, Any]) -> None:
    assert lists(jacobian(cube, X, **options)) == [[3.0, 0.0], [0.0, 12.0]]
    assert lists(jacobian(lambda a, b: a * b, (X, Y), **options)) == (
        [[3.0, 0.0], [0.0, 4.0]],
        [[1.0, 0.0], [0.0, 2.0]],
    )


def test_complex_values() -> None:
    z = torch.tensor([1.0 + 2.0j, 3.0 - 1.0j])
    assert lists(vjp(lambda a: a * a, z, z)) == ([-3 + 4j, 8 - 6j], [10 + 0j, 20 + 0j])
    assert lists(jacobian(lambda a: a * a, z, vectorize=True)) == [[2 - 4j, 0j], [0j, 6 + 2j]]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar outputs but got"):
        jacobian(lambda a: a * a, z)


# ---------------------------------------------------------------- graphs
def test_results_have_a_graph_only_on_demand() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert not jacobian(cube, x).requires_grad and x.grad is None
    jacobian(cube, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    x.grad = None
    hessian(total, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    for product in (vjp, jvp):
        value, found = product(cube, x, V, create_graph=True)
        assert value.requires_grad and found.requires_grad
        value, found = product(cube, x, V)
        assert not value.requires_grad and not found.requires_grad


def test_they_work_under_no_grad() -> None:
    with torch.no_grad():
        assert lists(vjp(cube, X, V)[1]) == lists(jvp(cube, X, V)[1]) == [3.0, 120.0]
        assert lists(hvp(total, X, V)[1]) == lists(vhp(total, X, V)[1]) == [6.0, 120.0]
        assert lists(hessian(total, X)) == [[6.0, 0.0], [0.0, 12.0]]
        assert not torch.is_grad_enabled()


def test_what_does_not_depend_on_the_inputs() -> None:
    constant = torch.ones(2)
    assert lists(jacobian(lambda a: constant, X)) == [[0.0, 0.0], [0.0, 0.0]]
    assert lists(jvp(lambda a: constant, X, V)[1]) == [0.0, 0.0]
    assert lists(hessian(lambda a: a.sum(), X)) == [[0.0, 0.0], [0.0, 0.0]]
    for call in (
        lambda: jacobian(lambda a: constant, X, strict=True),
        lambda: vjp(lambda a: constant, X, V, strict=True),
        lambda: hessian(lambda a: torch.ones(()), X, strict=True),
    ):
        with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
            call()
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent of input 1"):
        jacobian(lambda a, b: a**3, (X, Y), strict=True)
    with pytest.raises(RuntimeError, match="The output of the user-provided function is independent of input 1"):
        vjp(lambda a, b: total(a), (X, Y), strict=True)
    with pytest.raises(RuntimeError, match="The jacobian of the user-provided function is independent of input 0"):
        jacobian(lambda a: a * 2, X, strict=True, create_graph=True)
    for product in (hvp, vhp):
        with pytest.raises(
            RuntimeError,
            match="found that the jacobian of the user-provided function with respect to "
            "input 0 is independent of the input",
        ):
            product(lambda a: a.sum(), X, V, strict=True)


# ---------------------------------------------------------------- wrong arguments
@pytest.mark.parametrize("fn", [vjp, jvp, hvp, vhp, jacobian, hessian])
def test_inputs_must_be_tensors(fn: Any) -> None:
    name = fn.__name__
    with pytest.raises(
        TypeError,
        match=f"The inputs given to {name} must be either a Tensor or a tuple of Tensors but "
        "the given inputs has type <class 'list'>.",
    ):
        fn(total, [X])
    with pytest.raises(TypeError, match="but the value at index 1 has type <class 'float'>"):
        fn(total, (X, 3.0))


def test_vectors_must_fit() -> None:
    with pytest.raises(
        RuntimeError, match="The vector v can only be None if the user-provided function returns a single"
    ):
        vjp(cube, X)
    with pytest.raises(
        RuntimeError, match="The vector v can only be None if the input to the user-provided function is a"
    ):
        jvp(cube, X)
    with pytest.raises(
        RuntimeError,
        match=r"v has invalid size: should be torch.Size\(\[2\]\) but got "
        r"torch.Size\(\[3\]\)",
    ):
        vjp(cube, X, torch.ones(3))
    with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
        vjp(cube, X, (V, V))
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 2 but got 1"):
        jvp(lambda a, b: a * b, (X, Y), V)


def test_hessians_are_of_numbers() -> None:
    for call in (lambda: hvp(cube, X, V), lambda: vhp(cube, X, V), lambda: hessian(cube, X)):
        with pytest.raises(RuntimeError, match="should contain a single element"):
            call()
    with pytest.raises(RuntimeError, match="The function given to hessian should return a single Tensor"):
        hessian(lambda a: (a.sum(), a.sum()), X)


def test_options_that_do_not_go_together() -> None:
    with pytest.raises(AssertionError, match='Expected strategy to be either "forward-mode" or "reverse-mode"'):
        jacobian(cube, X, strategy="sideways")
    with pytest.raises(NotImplementedError, match="isonly implemented for `vectorize=True`"):
        jacobian(cube, X, strategy="forward-mode")
    with pytest.raises(RuntimeError, match="`strict=True` and `vectorized=True` are not supported together"):
        jacobian(cube, X, vectorize=True, strict=True)


# ---------------------------------------------------------------- all rows at once
def test_vectorized_jacobians_take_one_walk() -> None:
    walks: list[Any] = []

    def watched(a: Any, b: Any) -> Any:
        y = a.exp() * b
        y.register_hook(lambda g: walks.append(tuple(g.shape)))
        return y, y.sum()

    assert lists(jacobian(watched, (X, Y), vectorize=True)) == lists(jacobian(watched, (X, Y)))
    assert walks[:2] == [(2,), (2,)]  # one for each output: a sample's shape
    assert len(walks) == 2 + 3
    found = jacobian(lambda a: a**3, X.clone().requires_grad_(), vectorize=True, create_graph=True)
    assert found.requires_grad and lists(found) == [[3.0, 0.0], [0.0, 12.0]]
    assert lists(jacobian(lambda a, b: a * 2, (X, Y), vectorize=True)[1]) == [[0.0, 0.0], [0.0, 0.0]]
    assert lists(jacobian(lambda a: torch.ones(3), X, vectorize=True)) == [[0.0, 0.0]] * 3
    assert lists(jacobian(lambda a: a.to(torch.complex64) * 1j, X, vectorize=True)) == [[0.0, 0.0], [0.0, 0.0]]


def test_forward_mode_jacobians_need_no_backward() -> None:
    class Doubling(Function):
        @staticmethod
        def forward(a: Any) -> Any:
            return a * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * 2

    forward = {"vectorize": True, "strategy": "forward-mode"}
    assert lists(jacobian(Doubling.apply, X, **forward)) == [[2.0, 0.0], [0.0, 2.0]]
    both = jacobian(lambda a, b: (a * b, a.sum()), (X, Y), **forward)
    assert [[t.tolist() for t in row] for row in both] == [
        [[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]],
        [[1.0, 1.0], [0.0, 0.0]],
    ]
    assert lists(hessian(total, X, vectorize=True)) == [[6.0, 0.0], [0.0, 12.0]]
    assert lists(hessian(total, X, vectorize=True, outer_jacobian_strategy="forward-mode")) == [[6.0, 0.0], [0.0, 12.0]]
    pairs = hessian(mixed, (X, Y), vectorize=True, outer_jacobian_strategy="forward-mode")
    assert [[t.tolist() for t in row] for row in pairs] == [
        [[[18.0, 0.0], [0.0, 48.0]], [[3.0, 0.0], [0.0, 12.0]]],
        [[[3.0, 0.0], [0.0, 12.0]], [[0.0, 0.0], [0.0, 0.0]]],
    ]


def test_batches_of_gradients() -> None:
    x, z = X.clone().requires_grad_(), torch.zeros(1, requires_grad=True)
    eye = torch.eye(2)
    y, calls = x.exp(), []
    y.register_hook(lambda g: calls.append(tuple(g.shape)))
    found, none = grad(y, (x, z), eye, is_grads_batched=True, allow_unused=True)
    assert none is None and calls == [(2,)]
    assert torch.equal(found, torch.diag(y.detach()))
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        grad(y, x, eye, is_grads_batched=True)
    y = x.exp()
    assert grad(y, (x, z), eye, is_grads_batched=True, materialize_grads=True)[1].shape == (1,)
    y = x**3
    first = grad(y, x, eye, is_grads_batched=True, create_graph=True)[0]
    assert lists(grad(first.sum(), x)) == ([6.0, 12.0],)
    for given in (None, [eye, None]):
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
            grad([x * 2, x * 3] if given else x * 2, x, given, is_grads_batched=True)


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_batches_of_gradients_through_fused_layers(kind: Any) -> None:
    torch.manual_seed(0)
    layer, x = kind(3, 2), torch.randn(4, 1, 3, requires_grad=True)
    y = layer(x)[0].sum((0, 1))
    rows = torch.stack([grad(y, x, e, retain_graph=True)[0] for e in torch.eye(2)])
    assert torch.allclose(grad(y, x, torch.eye(2), is_grads_batched=True)[0], rows, atol=1e-6)


def test_batches_of_gradients_through_ctc() -> None:
    torch.manual_seed(0)
    logits = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    loss = torch.nn.functional.ctc_loss(
        logits.log_softmax(2),
        torch.tensor([[1, 2], [2, 1]]),
        torch.tensor([5, 4]),
        torch.tensor([2, 1]),
        reduction="none",
    )
    eye = torch.eye(2, dtype=torch.float64)
    rows = torch.stack([grad(loss, logits, e, retain_graph=True)[0] for e in eye])
    assert torch.allclose(grad(loss, logits, eye, is_grads_batched=True)[0], rows)


# ---------------------------------------------------------------- Variable
def test_variable() -> None:
    x = torch.ones(2)
    v = Variable(x, requires_grad=True)
    assert type(v) is torch.Tensor and v is not x and v.requires_grad and not x.requires_grad
    assert isinstance(x, Variable) and not isinstance(3, Variable)
    with torch.no_grad():
        v.add_(1)
    assert x.tolist() == [2.0, 2.0]
    assert not Variable(torch.ones(1, requires_grad=True) * 2).requires_grad
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        Variable([1.0])
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        Variable(x, volatile=True)


def test_hessian_by_forward_mode_of_a_leaf() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    found = torch.autograd.functional.hessian(
        lambda a: (a**3).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode"
    )
    assert found.tolist() == [[6.0, 0.0], [0.0, 12.0]]
