"""Record what torch's data loading gives: ``python tests/record/loading_values.py`` with torch 2.13.

The expressions are the keys of tests/data/loading.json, whose values this rewrites; to add a case, add a key there.
"""

from __future__ import annotations

import json
import pathlib
import sys

import torch
import torch.utils.data

TESTS = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))
from loading_cases import namespace, outcome  # noqa: E402

if __name__ == "__main__":
    target = TESTS / "data" / "loading.json"
    names = namespace(torch, torch.utils.data)
    cases = json.loads(target.read_text())
    target.write_text(json.dumps({case: outcome(names, case) for case in cases}, indent=0) + "\n")
