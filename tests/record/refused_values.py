"""Records what torch says to calls that fit none of its signatures: python tests/record/refused_values.py, with torch.

The calls are those of refused_calls.txt; ``x`` in them is torch.arange(6.).reshape(2, 3).
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import torch

HERE = Path(__file__).parent

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    recorded = {}
    for call in (HERE / "refused_calls.txt").read_text("utf-8").splitlines():
        try:
            eval(call, {"torch": torch, "x": torch.arange(6.0).reshape(2, 3)})
        except TypeError as error:
            recorded[call] = str(error)
    (HERE.parent / "data" / "refused.json").write_text(json.dumps(recorded, indent=0) + "\n", "utf-8")
