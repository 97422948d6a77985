"""One library in one process, which times rows on request.

worker.py MODULE THREADS        serves requests, a JSON line each, on standard input
worker.py MODULE THREADS ROW    tells the most memory, in bytes, that the process held in three runs of a row
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import models  # noqa: F401 - registers its rows
from rows import ROWS
from work import clock


def peak_memory() -> int:
    """The most bytes that this process has held at once; 0 where the system does not say."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
    except OSError:
        return 0


def size(result: Any) -> float:
    """The sum of the absolute values of a result, by which two libraries' results are compared."""
    tensors = result if isinstance(result, tuple) else (result,)
    return sum(float(tensor.detach().abs().double().sum()) for tensor in tensors)


class Sampler:
    """A row that is set up, and the number of its calls that make a sample of about 0.1 s."""

    def __init__(self, torch: Any, name: str, now: Callable[[], float]) -> None:
        gc.collect()  # what the last row left
        self.row, self.now = ROWS[name], now
        self.run = self.row.make(torch)
        self.run()
        self.result = size(self.run())  # of the second run: a whole first step has gone into it
        started, calls = now(), 0
        while now() - started < 0.2:
            self.run()
            calls += 1
        self.count = max(1, calls // 2)

    def seconds(self) -> float:
        """The seconds of one operation."""
        run = self.run
        started = self.now()
        for _ in range(self.count):
            run()
        return (self.now() - started) / self.count / self.row.per


def main() -> None:
    module, threads = sys.argv[1], int(sys.argv[2])
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints must not come between the answers

    def send(**message: Any) -> None:
        channel.write(json.dumps(message) + "\n")

    try:
        torch = importlib.import_module(module)
        torch.set_num_threads(threads)
    except Exception as fault:
        send(error=f"{type(fault).__name__}: {fault}")
        return
    if len(sys.argv) > 3:
        run = ROWS[sys.argv[3]].make(torch)
        for _ in range(3):
            run()
        send(memory=peak_memory())
        return
    send(version=str(torch.__version__))
    sampler: Sampler | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if "setup" in request:
            sampler = None
            sampler = Sampler(torch, request["setup"], clock(threads))
            send(result=sampler.result)
        else:
            assert sampler is not None
            send(seconds=sampler.seconds())


if __name__ == "__main__":
    main()
