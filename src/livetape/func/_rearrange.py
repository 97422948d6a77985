"""rearrange: permute, merge and split dimensions by a pattern of names (source: ``torch.func.rearrange``, after einops)."""

from __future__ import annotations

import math
from typing import Any

from livetape._tape.tensor import TensorBase, shape_of
from livetape.ops.joining import stack
from livetape.ops.permuting import permute
from livetape.ops.shape import reshape

_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"  # how "..." is written in messages too
_ONE = "1"


class DimensionBindError(Exception):
    """Dimensions that do not have the sizes that a pattern says."""


class _Side:
    """One side of a pattern: groups of names, each group one dimension of the tensor."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.groups: list[list[str]] = []
        self.names: set[str] = set()
        self.inner_ellipsis = False
        if "." in text:
            if "..." not in text:
                raise ValueError("Expression may contain dots only inside ellipsis (...)")
            if text.count("...") != 1 or text.count(".") != 3:
                raise ValueError(
                    "Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor "
                )
            text = text.replace("...", _ELLIPSIS)
        open_group: list[str] | None = None
        word = ""
        for letter in text + " ":
            if letter.isalnum() or letter in ("_", _ELLIPSIS):
                word += letter
                continue
            if letter not in " ()":
                raise ValueError(f"Unknown character '{letter}'")
            if word:
                self.add(word, open_group)
                word = ""
            if letter == "(":
                if open_group is not None:
                    raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
                open_group = []
            elif letter == ")":
                if open_group is None:
                    raise ValueError("Brackets are not balanced")
                self.groups.append(open_group)
                open_group = None
        if open_group is not None:
            raise ValueError(f"Imbalanced parentheses in expression: '{self.text}'")

    def add(self, word: str, group: list[str] | None) -> None:
        """Take in a name, into the group that is open if there is one."""
        if word in self.names:
            raise ValueError(f"Indexing expression contains duplicate dimension '{word}'")
        if word == _ELLIPSIS:
            self.inner_ellipsis = group is not None
        elif word.isdecimal():
            if word != _ONE:
                raise ValueError("rearrange only supports unnamed axes of size 1")
            if group is None:
                self.groups.append([])
            return
        elif not word.isidentifier():
            raise ValueError(f"Invalid axis identifier: {word}\nnot a valid python identifier")
        elif word[0] == "_" or word[-1] == "_":
            raise ValueError(
                f"Invalid axis identifier: {word}\naxis name should should not start or end with underscore"
            )
        self.names.add(word)
        if group is None:
            self.groups.append([word])
        else:
            group.append(word)


def _sides(pattern: str, lengths: dict[str, Any]) -> tuple[_Side, _Side]:
    if pattern.count("->") != 1:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = (_Side(text) for text in pattern.split("->"))
    if _ELLIPSIS in right.names and _ELLIPSIS not in left.names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.inner_ellipsis:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if left.names != right.names:
        alone = ", ".join([repr(name) for name in sorted(left.names ^ right.names)])
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {{{alone}}}")
    unknown = set(lengths) - left.names
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    return left, right


def _bind(group: list[str], extent: int, sizes: dict[str, int], labels: dict[str, str]) -> None:
    """Find the sizes of the names that one dimension consists of."""
    known = math.prod([sizes[name] for name in group if name in sizes])
    missing = [name for name in group if name not in sizes]
    if len(missing) > 1:
        raise DimensionBindError(
            f"cannot infer the sizes of two dimensions at once {labels[missing[0]]} and {labels[missing[1]]}"
        )
    if missing:
        if known == 0 or extent % known:
            found = tuple([sizes.get(name, "?") for name in group])
            raise DimensionBindError(
                f"inferred dimension does not evenly fit into larger dimension: {extent} vs {found}"
            )
        sizes[missing[0]] = extent // known
    elif known != extent:
        pack = ", ".join([labels[name] for name in group]) + ("," if len(group) == 1 else "")
        raise DimensionBindError(
            f"Dimension sizes to do not match ({extent} != {known}) when matching dimension pack ({pack})"
        )


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """A tensor with its dimensions permuted, merged and split as a pattern says (source: ``torch.func.rearrange``).

    tensor          a tensor, or a list of tensors of one shape, which are stacked first
    pattern         names of the dimensions before and after: "b (h w) c -> b c h w"; "..." stands for any others, 1 or ()
                    for a dimension of one element
    axes_lengths    sizes of names that the tensor's shape does not tell

    Raises ValueError for a pattern that makes no sense, DimensionBindError for sizes that do not fit.

    >>> import livetape as torch
    >>> images = torch.arange(12.).reshape(2, 6)
    >>> torch.func.rearrange(images, "b (h w) -> w b h", h=3).shape
    torch.Size([2, 2, 3])
    """
    if not isinstance(tensor, TensorBase):
        tensor = stack(tensor)
    for length in axes_lengths.values():
        if not isinstance(length, int):
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    left, right = _sides(pattern, axes_lengths)
    shape = shape_of(tensor)
    groups = list(left.groups)
    spread: list[str] = []  # names for what the ellipsis stands for
    if _ELLIPSIS in left.names:
        spread = [f"{_ELLIPSIS}{i}" for i in range(len(shape) - len(groups) + 1)]
        at = groups.index([_ELLIPSIS])
        groups[at : at + 1] = [[name] for name in spread]
    if len(groups) != len(shape):
        raise ValueError(
            f"Number of dimensions in pattern ({len(groups)}) must be equal to the number of dimensions in the tensor "
            f"({len(shape)})"
        )
    order = [name for group in groups for name in group]
    labels = {name: f"d{i}" for i, name in enumerate(order)}
    sizes = dict(axes_lengths)
    for group, extent in zip(groups, shape):
        _bind(group, extent, sizes, labels)
    target = [
        [n for name in group for n in (spread if name == _ELLIPSIS else [name])]
        if group != [_ELLIPSIS] or right.inner_ellipsis
        else group
        for group in right.groups
    ]
    flat: list[list[str]] = []
    for group in target:
        flat += [[name] for name in spread] if group == [_ELLIPSIS] else [group]
    apart = reshape(tensor, [sizes[name] for name in order])
    turned = permute(apart, tuple([order.index(name) for group in flat for name in group]))
    return reshape(turned, [math.prod([sizes[name] for name in group]) for group in flat])
