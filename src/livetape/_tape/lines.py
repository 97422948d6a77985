"""Which line of the program is running: what is remembered of it while `state.watching`."""

from __future__ import annotations

from typing import Any, Final

from livetape._tape.modes import is_recording, state
from livetape._tape.tensor import Node, TensorBase, calling, tensor_extras


def note_line(node: Node) -> None:
    """Let a node remember the line that makes it."""
    frame = calling()
    if frame is not None:
        node._code = frame.f_code
        node._lasti = frame.f_lasti
        if state.anomaly is not None:
            state.anomaly.note(node, frame)


def note_cut(tensor: TensorBase, how: str) -> None:
    """Let a tensor remember the line at which it lost its history, and ``how``: "detach", "data", "no_grad" ..."""
    frame = calling()
    if frame is not None:
        tensor_extras(tensor).cut = (how, frame.f_code, frame.f_lasti)


def note_unrecorded(values: Any, result: TensorBase) -> None:
    """`note_cut` for a result without a history: one of its inputs has one and nothing is recorded, or had one once."""
    inherited = None
    for value in values:
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if not isinstance(one, TensorBase):
                continue
            if one.recorded:
                if not is_recording():
                    note_cut(result, "inference_mode" if result.inference else "no_grad")
                    return
            elif one.extras is not None and one.extras.cut is not None:
                inherited = one.extras.cut
    if inherited is not None:
        tensor_extras(result).cut = inherited


def note_detached(source: TensorBase, twin: TensorBase, how: str) -> None:
    """`note_cut` for a twin that ``source`` gave without its history, if it had any."""
    if source.recorded:
        note_cut(twin, how)
    elif source.extras is not None:
        tensor_extras(twin).cut = source.extras.cut


def line_text(code: Any, instruction: int) -> str:
    """A remembered place as "file:line"."""
    number = None
    for start, end, line in code.co_lines():
        if start <= instruction < end:
            number = line
    return f"{code.co_filename}:{number}"


def line_of(node: Node) -> str:
    """Where the program made a node, or an empty text if that was not recorded."""
    return "" if node._code is None else line_text(node._code, int(node._lasti))


CUTS: Final = {
    "data": "by .data",
    "detach": "by detach()",
    "detach_": "by detach_()",
    "inference_mode": "under inference_mode()",
    "no_grad": "under no_grad()",
}


def cut_of(tensor: TensorBase) -> tuple[str, str] | None:
    """How a tensor lost its history ("by detach()") and where ("file:line"), if that was recorded."""
    extras = tensor.extras
    if extras is None or extras.cut is None:
        return None
    how, code, instruction = extras.cut
    return CUTS[how], line_text(code, instruction)
