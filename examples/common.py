"""What the examples share: their options, and a progress bar."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
DATA = Path(__file__).parent / "data"
DIGITS = Path(__file__).parent.parent / "src" / "livetape" / "data" / "digits.npz"


def options(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a short run, to see that it works")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="how many threads compute (default: the library's choice)")
    return parser.parse_args()


def track(items: Iterable[T], description: str) -> Iterator[T]:
    """The items, and how far they are: as a bar on a terminal if rich is installed, else nothing."""
    try:
        from rich.progress import track as bar
    except ImportError:
        return iter(items)
    return iter(bar(items, description, transient=True, disable=not sys.stdout.isatty()))
