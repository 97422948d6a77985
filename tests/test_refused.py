"""Calls that fit none of a function's signatures: torch's errors, word by word (recorded by record/refused_values.py)."""

from __future__ import annotations

import contextlib
import gc
import json
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import livetape as torch
from livetape.ops.boundary import Boundary, explained
from livetape.ops.signatures import _signatures, _table, refusal

RECORDED = json.loads((Path(__file__).parent / "data" / "refused.json").read_text("utf-8"))
KINDS = (
    "Tensor Number int float bool str object name torch.dtype torch.device torch.layout torch.memory_format "
    "torch.Generator torch.Storage Stream"
).split()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", RECORDED)
def test_a_wrong_call_says_what_torch_says(call):
    x = torch.arange(6.0).reshape(2, 3)
    with pytest.raises(TypeError) as caught:
        eval(call, {"torch": torch, "x": x})
    assert str(caught.value) == RECORDED[call]
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_every_recorded_signature_can_be_read():
    table = _table()
    assert len(table) > 1000
    for name, lines in table.items():
        for one in () if name.startswith("def ") else _signatures(lines):
            for parameter in one.parameters:
                assert parameter.kind in KINDS or parameter.kind.startswith("tuple of "), one.shown


def test_the_signatures_are_read_when_a_call_fails():
    code = """
import livetape as torch
from livetape.ops.signatures import _table
torch.ones(2).sum(0)
assert _table.cache_info().currsize == 0
try:
    torch.sum("a")
except TypeError:
    pass
assert _table.cache_info().currsize == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_fits_is_not_refused():
    x = torch.ones(2, 3)
    assert refusal("sum", (x, 0), {"keepdim": True}) is None
    assert refusal("sum", (x,), {"axis": (0, 1)}) is None
    assert refusal(".add_", (torch.nn.Parameter(x), True), {}) is not None
    assert refusal(".add_", (2,), {"alpha": 1.5}) is None
    assert refusal(".no_such_method", (2,), {}) is None


def test_an_error_of_a_call_that_fits_stays():
    def fails(input, dim=0):
        raise ValueError("of its own")

    checked = Boundary(fails, lambda *given: explained("sum", *given), "livetape", "sum")
    with pytest.raises(ValueError, match="of its own"):
        checked(torch.ones(2), 0)
    with pytest.raises(TypeError, match="invalid combination"):
        checked(torch.ones(2), "a")


def test_an_error_keeps_nothing_alive():
    class Held(Exception):
        pass

    def fails(input):
        raise Held

    checked = Boundary(fails, lambda *given: explained("exp", *given), "livetape", "exp")
    alive = weakref.WeakSet()

    def call(argument):
        here = Watched()
        alive.add(here)
        checked(argument)

    gc.disable()  # what goes must go without it
    try:
        for argument in (torch.ones(2), "a"):
            with contextlib.suppress(Held, TypeError):
                call(argument)
            assert not alive
    finally:
        gc.enable()


class Watched:
    """What a frame holds that an error has passed through."""


def test_a_refused_call_is_noted():
    with pytest.raises(TypeError) as caught:
        torch.sum(torch.ones(2, 3), "a")
    assert caught.value.__notes__[0].startswith("livetape: in sum(torch.float32[2, 3], 'a'), called at ")
