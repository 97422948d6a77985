"""The rows of the benchmark, written once against torch's API, and the process that times them.

rows.py MODULE THREADS      serves requests, a JSON line each, on standard input
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROWS: dict[str, tuple[str, Callable[[Any], Callable[[], Any]], int]] = {}
Run = Callable[[], Any]


def row(group: str, name: str, per: int = 1) -> Callable[[Callable[[Any], Run]], Callable[[Any], Run]]:
    """Register a row: a function of the library that returns what is timed; ``per`` operations a call."""

    def register(make: Callable[[Any], Run]) -> Callable[[Any], Run]:
        ROWS[name] = (group, make, per)
        return make

    return register


def tensor(torch: Any, *shape: int, requires_grad: bool = False, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return torch.from_numpy(values).requires_grad_(requires_grad)


def _operation(name: str, operation: Callable[[Any, Any, Any], Any]) -> None:
    def make(torch: Any) -> Run:
        a, b = tensor(torch, 4, 4, requires_grad=True), tensor(torch, 4, 4, seed=1)

        def run() -> Any:
            for _ in range(200):
                y = operation(torch, a, b)
            return y

        return run

    row("operations on 4x4", name, per=200)(make)


_operation("a + b", lambda torch, a, b: a + b)
_operation("a * b", lambda torch, a, b: a * b)
_operation("a * 2.0", lambda torch, a, b: a * 2.0)
_operation("a @ b", lambda torch, a, b: a @ b)
_operation("relu(a)", lambda torch, a, b: torch.relu(a))
_operation("a.sum()", lambda torch, a, b: a.sum())
_operation("a[1]", lambda torch, a, b: a[1])
_operation("a.reshape(2, 8)", lambda torch, a, b: a.reshape(2, 8))


@row("operations on 4x4", "((a*b+b)*b).sum(), forward and backward")
def _expression(torch: Any) -> Run:
    a, b = tensor(torch, 4, 4, requires_grad=True), tensor(torch, 4, 4, seed=1)

    def run() -> Any:
        a.grad = None
        y = ((a * b + b) * b).sum()
        y.backward()
        return a.grad

    return run


def _training_step(torch: Any, dims: tuple[int, ...], batch: int, optimiser: str, **options: Any) -> Run:
    nn = importlib.import_module(torch.__name__ + ".nn")
    optim = importlib.import_module(torch.__name__ + ".optim")
    torch.manual_seed(0)
    layers: list[Any] = []
    for i in range(len(dims) - 1):
        layers += [nn.Linear(dims[i], dims[i + 1]), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    opt = getattr(optim, optimiser)(model.parameters(), **options)
    loss_fn = nn.CrossEntropyLoss()
    x = tensor(torch, batch, dims[0])
    y = torch.from_numpy(np.random.default_rng(2).integers(0, dims[-1], batch))

    def run() -> Any:
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()
        return loss

    return run


row("training steps", "MLP 4-16-2, batch 8, SGD")(lambda t: _training_step(t, (4, 16, 2), 8, "SGD", lr=0.01))
row("training steps", "MLP 4-16-2, batch 8, Adam")(lambda t: _training_step(t, (4, 16, 2), 8, "Adam", lr=0.001))
row("training steps", "MLP 784-512-512-10, batch 128, SGD with momentum")(
    lambda t: _training_step(t, (784, 512, 512, 10), 128, "SGD", lr=0.001, momentum=0.9)
)


@row("graphs", "chain of 10,000 operations, forward and backward")
def _chain(torch: Any) -> Run:
    x = torch.tensor(1.0, requires_grad=True)

    def run() -> Any:
        x.grad = None
        y = x
        for _ in range(10_000):
            y = y * 1.0001
        y.backward()
        return x.grad

    return run


@row("graphs", "custom Function, forward and backward", per=20)
def _function(torch: Any) -> Run:
    autograd = importlib.import_module(torch.__name__ + ".autograd")

    class Square(autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x * 2

    a = tensor(torch, 4, 4, requires_grad=True)

    def run() -> Any:
        for _ in range(20):
            a.grad = None
            Square.apply(a).sum().backward()
        return a.grad

    return run


def main() -> None:
    module, threads = sys.argv[1], int(sys.argv[2])
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def send(**message: Any) -> None:
        channel.write(json.dumps(message) + "\n")

    try:
        torch = importlib.import_module(module)
        torch.set_num_threads(threads)
    except Exception as fault:
        send(error=f"{type(fault).__name__}: {fault}")
        return
    send(version=str(torch.__version__), rows=[(group, name) for name, (group, _, _) in ROWS.items()])
    run: Run = lambda: None  # noqa: E731
    count = per = 1
    for line in sys.stdin:
        request = json.loads(line)
        if "setup" in request:
            _, make, per = ROWS[request["setup"]]
            run = make(torch)
            started, calls = time.perf_counter(), 0
            while time.perf_counter() - started < 0.2:
                run()
                calls += 1
            count = max(1, calls // 2)
            send(ok=True)
        else:
            started = time.perf_counter()
            for _ in range(count):
                run()
            send(seconds=(time.perf_counter() - started) / count / per)


if __name__ == "__main__":
    main()
