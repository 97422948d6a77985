"""Record what programs about training do: ``python tests/record/stack_programs.py`` with torch 2.13 installed.

Reads tests/record/stack/TOPIC.txt, programs separated by lines of dashes, and writes tests/corpus/stack.json. The value
of a last expression is printed; the modules below are imported as they are used, and the seed is 0.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "corpus"))

import compare  # noqa: E402
import runner  # noqa: E402

IMPORTS = {
    r"\btorch\b": "import torch",
    r"\bnn\.": "from torch import nn",
    r"\bF\.": "import torch.nn.functional as F",
    r"\bnp\.": "import numpy as np",
    **{rf"\b{name}\.": f"import {name}" for name in ("copy", "io", "math", "os", "pickle", "tempfile", "warnings")},
}


def program(text: str) -> str:
    """A case's text as a whole program."""
    body = ast.parse(text).body
    last = body[-1]
    if isinstance(last, ast.Expr) and not ast.unparse(last).startswith("print("):
        lines = text.split("\n")
        before = "\n".join(lines[: last.lineno - 1])
        tail = "\n".join(lines[last.lineno - 1 :])
        head, tail = tail.encode()[: last.col_offset].decode(), tail.encode()[last.col_offset :].decode()
        text = "\n".join(part for part in (before, f"{head}print({tail.rstrip().rstrip(';')})") if part)
        ast.parse(text)
    wanted = [line for pattern, line in IMPORTS.items() if re.search(pattern, text) or "import torch" == line]
    return "\n".join([*wanted, "torch.manual_seed(0)", text]) + "\n"


def cases() -> list[dict[str, Any]]:
    """All programs, with an id by topic and by place."""
    found = []
    for path in sorted((TESTS / "record" / "stack").glob("*.txt")):
        texts = [text.strip("\n") for text in re.split(r"^-{3,}$", path.read_text(), flags=re.M)]
        for number, text in enumerate(texts):
            title = text.split("\n")[-1][:80]
            found.append(
                {
                    "id": f"stack_{path.stem}.{number:03}",
                    "group": f"stack_{path.stem}",
                    "title": title,
                    "source": program(text),
                }
            )
    return found


if __name__ == "__main__":
    worker = runner.Worker(reference=True)
    recorded = []
    for case in cases():
        outcome = worker.run(case["source"])
        outcome["stdout"] = compare.normalise(outcome["stdout"])
        recorded.append(case | outcome)
    worker.stop()
    (TESTS / "corpus" / "stack.json").write_text(json.dumps(recorded, indent=1) + "\n")
    print(len(recorded), "programs,", sum(case["error"] is not None for case in recorded), "of them with an error")
