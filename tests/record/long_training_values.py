"""Record tests/data/long_training.json: ``python tests/record/long_training_values.py`` with torch 2.13 installed."""

from __future__ import annotations

import json
import pathlib
import sys

import torch

TESTS = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))
from long_training import CASES, trained  # noqa: E402

if __name__ == "__main__":
    found = {case: trained(torch, *CASES[case]) for case in CASES}
    (TESTS / "data" / "long_training.json").write_text(json.dumps(found, indent=0) + "\n")
