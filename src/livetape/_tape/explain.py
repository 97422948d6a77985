"""Torch's words for what went wrong in an operation, and notes that say where."""

from __future__ import annotations

import itertools
from typing import Any

from livetape._tape.modes import state
from livetape._tape.tensor import Node, TensorBase, shape_of
from livetape.dtypes import SCALAR_TYPE


def type_name(value: Any) -> str:
    """The type of an argument as torch's messages name it."""
    return type(value).__name__


def argument_error(name: str, index: int, value: Any) -> TypeError:
    """An argument that must be a tensor, and is not."""
    which = ("input", "other", "value")[index] if index < 3 else "other"
    return TypeError(f"{name}(): argument '{which}' (position {index + 1}) must be Tensor, not {type_name(value)}")


def broadcast_error(left: tuple[int, ...], right: tuple[int, ...]) -> RuntimeError:
    """Two shapes that do not broadcast."""
    n = max(len(left), len(right))
    for i in range(-1, -n - 1, -1):
        p = left[i] if -i <= len(left) else 1
        q = right[i] if -i <= len(right) else 1
        if p != q and p != 1 and q != 1:
            return RuntimeError(
                f"The size of tensor a ({p}) must match the size of tensor b ({q}) at non-singleton dimension {n + i}"
            )
    return RuntimeError(f"shapes {list(left)} and {list(right)} do not broadcast")


def binary_error(name: str, *values: Any) -> Exception:
    """What torch raises for tensors whose shapes do not broadcast, with a note on the shapes."""
    shapes = [tuple(shape_of(v)) for v in values if isinstance(v, TensorBase)]
    error: Exception = RuntimeError(f"{name}: invalid arguments")
    for left, right in itertools.pairwise(shapes):
        found = broadcast_error(left, right)
        if "must match" in str(found):
            error = found
            break
    note_call(error, name, values)
    return error


def note_call(error: BaseException, name: str, values: Any) -> None:
    """Say in a note which operation failed, on what; the innermost operation speaks."""
    if any("livetape: in " in note for note in getattr(error, "__notes__", ())):
        return
    shown = [f"{v.dtype!r}{list(shape_of(v))}" if isinstance(v, TensorBase) else repr(v)[:40] for v in values]
    error.add_note(f"livetape: in {name}({', '.join(shown)})")


def op_label(node: Node) -> str:
    """A node's name as torch's messages have it: "Mul" for MulBackward0."""
    name = type(node).__name__
    stem, found, number = name.rpartition("Backward")
    if found and (number == "" or number.isdigit()):
        return stem if number == "0" else stem + number
    return "torch::autograd::" + name if name in ("CopySlices", "AccumulateGrad") else name


def line_of(node: Node) -> str:
    """Where the program made a node, or an empty text if that was not recorded."""
    code = node._code
    if code is None:
        return ""
    number = None
    for start, end, line in code.co_lines():
        if start <= node._lasti < end:
            number = line
    return f"{code.co_filename}:{number}"


def check_expands(name: str, target: TensorBase, other: TensorBase) -> None:
    """Raise torch's error unless ``other`` broadcasts to the target's shape."""
    left, right = tuple(shape_of(target)), tuple(shape_of(other))
    if left == right:
        return
    n = max(len(left), len(right))
    out: list[int] = []
    for i in range(-n, 0):
        p = left[i] if -i <= len(left) else 1
        q = right[i] if -i <= len(right) else 1
        if p != q and p != 1 and q != 1:
            raise binary_error(name, target, other)
        out.append(q if p == 1 else p)
    if out != list(left):
        error = RuntimeError(f"output with shape {list(left)} doesn't match the broadcast shape {out}")
        note_call(error, name + "_", (target, other))
        raise error


def _changed(description: str, found: int, expected: int) -> RuntimeError:
    if state.anomaly is None:
        hint = (
            "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    else:
        hint = (
            "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
            "question was changed in there or anywhere later. Good luck!"
        )
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{description} is at version {found}; expected version {expected} instead. Hint: {hint}"
    )


def _described(tensor: TensorBase) -> str:
    return f"[torch.{SCALAR_TYPE[tensor.dtype]}Tensor {list(shape_of(tensor))}]"


def _note_change(error: RuntimeError, node: Node) -> None:
    where = line_of(node)
    error.add_note(
        f"livetape: {type(node).__name__} saved this value{' at ' + where if where else ''} and needs it unchanged. "
        "Replace the in-place change by one that makes a new tensor (y = y + 1 for y += 1), or change a clone()."
    )
    if not where:
        error.add_note("livetape: livetape.inspect.record_lines(True) adds the line to every node.")


def version_error(node: Node, tensor: TensorBase, expected: int, found: int) -> RuntimeError:
    """A saved input was changed in place."""
    described = _described(tensor)
    if tensor.node is not None:
        described += f", which is output {int(tensor.output_nr)} of {op_label(tensor.node)},"
    error = _changed(described, found, expected)
    _note_change(error, node)
    return error


def result_version_error(node: Node, tensor: TensorBase, output: int, found: int, expected: int) -> RuntimeError:
    """A saved result was changed in place."""
    error = _changed(f"{_described(tensor)}, which is output {output} of {op_label(node)},", found, expected)
    _note_change(error, node)
    return error


def shape_mismatch(leaf: TensorBase, grad: TensorBase) -> RuntimeError:
    """A gradient that does not fit its leaf."""
    return RuntimeError(
        f"Function AccumulateGrad returned an invalid gradient at index 0 - got {list(shape_of(grad))} but "
        f"expected shape compatible with {list(shape_of(leaf))}"
    )
