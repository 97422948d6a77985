"""Record what torch gives for reductions, sorts and scans: ``python tests/record/reduction_values.py`` with torch 2.13.

The expressions are the keys of tests/data/reductions.json, whose values this rewrites; to add a case, add a key there.
"""

from __future__ import annotations

import json
import pathlib
import sys
import warnings

import torch

TESTS = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))
from reduction_cases import outcome  # noqa: E402

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target = TESTS / "data" / "reductions.json"
    cases = json.loads(target.read_text())
    target.write_text(json.dumps({expression: outcome(torch, expression) for expression in cases}, indent=0) + "\n")
