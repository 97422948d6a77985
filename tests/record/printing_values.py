"""Record how torch prints: ``python tests/record/printing_values.py`` with torch 2.13 installed.

Writes tests/data/printing.json, a list of cases. ``array`` is a NumPy expression, so that a case can be read and
typed in again; the generator is NumPy's frozen one.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import torch
from torch._tensor_str import printoptions

FLOATS = ["float16", "float32", "float64", "bfloat16"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
SPECIAL = [
    "np.array(3.0)",
    "np.array(-0.0)",
    "np.array(3.14159265)",
    "np.array(np.nan)",
    "np.array(-np.inf)",
    "np.array(1.2345e-5)",
    "np.array(1234567.0)",
    "np.array([1.0, 2.0, 3.0])",
    "np.array([1.0, 2.5, 3.0])",
    "np.array([-0.0, 0.0])",
    "np.array([-0.0, 1.5])",
    "np.array([np.nan, np.inf, -np.inf])",
    "np.array([np.nan, 1.0])",
    "np.array([np.nan, 1.0, -2.0])",
    "np.array([np.inf, 0.5])",
    "np.array([np.inf, 1e-7])",
    "np.array([1.0, 1000.0])",
    "np.array([1.0, 1001.0])",
    "np.array([0.5, 500.0])",
    "np.array([0.5, 500.5])",
    "np.array([1e8])",
    "np.array([1.001e8])",
    "np.array([1e-4])",
    "np.array([0.99e-4])",
    "np.array([0.00015, -0.00005])",
    "np.array([9.99995, 99.99994])",
    "np.array([65504.0, 1.0])",
    "np.array([-1.0, 2.0, 10.0])",
    "np.array([[1.5, np.nan], [-np.inf, 22.0]])",
    "np.zeros((2, 50))",
    "-np.zeros(40)",
    "np.zeros(1500)",
    "np.ones(0)",
    "np.ones((0, 3))",
    "np.ones((2, 0, 1))",
    "np.ones((1, 2, 1, 3, 2))",
    "np.arange(24.0) / 8",
]
RANDOM = [
    "np.random.RandomState(0).standard_normal((3, 4))",
    "np.random.RandomState(1).standard_normal((2, 3, 13)) * 1e-3",
    "np.random.RandomState(2).standard_normal((12, 12)) * 100",
    "np.random.RandomState(3).randint(-50, 50, (2, 2, 2, 9)) * 1.0",
    "np.random.RandomState(4).standard_normal(1001)",
    "np.random.RandomState(5).standard_normal((8, 7, 6, 5))",
    "np.random.RandomState(6).randint(-9, 9, (300, 7)) * 1.0",
    "np.random.RandomState(7).standard_normal((40, 30))[::-2, ::-1].T",
]
WHOLE = [
    "np.array(7)",
    "np.arange(30)",
    "np.arange(44).reshape(2, 22)",
    "np.arange(60).reshape(3, 4, 5)[::-1, ::2]",
    "np.ones(0)",
    "np.ones((3, 0))",
    "np.arange(1001) % 100",
    "np.arange(2500).reshape(50, 50) % 120",
]
EXTREME = [(f"np.array([np.iinfo('{kind}').min, 0, np.iinfo('{kind}').max])", kind) for kind in INTEGERS]
COMPLEX = [
    "np.array([1 + 2j, -0.5j])",
    "np.array(3 - 1j)",
    "np.array([[1j, 2], [3.25, 4 - 4j]])",
    "np.zeros(3, complex)",
    "np.array([complex(np.nan, -np.inf), complex(-0.0, np.nan), complex(1e-5, -0.0)])",
    "np.ones((0, 2))",
    "np.random.RandomState(8).standard_normal((5, 7)) * (1 - 1000j)",
    "np.arange(1200).reshape(2, 600) * (1 + 0.5j)",
    "np.arange(40) * (1 - 10j)",
]
OPTIONS: list[dict[str, Any]] = [
    {"precision": 2},
    {"precision": 0},
    {"precision": 10},
    {"sci_mode": True},
    {"sci_mode": False},
    {"linewidth": 30},
    {"linewidth": 1},
    {"linewidth": 200},
    {"threshold": 5},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 0},
    {"threshold": 5, "edgeitems": 0},
    {"edgeitems": 0},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "unknown"},
    {"profile": "short", "edgeitems": 1, "threshold": 2, "sci_mode": True},
]
UNDER_OPTIONS = [
    ("np.array([1 / 3, 1000.5])", "float32"),
    ("np.arange(30)", "int64"),
    ("np.array(0.1)", "float32"),
    ("np.random.RandomState(9).standard_normal((9, 8))", "float64"),
    ("np.zeros((4, 9))", "float32"),
    ("np.arange(96).reshape(2, 8, 6) * (1 - 2.5j)", "complex64"),
    ("np.arange(1200) / 4", "float32"),
    ("np.array([1e-6, 1e6])", "float32"),
    ("np.array([np.nan, 0.0])", "float32"),
]


def text_of(expression: str, kind: str, grad: str | None) -> str:
    array = eval(expression, {"np": np})
    tensor = torch.from_numpy(np.array(array, order="C")).to(getattr(torch, kind))
    if grad is not None:
        tensor.requires_grad_()
    if grad == "node":
        tensor = tensor.view_as(tensor)
    return repr(tensor)


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def record(array: str, dtype: str, *, grad: str | None = None, default: str = "float32", **options: Any) -> None:
        torch.set_default_dtype(getattr(torch, default))
        with printoptions(**options):
            text = text_of(array, dtype, grad)
        torch.set_default_dtype(torch.float32)
        case = {"array": array, "dtype": dtype, "grad": grad, "default": default, "options": options, "text": text}
        found.append({name: value for name, value in case.items() if value or name in ("array", "text")})

    for array in SPECIAL + RANDOM:
        record(array, "float32")
    for count, array in enumerate(SPECIAL + RANDOM):
        record(array, ["float64", "float16", "bfloat16"][count % 3], grad=[None, "leaf", "node"][count // 3 % 3])
    for count, array in enumerate(WHOLE * 2):
        record(array, INTEGERS[count * 3 % 8])
    for array, dtype in EXTREME:
        record(array, dtype)
    for array in (
        "np.array(True)",
        "np.array([True, False])",
        "np.ones((2, 3), bool)",
        "np.ones((0, 1), bool)",
        "np.arange(1500) % 7 > 0",
    ):
        record(array, "bool")
    for count, array in enumerate(COMPLEX * 2):
        record(array, ["complex64", "complex128"][count // len(COMPLEX)], grad=[None, "leaf", "node"][count % 3])
    for default in ("float64", "float16", "bfloat16"):
        for dtype in ("float32", "float64", "float16", "complex64", "complex128", "int64", "int32", "bool"):
            record("np.array([1, 0])", dtype, default=default)
            record("np.ones(0)", dtype, default=default)
    for options in OPTIONS:
        for array, dtype in UNDER_OPTIONS:
            record(array, dtype, **options)
    for length in range(60, 84):  # every place where the suffix can meet the end of the line
        record(f"np.zeros({length // 4})", "float32", grad="node", linewidth=length)
        record(f"np.array([1.5, {10 ** (length % 9)}.5])", "float64", grad="leaf", linewidth=length)
    return found


if __name__ == "__main__":
    path = pathlib.Path(__file__).parents[1] / "data" / "printing.json"
    lines = ",\n".join(json.dumps(case) for case in cases())
    path.write_text(f"[\n{lines}\n]\n")
