"""The examples in full on torch and livetape, in turn: the table in README.md.

    python benchmarks/examples.py --torch-python EXE [--rounds N] [--threads N] [NAME ...]

Prints each example's result and median seconds on both, and up to which line all losses agree to four digits.
With one thread, seconds are those of the processor, which a busy machine does not lengthen; with more, those of a clock.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from figures import environment

ROOT = Path(__file__).parent.parent
NAMES = ["digits_cnn", "gpt", "vae", "cartpole", "sunspots", "burgers", "breast_cancer"]
LAST = re.compile(r"(.*) in (\d+\.\d+) s")
BY_PROCESSOR = "import time; time.perf_counter = time.process_time; "
START = "import runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, '.'); runpy.run_path(sys.argv[0], run_name='__main__')"


def run(python: str, folder: Path, name: str, threads: int) -> tuple[str, float, list[tuple[str, float]]]:
    """What the last line says, its seconds, and all losses, each with what its line begins with."""
    code = (BY_PROCESSOR if threads == 1 else "") + START
    command = [python, "-c", code, f"{name}.py", "--threads", str(threads)]
    text = subprocess.run(
        command, cwd=folder, env=environment(threads), check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    last = LAST.fullmatch(text.splitlines()[-1])
    assert last is not None, text
    losses = re.findall(r"^(.*\S) +loss +(\d+\.\d+)", text, re.MULTILINE)
    return last[1], float(last[2]), [(label, float(loss)) for label, loss in losses]


def agreement(ours: list[tuple[str, float]], theirs: list[tuple[str, float]]) -> str:
    same = "none"
    for (label, a), (_, b) in zip(ours, theirs):
        if abs(a - b) > 5e-4 * abs(b):
            return f"to {same}"
        same = label
    return "all"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--torch-python", required=True, metavar="EXE", help="a Python that has torch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    print("| example | torch | livetape | seconds: torch | livetape | equal losses |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder, "examples")
        copies.mkdir()
        Path(folder, "src").symlink_to(ROOT / "src")
        for path in (ROOT / "examples").iterdir():
            if path.suffix == ".py":
                (copies / path.name).write_text(path.read_text().replace("import livetape as torch", "import torch"))
        (copies / "data").symlink_to(ROOT / "examples" / "data")
        for name in args.names or NAMES:
            theirs, ours = [], []
            for _ in range(args.rounds):
                theirs.append(run(args.torch_python, copies, name, args.threads))
                ours.append(run(sys.executable, ROOT / "examples", name, args.threads))
            seconds = [statistics.median(round[1] for round in rounds) for rounds in (theirs, ours)]
            equal = agreement(ours[0][2], theirs[0][2])
            print(
                f"| {name} | {theirs[0][0]} | {ours[0][0]} | {seconds[0]:.3g} | {seconds[1]:.3g} | {equal} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
