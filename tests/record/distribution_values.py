"""Record what distributions give: ``python tests/record/distribution_values.py`` with torch 2.13 installed.

Runs the programs of distribution_cases.py and writes tests/data/distributions.json.
"""

from __future__ import annotations

import json
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from distribution_cases import programs, run  # noqa: E402


def main() -> None:
    cases = []
    for program, single in programs():
        case = {"program": program, **run(torch, torch.distributions, program, single)}
        if single:
            case["single"] = True
        cases.append(case)
    lines = ",\n".join(json.dumps(case) for case in cases)
    (HERE.parent / "data" / "distributions.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
