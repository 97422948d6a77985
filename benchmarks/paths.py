"""Hot paths whose instructions are counted, and the process that callgrind watches (see guard.py).

callgrind writes down what it has counted, and starts from 0, each time the process calls getppid (`mark`). Every path is
walked N times and 2 N times between marks: the difference is N walks without the marks and the loop's start.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import livetape as torch
from livetape import nn, optim
from livetape._tape import record
from livetape.kernels.compiled import native

WALKS = 50
Run = Callable[[], Any]
mark = os.getppid


def tensor(*shape: int, requires_grad: bool = False, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return torch.from_numpy(values).requires_grad_(requires_grad)


def add_recorded() -> Run:
    a, b = tensor(4, 4, requires_grad=True), tensor(4, 4, seed=1)
    return lambda: a + b


def add_without_grad() -> Run:
    a, b = tensor(4, 4, requires_grad=True), tensor(4, 4, seed=1)

    def run() -> None:
        with torch.no_grad():
            a + b

    return run


def index() -> Run:
    a = tensor(4, 4, requires_grad=True)
    return lambda: a[1]


def matmul() -> Run:
    a, b = tensor(4, 4, requires_grad=True), tensor(4, 4, requires_grad=True, seed=1)
    ones = torch.ones(4, 4)

    def run() -> None:
        a.grad = b.grad = None
        (a @ b).backward(ones)

    return run


def chain() -> Run:
    x = torch.tensor(1.0, requires_grad=True)

    def run() -> None:
        x.grad = None
        y = x
        for _ in range(10):
            y = y * 1.01
        y.backward()

    return run


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * x * 2


def function() -> Run:
    a, ones = tensor(4, 4, requires_grad=True), torch.ones(4, 4)

    def run() -> None:
        a.grad = None
        Square.apply(a).backward(ones)

    return run


def network() -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)), tensor(8, 4), torch.arange(8) % 2


def network_forward() -> Run:
    model, x, y = network()
    return lambda: nn.functional.cross_entropy(model(x), y)


def network_backward() -> Run:
    model, x, y = network()
    loss = nn.functional.cross_entropy(model(x), y)
    return lambda: loss.backward(retain_graph=True)


def step(optimizer: Any) -> Run:
    model, x, y = network()
    nn.functional.cross_entropy(model(x), y).backward()
    return optimizer(model.parameters(), lr=1e-3).step


PATHS: dict[str, Callable[[], Run]] = {
    "a + b, recorded": add_recorded,
    "a + b in no_grad": add_without_grad,
    "a[1]": index,
    "a @ b, forward and backward": matmul,
    "chain of 10 products, forward and backward": chain,
    "custom Function, forward and backward": function,
    "network 4-16-2 with loss, forward": network_forward,
    "network 4-16-2 with loss, backward": network_backward,
    "step of SGD": lambda: step(optim.SGD),
    "step of Adam": lambda: step(optim.Adam),
}


def environment() -> dict[str, str]:
    """What counts depend on besides the sources. Refuses a package that is not compiled."""
    if native is None or record.__file__.endswith(".py"):
        sys.exit("instructions are counted on the compiled package; this one is not")
    found = re.search(rb"GCC: \([^\0]+|clang version [^\0]+", Path(native.__file__).read_bytes())
    return {
        "compiler": found[0].decode() if found else "unknown",
        "machine": f"{platform.machine()}, {native.isa()}",
        "numpy": np.__version__,
        "python": f"{platform.python_version()}, {platform.python_compiler()}",
    }


def walk(run: Run, count: int) -> None:
    mark()
    for _ in range(count):
        run()
    mark()


def main() -> None:
    print(json.dumps({"environment": environment(), "paths": list(PATHS), "walks": WALKS}), flush=True)
    gc.disable()
    for make in PATHS.values():
        run = make()
        for count in (WALKS, WALKS, 2 * WALKS):  # the first time to warm up
            walk(run, count)
    os._exit(0)  # without Python's end, which takes a while under callgrind


if __name__ == "__main__":
    main()
