"""Where an argument stands in the program's call: torch's messages count it, methods without their tensor.

Nothing is noted while operations run. When an error is made, the call is read off the bytecode of the program.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

_NUMPY = {"dim": "axis", "keepdim": "keepdims"}


def place(argument: str, position: int) -> str:
    """The words " (position n)" for an argument, nothing if it was given by name.

    position    what to say where the call cannot be read; -n for n whatever the call was
    """
    if position < 0:
        return f" (position {-position})"
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("livetape"):
        frames.append(frame)
        frame = frame.f_back
    if frame is not None and frames:
        found = _place(argument, frames[::-1], frame)
        if found is not None:
            position = found
    return f" (position {position})" if position else ""


def _place(argument: str, frames: list[FrameType], caller: FrameType) -> int | None:
    """The position (0: given by name) in the call that led to ``frames``; None if it cannot be told."""
    call = _call(caller)
    if call is None:
        return None
    count, keywords = call
    if argument in keywords or _NUMPY.get(argument) in keywords:
        return 0
    outer = frames[0]
    for inner in frames[:2]:  # a function, or one that hands its arguments on
        code = inner.f_code
        names = code.co_varnames[: code.co_argcount]
        if argument in names or (names and code.co_flags & 4):  # *args
            index = names.index(argument) if argument in names else code.co_argcount
            break
    else:
        return None
    if index > count:
        return None
    method = index == count or _was_given_more(outer, count)
    return index if method else index + 1


def _call(frame: FrameType) -> tuple[int, tuple[str, ...]] | None:
    """How many arguments the call that a frame is at gives by position, and the names of the others."""
    from opcode import opname  # only where an error is made

    code = frame.f_code
    bytecode, at = code.co_code, frame.f_lasti
    while at and opname[bytecode[at]] == "CACHE":  # a call that is under way points behind it
        at -= 2
    name, count = opname[bytecode[at]], bytecode[at + 1]
    keywords: Any = ()
    if name == "CALL_KW":  # Python 3.13 and later
        if opname[bytecode[at - 2]] != "LOAD_CONST":
            return None
        keywords = code.co_consts[bytecode[at - 1]]
    elif name == "CALL":
        for back in (2, 6):
            if at >= back and opname[bytecode[at - back]] == "KW_NAMES":
                keywords = code.co_consts[bytecode[at - back + 1]]
                break
    else:
        return None
    return count - len(keywords), keywords


def _was_given_more(frame: FrameType, count: int) -> bool:
    """Whether a function got more than ``count`` arguments by position: then one is the tensor of a method."""
    code = frame.f_code
    if code.co_flags & 4:  # *args
        rest = frame.f_locals.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())
        if rest or code.co_argcount <= count:
            return code.co_argcount + len(rest) > count
    if code.co_argcount <= count:
        return False
    name = code.co_varnames[count]
    function = frame.f_globals.get(code.co_name)
    defaults = getattr(function, "__defaults__", None) or ()
    at = count - (code.co_argcount - len(defaults))
    return at < 0 or frame.f_locals.get(name) is not defaults[at]
