"""What a report of a fault should tell about the machine: ``python -m livetape.utils.collect_env``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

from livetape.backends import cpu
from livetape.threads import get_num_threads
from livetape.version import __version__, torch_version

_LIBRARIES = ("numpy", "scipy", "ml_dtypes", "threadpoolctl", "rich", "safetensors", "torch", "torchvision")


def get_env_info() -> dict[str, Any]:
    """What there is, by name."""
    found: dict[str, Any] = {
        "PyTorch version": f"{torch_version} (livetape {__version__})",
        "Is debug build": False,
        "CUDA used to build PyTorch": "None",
        "OS": platform.platform(),
        "Python version": sys.version.replace("\n", " "),
        "Is CUDA available": False,
        "CPU": platform.processor() or platform.machine(),
        "Number of CPUs": os.cpu_count(),
        "Threads": get_num_threads(),
        "Loops in C++ for": cpu.get_cpu_capability(),
    }
    for name in _LIBRARIES:
        try:
            found[f"[pip3] {name}"] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def get_pretty_env_info() -> str:
    """`get_env_info` as text, a line for each."""
    return "\n".join(f"{name}: {value}" for name, value in get_env_info().items())


def main() -> None:
    """Print it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
