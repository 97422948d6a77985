"""Transforms of functions: gradients, Jacobians, batches, and each inside the other."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import livetape as torch
from livetape import func, nn
from livetape.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

F = nn.functional
t = torch.tensor
X = torch.linspace(-1, 1, 6).reshape(2, 3)
V = torch.arange(6.0).reshape(2, 3)


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got.detach().numpy(), np.asarray(want), rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------- reverse mode
def test_grad() -> None:
    close(grad(lambda x: (x**3).sum())(t([1.0, 2.0])), [3.0, 12.0])
    close(grad(grad(lambda x: x**4))(t(2.0)), 48.0)
    close(grad(grad(grad(torch.sin)))(t(0.0)), -1.0)


def test_grad_leaves_no_history() -> None:
    g, value = grad_and_value(lambda x: (x**3).sum())(t([1.0, 2.0]))
    assert not g.requires_grad
    assert not value.requires_grad


def test_inputs_are_not_touched() -> None:
    x = t([1.0, 2.0], requires_grad=True)
    g = grad(lambda x: (x**3).sum())(x)
    assert x.grad is None
    assert g.requires_grad
    (second,) = torch.autograd.grad(g.sum(), x)
    close(second, [6.0, 12.0])


def test_argnums_and_trees() -> None:
    a, b = t([1.0, 2.0]), t([3.0, 4.0])
    first, second = grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(a, b)
    close(first, [3.0, 4.0])
    close(second, [1.0, 2.0])
    found = grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": a, "b": (b,)})
    close(found["a"], [3.0, 4.0])
    close(found["b"][0], [1.0, 2.0])
    close(grad(lambda a, b: (a * b).sum(), argnums=-1)(a, b), [1.0, 2.0])


def test_no_grad_around_does_not_matter() -> None:
    w = t(3.0, requires_grad=True)
    with torch.no_grad():
        found = grad(lambda x: w * x**2)(t(3.0))
    close(found, 18.0)
    assert not found.requires_grad


def test_no_grad_inside_does() -> None:
    def f(x: Any) -> Any:
        with torch.no_grad():
            shift = x**2
        return x - shift

    close(grad(f)(t(3.0)), 1.0)
    close(jvp(f, (t(3.0),), (t(1.0),))[1], -5.0)


def test_what_lies_outside_is_differentiated_too() -> None:
    w = t([1.0, 2.0, 3.0], requires_grad=True)
    found = grad(lambda x: (x**2 * w).sum())(torch.ones(3))
    assert type(found.grad_fn).__name__ == "MulBackward0"
    close(torch.autograd.grad(found.sum(), w)[0], [2.0, 2.0, 2.0])
    close(torch.autograd.grad(jacrev(lambda x: x**2 * w)(t([1.0, 2.0, 1.0])).sum(), w)[0], [2.0, 4.0, 2.0])
    close(torch.autograd.grad(jacfwd(lambda x: x**2 * w)(t([1.0, 2.0, 1.0])).sum(), w)[0], [2.0, 4.0, 2.0])
    close(torch.autograd.grad(vmap(grad(lambda x: (x**2 * w).sum()))(X).sum(), w)[0], [-1.6, 0.0, 1.6])


def test_levels_are_not_confused() -> None:
    close(grad(lambda x: x * grad(lambda y: x * y)(t(1.0)))(t(3.0)), 6.0)
    close(jvp(lambda x: x * jvp(lambda y: x * y, (t(1.0),), (t(1.0),))[1], (t(3.0),), (t(1.0),))[1], 6.0)
    close(grad(lambda x: jvp(lambda y: y**3 * x, (x,), (t(1.0),))[1])(t(2.0)), 36.0)


def test_vjp() -> None:
    out, pull = vjp(lambda x: (x**2, x.sum()), t([1.0, 2.0]))
    close(pull((t([1.0, 10.0]), t(1.0)))[0], [3.0, 41.0])
    close(pull((t([1.0, 0.0]), t(0.0)))[0], [2.0, 0.0])  # as often as one likes
    assert not out[0].requires_grad
    close(vjp(lambda x: torch.ones(2), t([1.0, 2.0]))[1](torch.ones(2))[0], [0.0, 0.0])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: grad(lambda x: x)(t([1.0, 2.0])),
            RuntimeError,
            "Expected f.*to return a scalar Tensor, got tensor with 1 dims",
        ),
        (lambda: grad(lambda x: 3.0)(t(1.0)), RuntimeError, "to return a Tensor, got <class 'float'>"),
        (lambda: grad(lambda x: x)(t(1)), RuntimeError, "only Tensors of floating point dtype can require gradients"),
        (
            lambda: grad(lambda x: x)(3.0),
            ValueError,
            "Thing passed to transform API must be Tensor, got <class 'float'>",
        ),
        (lambda: grad(lambda x: x, argnums=1)(t(1.0)), RuntimeError, "Got argnum=1, but only 1 positional inputs"),
        (
            lambda: grad(lambda x: x, argnums="a")(t(1.0)),
            RuntimeError,
            r"argnums must be int or Tuple\[int, ...\], got",
        ),
        (lambda: grad(lambda x: x, argnums=(0, 0))(t(1.0)), RuntimeError, "argnums elements must be unique"),
        (
            lambda: grad(lambda x: x, has_aux=True)(t(1.0)),
            RuntimeError,
            r"should be a tuple: \(output, aux\) if has_aux",
        ),
        (
            lambda: grad(lambda x: (x, "s"), has_aux=True)(t(1.0)),
            RuntimeError,
            "Expected tensors, got unsupported type",
        ),
        (lambda: vjp(lambda x: 3, t(1.0)), RuntimeError, r"expected f\(\*primals\) to return only tensors"),
        (lambda: vjp(lambda x: x, t(1.0))[1]((t(1.0),)), RuntimeError, r"cotangents: \(\*,\), primal output: \*"),
        (lambda: vjp(lambda x: x, torch.ones(2))[1](torch.ones(3)), RuntimeError, "Mismatch in shape: grad_output"),
        (lambda: jvp(lambda x: x, t(1.0), t(1.0)), RuntimeError, "Expected primals to be a tuple"),
        (lambda: jvp(lambda x: x, (t(1.0),), t(1.0)), RuntimeError, "to have the same python structure"),
        (lambda: jvp(lambda x: x, (), ()), RuntimeError, "Expected primals to contain at least one Tensor"),
        (
            lambda: jvp(lambda x: 3, (t(1.0),), (t(1.0),)),
            RuntimeError,
            r"expected f\(\*primals\) to return only tensors",
        ),
        (
            lambda: jvp(lambda x: t(1.0), (t(1.0),), (t(1.0),), strict=True),
            RuntimeError,
            "is independent of the inputs",
        ),
        (lambda: jacrev(lambda x: x, chunk_size=0), ValueError, "`chunk_size` should be greater than 0"),
        (lambda: jacrev(lambda x: x)(t([1j])), RuntimeError, "jacrev: Expected all inputs to be real"),
        (lambda: jacfwd(lambda x: x)(t([1j])), RuntimeError, "jacfwd: Expected all inputs to be real"),
        (lambda: linearize(torch.sin, t(1.0))[1](torch.ones(3)), RuntimeError, "doesn't match the shape"),
    ],
)
def test_refusals(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


# ---------------------------------------------------------------- forward mode, Jacobians
def test_jvp() -> None:
    value, tangent, aux = jvp(lambda x: (x**2, x), (t([1.0, 2.0]),), (t([1.0, 10.0]),), has_aux=True)
    close(value, [1.0, 4.0])
    close(tangent, [2.0, 40.0])
    close(aux, [1.0, 2.0])


def test_jacobians_agree() -> None:
    def f(x: Any) -> Any:
        return {"a": x**2, "b": x.sum()}

    for transform in (jacrev, jacfwd):
        found = transform(f)(t([1.0, 2.0]))
        close(found["a"], [[2.0, 0.0], [0.0, 4.0]])
        close(found["b"], [1.0, 1.0])
    close(jacrev(lambda x: x**2, chunk_size=1)(t([1.0, 2.0])), [[2.0, 0.0], [0.0, 4.0]])
    both = jacrev(lambda x, y: x * y, argnums=(0, 1))(t([1.0, 2.0]), t([3.0, 4.0]))
    close(both[0], [[3.0, 0.0], [0.0, 4.0]])
    found, aux = jacfwd(lambda x: (x**2, x), has_aux=True)(t([1.0, 2.0]))
    close(found, [[2.0, 0.0], [0.0, 4.0]])
    close(aux, [1.0, 2.0])


def test_hessians() -> None:
    def f(x: Any) -> Any:
        return x[0] ** 2 * x[1] + x[1] ** 3

    want = [[4.0, 2.0], [2.0, 12.0]]
    x = t([1.0, 2.0])
    for found in (hessian(f)(x), jacrev(jacrev(f))(x), jacfwd(jacfwd(f))(x), jacrev(jacfwd(f))(x), jacfwd(grad(f))(x)):
        close(found, want)
    close(vmap(hessian(f))(torch.stack([x, x])), [want, want])
    close(vmap(vmap(hessian(torch.sin)))(X), -torch.sin(X).numpy())


def test_linearize() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return x**2

    out, push = linearize(f, t([1.0, 2.0]))
    close(out, [1.0, 4.0])
    close(push(t([1.0, 0.0])), [2.0, 0.0])
    close(push(t([0.0, 1.0])), [0.0, 4.0])
    close(vmap(push)(torch.eye(2)), [[2.0, 0.0], [0.0, 4.0]])
    assert len(calls) == 1


# ---------------------------------------------------------------- vmap
def test_dimensions() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    close(vmap(torch.dot)(x, x), [5.0, 50.0])
    close(vmap(lambda a: a * 2, in_dims=1, out_dims=1)(x), x.numpy() * 2)
    close(vmap(lambda a, b: a + b, in_dims=(0, None))(x, t([1.0, 2.0, 3.0])), np.add(x.numpy(), [1, 2, 3]))
    found = vmap(
        lambda d: {"s": d["x"].sum(), "y": [d["k"]]}, in_dims=({"x": 0, "k": None},), out_dims={"s": 0, "y": [None]}
    )({"x": x, "k": t(7.0)})
    close(found["s"], [3.0, 12.0])
    close(found["y"][0], 7.0)
    close(vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))(t([1.0, 2.0]), t([3.0, 4.0])), [[3.0, 4.0], [6.0, 8.0]])
    assert vmap(lambda a: a.sum())(torch.ones(0, 3)).shape == (0,)
    assert vmap(lambda a: a * 2, chunk_size=2)(torch.ones(5, 3)).shape == (5, 3)


def test_a_batch_of_numbers_promotes_as_numbers_do() -> None:
    wide = vmap(lambda a, b: a + b)(t([1.0, 2.0], dtype=torch.float64), X)
    assert wide.dtype is torch.float32
    assert vmap(lambda a: a * torch.ones(2, dtype=torch.float64))(t([1.0])).dtype is torch.float64


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: vmap(lambda x: x)(3.0), ValueError, "We cannot vmap over non-Tensor arguments"),
        (lambda: vmap(lambda x: x)(t(1.0)), ValueError, "expected in_dim to satisfy -0 <= in_dim < 0"),
        (lambda: vmap(lambda: 1)(), ValueError, "got no inputs"),
        (
            lambda: vmap(torch.add)(torch.ones(2), torch.ones(3)),
            ValueError,
            r"got sizes \[2, 3\] for the mapped dimension",
        ),
        (lambda: vmap(torch.add, in_dims=(None, None))(X, X), ValueError, "Expected at least one Tensor to vmap over"),
        (lambda: vmap(torch.add, in_dims=[0, 0])(X, X), ValueError, "expected `in_dims` to be int or a"),
        (
            lambda: vmap(torch.add, in_dims=(0,))(X, X),
            ValueError,
            "in_dims is not compatible with the structure of `inputs`",
        ),
        (lambda: vmap(lambda x: 3)(X), ValueError, "must only return Tensors, got type <class 'int'>"),
        (
            lambda: vmap(lambda x: x, out_dims=None)(X),
            ValueError,
            "can not return a BatchedTensor when out_dim is None",
        ),
        (lambda: vmap(lambda x: x, out_dims=(0, 0))(X), ValueError, "out_dims is not compatible with the structure"),
        (lambda: vmap(lambda x: x, out_dims=2)(X), IndexError, "Dimension out of range"),
        (lambda: vmap(lambda x: x.item())(torch.ones(2)), RuntimeError, r"calling .item\(\) on a Tensor"),
        (lambda: vmap(lambda x: x if x > 0 else -x)(torch.ones(2)), RuntimeError, "data-dependent control flow"),
        (lambda: vmap(lambda x: x.nonzero())(X), RuntimeError, "can output dynamic shape.*nonzero"),
        (lambda: vmap(lambda x: x[x > 0])(X), RuntimeError, "batch over indexing with a boolean mask"),
        (lambda: vmap(lambda x: torch.ones(3).add_(x))(X), RuntimeError, r"doesn't match the broadcast shape \[2, 3\]"),
        (lambda: vmap(lambda x: torch.ones(3).copy_(x))(X), RuntimeError, "inplace arithmetic"),
        (lambda: vmap(lambda x: x, randomness="maybe"), RuntimeError, "Only allowed values for randomness"),
        (lambda: vmap(lambda x: x, chunk_size=0), ValueError, "chunk_size should be None or greater than 0"),
    ],
)
def test_refusals_of_vmap(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_values_of_a_sample_cannot_leak() -> None:
    kept = []
    vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(RuntimeError, match="storage"):
        kept[0] + 1


def test_printing() -> None:
    seen = []
    vmap(lambda x: seen.append(repr(x)) or x)(t([1.0, 2.0]))
    assert seen == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([1., 2.])\n)"]


def filled(x: Any) -> Any:
    out = torch.zeros_like(x)
    out[0] = x[0] * 2
    out[1:] = x[1:] ** 2
    return out


def changed(x: Any) -> Any:
    y = x * 1
    y.mul_(x)
    y.add_(1)
    y[0] = 0
    z = y[1:]
    z.mul_(x[0])
    return y.sin()


@pytest.mark.parametrize("f", [filled, changed])
def test_changes_in_place(f: Any) -> None:
    loop = torch.stack([f(x) for x in X])
    close(vmap(f)(X), loop.numpy())
    slopes = torch.stack([grad(lambda x: f(x).sum())(x) for x in X])
    close(vmap(grad(lambda x: f(x).sum()))(X), slopes.numpy())
    close(grad(lambda x: vmap(f)(x).sum())(X), slopes.numpy())
    close(jvp(vmap(f), (X,), (V,))[1], torch.stack([jvp(f, (x,), (v,))[1] for x, v in zip(X, V)]).numpy())
    curves = [jacrev(grad(lambda x: f(x).sum()))(x).numpy() for x in X]
    close(vmap(hessian(lambda x: f(x).sum()))(X), curves)
    close(hessian(lambda x: f(x).sum())(X[0]), curves[0])


def test_indices_that_differ_between_samples() -> None:
    close(vmap(lambda x, i: x[i])(X, t([1, 2])), [-0.6, 1.0])
    close(vmap(lambda x, i: x.gather(0, i))(X, t([[1, 2], [0, 0]])), [[-0.6, -0.2], [0.2, 0.2]])
    close(vmap(lambda i: V[:, i], out_dims=1)(t([0, 2])), [[0.0, 2.0], [3.0, 5.0]])
    with pytest.raises((RuntimeError, IndexError)):
        vmap(lambda x, i: x.gather(0, i))(X, t([[1], [5]]))


# ---------------------------------------------------------------- random numbers
def test_randomness() -> None:
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda x: x + torch.rand(()))(torch.zeros(3))
    torch.manual_seed(1)
    whole = torch.rand(4, 10)
    torch.manual_seed(1)
    close(vmap(lambda x: x + torch.rand(10), randomness="different")(torch.zeros(4)), whole.numpy())
    same = vmap(lambda x: x + torch.rand(10), randomness="same")(torch.zeros(4, 1))
    assert all(torch.equal(row, same[0]) for row in same)
    kept = vmap(lambda x: F.dropout(x, 0.5), randomness="different")(torch.ones(4, 20))
    assert not torch.equal(kept[0], kept[1])
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(torch.bernoulli, randomness="same")(torch.ones(2, 2) / 2)
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        vmap(lambda x: torch.zeros(2).normal_() + x, randomness="different")(torch.ones(2))


# ---------------------------------------------------------------- networks
def per_sample(net: Any, x: Any, y: Any) -> Any:
    params = {name: p.detach() for name, p in net.named_parameters()}

    def loss(params: Any, x: Any, y: Any) -> Any:
        return F.cross_entropy(functional_call(net, params, (x.unsqueeze(0),)), y.unsqueeze(0))

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing here may fall back to a loop
        return vmap(grad(loss), (None, 0, 0))(params, x, y)


@pytest.mark.parametrize(
    ("net", "x"),
    [
        (nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2)), torch.ones(2, 3)),
        (
            nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)),
            torch.arange(72.0).reshape(2, 1, 6, 6).sin(),
        ),
    ],
    ids=["mlp", "convolutions"],
)
def test_per_sample_gradients(net: Any, x: Any) -> None:
    y = t([0, 1])
    found = per_sample(net, x, y)
    for i in range(2):
        net.zero_grad()
        F.cross_entropy(net(x[i : i + 1]), y[i : i + 1]).backward()
        for name, parameter in net.named_parameters():
            close(found[name][i], parameter.grad.numpy())


def test_ensembles() -> None:
    nets = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(3)]
    params, buffers = stack_module_state(nets)
    assert params["0.weight"].shape == (3, 4, 3)
    assert params["0.weight"].requires_grad
    assert params["0.weight"].is_leaf
    found = vmap(lambda p, b, x: functional_call(nets[0], (p, b), (x,)), (0, 0, None))(params, buffers, X)
    close(found, torch.stack([net(X) for net in nets]).detach().numpy())
    found.sum().backward()
    assert params["2.bias"].grad.shape == (3, 2)
    with pytest.raises(RuntimeError, match="Expected at least one model, got 0"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="to be of the same class"):
        stack_module_state([nn.Linear(1, 1), nn.Tanh()])


def test_functional_call() -> None:
    net = nn.Linear(2, 1)
    given = {"weight": t([[1.0, 2.0]]), "bias": t([0.5])}
    close(functional_call(net, given, (t([[3.0, 4.0]]),)), [[11.5]])
    close(functional_call(net, ({"weight": given["weight"]}, {"bias": given["bias"]}), t([3.0, 4.0])), [11.5])
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        functional_call(net, (given, given), t([3.0, 4.0]))
    with pytest.raises(ValueError, match="to be a dict, or a list/tuple of dicts"):
        functional_call(net, 3, t([3.0, 4.0]))


# ---------------------------------------------------------------- Functions
class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, k):  # type: ignore[no-untyped-def]
        return x**2 * k

    @staticmethod
    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        x, ctx.k = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        (x,) = ctx.saved_tensors
        return g * 2 * x * ctx.k, None

    @staticmethod
    def jvp(ctx, x_t, k_t):  # type: ignore[no-untyped-def]
        (x,) = ctx.saved_tensors
        return 2 * x * x_t * ctx.k


class Product(torch.autograd.Function):
    @staticmethod
    def forward(a, b):  # type: ignore[no-untyped-def]
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        a, b = ctx.saved_tensors
        return g * b, g * a

    @staticmethod
    def vmap(info, in_dims, a, b):  # type: ignore[no-untyped-def]
        assert info.batch_size == 2
        a, b = (x.expand(2, *x.shape) if d is None else x.movedim(d, 0) for x, d in zip((a, b), in_dims))
        return Product.apply(a, b), 0


def square(x: Any) -> Any:
    return Square.apply(x, 3.0)


def test_functions_in_every_transform() -> None:
    x = X.numpy()
    close(vmap(square)(X), 3 * x**2)
    close(vmap(grad(lambda x: square(x).sum()))(X), 6 * x)
    close(grad(lambda x: vmap(lambda y: square(y).sum())(x).sum())(X), 6 * x)
    close(jvp(square, (X,), (V,))[1], 6 * x * V.numpy())
    close(vmap(lambda x, v: jvp(square, (x,), (v,))[1])(X, V), 6 * x * V.numpy())
    close(jvp(vmap(square), (X,), (V,))[1], 6 * x * V.numpy())
    close(hessian(lambda x: square(x).sum())(X[0]), 6 * np.eye(3))
    close(vmap(grad(grad(lambda x: square(x) ** 2)))(t([1.0, 2.0])), [108.0, 432.0])


def test_functions_with_a_rule_of_their_own() -> None:
    b = t([1.0, 2.0, 3.0])
    close(vmap(Product.apply, (None, 0))(b, X), (b * X).numpy())
    by_a, by_b = vmap(grad(lambda a, b: Product.apply(a, b).sum(), (0, 1)), (0, None))(X, b)
    close(by_a, np.stack([b.numpy()] * 2))
    close(by_b, X.numpy())
    close(grad(lambda a, b: vmap(Product.apply, (0, None))(a, b).sum(), 1)(X, b), X.numpy().sum(0))


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"forward": staticmethod(lambda ctx, x: x * 2)}, "must override the setup_context staticmethod"),
        (
            {"forward": staticmethod(lambda x: x * 2), "setup_context": staticmethod(lambda *a: None)},
            "does not have vmap support",
        ),
        (
            {
                "forward": staticmethod(lambda x: x * 2),
                "setup_context": staticmethod(lambda *a: None),
                "vmap": staticmethod(lambda info, dims, x: x),
            },
            "Expected the vmap staticmethod to have two returns",
        ),
        (
            {
                "forward": staticmethod(lambda x: x * 2),
                "setup_context": staticmethod(lambda *a: None),
                "vmap": staticmethod(lambda info, dims, x: x),
                "generate_vmap_rule": True,
            },
            "has both generate_vmap_rule=True and an overridden vmap",
        ),
    ],
)
def test_functions_that_vmap_refuses(members: dict[str, Any], text: str) -> None:
    made = type(torch.autograd.Function)("Made", (torch.autograd.Function,), members)
    with pytest.raises(RuntimeError, match=text):
        vmap(made.apply)(torch.ones(2))


# ---------------------------------------------------------------- how tensors print inside
def _printed(run: Any) -> str:
    seen: list[str] = []
    run(lambda t: seen.append(repr(t)))
    return "\n".join(seen)


def test_tensors_print_with_the_levels_they_belong_to() -> None:
    x = torch.tensor([0.0, 1.0])
    one = "GradTrackingTensor(lvl=1, value=\n    tensor([0., 1.])\n)"
    assert _printed(lambda see: func.grad(lambda a: (see(a), a.sum())[1])(x)) == one
    assert _printed(lambda see: func.jvp(lambda a: (see(a), a)[1], (x,), (x,))) == one
    assert _printed(lambda see: func.vjp(lambda a: (see(a), a)[1], x)) == one
    assert _printed(lambda see: func.grad(lambda a: (see(x), a.sum())[1])(x)) == "tensor([0., 1.])"
    twice = "GradTrackingTensor(lvl=2, value=\n    GradTrackingTensor(lvl=1, value=\n        tensor([0., 1.])\n    )\n)"
    assert _printed(lambda see: func.grad(lambda b: func.grad(lambda a: (see(a), a.sum())[1])(b).sum())(x)) == twice
    leaf = torch.tensor([0.0, 1.0], requires_grad=True)
    assert "tensor([0., 1.], requires_grad=True)" in _printed(
        lambda see: func.grad(lambda a: (see(a), a.sum())[1])(leaf)
    )


def test_batches_print_as_they_were_given() -> None:
    x = torch.tensor([[0.0, 1.0]])
    text = "BatchedTensor(lvl=1, bdim=1, value=\n    tensor([[0., 1.]])\n)"
    assert _printed(lambda see: torch.vmap(lambda a: (see(a), a)[1], in_dims=1)(x)) == text
    inside = "GradTrackingTensor(lvl=2, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[0., 1.]])\n    )\n)"
    assert _printed(lambda see: torch.vmap(func.grad(lambda a: (see(a), a.sum())[1]))(x)) == inside
    around = "BatchedTensor(lvl=2, bdim=0, value=\n    GradTrackingTensor(lvl=1, value=\n        tensor([[0., 1.]])\n    )\n)"
    run = lambda see: func.grad(lambda a: torch.vmap(lambda b: (see(b), b)[1])(a).sum())(x)  # noqa: E731
    assert _printed(run) == around


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda a: a.data_ptr(), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda a: a.untyped_storage(), "Cannot access storage of "),
        (lambda a: a.sum().backward(), r"backward\(\) called inside a functorch transform"),
        (lambda a: a.requires_grad_(), r"attempting to call Tensor\.requires_grad_\(\) \(or perhaps"),
        (lambda a: setattr(a, "data", a * 2), r"mutating directly with `\.data`"),
        (lambda a: copy.deepcopy(a), "Cannot access storage of |Only Tensors created explicitly"),
    ],
)
def test_what_transforms_refuse(use: Any, words: str) -> None:
    def run(a: Any) -> Any:
        use(a)
        return a.sum()

    x = torch.ones(2)
    for call in (
        lambda: torch.vmap(run)(torch.ones(2, 2)),
        lambda: func.grad(run)(x),
        lambda: func.jvp(run, (x,), (x,)),
    ):
        with pytest.raises((RuntimeError, NotImplementedError), match=words):
            call()


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda a: a.numpy(), "Cannot access data pointer"),
        (lambda a: a.data, "accessing `data` under vmap transform is not allowed"),
        (lambda a: torch.equal(a, a), "Batching rule not implemented for aten::equal"),
        (lambda a: torch.allclose(a, a), r"vmap over torch\.allclose isn't supported yet"),
    ],
)
def test_what_vmap_refuses(use: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        torch.vmap(use)(torch.ones(2, 2))


def test_outputs_that_have_no_derivative() -> None:
    x = torch.tensor([1.0, 2.0])
    empty = r"Expected f to be a function that has non-empty output \(got output = {}\)$"
    for nothing, words in ((None, r"\[None\]"), ((), r"\[\]"), ({}, r"\[\]")):
        with pytest.raises(RuntimeError, match=r"^vjp\(f, \*primals\): " + empty.format(words)):
            torch.func.vjp(lambda t, nothing=nothing: nothing, x)
        with pytest.raises(RuntimeError, match=r"^jvp\(f, primals, tangents\): " + empty.format(words)):
            torch.func.jvp(lambda t, nothing=nothing: nothing, (x,), (x,))
    whole = r"^vjp\(f, ...\): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype torch.int64$"
    for transform in (torch.func.jacrev, torch.func.hessian):
        with pytest.raises(RuntimeError, match=whole):
            transform(lambda t: t.long())(x)
    for name in ("jacrev", "jacfwd"):
        with pytest.raises(
            RuntimeError, match=f"^{name}: Expected all outputs to be real but .* at flattened input idx: 0$"
        ):
            getattr(torch.func, name)(lambda t: t + 0j)(x)


def test_auxiliary_results_are_tensors() -> None:
    x = torch.tensor([1.0, 2.0])
    for call in (
        lambda f: torch.func.jvp(f, (x,), (x,), has_aux=True),
        lambda f: torch.func.vjp(f, x, has_aux=True),
        lambda f: torch.func.jacfwd(f, has_aux=True)(x),
    ):
        with pytest.raises(RuntimeError, match=r"^Expected tensors, got unsupported type <class 'int'>$"):
            call(lambda t: (t, 3))


def test_how_many_values_a_batching_rule_returned() -> None:
    class Three(torch.autograd.Function):
        @staticmethod
        def forward(a: Any) -> Any:
            return a * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, a: Any) -> Any:
            return a, 0, 1

    with pytest.raises(RuntimeError, match=r"compatible with the output. Got 3 returns instead$"):
        torch.vmap(Three.apply)(torch.ones(2, 2))
