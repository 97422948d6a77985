"""Record what shape, index and creation functions give: ``python tests/record/shape_values.py`` with torch 2.13.

Reads the calls in tests/record/shape_calls.txt and writes their outcomes to tests/data/shapes.json.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from shape_cases import run  # noqa: E402


def sections() -> dict[str, tuple[str, list[str]]]:
    """The calls by family: ``[name]``, the statements that make the inputs, ``---``, one call a line."""
    found = {}
    for part in (HERE / "shape_calls.txt").read_text().split("\n\n[")[1:]:
        name, rest = part.split("]\n", 1)
        inputs, calls = rest.split("\n---\n", 1)
        found[name] = (inputs, [c for c in calls.split("\n") if c.strip()])
    return found


def main() -> None:
    data: dict[str, Any] = {}
    for name, (inputs, calls) in sections().items():
        data[name] = {"inputs": inputs, "calls": {call: run(torch, inputs, call) for call in calls}}
    lines = []
    for name, family in data.items():
        calls = ",\n".join(f"{json.dumps(c)}: {json.dumps(o)}" for c, o in family["calls"].items())
        lines.append(f'"{name}": {{"inputs": {json.dumps(family["inputs"])}, "calls": {{\n{calls}}}}}')
    (HERE.parent / "data" / "shapes.json").write_text("{\n" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
