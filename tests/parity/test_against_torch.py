"""The samples of the derivative table and the corpus, against the PyTorch that is installed.

Both libraries are loaded in one process; every sample runs on each, and values, dtypes, node names and gradients are
compared. The corpus is run on torch itself, so that a record that no longer holds is noticed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import livetape

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "corpus")]
import compare  # noqa: E402
import runner  # noqa: E402
from samples import Sample, everything  # noqa: E402

SAMPLES = everything()


def to_tensors(library: Any, value: Any, leaves: list[Any], grad: bool) -> Any:
    if isinstance(value, np.ndarray):
        tensor = library.from_numpy(value.copy())
        if grad and value.dtype.kind in "fc":
            tensor.requires_grad_()
            leaves.append(tensor)
        return tensor
    if isinstance(value, (list, tuple)):
        return type(value)(to_tensors(library, v, leaves, grad) for v in value)
    return value


def run(library: Any, sample: Sample) -> tuple[list[Any], list[Any]]:
    """The outputs of a sample, and the gradients of its leaves for a fixed cotangent."""
    library.manual_seed(1)  # lobpcg starts from a draw, which decides the sign of what it finds
    leaves: list[Any] = []
    args = to_tensors(library, sample.args, leaves, sample.grad)
    kwargs = {k: to_tensors(library, v, leaves, sample.grad) for k, v in sample.kwargs.items()}
    if sample.fn.endswith("_") and sample.grad:  # a leaf must not be changed in place
        args = (args[0] * 1, *args[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = reduce(getattr, sample.fn.split("."), library)(*args, **kwargs)
    outputs = list(out) if isinstance(out, (tuple, list)) else [out]
    recorded = [o for o in outputs if isinstance(o, library.Tensor) and o.requires_grad]
    if not sample.grad or not recorded:
        return outputs, []
    cotangents = [library.from_numpy(cotangent(o)) for o in recorded]
    return outputs, list(library.autograd.grad(recorded, leaves, cotangents, allow_unused=True))


def cotangent(output: Any) -> Any:
    g = np.random.default_rng(5)
    found = g.normal(size=tuple(output.shape))
    if "complex" in str(output.dtype):
        found = found + 1j * g.normal(size=tuple(output.shape))
    return np.asarray(found).astype(str(output.dtype).removeprefix("torch."))


def node_name(output: Any) -> str | None:
    node = getattr(output, "grad_fn", None)
    return None if node is None else type(node).__name__


def same(want: Any, got: Any) -> None:
    if want is None or got is None:
        assert want is None or not want.any()
        assert got is None or not got.any()
        return
    assert str(got.dtype) == str(want.dtype)
    assert tuple(got.shape) == tuple(want.shape)
    close = (
        {"rtol": 2e-6, "atol": 1e-6} if want.dtype in (torch.float32, torch.complex64) else {"rtol": 1e-7, "atol": 1e-9}
    )
    np.testing.assert_allclose(got.detach().numpy(), want.detach().resolve_conj().numpy(), **close)


def same_output(want: Any, got: Any) -> None:
    if isinstance(want, torch.Tensor):
        same(want, got)
        assert node_name(got) == node_name(want)
    elif isinstance(want, (tuple, list)):
        for w, g in zip(want, got, strict=True):
            same_output(w, g)
    elif not callable(want):
        assert got == want


def known_differences() -> dict[str, str]:
    lines = (Path(__file__).parent / "known_differences.txt").read_text().splitlines()
    return dict(line.rsplit(": ", 1) for line in lines if line and line[0] != "#")


KNOWN = known_differences()


def parameters() -> Iterator[Any]:
    """Each sample by its text, numbered where several have the same."""
    seen: dict[str, int] = {}
    for sample in SAMPLES:
        text = repr(sample)
        seen[text] = seen.get(text, 0) + 1
        name = text if seen[text] == 1 else f"{text}#{seen[text]}"
        marks = [pytest.mark.xfail(reason=KNOWN[name], strict=True)] if name in KNOWN else []
        NAMES.add(name)
        yield pytest.param(sample, id=name, marks=marks)


NAMES: set[str] = set()


@pytest.mark.parametrize("sample", list(parameters()))
def test_sample(sample: Sample) -> None:
    want, want_grads = run(torch, sample)
    got, got_grads = run(livetape, sample)
    assert len(got) == len(want)
    for w, g in zip(want, got, strict=True):
        same_output(w, g)
    for w, g in zip(want_grads, got_grads, strict=True):
        same(w, g)


def test_known_differences_are_of_samples() -> None:
    assert set(KNOWN) <= NAMES


@pytest.fixture(scope="module")
def reference() -> Iterator[runner.Worker]:
    worker = runner.Worker(reference=True)
    yield worker
    worker.stop()


# records of what is right where torch is wrong have no place here
RECORDED = [case for case in runner.load_cases() if case["group"] not in ("report_right", "report_wording")]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["id"])
def test_record_holds(case: dict[str, Any], reference: runner.Worker) -> None:
    reason = compare.difference(case, reference.run(case["source"]))
    assert reason is None, reason
