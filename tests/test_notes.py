"""Errors carry notes: which operation, on what, called at which line."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest

import livetape as torch
import livetape.nn.functional as F

OPERATIONS = Path(torch.__file__).parent / "ops"
# Raised for the interpreter, or about the program's environment: no call of an operation is at fault.
UNNOTED = {"AttributeError", "StopIteration", "ImportError", "KeyError", "ModuleNotFoundError", "AssertionError"}

x = torch.ones(2, 3)
CALLS = [
    (lambda: x + torch.ones(7), "in add(torch.float32[2, 3], torch.float32[7])"),
    (lambda: x.add_(torch.ones(7)), "in add(torch.float32[2, 3], torch.float32[7])"),
    (lambda: x @ x, "in mm(torch.float32[2, 3], torch.float32[2, 3])"),
    (lambda: x.cumsum(5), "in cumsum(input=torch.float32[2, 3], dim=5)"),
    (lambda: x.sum(9), "in sum(input=torch.float32[2, 3], dim=9"),
    (lambda: x[5], "(self=torch.float32[2, 3], index=5)"),
    (lambda: x.view(7), "in view(torch.float32[2, 3], 7)"),
    (lambda: torch.cat([x, torch.ones(4, 1)]), "in cat(tensors=[torch.float32[2, 3], torch.float32[4, 1]], dim=0)"),
    (lambda: torch.linalg.inv(x), "in inv(A=torch.float32[2, 3])"),
    (lambda: torch.zeros(-1), "in zeros(-1"),
    (lambda: F.cross_entropy(x, torch.zeros(3, dtype=torch.long)), "in cross_entropy(input=torch.float32[2, 3]"),
    (lambda: torch.nn.CrossEntropyLoss()(x, torch.zeros(3, dtype=torch.long)), "in cross_entropy("),
    (lambda: torch.nn.Conv2d(1, 2, 3)(x), "conv2d("),
    (lambda: torch.optim.SGD([x], lr=-1.0), None),
]


@pytest.mark.parametrize(("call", "expected"), CALLS)
def test_an_error_names_the_call_and_its_line(call, expected):
    with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)) as caught:
        call()
    if expected is None:  # no operation was called
        return
    note = caught.value.__notes__[0]
    assert expected in note
    assert f"called at {__file__}:{call.__code__.co_firstlineno}" in note


def test_the_message_itself_is_unchanged():
    with pytest.raises(IndexError) as caught:
        x.cumsum(5)
    assert str(caught.value) == "Dimension out of range (expected to be in range of [-2, 1], but got 5)"


def test_an_argument_whose_repr_fails_does_not_hide_the_error():
    class Broken:
        def __repr__(self):
            raise ZeroDivisionError

    with pytest.raises(TypeError):
        x.sum(Broken())


def _names_its_call(error):
    """Whether an error that is raised carries the note on the call: a hint alone, by with_note, is not enough."""
    name = error.func.id if isinstance(error.func, ast.Name) else None
    if name == "with_note":
        inner = error.args[0]
        return (
            isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in {"noted", "refused"}
        )
    return name in {"noted", *UNNOTED}


@pytest.mark.parametrize("path", sorted(OPERATIONS.glob("*.py")), ids=lambda path: path.stem)
def test_every_error_of_an_operation_is_noted(path):
    bare = [
        f"{path.name}:{node.lineno}: {ast.unparse(node)[:60]}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and not _names_its_call(node.exc)
    ]
    assert not bare, "\n".join(["write raise noted(...), or with_note(noted(...), hint):", *bare])


# ---------------------------------------------------------------- calls that Python itself refuses
WRONG = [
    (lambda: torch.cumsum(x), 'cumsum() missing 1 required positional arguments: "dim"'),
    (lambda: x.index_select(), 'index_select() missing 2 required positional argument: "dim", "index"'),
    (lambda: torch.linalg.inv(), 'linalg_inv() missing 1 required positional arguments: "A"'),
    (lambda: x.exp(1), "TensorBase.exp() takes no arguments (1 given)"),
    (lambda: x.exp(foo=1), "TensorBase.exp() takes no keyword arguments"),
    (lambda: x.transpose(0, 1, 2), "transpose() takes 2 positional arguments but 3 were given"),
    (lambda: torch.transpose(x, 0, 1, 2), "transpose() takes 3 positional arguments but 4 were given"),
    (lambda: torch.exp(x, foo=1), "exp() got an unexpected keyword argument 'foo'"),
    (
        lambda: F.linear(x, np.ones((2, 3), np.float32)),
        "linear(): argument 'weight' (position 2) must be Tensor, not numpy.ndarray",
    ),
    (lambda: torch.gather(x, 0, [1]), "gather(): argument 'index' (position 3) must be Tensor, not list"),
    (lambda: x.gather(0, [1]), "gather(): argument 'index' (position 2) must be Tensor, not list"),
    (lambda: x.gather(0, index=[1]), "gather(): argument 'index' must be Tensor, not list"),
    (lambda: torch.stack([x, 2]), "expected Tensor as element 1 in argument 0, but got int"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_python_s_refusal_comes_in_torch_s_words(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message
    assert caught.value.__cause__ is None


def test_a_program_s_own_mistake_is_not_reworded():
    class Broken:
        def __len__(self):
            return len(self.missing)

    with pytest.raises(AttributeError, match="'Broken' object has no attribute 'missing'"):
        torch.tensor(0).new_tensor(Broken()) if len(Broken()) else None


def test_a_public_function_is_its_function():
    assert torch.sum.__name__ == "sum"
    assert torch.sum.__doc__ == torch.sum.__wrapped__.__doc__
    assert list(inspect.signature(torch.cumsum).parameters)[:2] == ["input", "dim"]
    for function in (torch.cumsum, torch.linalg.inv, F.linear, torch.Tensor.cumsum):
        assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(torch.cumsum) is torch.cumsum
    assert torch.conv2d is F.conv2d
