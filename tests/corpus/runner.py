"""Runs the corpus: short programs with what PyTorch printed, raised and warned for each.

    python tests/corpus/runner.py [ID ...] [--group GROUP] [--update] [--reference]

Without arguments: every case, the tally of each group, and why those that failed did. --update rewrites
known_failures.txt from this run, keeping the reasons there that begin with "by choice:". --reference measures the
PyTorch that is installed, instead of livetape.

A worker process imports livetape once and forks a child for each case, so that warn-once flags, default dtypes
and random states do not leak from one case into the next, and a crash ends that case alone.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import importlib
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import traceback
import types
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import compare

HERE = Path(__file__).parent
KNOWN_FAILURES = HERE / "known_failures.txt"
CASE_SECONDS = 60.0
START_SECONDS = 180.0


def load_cases() -> list[compare.Outcome]:
    return [
        case
        for name in ("cases.json", "reports.json", "stack.json")
        for case in json.loads((HERE / name).read_text("utf-8"))
    ]


def load_known_failures() -> dict[str, str]:
    """The reason for each case that is known to fail."""
    lines = KNOWN_FAILURES.read_text("utf-8").splitlines() if KNOWN_FAILURES.exists() else []
    entries = [line.partition(" ") for line in lines if line.strip() and not line.startswith("#")]
    return {name: reason.strip() for name, _, reason in entries}


# ---------------------------------------------------------------- in the worker


def execute(source: str) -> compare.Outcome:
    """Run one program as ``__main__``: what it printed, raised and warned."""
    out, error = io.StringIO(), None
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.resetwarnings()
        warnings.simplefilter("always")
        try:
            exec(compile(source, "<case>", "exec"), main.__dict__)
        except BaseException as fault:  # SystemExit and the like are outcomes too
            try:
                message = str(fault)
            except Exception as inner:
                message = f"<unprintable: {type(inner).__name__}>"
            error = {"type": type(fault).__name__, "message": message}
    found = [{"category": entry.category.__name__, "message": str(entry.message)} for entry in caught]
    return {"stdout": out.getvalue(), "error": error, "warnings": found}


def load_reference() -> None:
    """PyTorch loads these on first use, slowly and with warnings of their own: keep both out of the cases."""
    for late in ("torch", "torch._dynamo", "torch._decomp.decompositions_for_jvp"):
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(late)


def serve(reference: bool) -> None:
    """Answer cases: one JSON request a line on stdin, one reply a line on what was stdout."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)

    def send(message: compare.Outcome) -> None:
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    try:
        if reference:
            load_reference()
        else:
            importlib.import_module("livetape.alias").install()
            importlib.import_module("torch")
    except BaseException:
        send({"fatal": traceback.format_exc()})
        return
    send({"ready": True})
    for line in sys.stdin:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # forking beside threads may warn
            child = os.fork()
        if child == 0:
            status = 1
            try:
                os.dup2(null, 0)
                os.dup2(null, 2)
                send(execute(json.loads(line)))
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            send({"failure": f"crashed: {signal.Signals(os.WTERMSIG(status)).name}"})
        elif os.WEXITSTATUS(status):
            send({"failure": f"ended its process (status {os.WEXITSTATUS(status)})"})


# ---------------------------------------------------------------- at the other end


class Worker:
    """A worker process, started when first needed and replaced when a case takes it down."""

    def __init__(self, reference: bool = False) -> None:
        self.reference = reference
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, source: str) -> compare.Outcome:
        """The outcome of one program."""
        if self.process is None:
            self.start()
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(source).encode() + b"\n")
            self.process.stdin.flush()
            return self.reply(CASE_SECONDS)
        except TimeoutError:
            self.stop()
            return {"failure": f"timed out after {CASE_SECONDS:g} s"}
        except OSError:
            self.stop()
            return {"failure": "the worker process died"}

    def start(self) -> None:
        environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ}
        environment |= {"PYTHONIOENCODING": "utf-8", "PYTHONHASHSEED": "0"}
        command = [sys.executable, __file__, "--serve"] + ["--reference"] * self.reference
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        hello = self.reply(START_SECONDS)
        if "fatal" in hello:
            self.stop()
            raise RuntimeError(hello["fatal"])

    def reply(self, seconds: float) -> compare.Outcome:
        assert self.process is not None and self.process.stdout is not None
        # A reply is one line, written at once: nothing of it waits in the reader's buffer.
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise TimeoutError
        line = self.process.stdout.readline()
        if not line:
            raise OSError("no reply")
        return json.loads(line)

    def stop(self) -> None:
        """End the worker and any child of it."""
        process, self.process = self.process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                stream and stream.close()


def update(cases: list[compare.Outcome], failed: dict[str, str]) -> None:
    """Write the list of known failures anew, as this run found them."""
    known = {name: reason for name, reason in load_known_failures().items() if reason.startswith("by choice:")}
    text = "# Corpus cases that livetape does not pass yet: an id and the reason on each line.\n"
    text += "# A case that passes must be taken out. Rewritten by: python tests/corpus/runner.py --update\n"
    for case in cases:
        if case["id"] in failed:
            text += f"{case['id']} {known.get(case['id']) or without_folders(failed[case['id']])}\n"
    KNOWN_FAILURES.write_text(text, "utf-8")


def without_folders(text: str) -> str:
    return re.sub(r"/[\w./-]*/", "", text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the corpus of recorded PyTorch programs.")
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--group")
    parser.add_argument("--update", action="store_true", help="rewrite known_failures.txt from this run")
    parser.add_argument("--reference", action="store_true", help="run the PyTorch that is installed")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.reference)
        return 0
    cases = load_cases()
    chosen = [
        case
        for case in cases
        if (not options.ids or case["id"] in options.ids) and options.group in (None, case["group"])
    ]
    worker = Worker(options.reference)
    passed: Counter[str] = Counter()
    failed: dict[str, str] = {}
    try:
        for case in chosen:
            reason = compare.difference(case, worker.run(case["source"]))
            passed[case["group"]] += reason is None
            if reason is not None:
                failed[case["id"]] = reason
    finally:
        worker.stop()
    for group, total in Counter(case["group"] for case in chosen).items():
        print(f"{group:16} {passed[group]:4}/{total}")
    for name, reason in failed.items():
        print(f"FAILED {name}: {reason}")
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed")
    if options.update:
        if len(chosen) < len(cases):
            parser.error("--update needs a run of every case")
        update(cases, failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
