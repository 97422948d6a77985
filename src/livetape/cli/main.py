"""The ``livetape`` command: its arguments, and which part answers them."""

from __future__ import annotations

import argparse
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec

from livetape.cli import demo, run
from livetape.version import __version__


def build_kind() -> str:
    """How this copy of livetape was installed: ``compiled`` or ``pure Python``."""
    spec = find_spec("livetape._tape.tensor")
    origin = (spec and spec.origin) or ""
    return "compiled" if origin.endswith(tuple(EXTENSION_SUFFIXES)) else "pure Python"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="livetape", description="Define-by-run automatic differentiation on NumPy, with PyTorch's API."
    )
    top.add_argument("--version", action="version", version=f"livetape {__version__} ({build_kind()})")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    # Only for the list of commands: what follows `run` belongs to the program.
    commands.add_parser("run", help="run a program written for PyTorch: `import torch` gives livetape", add_help=False)
    demo.add_arguments(commands.add_parser("demo", help="show the tape at work, then train a classifier of digits"))
    return top


def main(arguments: list[str] | None = None) -> int:
    """Answer one command line (by default the process's own); the exit status."""
    if arguments is None:
        arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        return run.run(arguments[1:])
    return demo.demo(parser().parse_args(arguments))
