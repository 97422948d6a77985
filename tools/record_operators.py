"""Writes down which operators PyTorch has, and what a run of PyTorch's own operator database found of livetape.

    python tools/record_operators.py RESULTS.json

Needs PyTorch 2.13. RESULTS.json: for each entry of ``op_db`` the outcome of its checks (forward, grad, gradgrad, jvp,
inplace, errors), each with a status ("pass", "fail" or absent where PyTorch itself has none) and the first failure.
The record, tests/data/operators.json, is what tools/write_operators.py makes docs/operators.md of.
"""

from __future__ import annotations

import json
import re
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import torch

RECORD = Path(__file__).parent.parent / "tests" / "data" / "operators.json"
HOMES = ("", "Tensor", "nn.functional", "linalg", "fft", "special", "masked", "signal.windows")
CHECKS = ("forward", "grad", "gradgrad", "jvp", "inplace", "errors")


def home_of(home: str) -> Any:
    """The module or class of a dotted name below torch."""
    found: Any = torch
    for part in home.split(".") if home else ():
        found = getattr(found, part)
    return found


def is_operator(home: str, name: str, value: Any) -> bool:
    """Whether a public name stands for something that computes with tensors."""
    if name.startswith("_") or not callable(value) or isinstance(value, (type, types.ModuleType)):
        return False
    if home == "nn.functional":
        return getattr(value, "__module__", None) not in ("typing", "torch.overrides", "torch._jit_internal")
    if home == "":
        kind = type(value).__name__
        return kind == "builtin_function_or_method" or getattr(value, "__module__", "") == "torch.functional"
    return True


def public() -> list[str]:
    """The dotted names of torch's public operators."""
    found = []
    for home in HOMES:
        owner = home_of(home)
        for name in sorted(dir(owner)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(owner, name, None)
            if is_operator(home, name, value):
                found.append(f"{home}.{name}" if home else name)
    return found


def measured(path: str) -> dict[str, dict[str, str]]:
    """The outcome of each check of each entry of the database; of a failure, what it says."""
    found: dict[str, dict[str, str]] = {}
    for entry in json.loads(Path(path).read_text())["results"]:
        checks = {}
        for check in CHECKS:
            outcome = entry["checks"].get(check)
            if outcome is None or not outcome["eligible"]:
                continue
            checks[check] = "" if outcome["status"] == "pass" else brief(outcome["reason"] or outcome["status"])
        found[entry["name"]] = checks if entry["present"] else {"missing": ""}
        if entry["status"] == "skip":
            found[entry["name"]] = {"skipped": brief(entry.get("reason") or "")}
    return found


def brief(reason: str) -> str:
    """A failure in a few words."""
    reason = re.sub(r"\s+", " ", reason)
    close = r"values are not close! Mismatched elements: (\d+ / \d+).*?absolute difference: (\S+).*"
    reason = re.sub(close, r"\1 differ, by \2", reason)
    return reason.split(" livetape:")[0][:160]


def main() -> None:
    """Write the record."""
    record = {"torch": torch.__version__.split("+")[0], "database": measured(sys.argv[1]), "public": public()}
    RECORD.write_text(json.dumps(record, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
