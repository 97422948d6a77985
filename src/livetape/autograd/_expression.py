"""The text of an expression from its bytecode, for programs whose source is not at hand: of exec, or of a prompt."""

from __future__ import annotations

import dis
from typing import Any

_NAMES = (
    "LOAD_NAME",
    "LOAD_GLOBAL",
    "LOAD_FAST",
    "LOAD_DEREF",
    "LOAD_CLASSDEREF",
    "LOAD_FAST_CHECK",
    "LOAD_FAST_BORROW",
)
_SILENT = ("PUSH_NULL", "PRECALL", "CACHE", "RESUME", "NOP", "EXTENDED_ARG", "NOT_TAKEN")
_UNARY = {"UNARY_NEGATIVE": "-", "UNARY_POSITIVE": "+", "UNARY_INVERT": "~", "UNARY_NOT": "not "}
_SEQUENCES = {"BUILD_TUPLE": ("(", ")"), "BUILD_LIST": ("[", "]")}


def expression_at(code: Any, at: int) -> str | None:
    """The call or operation that the instruction at offset ``at`` runs, None if it is not a plain expression."""
    steps = [step for step in dis.get_instructions(code) if step.offset <= at]
    if not steps or steps[-1].positions is None or steps[-1].positions.lineno is None:
        return None
    whole = steps[-1].positions
    stack: list[str] = []
    keywords: tuple[str, ...] = ()
    for step in steps:
        if step.opname in _SILENT or not _within(step.positions, whole):
            continue
        if step.opname == "KW_NAMES":
            keywords = code.co_consts[step.arg or 0]
            continue
        try:
            _run(step, stack, keywords)
        except (LookupError, ValueError, TypeError):
            return None
        if step.opname.startswith("CALL"):
            keywords = ()
    return _bare(stack[-1]) if stack else None


def _within(inner: Any, outer: Any) -> bool:
    if inner is None or inner.lineno is None:
        return False
    start, end = (inner.lineno, inner.col_offset), (inner.end_lineno, inner.end_col_offset)
    return (outer.lineno, outer.col_offset) <= start and end <= (outer.end_lineno, outer.end_col_offset)


def _run(step: Any, stack: list[str], keywords: tuple[str, ...]) -> None:
    """What an instruction does to the texts on the stack; ValueError for those that are no plain expression."""
    name = step.opname
    if name in _NAMES:
        stack.append(str(step.argval))
    elif name in ("LOAD_CONST", "LOAD_SMALL_INT"):
        stack.append(repr(step.argval))
    elif name in ("LOAD_ATTR", "LOAD_METHOD"):
        stack.append(f"{stack.pop()}.{step.argval}")
    elif name in ("CALL", "CALL_KW"):
        if name == "CALL_KW":
            keywords = tuple(part.strip("'\" ") for part in stack.pop().strip("()").split(",") if part.strip())
        arguments = [stack.pop() for _ in range(step.arg)][::-1]
        plain = len(arguments) - len(keywords)
        arguments[plain:] = [f"{key}={value}" for key, value in zip(keywords, arguments[plain:])]
        stack.append(f"{stack.pop()}({', '.join(_bare(a) for a in arguments)})")
    elif name in ("BINARY_OP", "COMPARE_OP"):
        right, left = stack.pop(), stack.pop()
        stack.append(f"{left}[{_bare(right)}]" if step.argrepr == "[]" else f"({left} {step.argrepr} {right})")
    elif name == "BINARY_SUBSCR":
        right = stack.pop()
        stack.append(f"{stack.pop()}[{_bare(right)}]")
    elif name in _UNARY:
        stack.append(_UNARY[name] + stack.pop())
    elif name in _SEQUENCES:
        parts = [stack.pop() for _ in range(step.arg)][::-1]
        first, last = _SEQUENCES[name]
        stack.append(first + ", ".join(_bare(p) for p in parts) + last)
    else:
        raise ValueError(name)


def _bare(text: str) -> str:
    """A text without parentheses around all of it."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if depth == 1 and character == ",":
            return text  # a tuple
        if depth == 0:
            return text[1:-1] if place > 0 and place == len(text) - 1 else text
    return text
