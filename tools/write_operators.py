"""Writes docs/operators.md: every operator that PyTorch has, and what livetape has of it.

    python tools/write_operators.py

From tests/data/operators.json (what PyTorch has, and what its operator database found, see tools/record_operators.py), the
table of rows, and the samples in tests/samples. tests/test_operators.py fails where the page lags behind.
"""

from __future__ import annotations

import json
import sys
import warnings
from functools import reduce
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import numpy as np  # noqa: E402
from samples import Sample, everything  # noqa: E402

import livetape  # noqa: E402
from livetape._tape.modes import pop_interposer, push_interposer  # noqa: E402
from livetape.autograd._dual import run_below  # noqa: E402
from livetape.ops.table import BATCH, TABLE  # noqa: E402

RECORD = ROOT / "tests" / "data" / "operators.json"
PAGE = ROOT / "docs" / "operators.md"

# Why what is not here is not here: by a part of the name, the first that fits.
REASONS = {
    "sparse": "tensors are dense",
    "to_padded_tensor": "tensors are dense",
    "coalesce": "tensors are dense",
    "indices": "tensors are dense",
    "Tensor.values": "tensors are dense",
    "values_copy": "tensors are dense",
    "to_mkldnn": "tensors are dense",
    "saddmm": "tensors are dense",
    "hspmm": "tensors are dense",
    "hsmm": "tensors are dense",
    "dsmm": "tensors are dense",
    "spmm": "tensors are dense",
    "smm": "tensors are dense",
    "crow": "tensors are dense",
    "ccol": "tensors are dense",
    "jiterator": "compiles CUDA code",
    "cudnn": "runs on CUDA alone",
    "miopen": "runs on ROCm alone",
    "batch_norm_update_stats": "not offered yet",
    "batch_norm_": "runs on CUDA alone",
    "grouped_mm": "runs on CUDA alone",
    "scaled_mm": "runs on CUDA alone",
    "_scaled_mm": "runs on CUDA alone",
    "_flash_attention": "runs on CUDA alone",
    "_efficient_attention": "runs on CUDA alone",
    "without_cudnn": "runs on CUDA alone",
    "record_stream": "runs on CUDA alone",
    "mkldnn": "names a library that torch calls, not an operation",
    "fbgemm": "quantized numbers are not offered",
    "quant": "quantized numbers are not offered",
    "qscheme": "quantized numbers are not offered",
    "q_": "quantized numbers are not offered",
    "int_repr": "quantized numbers are not offered",
    "choose_qparams": "quantized numbers are not offered",
    "sym_": "for graphs of symbolic shapes",
    "import_ir": "for TorchScript",
    "parse_": "for TorchScript",
    "merge_type": "for TorchScript",
    "unify_type": "for TorchScript",
    "fork": "for TorchScript",
    "wait": "for TorchScript",
    "chalf": "complex32 is not stored",
    "as_masked_tensor": "tensors that carry a mask, a prototype in torch",
    "is_masked_tensor": "tensors that carry a mask, a prototype in torch",
    "masked_tensor": "tensors that carry a mask, a prototype in torch",
    "native_norm": "has no kernel for dense tensors in torch either",
    "is_vulkan": "asks about a device that is not there",
    "vulkan": "asks about a device that is not there",
    "ipu": "asks about a device that is not there",
    "xpu": "asks about a device that is not there",
    "mtia": "asks about a device that is not there",
    "handle_torch_function": "in `torch.overrides` alone",
    "has_torch_function": "in `torch.overrides` alone",
}


def resolve(path: str) -> Any:
    """What livetape has under a dotted name, or None."""
    found: Any = livetape
    for part in path.split("."):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = getattr(found, part)
            except (AttributeError, ImportError):
                return None
    return found


def reason_for(path: str) -> str:
    """Why an operator is not offered."""
    return next((reason for part, reason in REASONS.items() if part in path), "not offered yet")


# ---------------------------------------------------------------- what the rows say
class Watch:
    """An interposer that notes which rows are run."""

    watches = True

    def __init__(self) -> None:
        self.rows: set[Any] = set()

    def intercept(self, op: Any, args: Any, kwargs: Any) -> Any:
        """Note the row, and run it."""
        self.rows.add(op)
        return run_below(op, args, kwargs)


def tensors(value: Any) -> Any:
    """The arguments of a sample."""
    if isinstance(value, np.ndarray):
        return livetape.from_numpy(value.copy())
    if isinstance(value, (list, tuple)):
        return type(value)(tensors(v) for v in value)
    return value


def rows_of(sample: Sample) -> set[Any]:
    """The rows that a sample runs."""
    watch = Watch()
    args = tensors(sample.args)
    kwargs = {name: tensors(value) for name, value in sample.kwargs.items()}
    push_interposer(watch)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function: Any = reduce(getattr, sample.fn.split("."), livetape)
            function(*args, **kwargs)
    finally:
        pop_interposer()
    return watch.rows


def has_rule(row: Any) -> bool:
    """Whether a row says how it runs on batches."""
    return row.is_elementwise() or row in BATCH or bool({"law", "bits"} & set(row.params))


def batching() -> dict[str, str]:
    """For each function that has samples: "rule" if all rows that it runs have a rule for batches, else "loop"."""
    found: dict[str, str] = {}
    for sample in everything():
        if sample.fn not in found:
            found[sample.fn] = "rule" if all(has_rule(row) for row in rows_of(sample)) else "loop"
    return found


# ---------------------------------------------------------------- the page
def yes(checks: dict[str, str], check: str) -> str:
    """A cell of the table."""
    if check not in checks:
        return ""
    return "differs" if checks[check] else "yes"


def difference(checks: dict[str, str]) -> str:
    """What the database found to differ."""
    found = [f"{check}: {text}" for check, text in checks.items() if text]
    return "; ".join(found).replace("|", "\\|")


def in_place(name: str) -> str:
    """Whether there is an in-place variant."""
    return "yes" if resolve(f"Tensor.{name.split('.')[-1]}_") is not None else ""


def database_table(database: dict[str, dict[str, str]]) -> list[str]:
    """The entries of the operator database."""
    batches = batching()
    lines = [
        "| operator | here | derivative | second | forward mode | batches | in place | measured difference |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, checks in sorted(database.items()):
        plain = name if resolve(name) is not None or "." not in name else name.rpartition(".")[0]
        if "missing" in checks or "skipped" in checks:
            lines.append(f"| `{name}` | no | | | | | | {reason_for(name)} |")
            continue
        batch = batches.get(name) or batches.get(plain) or ("" if "grad" not in checks else "composed")
        cells = [yes(checks, check) for check in ("grad", "gradgrad", "jvp")]
        lines.append(f"| `{name}` | yes | {' | '.join(cells)} | {batch} | {in_place(plain)} | {difference(checks)} |")
    return lines


def others(record: dict[str, Any]) -> tuple[list[str], dict[str, list[str]]]:
    """Public operators that the database does not list: those that are here, and by reason those that are not."""
    listed = set(record["database"]) | {f"Tensor.{name}" for name in record["database"]}
    here: list[str] = []
    missing: dict[str, list[str]] = {}
    for path in record["public"]:
        if path in listed or path.removeprefix("Tensor.") in listed:
            continue
        if resolve(path) is not None:
            here.append(path)
        else:
            missing.setdefault(reason_for(path), []).append(path)
    return here, missing


def wrapped(names: list[str]) -> list[str]:
    """Names in lines of readable length."""
    lines = [""]
    for name in names:
        word = f"`{name}`"
        if len(lines[-1]) + len(word) > 116:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def page() -> str:
    """The text of the page."""
    record = json.loads(RECORD.read_text())
    database = record["database"]
    here, missing = others(record)
    counts = {
        check: (
            sum(1 for checks in database.values() if checks.get(check) == ""),
            sum(1 for checks in database.values() if check in checks),
        )
        for check in ("forward", "grad", "gradgrad", "jvp", "inplace", "errors")
    }
    present = sum(1 for checks in database.values() if not {"missing", "skipped"} & set(checks))
    rules = sum(1 for row in TABLE.values() if has_rule(row))
    text = [
        "# Operators",
        "",
        f"What PyTorch {record['torch']} has, and what livetape has of it. This page is written by "
        "`tools/write_operators.py`;",
        "what was measured was measured with PyTorch's own operator database, in float64, float32, complex128, int64 and",
        "bool, each sample run on both libraries.",
        "",
        f"Of the database's {len(database)} entries {present} are here. In how many of them all samples agree with PyTorch:",
        "",
        "| check | entries that agree in all samples | entries here for which PyTorch has the check |",
        "|---|---|---|",
        *[
            f"| {label} | {counts[check][0]} | {counts[check][1]} |"
            for check, label in (
                ("forward", "value, dtype and shape"),
                ("grad", "gradient"),
                ("gradgrad", "second order"),
                ("jvp", "forward mode"),
                ("inplace", "in place"),
                ("errors", "type and message of errors"),
            )
        ],
        "",
        f"The table of derivatives has {len(TABLE)} rows, {rules} of which say how they run on batches; the others run",
        "sample by sample inside `vmap`, with a warning.",
        "",
        "## The database's entries",
        "",
        '*derivative*, *second*, *forward mode*: "yes" where all samples agree with PyTorch\'s, empty where PyTorch has none.',
        '*batches*: "rule" if all that the operator runs has a rule for `vmap`, "loop" if something runs sample by sample,',
        '"composed" where it is a function of operators that have samples of their own.',
        "",
        *database_table(database),
        "",
        "## Other public operators that are here",
        "",
        *wrapped(here),
        "",
        "## Operators that are not here, and why",
        "",
    ]
    for reason, names in sorted(missing.items()):
        text += [f"### {reason[:1].upper()}{reason[1:]}", "", *wrapped(names), ""]
    return "\n".join(text).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
