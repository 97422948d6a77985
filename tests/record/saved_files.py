"""Write the files of tests/data/saved with torch: ``python tests/record/saved_files.py`` with torch 2.13."""

from __future__ import annotations

import pathlib
import sys

import torch

TESTS = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))
from saved_objects import objects  # noqa: E402


class Net(torch.nn.Module):
    """Found in test_serialization by the same name."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.LayerNorm(2)])
        self.scale = torch.nn.ParameterList([torch.ones(1)])
        self.register_buffer("shift", torch.ones(2))
        self.function = torch.relu


Net.__module__ = "test_serialization"
Net.__qualname__ = "Net"

if __name__ == "__main__":
    import types

    sys.modules["test_serialization"] = types.ModuleType("test_serialization")
    sys.modules["test_serialization"].Net = Net
    target = TESTS / "data" / "saved"
    target.mkdir(exist_ok=True)
    made = objects(torch)
    for name, value in made.items():
        torch.save(value, target / f"{name}.pt")
    legacy = {name: made[name] for name in ("views", "dtypes", "python", "leaves", "training", "small")}
    legacy["conj"] = (torch.ones(2) * 1j).conj()
    torch.save(legacy, target / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.manual_seed(0)
    torch.save(Net(), target / "module.pt")
    lazy = [torch.tensor([1 + 2j, 3 - 1j]).conj() for _ in range(2)]
    torch.save([lazy[0], lazy[1].imag], target / "lazy.pt")
