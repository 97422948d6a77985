"""Which line of the program made a node."""

from __future__ import annotations

from typing import Any

from livetape._tape import lines
from livetape._tape.modes import state


class record_lines:
    """Let every node remember the line that made it; errors then name the lines.

    ``record_lines(True)`` switches it on, ``record_lines(False)`` off, ``with record_lines():`` for a block. It is off by
    default: finding the program's line takes longer than recording the node.

    >>> import livetape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with record_lines():
    ...     y = x.exp()
    >>> line_of(y.grad_fn) is not None
    True
    """

    def __init__(self, enabled: bool = True) -> None:
        self.before = state.watching
        state.watching = enabled

    def __enter__(self) -> record_lines:
        return self

    def __exit__(self, *error: Any) -> None:
        state.watching = self.before


def line_of(node: Any) -> str | None:
    """Where the program made a node, as "file:line", or None if that was not recorded."""
    return lines.line_of(node) or None
