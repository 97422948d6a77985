"""The rows of the benchmark, written once against torch's API, each with the work that it takes at least.

Here are the small ones: single operations, small models, graphs, Functions and optimisers; models.py has the others.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from work import Work, passes, update

Run = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """``make`` is given the library and returns what is timed: ``per`` operations a call, of ``work`` each."""

    group: str
    make: Callable[[Any], Run]
    work: Work
    per: int = 1


ROWS: dict[str, Row] = {}


def row(group: str, name: str, work: Work, per: int = 1) -> Callable[[Callable[[Any], Run]], Callable[[Any], Run]]:
    """Register a row."""

    def register(make: Callable[[Any], Run]) -> Callable[[Any], Run]:
        assert name not in ROWS, name
        ROWS[name] = Row(group, make, work, per)
        return make

    return register


def part(torch: Any, name: str) -> Any:
    """A sub-package of the library."""
    return importlib.import_module(f"{torch.__name__}.{name}")


def tensor(torch: Any, *shape: int, requires_grad: bool = False, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return torch.from_numpy(values).requires_grad_(requires_grad)


def classes(torch: Any, count: int, *shape: int) -> Any:
    return torch.from_numpy(np.random.default_rng(2).integers(0, count, shape))


def training(torch: Any, model: Any, optimiser: Any, x: Any, y: Any) -> Run:
    """A step of a classifier."""
    loss_fn = part(torch, "nn").CrossEntropyLoss()

    def run() -> Any:
        optimiser.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimiser.step()
        return loss

    return run


def mlp(torch: Any, dims: tuple[int, ...], activation: str = "ReLU") -> Any:
    nn = part(torch, "nn")
    torch.manual_seed(0)
    layers: list[Any] = []
    for inputs, outputs in pairwise(dims):
        layers += [nn.Linear(inputs, outputs), getattr(nn, activation)()]
    return nn.Sequential(*layers[:-1])


# ---------------------------------------------------------------- operations
def _operation(name: str, call: str, operation: Callable[[Any, Any, Any], Any], grad: bool = True) -> None:
    def make(torch: Any) -> Run:
        a, b = tensor(torch, 4, 4, requires_grad=True), tensor(torch, 4, 4, seed=1)

        def run() -> Any:
            with torch.set_grad_enabled(grad):
                for _ in range(200):
                    y = operation(torch, a, b)
            return y

        return run

    row("operation overhead", f"4x4: {name}", Work(calls={call: 1}), per=200)(make)


_operation("a + b", "add", lambda torch, a, b: a + b)
_operation("a * b", "add", lambda torch, a, b: a * b)
_operation("a * 2.0", "scale", lambda torch, a, b: a * 2.0)
_operation("a @ b", "matmul", lambda torch, a, b: a @ b)
_operation("relu(a)", "relu", lambda torch, a, b: torch.relu(a))
_operation("a.sum()", "sum", lambda torch, a, b: a.sum())
_operation("a[1]", "index", lambda torch, a, b: a[1])
_operation("a.reshape(2, 8)", "reshape", lambda torch, a, b: a.reshape(2, 8))
_operation("a + b without grad", "add", lambda torch, a, b: a + b, grad=False)


# The gradient of a sum is a view; what a needs of it are two products.
@row("operation overhead", "4x4: ((a*b+b)*b).sum(), and backward", Work(calls={"add": 3 + 2, "sum": 1}), per=20)
def _expression(torch: Any) -> Run:
    a, b = tensor(torch, 4, 4, requires_grad=True), tensor(torch, 4, 4, seed=1)

    def run() -> Any:
        for _ in range(20):
            a.grad = None
            y = ((a * b + b) * b).sum()
            y.backward()
        return a.grad

    return run


# ---------------------------------------------------------------- small models
def _small(torch: Any, optimiser: str, **options: Any) -> Run:
    model = mlp(torch, (4, 16, 2), "Tanh")
    optim = getattr(part(torch, "optim"), optimiser)(model.parameters(), **options)
    return training(torch, model, optim, tensor(torch, 8, 4), classes(torch, 2, 8))


SMALL = Work(
    calls={"affine": 2, "tanh": 2, "softmax": 2, "loss": 2, "product of a transpose": 2, "matmul": 1, "sum of rows": 2}
)
row("small models", "MLP 4-16-2, batch 8, SGD", SMALL + Work(calls={"sgd": 1}))(lambda t: _small(t, "SGD", lr=0.01))
row("small models", "MLP 4-16-2, batch 8, Adam", SMALL + Work(calls={"adam": 1}))(lambda t: _small(t, "Adam", lr=0.001))
SCALARS = (0.1, 0.5, -0.3, 0.7, 0.2, 0.4, -0.6, 0.9, 1.1, -0.2)
POINTS = ((-0.5, 0.3), (0.2, 0.9), (0.8, -0.4))


# For each point 17 operations: 4 with numbers, 2 functions, 11 of two tensors, whose products have two gradients each.
@row(
    "small models",
    "10 scalars, 50 operations, SGD",
    Work(calls={"scale": 3 * (4 + 4), "tanh": 3 * (2 + 2), "add": 3 * (11 + 10) - 1, "sgd": 1}),
)
def _scalars(torch: Any) -> Run:
    p = [torch.tensor(value, requires_grad=True) for value in SCALARS]
    optimiser = part(torch, "optim").SGD(p, lr=1e-3)

    def run() -> Any:
        optimiser.zero_grad()
        loss: Any = None
        for x, t in POINTS:
            y = p[0] + p[1] * x + p[2] * torch.tanh(p[3] * x + p[4]) + p[5] * torch.exp(p[6] * x)
            r = (y * p[8] + p[9]) - p[7] * t
            loss = r * r if loss is None else loss + r * r
        loss.backward()
        optimiser.step()
        return loss

    return run


# ---------------------------------------------------------------- graphs
def _chain(length: int) -> None:
    def make(torch: Any) -> Run:
        x = torch.tensor(1.0, requires_grad=True)

        def run() -> Any:
            x.grad = None
            y = x
            for _ in range(length):
                y = y * 1.0001
            y.backward()
            return x.grad

        return run

    row("graph scale", f"chain of {length:,} operations, and backward", Work(calls={"scale": 2 * length}))(make)


_chain(10_000)
_chain(100_000)


@row("graph scale", "10,000 leaves summed one by one, and backward", Work(calls={"add": 10_000}))
def _leaves(torch: Any) -> Run:
    leaves = [torch.tensor(1.0, requires_grad=True) for _ in range(10_000)]

    def run() -> Any:
        y = leaves[0]
        for leaf in leaves:
            leaf.grad = None
            y = y + leaf
        y.backward()
        return leaves[0].grad

    return run


# ---------------------------------------------------------------- Functions
def _square(torch: Any) -> Any:
    class Square(part(torch, "autograd").Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x * 2

    return Square


@row("custom Function", "4x4: Function.apply", Work(calls={"add": 1}), per=100)
def _function(torch: Any) -> Run:
    a, apply = tensor(torch, 4, 4, requires_grad=True), _square(torch).apply

    def run() -> Any:
        for _ in range(100):
            y = apply(a)
        return y

    return run


@row("custom Function", "4x4: Function.apply, sum, and backward", Work(calls={"add": 2, "sum": 1, "scale": 1}), per=20)
def _function_backward(torch: Any) -> Run:
    a, apply = tensor(torch, 4, 4, requires_grad=True), _square(torch).apply

    def run() -> Any:
        for _ in range(20):
            a.grad = None
            apply(a).sum().backward()
        return a.grad

    return run


# ---------------------------------------------------------------- optimisers
def _steps(name: str, optimiser: str, count: int, size: int, arrays: int, **options: Any) -> None:
    def make(torch: Any) -> Run:
        parameters = [tensor(torch, size, requires_grad=True, seed=i) for i in range(count)]
        for p in parameters:
            p.grad = tensor(torch, size, seed=count)
        found = getattr(part(torch, "optim"), optimiser)(parameters, **options)

        def run() -> Any:
            found.step()
            return parameters[0].detach()

        return run

    row("optimiser step", f"{name}, {count} tensors of {size:,}", update(count * size, arrays))(make)


for _count, _size in ((100, 10_000), (4, 1_000_000)):
    _steps("Adam", "Adam", _count, _size, 7, lr=1e-4)  # reads p, g, m and v, writes p, m and v
    _steps("Adam(fused=True)", "Adam", _count, _size, 7, lr=1e-4, fused=True)
_steps("SGD with momentum", "SGD", 100, 10_000, 5, lr=1e-4, momentum=0.9)


# ---------------------------------------------------------------- elementwise and reductions
def _on(group: str, name: str, work: Work, *shape: int) -> Callable[[Callable[[Any, Any], Any]], None]:
    """A row without gradients: a function of the library and of a tensor."""

    def register(function: Callable[[Any, Any], Any]) -> None:
        def make(torch: Any) -> Run:
            x = tensor(torch, *shape)
            return lambda: function(torch, x)

        row(group, name, work)(make)

    return register


ARRAYS = "elementwise and reductions"
MANY = 10_000_000
_on(ARRAYS, "x + x of 10,000,000", passes(MANY, 2), MANY)(lambda torch, x: x + x)
_on(ARRAYS, "sum of 10,000,000", passes(MANY, 1), MANY)(lambda torch, x: x.sum())
_on(ARRAYS, "sum over the rows of 2048x2048", passes(2048**2, 1), 2048, 2048)(lambda torch, x: x.sum(0))
_on(ARRAYS, "greatest of each row of 2048x2048", passes(2048**2, 1), 2048, 2048)(lambda torch, x: x.amax(1))
_on(ARRAYS, "variance of each row of 2048x2048", passes(2048**2, 1, 3), 2048, 2048)(lambda torch, x: x.var(1))
