"""Torch's words for what went wrong in an operation, and notes that say where."""

from __future__ import annotations

import itertools
import sys
from types import FrameType
from typing import Any, Final, TypeVar

from livetape._tape.lines import line_of, line_text
from livetape._tape.modes import state
from livetape._tape.tensor import Node, TensorBase, VersionCounter, shape_of, version_of
from livetape.dtypes import FLOAT, SCALAR_TYPE

# Floors above the operations: an error below them names the operation that they called.
ABOVE_OPERATIONS: Final = (
    "livetape.ops.boundary",
    "livetape.overridable",
    "livetape.nn.modules",
    "livetape.optim",
    "livetape.cli",
    "livetape.distributions",
)

CO_VARARGS: Final = 4  # as in the standard library's inspect, which is slow to import
CO_VARKEYWORDS: Final = 8
HEAP_TYPE: Final = 1 << 9  # a class made by a class statement

_WRITTEN_IN_C: Final = {
    **{name: "torch." + name for name in ("dtype", "layout", "memory_format", "device", "Size", "finfo", "iinfo")},
    "Generator": "torch._C.Generator",
}

E = TypeVar("E", bound=BaseException)


def type_name(value: Any) -> str:
    """The type of an argument as torch's messages name it: those written in C with their module."""
    kind = type(value)
    if kind.__name__ in _WRITTEN_IN_C and kind.__module__.startswith(("livetape.", "torch")):
        return _WRITTEN_IN_C[kind.__name__]
    if kind.__flags__ & HEAP_TYPE or kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__name__}"


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
    """Say in a note which operation failed, on what, and at which line; the innermost operation speaks."""
    if any("livetape: in " in note for note in getattr(error, "__notes__", ())):
        return
    frame: FrameType | None = sys._getframe()
    while frame is not None and _of_livetape(frame):
        frame = frame.f_back
    error.add_note(_call_note(name, [_shown(value) for value in values], frame))


def with_note(error: E, text: str) -> E:
    """An error about to be raised, with a note. (A frame that raises what it has in a variable keeps it alive.)"""
    error.add_note(text)
    return error


def refused(message: str, name: str, *tensors: TensorBase) -> RuntimeError:
    """Torch's error, with a note on the call."""
    error = RuntimeError(message)
    note_call(error, name, tensors)
    return error


def noted(error: E) -> E:
    """An error about to be raised, with a note on the function of livetape that the program called.

    The function is the outermost one below the modules, optimisers and command line: its name, its arguments with
    dtypes and shapes, and the line of the program are all on the stack, so that no check must be given them.
    """
    if getattr(error, "__notes__", None):
        return error
    called: FrameType | None = None
    frame: FrameType | None = sys._getframe()
    while frame is not None and _of_livetape(frame):
        if called is None or not (_is_wrapper(frame) or frame.f_globals["__name__"].startswith(ABOVE_OPERATIONS)):
            called = frame
        frame = frame.f_back
    if called is not None:
        code = called.f_code
        values = called.f_locals
        first, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        if code.co_flags & CO_VARARGS:
            shown = [_shown(values.get(name)) for name in code.co_varnames[:first]]
            shown += [_shown(value) for value in values.get(code.co_varnames[last], ())]
            named = code.co_varnames[first:last]
        else:
            shown = []
            named = code.co_varnames[:last]
        shown += [f"{name}={_shown(values[name])}" for name in named if values.get(name) is not None]
        error.add_note(_call_note(code.co_name, shown, frame))
    return error


def _is_wrapper(frame: FrameType) -> bool:
    """Whether a function only passes its arguments on: the one inside has their names."""
    code = frame.f_code
    return code.co_argcount == 0 and bool(code.co_flags & CO_VARARGS and code.co_flags & CO_VARKEYWORDS)


def _of_livetape(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return bool(name.startswith("livetape.") or name == "livetape")


def _shown(value: Any) -> str:
    """A value in a note: tensors by dtype and shape."""
    if isinstance(value, TensorBase):
        return f"{value.dtype!r}{list(shape_of(value))}"
    if isinstance(value, (list, tuple)) and any(isinstance(one, TensorBase) for one in value):
        return f"[{', '.join([_shown(one) for one in value[:4]])}{', ...' if len(value) > 4 else ''}]"
    try:
        return repr(value)[:40]
    except Exception:  # an object of the program's, whose repr fails
        return f"<{type(value).__name__}>"


def _call_note(name: str, shown: list[str], caller: FrameType | None) -> str:
    where = f", called at {caller.f_code.co_filename}:{caller.f_lineno}" if caller is not None else ""
    return f"livetape: in {name}({', '.join(shown)}){where}"


def op_label(node: Node) -> str:
    """A node's name as torch's messages have it: "Mul" for MulBackward0."""
    name = type(node).__name__
    stem, found, number = name.rpartition("Backward")
    if found and (number == "" or number.isdigit()):
        return stem if number == "0" else stem + number
    return "torch::autograd::" + name if name in ("CopySlices", "CopyBackwards", "AccumulateGrad") else name


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
        words = f"output with shape {list(left)} doesn't match the broadcast shape {out}"
        raise refused(words, name + "_", target, other)


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
    kind = SCALAR_TYPE[tensor.dtype]
    return f"[{'CPUBoolType' if kind == 'Bool' else f'torch.{kind}Tensor'} {list(shape_of(tensor))}]"  # sic


def _note_change(error: RuntimeError, node: Node, counter: VersionCounter | None, expected: int) -> None:
    where = line_of(node)
    error.add_note(
        f"livetape: {type(node).__name__} saved this value{' at ' + where if where else ''} and needs it unchanged. "
        "Replace the in-place change by one that makes a new tensor (y = y + 1 for y += 1), or change a clone()."
    )
    changes = [] if counter is None or counter.changes is None else [c for c in counter.changes if c[0] > expected]
    if changes:
        more = f", and {len(changes)} times in all" if len(changes) > 1 else ""
        error.add_note(f"livetape: it was changed at {line_text(changes[0][1], changes[0][2])}{more}.")
    if not (where and changes):
        error.add_note("livetape: livetape.inspect.record_lines(True) adds the lines: which made it, which changed it.")


def version_error(node: Node, tensor: TensorBase, expected: int, found: int) -> RuntimeError:
    """A saved input was changed in place."""
    described = _described(tensor)
    if tensor.node is not None:
        described += f", which is output {int(tensor.output_nr)} of {op_label(tensor.node)},"
    error = _changed(described, found, expected)
    counter = tensor.version
    if counter is None and tensor.base is not None:
        counter = tensor.base.version
    _note_change(error, node, counter, expected)
    return error


def list_version_error(node: Node, values: Any, expected: int) -> RuntimeError:
    """One of several saved tensors was changed in place: the one that was changed most."""
    tensors = [value for value in values if isinstance(value, TensorBase)]
    changed = max(tensors, key=version_of)
    found = int(version_of(changed))
    total = sum([int(version_of(value)) for value in tensors])
    return version_error(node, changed, max(0, found - (total - expected)), found)


def result_version_error(
    node: Node, tensor: TensorBase, output: int, counter: VersionCounter, expected: int
) -> RuntimeError:
    """A saved result was changed in place."""
    described = _described(tensor)
    if tensor.dtype.category >= FLOAT:
        described += f", which is output {output} of {op_label(node)},"
    error = _changed(described, int(counter.value), expected)
    _note_change(error, node, counter, expected)
    return error


def shape_mismatch(leaf: TensorBase, grad: TensorBase) -> RuntimeError:
    """A gradient that does not fit its leaf."""
    return RuntimeError(
        f"Function AccumulateGrad returned an invalid gradient at index 0 - got {list(shape_of(grad))} but "
        f"expected shape compatible with {list(shape_of(leaf))}"
    )
