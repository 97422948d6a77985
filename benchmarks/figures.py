"""What a library costs before it computes anything, and the memory that a few rows take, each in a fresh process.

figures.py MODULE    prints the bytes installed, with all that the library requires
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
MEMORY_ROWS = (
    "MLP 784-512-512-10, batch 128, SGD step",
    "LeNet 28x28, batch 64, SGD step",
    "GPT 2x128, 64 places, batch 8, AdamW step, scaled_dot_product_attention",
)


# Nothing else is imported in the process that is measured.
IMPORT = """
import time
started = time.process_time()
import {}
seconds = time.process_time() - started
with open("/proc/self/status") as status:
    print(seconds, *[int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS")])
"""


def import_figures(python: str, module: str) -> tuple[float, float]:
    """Seconds of the processor that an import takes, and the bytes that the process holds after it."""
    text = subprocess.run([python, "-c", IMPORT.format(module)], check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds, size = text.split()
    return float(seconds), float(size)


def row_memory(python: str, module: str, row: str, threads: int) -> float:
    """The most bytes that a process held in three runs of a row."""
    command = [python, str(HERE / "worker.py"), module, str(threads), row]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment(threads)).stdout
    return float(json.loads(text)["memory"])


def environment(threads: int) -> dict[str, str]:
    """The environment of a process that is measured: so many threads, and OpenBLAS as it chooses by itself."""
    kept = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    return kept | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}


def figures(peers: list[tuple[str, str]], rounds: int, threads: int) -> dict[str, tuple[str, list[float]]]:
    """For each figure its unit and a value for each (python, module) of ``peers``; imports are medians, taken in turn."""
    imports: list[list[tuple[float, float]]] = [[] for _ in peers]
    for round_ in range(rounds + 1):
        for peer, found in zip(peers, imports):
            sample = import_figures(*peer)
            if round_:  # the first one may have to read from the disk
                found.append(sample)
    made = {"import": ("s", [statistics.median(seconds for seconds, _ in found) for found in imports])}
    made["memory after the import"] = ("B", [statistics.median(size for _, size in found) for found in imports])
    sizes = [subprocess.run([python, __file__, module], check=True, stdout=subprocess.PIPE) for python, module in peers]
    made["installed with dependencies"] = ("B", [float(size.stdout) for size in sizes])
    for row in MEMORY_ROWS:
        rows = [row_memory(*peer, row, threads) for peer in peers if peer[1] != "numpy"]
        made[f"memory, {row}"] = ("B", rows)
    return made


def required(requirements: list[str]) -> list[str]:
    """The names of the requirements that no extra and no other Python version asks for."""
    plain = [text for text in requirements if ";" not in text]
    return [re.match(r"[\w.-]+", text)[0] for text in plain]  # type: ignore[index]


def folder_size(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts)


def installed(module: str) -> int:
    """Sources and binaries without compiled bytecode. A copy that is not installed counts with the project's requirements."""
    sizes: dict[str, int] = {}
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent
    waiting = [module]
    if module == "livetape":
        sizes[module] = folder_size(folder) + sum(f.stat().st_size for f in folder.parent.glob("livetape__mypyc*"))
        waiting = required(tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]["dependencies"])
    while waiting:
        name = waiting.pop().replace("_", "-").lower()
        if name in sizes:
            continue
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        files = [Path(str(found.locate_file(f))) for f in found.files or () if "__pycache__" not in f.parts]
        sizes[name] = sum(f.stat().st_size for f in files if f.is_file())
        waiting += required(found.requires or [])
    return sum(sizes.values())


if __name__ == "__main__":
    print(installed(sys.argv[1]))
