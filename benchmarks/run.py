"""torch and livetape side by side: the same rows, in processes of their own, sampled in turn.

    python benchmarks/run.py [--torch-python EXE] [--rounds N] [--threads N] [ROW ...]

Prints the median time of each row and the ratio torch / livetape (above 1: livetape is faster); the ratio is the median
of the rounds' ratios, so a machine that slows down for a while slows both. Without a torch that can be imported, only
livetape's times are shown.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class Worker:
    """One library in one process."""

    def __init__(self, python: str, module: str, threads: int) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        environment |= {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [python, str(HERE / "rows.py"), module, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.hello = self.receive()

    def receive(self) -> Any:
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        return json.loads(line) if line else None

    def ask(self, **request: Any) -> Any:
        self.process.stdin.write(json.dumps(request) + "\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        return self.receive()

    def stop(self) -> None:
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to run (default: all)")
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    ours = Worker(sys.executable, "livetape", options.threads)
    torch: Worker | None = Worker(options.torch_python, "torch", options.threads)
    if torch is not None and (torch.hello is None or "error" in torch.hello):
        print(
            f"no torch beside livetape ({(torch.hello or {}).get('error', 'it did not start')}): its times are left out"
        )
        torch = None
    peers = [ours] if torch is None else [torch, ours]
    print(f"{'row':44s} {'torch':>10s} {'livetape':>10s} {'ratio':>6s}")
    groups: dict[str, list[float]] = {}
    for group, name in ours.hello["rows"]:
        if options.rows and name not in options.rows and group not in options.rows:
            continue
        for peer in peers:
            peer.ask(setup=name)
        times: list[list[float]] = [[] for _ in peers]
        for round_ in range(options.rounds):
            for i in range(len(peers)) if round_ % 2 else reversed(range(len(peers))):
                times[i].append(peers[i].ask(sample=name)["seconds"])
        mine = statistics.median(times[-1])
        if torch is None:
            print(f"{name:44s} {'-':>10s} {duration(mine):>10s} {'-':>6s}")
            continue
        ratio = statistics.median(t / m for t, m in zip(*times, strict=True))
        groups.setdefault(group, []).append(ratio)
        print(f"{name:44s} {duration(statistics.median(times[0])):>10s} {duration(mine):>10s} {ratio:6.2f}", flush=True)
    for group, ratios in groups.items():
        print(f"geometric mean, {group}: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    for peer in peers:
        peer.stop()


if __name__ == "__main__":
    main()
