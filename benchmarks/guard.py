"""Instructions of hot paths against those of instruction_counts.json: what costs over 3 % more fails.

    python benchmarks/guard.py [--update]

callgrind (of valgrind) counts the instructions of benchmarks/paths.py, which repeats where a clock does not. The counts
depend on Python, NumPy, the compiler and the processor too: where these differ from the recorded ones, the table says so,
and to judge a change there the file is first recorded anew (--update) without the change. A change that costs more for a
reason brings its new file with it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FILE = HERE / "instruction_counts.json"
LIMIT = 3.0  # percent
# Nothing else of the caller's environment: its size moves the stack, and it may switch libraries to other code.
KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")
FIXED = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell"}


def fix_addresses() -> None:
    """Objects at the same addresses in each run, where the system permits it: hash tables of objects depend on them."""
    ctypes.CDLL(None).personality(0x0040000)  # ADDR_NO_RANDOMIZE


def totals(folder: Path) -> list[int]:
    """What callgrind counted between marks, in order."""
    found = []
    part = 1
    while (file := folder / f"out.{part}").exists():
        total = re.search(r"^totals: (\d+)", file.read_text(), re.MULTILINE)
        found.append(int(total[1]) if total else 0)
        part += 1
    return found


def per_walk(parts: list[int], paths: list[str], walks: int) -> dict[str, int]:
    """Instructions of one walk along each path. A path has six parts: before and inside of each of its three loops."""
    if len(parts) != 6 * len(paths):
        raise SystemExit(f"callgrind wrote {len(parts)} parts instead of {6 * len(paths)}")
    once, twice = parts[3::6], parts[5::6]
    return {path: round((two - one) / walks) for path, one, two in zip(paths, once, twice, strict=True)}


def count(valgrind: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command = [valgrind, "-q", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={folder}/out"]
        done = subprocess.run(
            [*command, sys.executable, str(HERE / "paths.py")],
            env={key: os.environ[key] for key in KEPT if key in os.environ} | FIXED,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=fix_addresses,
        )
        if done.returncode != 0:
            raise SystemExit(f"paths.py ended with {done.returncode} under valgrind")
        told = json.loads(done.stdout)
        return {
            "environment": told["environment"],
            "instructions": per_walk(totals(Path(folder)), told["paths"], told["walks"]),
        }


def compare(recorded: dict[str, Any], counted: dict[str, Any]) -> tuple[list[str], bool]:
    """The lines to print, and whether all is well."""
    old, new = recorded["instructions"], counted["instructions"]
    lines = [f"{'path':44s} {'recorded':>10s} {'counted':>10s}"]
    slower, faster = [], []
    for path in dict.fromkeys([*old, *new]):
        told = "  added" if path in new else "  removed"
        if path in old and path in new:
            change = 100 * (new[path] - old[path]) / old[path]
            told = f"{change:+8.2f} %"
            if change > LIMIT:
                slower.append(path)
            elif change < -LIMIT:
                faster.append(path)
        lines.append(f"{path:44s} {old.get(path, '-'):>10} {new.get(path, '-'):>10} {told}")
    before, now = recorded["environment"], counted["environment"]
    for key in sorted(before.keys() | now.keys()):
        if before.get(key) != now.get(key):
            lines.append(f"Recorded with {key} {before.get(key)}, now {now.get(key)}: counts may differ by that alone.")
    if slower:
        lines.append(f"FAILED: over {LIMIT:g} % more instructions: {'; '.join(slower)}")
    if old.keys() != new.keys():
        lines.append("FAILED: the paths are not those of the file")
    good = not slower and old.keys() == new.keys()
    if not good:
        lines.append("If it is meant, record it: make perf-guard ARGS=--update, and commit the file with the change.")
    elif faster:
        lines.append(f"Over {LIMIT:g} % fewer instructions: record the gain by make perf-guard ARGS=--update.")
    return lines, good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="record the counts instead")
    options = parser.parse_args()
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SystemExit("valgrind is missing: it counts the instructions. Install it (apt-get install valgrind).")
    counted = count(valgrind)
    recorded = json.loads(FILE.read_text()) if FILE.exists() else counted
    lines, good = compare(recorded, counted)
    print("\n".join(lines))
    if options.update:
        FILE.write_text(json.dumps(counted, indent=2) + "\n")
        print(f"recorded in {FILE}")
    elif not FILE.exists():
        raise SystemExit(f"{FILE} is missing: record it with --update")
    elif not good:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
