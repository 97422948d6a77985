"""Whose answer is given where PyTorch's is wrong: the mathematically right one, or PyTorch's own.

`compat.torch` is the one switch. Formulas and kernels whose results differ read it where they differ, their rows say so
(``differs=`` in `livetape.ops.table`), and docs/differences.md lists them all.
"""

from __future__ import annotations

MODES = ("exact", "torch")


class Compat:
    """The switch: whether PyTorch's answers are given also where they are wrong."""

    __slots__ = ("torch",)

    def __init__(self) -> None:
        self.torch = False


compat = Compat()


class set_compat:
    """Choose the answers where PyTorch 2.13's are mathematically wrong: "exact" (the default) or "torch".

    "exact" gives the right ones, "torch" those of PyTorch, for all threads. As a call it holds from then on, in a ``with``
    statement for the block. What is chosen while a derivative is computed decides it.

    Raises ValueError for any other mode.

    >>> import livetape as torch
    >>> x = torch.zeros(1, requires_grad=True)
    >>> torch.hypot(x, x).backward()
    >>> x.grad
    tensor([0.])
    >>> with torch.set_compat("torch"):
    ...     x.grad = None
    ...     torch.hypot(x, x).backward()
    >>> x.grad
    tensor([nan])
    """

    def __init__(self, mode: str) -> None:
        if mode not in MODES:
            raise ValueError(f"set_compat(): mode must be one of 'exact', 'torch', not {mode!r}")
        self.before = compat.torch
        compat.torch = mode == "torch"

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        compat.torch = self.before


def get_compat() -> str:
    """The mode that `set_compat` chose: "exact" or "torch".

    >>> import livetape
    >>> livetape.get_compat()
    'exact'
    """
    return MODES[compat.torch]
