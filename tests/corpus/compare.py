"""Compares what a corpus program did with what it is recorded to do.

stdout    Exact text, except that floating point numbers compare as numbers (relative 1e-4, absolute 1e-6). Two
          spellings of one number ("2." and "2.0000") differ; a negative zero agrees with a zero.
error     The exception's type name, and its message exactly.
warnings  In order: the category's name and the first 60 characters of the message.

Object addresses, source locations and native traces are blanked first.
"""

from __future__ import annotations

import re
from typing import Any

REL_TOL, ABS_TOL = 1e-4, 1e-6
WARNING_CHARS = 60

Outcome = dict[str, Any]

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")  # not the 0x3 of a shape
_PY_LOCATION = re.compile(r'File "[^"\n]*", line \d+(?:, in [^\n]*)?')
_FILE_LINE = re.compile(r"[\w./\\+-]+\.(?:py|pyi|pyx|cpp|cc|c|hpp|h|cuh|cu|rs):\d+")
_NATIVE_TRACE = re.compile(r"\n+Exception raised from .*", re.DOTALL)
_TRACE_TAIL = re.compile(r'\n\s*File "[^"\n]*", line N?\d*.*', re.DOTALL)
_NEGATIVE_ZERO = re.compile(r"-(0\.0*)(?![\d.])")
_FLOAT = re.compile(r"[-+]?(?:\d+\.\d*|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?")


def normalise(text: str) -> str:
    """Blank what may differ between two runs of one program."""
    text = _NATIVE_TRACE.sub("", _ADDRESS.sub("0xADDR", text))
    return _FILE_LINE.sub("FILE:LINE", _PY_LOCATION.sub('File "FILE", line N', text))


def normalise_message(text: str) -> str:
    return "\n".join(line.rstrip() for line in normalise(text).rstrip().split("\n"))


def normalise_outcome(outcome: Outcome) -> Outcome:
    """The outcome in the form in which outcomes are recorded."""
    error = outcome.get("error")
    return {
        "stdout": normalise(outcome.get("stdout", "")),
        "error": error and {"type": error["type"], "message": normalise_message(error["message"])},
        "warnings": [
            (entry["category"], _TRACE_TAIL.sub("", normalise_message(entry["message"]))[:WARNING_CHARS])
            for entry in outcome.get("warnings", [])
        ],
    }


def difference(case: Outcome, outcome: Outcome) -> str | None:
    """How an outcome departs from a case's record, in one line; None if it does not."""
    if outcome.get("failure"):
        return outcome["failure"]
    want, got = normalise_outcome(case), normalise_outcome(outcome)
    if want["error"] is None and got["error"] is not None:
        return f"unexpected {got['error']['type']}: {clip(got['error']['message'])}"
    return (
        text_difference(want["stdout"], got["stdout"])
        or error_difference(want["error"], got["error"])
        or warnings_difference(want["warnings"], got["warnings"])
    )


def error_difference(want: Outcome | None, got: Outcome | None) -> str | None:
    if want is None:
        return None
    if got is None:
        return f"expected {want['type']}, no error raised"
    if want["type"] != got["type"]:
        return f"expected {want['type']}, got {got['type']}: {clip(got['message'])}"
    if want["message"] != got["message"]:
        return f"error message: expected {clip(want['message'])}, got {clip(got['message'])}"
    return None


def warnings_difference(want: list[tuple[str, str]], got: list[tuple[str, str]]) -> str | None:
    for expected, seen in zip(want, got, strict=False):
        if expected != seen:
            return f"warning: expected {clip(': '.join(expected))}, got {clip(': '.join(seen))}"
    if len(want) > len(got):
        return f"missing warning: {clip(': '.join(want[len(got)]))}"
    if len(got) > len(want):
        return f"unexpected warning: {clip(': '.join(got[len(want)]))}"
    return None


def text_difference(want: str, got: str) -> str | None:
    """How two printed texts differ, in one line; None if they agree."""
    reason = number_difference(want, got)
    if reason is None:
        return None
    # The sign of a zero also moves the columns around it.
    one_sided = bool(_NEGATIVE_ZERO.search(want)) != bool(_NEGATIVE_ZERO.search(got))
    if one_sided and number_difference(without_negative_zeros(want), without_negative_zeros(got)) is None:
        return None
    want_lines, got_lines = want.split("\n"), got.split("\n")
    for number, (a, b) in enumerate(zip(want_lines, got_lines, strict=False), 1):
        if number_difference(a, b) is not None:
            return f"stdout line {number}: expected {clip(a)}, got {clip(b)}"
    if len(want_lines) > len(got_lines):
        return f"stdout ends early: expected {clip(want_lines[len(got_lines)])} next"
    if len(got_lines) > len(want_lines):
        return f"stdout goes on: {clip(got_lines[len(want_lines)])}"
    return reason or "stdout differs"


def number_difference(want: str, got: str) -> str | None:
    """A reason if some number disagrees, "" if the text around the numbers does, None if all agree."""
    if want == got:
        return None
    if _FLOAT.split(want) != _FLOAT.split(got):
        return ""
    for a, b in zip(_FLOAT.findall(want), _FLOAT.findall(got), strict=True):
        if not numbers_agree(a, b):
            return f"expected number {a}, got {b}"
    return None


def numbers_agree(want: str, got: str) -> bool:
    if want == got:
        return True
    a, b = float(want), float(got)
    if a == b:  # one number in two spellings: only the sign of a zero may differ
        return a == 0.0 and want.lstrip("+-") == got.lstrip("+-")
    return abs(a - b) <= max(ABS_TOL, REL_TOL * max(abs(a), abs(b)))


def without_negative_zeros(text: str) -> str:
    return _NEGATIVE_ZERO.sub(r"\1", text).replace(" ", "")


def clip(text: str, width: int = 110) -> str:
    """A value on one line, cut to a readable width."""
    text = repr(text)
    return text if len(text) <= width else text[: width - 3] + "..."
