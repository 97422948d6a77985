"""``livetape run``: what ``python`` does with a program, with ``import torch`` giving livetape."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import os
import runpy
import signal
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType, TracebackType

from livetape import alias

USAGE = """\
usage: livetape run SCRIPT [ARG ...]
       livetape run -m MODULE [ARG ...]
       livetape run -c COMMAND [ARG ...]
       livetape run - [ARG ...]

Run a Python program written for PyTorch: exactly as `python SCRIPT ARG ...` would,
but `import torch` gives livetape, in the program and in the processes it starts.
For the interpreter's own options: python -W error -m livetape run SCRIPT
"""

SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim")


def run(arguments: list[str]) -> int:
    """Run the program that the arguments name, as ``__main__``; the exit status if it ends by itself."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    first, rest = arguments[0], arguments[1:]
    if first in ("-m", "-c"):
        if not rest:
            print(f"livetape run: argument expected for the {first} option\n{USAGE}", end="", file=sys.stderr)
            return 2
        prepare([first, *rest[1:]], os.getcwd() if first == "-m" else "")
        return watched(run_module if first == "-m" else run_command, rest[0])
    if first == "-":
        prepare(arguments, "")
        return watched(run_text, sys.stdin.read(), "<stdin>")
    if first.startswith("-"):
        print(f"livetape run: unknown option {first}\n{USAGE}", end="", file=sys.stderr)
        return 2
    path = os.path.abspath(first)
    if os.path.isdir(path):
        prepare(arguments, path)
        return watched(runpy.run_path, path, None, "__main__")
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as fault:
        print(f"livetape: can't open file {path!r}: [Errno {fault.errno}] {fault.strerror}", file=sys.stderr)
        return 2
    prepare(arguments, os.path.dirname(os.path.realpath(path)))
    return watched(run_text, source, path)


def prepare(argv: list[str], folder: str) -> None:
    """Set what a program can see of how it was started: its arguments, its import path, and torch."""
    sys.argv[:] = argv
    if not sys.flags.safe_path:
        sys.path[0] = folder
    alias.install()
    # Processes that start afresh, instead of forking, find torch by these: by the first if multiprocessing made them.
    sys.path.insert(1, SHIM)
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = SHIM + os.pathsep + inherited if inherited else SHIM


def new_main(path: str | None) -> ModuleType:
    """A fresh ``__main__``, in which the program's classes can be pickled."""
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={})
    if path is not None:
        main.__dict__.update(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path))
    sys.modules["__main__"] = main
    return main


def run_text(source: str | bytes, name: str) -> None:
    code = compile(source, name, "exec", dont_inherit=True)
    exec(code, new_main(None if name.startswith("<") else name).__dict__)


def run_command(source: str) -> None:
    run_text(source, "<string>")


def run_module(name: str) -> None:
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def watched(program: object, *arguments: object) -> int:
    """Run the program; report an exception as the interpreter would, without the frames of this runner."""
    interrupted: list[bool] = []
    # Registered before the program's own exit functions, so it is called after them.
    atexit.register(end_by_signal, interrupted)
    try:
        program(*arguments)  # type: ignore[operator]
    except SystemExit:
        raise
    except BaseException as fault:
        trace = without_runner(fault.__traceback__)
        fault.__traceback__ = trace
        sys.last_type, sys.last_value, sys.last_traceback = type(fault), fault, trace
        sys.excepthook(type(fault), fault, trace)
        if isinstance(fault, KeyboardInterrupt):
            interrupted.append(True)
        return 1
    return 0


def without_runner(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file != __file__ and not file.startswith("<frozen runpy") and os.path.basename(file) != "runpy.py":
            break
        trace = trace.tb_next
    return trace


def end_by_signal(interrupted: list[bool]) -> None:
    """After an unhandled Ctrl-C end by the signal itself, as Python does, so that shells notice."""
    if interrupted:
        for stream in (sys.stdout, sys.stderr):  # not flushed by an end like this
            with contextlib.suppress(Exception):
                stream.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
