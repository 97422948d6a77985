"""The limits of this machine as the kernels meet them, each the best of many; prints them as JSON.

    python benchmarks/limits.py THREADS

``peak`` is the speed of large float32 matrix products; ``bandwidth`` the best of a copy, a sum of two arrays (also in
place) and a reduction, in a core's own cache, in the shared one and in memory; ``calls`` the seconds that
the smallest kernels take on small arrays: NumPy's own, or the C++ functions where they were built.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from work import Limits, clock

import livetape
from livetape.kernels import activation, elements, loss, reductions, small, softmax
from livetape.optim import _kernels as steps

CACHES = "/sys/devices/system/cpu/cpu0/cache/index{}/size"
USUAL = {2: 1 << 19, 3: 1 << 25}  # where the system does not say
PRODUCTS = (512, 1024)


def fastest(run: Callable[[], Any], count: int, now: Callable[[], float], patience: float = 0.3) -> float:
    """The least seconds a run of measurements of ``count`` runs each, as many as there is patience for; at least 10."""
    best, until, left = float("inf"), time.perf_counter() + patience, 10
    while left > 0 or time.perf_counter() < until:
        started = now()
        for _ in range(count):
            run()
        best = min(best, (now() - started) / count)
        left -= 1
    return best


def peak(now: Callable[[], float]) -> float:
    found = 0.0
    for n in PRODUCTS:
        a, b, out = (np.ones((n, n), np.float32) for _ in range(3))
        seconds = fastest(lambda: np.matmul(a, b, out=out), 1, now, 1.0)  # noqa: B023
        found = max(found, 2 * n**3 / seconds)
    return found


def cache_size(level: int) -> int:
    try:
        return int(Path(CACHES.format(level)).read_text().strip().removesuffix("K")) << 10
    except (ValueError, OSError):
        return USUAL[level]


def levels() -> list[tuple[int, int]]:
    """The bytes from which on each kind of memory is used, and a size at which to measure it."""
    own, shared = (cache_size(level) for level in USUAL)
    return [(0, own // 2), (own, shared // 4), (shared, 3 * shared)]


def bandwidth(size: int, now: Callable[[], float]) -> float:
    n = size // 12
    x, y, out = (np.ones(n, np.float32) for _ in range(3))
    add = elements.quick(np.add) or np.add
    count = max(1, (1 << 22) // size)
    passes: list[tuple[int, Callable[[], Any]]] = [
        (8, lambda: np.copyto(out, x)),
        (12, lambda: add(x, y, out)),
        (12, lambda: add(x, y, x)),  # memory need not be read before it is written
        (4, lambda: reductions.total(x)),
    ]
    return max(n * each / fastest(run, count, now) for each, run in passes)


def small_calls() -> dict[str, Callable[[], Any]]:
    """Calls that small rows are made of, on arrays as small as theirs."""
    a, b = np.ones((4, 4), np.float32), np.ones((4, 4), np.float32)
    x, weight, bias = np.ones((8, 4), np.float32), np.ones((4, 16), np.float32), np.ones(16, np.float32)
    hidden = np.ones((8, 16), np.float32)
    scores, classes = np.ones((8, 2), np.float32), np.zeros(8, np.int64)
    four = [np.zeros(16, np.float32) for _ in range(4)]
    sgd, adam = [v for p in four for v in (p, p)], [v for p in four for v in (p, p, p, p, None)]
    number = livetape.float32.scalar(2.0)
    add, multiply = elements.quick(np.add) or np.add, elements.quick(np.multiply) or np.multiply
    tanh = elements.quick(np.tanh) or np.tanh
    return {
        "add": lambda: add(a, b),
        "scale": lambda: multiply(a, number),
        "relu": lambda: activation.relu(a),
        "tanh": lambda: tanh(a),
        "matmul": lambda: small.matmul(a, b),
        "affine": lambda: small.affine(bias, x, weight),
        "product of a transpose": lambda: small.matmul_tn(x, hidden),
        "sum": lambda: reductions.sum_all(a),
        "sum of rows": lambda: reductions.sum_rows(hidden),
        "index": lambda: a[1],
        "reshape": lambda: a.reshape(2, 8),
        "softmax": lambda: softmax.log_softmax(scores, 1),
        "loss": lambda: loss.nll(scores, classes, None, 1, -100),
        "sgd": lambda: steps.sgd(sgd, 0.01, None, False),
        "adam": lambda: steps.adam(adam, 0.01, 0.1, 0.999, 0.001, 1e-8, 1.0, None, None, False),
    }


def measure(threads: int) -> Limits:
    livetape.set_num_threads(threads)
    now = clock(threads)
    calls = {"loop": lambda: None, **small_calls()}
    seconds = dict.fromkeys(calls, float("inf"))
    for _ in range(8):  # in turn: a moment in which the machine is slow must not hit one of them alone
        for name, call in calls.items():
            seconds[name] = min(seconds[name], fastest(call, 500, now, 0.02))
    loop = seconds.pop("loop")
    return Limits(
        peak(now),
        [(start, bandwidth(size, now)) for start, size in levels()],
        {n: s - loop for n, s in seconds.items()},
    )


if __name__ == "__main__":
    print(json.dumps(asdict(measure(int(sys.argv[1])))))
