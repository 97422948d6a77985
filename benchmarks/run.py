"""torch and livetape side by side: the same rows, in processes of their own, sampled in turn.

    python benchmarks/run.py [--torch-python EXE] [--rounds N] [--threads N] [--no-figures] [ROW or GROUP ...]

Prints for each row the median times, the ratio torch / livetape (above 1: livetape is faster), the floor, which is the
time that the row's work takes at least on this machine (work.py), and how many times the floor livetape's best round
takes. A ratio is the median of the rounds' ratios, so a machine that slows down for a while slows both. With one thread,
seconds are those of the processor, which a busy machine does not lengthen. Without a torch that can be imported, its
columns are empty. Both libraries' results are compared too.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from typing import Any

import models  # noqa: F401 - registers its rows
from figures import HERE, environment, figures
from rows import ROWS
from work import Limits, floor, geometric_mean

TOLERANCE = 1e-3  # between the sizes of two libraries' results, after a training step


class Worker:
    """One library in one process."""

    def __init__(self, python: str, module: str, threads: int) -> None:
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), module, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(threads),
        )
        self.hello = self.receive() or {"error": "it did not start"}

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
        self.process.stdout.close()  # type: ignore[union-attr]


def shown(value: float, unit: str = "s") -> str:
    """Three digits, with the unit."""
    scales = {"s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")), "B": ((1e6, "MB"), (1e3, "kB"))}[unit]
    size, name = next((scale for scale in scales if value >= scale[0]), scales[-1])
    number = value / size
    return f"{number:.{2 if number < 9.995 else 1 if number < 99.95 else 0}f} {name}"


def line(name: str, *cells: str) -> str:
    return f"{name:74s}" + "".join(f" {cell:>9s}" for cell in cells)


def measured_limits(threads: int) -> Limits:
    command = [sys.executable, str(HERE / "limits.py"), str(threads)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment(threads)).stdout)
    return Limits(found["peak"], [(size, speed) for size, speed in found["bandwidth"]], found["calls"])


def print_limits(limits: Limits) -> None:
    print(f"matrix products: {limits.peak / 1e9:.0f} GFLOP/s")
    speeds = [
        f"{speed / 1e9:.0f} GB/s" + f" from {shown(start, 'B')}" * bool(start) for start, speed in limits.bandwidth
    ]
    print("memory:", ", ".join(speeds))
    print("calls:", ", ".join(f"{name} {shown(seconds)}" for name, seconds in limits.calls.items()), end="\n\n")


def measure(name: str, peers: list[Worker], rounds: int) -> list[list[float]]:
    """Each peer's seconds in each round. Complains if they compute different things."""
    results = [peer.ask(setup=name)["result"] for peer in peers]
    if not math.isclose(results[0], results[-1], rel_tol=TOLERANCE):
        print(f"{name}: the results differ, {results[0]:g} and {results[1]:g}")
    times: list[list[float]] = [[] for _ in peers]
    for round_ in range(rounds):
        for i in range(len(peers)) if round_ % 2 else reversed(range(len(peers))):
            times[i].append(peers[i].ask(sample=name)["seconds"])
    return times


def print_figures(peers: list[tuple[str, str]], rounds: int, threads: int) -> None:
    """The figures of whole processes; their floor is NumPy's."""
    print("\n" + line("process", "torch", "livetape", "ratio", "NumPy", "x floor"))
    for name, (unit, values) in figures([*peers, (sys.executable, "numpy")], rounds, threads).items():
        mine = values[len(peers) - 1]
        theirs = [shown(values[0], unit), shown(mine, unit), f"{values[0] / mine:.2f}"]
        least = [shown(values[-1], unit), f"{mine / values[-1]:.2f}"] if len(values) > len(peers) else []
        print(line(name, *(theirs if len(peers) > 1 else ["-", theirs[1], "-"]), *least), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows or groups to run (default: all)")
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-figures", action="store_true", help="leave out imports, sizes and memory")
    options = parser.parse_args()
    unknown = set(options.rows) - set(ROWS) - {row.group for row in ROWS.values()}
    if unknown:
        parser.error(f"no such row or group: {', '.join(sorted(unknown))}")
    limits = measured_limits(options.threads)
    print_limits(limits)
    pythons = [(options.torch_python, "torch"), (sys.executable, "livetape")]
    peers = [Worker(python, module, options.threads) for python, module in pythons]
    if "error" in peers[1].hello:
        sys.exit(f"livetape: {peers[1].hello['error']}")
    if "error" in peers[0].hello:
        print(f"no torch beside livetape ({peers[0].hello['error']}): its times are left out")
        del peers[0], pythons[0]
    ratios: dict[str, list[float]] = {}
    factors: dict[str, list[float]] = {}
    distances: dict[str, float] = {}
    for name, row in ROWS.items():
        if options.rows and name not in options.rows and row.group not in options.rows:
            continue
        if row.group not in factors:
            print(
                ("\n" if factors else "")
                + line(row.group, "torch", "livetape", "ratio", "floor", "x floor", "bound by")
            )
        times = measure(name, peers, options.rounds)
        least, reason = floor(row.work, limits)
        factor = distances[name] = min(times[-1]) / least
        factors.setdefault(row.group, []).append(factor)
        cells = ["-", shown(statistics.median(times[-1])), "-"]
        if len(peers) > 1:
            ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
            ratios.setdefault(row.group, []).append(ratio)
            cells[0], cells[2] = shown(statistics.median(times[0])), f"{ratio:.2f}"
        print(line(name, *cells, shown(least), f"{factor:.2f}", reason), flush=True)
    for peer in peers:
        peer.stop()
    print("\n" + line("geometric means", "ratio", "x floor"))
    for group, found in factors.items():
        print(line(group, f"{geometric_mean(ratios[group]):.2f}" if ratios else "-", f"{geometric_mean(found):.2f}"))
    far = sorted(distances, key=lambda name: distances[name], reverse=True)[:3]
    print("\nfurthest from their floor: " + "; ".join(f"{name} ({distances[name]:.0f} times)" for name in far))
    if not options.no_figures and not options.rows:
        print_figures(pythons, options.rounds, options.threads)


if __name__ == "__main__":
    main()
