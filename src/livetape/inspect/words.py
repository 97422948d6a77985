"""How the answers are put: shapes, bytes, values, nodes and their lines."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from livetape._tape import lines
from livetape._tape.tensor import shape_of
from livetape._tape.views import CopySlicesBase
from livetape.inspect.tape import Key, kept_by


class Report:
    """An answer. ``str()`` is its text, which is also what a console shows; ``reason`` is its kind in a word or two."""

    __slots__ = ("reason", "text")

    def __init__(self, text: str, reason: str = "") -> None:
        self.text = text
        self.reason = reason

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __contains__(self, part: str) -> bool:
        return part in self.text


def names_of(given: Any) -> dict[int, str]:
    """Names by id of the tensor, from a module, a dictionary {name: tensor}, or pairs as ``named_parameters()`` gives."""
    if given is None:
        return {}
    if hasattr(given, "named_parameters"):
        pairs: Iterable[Any] = [*given.named_parameters(), *given.named_buffers()]
    elif hasattr(given, "items"):
        pairs = given.items()
    else:
        pairs = given
    return {id(tensor): name for name, tensor in pairs}


def shape_text(shape: Any) -> str:
    """A shape as the errors write it; "[?]" if it is not known."""
    return "[?]" if shape is None else "[" + ", ".join([str(n) for n in shape]) + "]"


def bytes_text(count: int) -> str:
    """A number of bytes."""
    if count < 1024:
        return f"{count} B"
    if count < 1024**2:
        return f"{count / 1024:.1f} KiB"
    return f"{count / 1024**2:.1f} MiB" if count < 1024**3 else f"{count / 1024**3:.1f} GiB"


def count_text(count: int, one: str, several: str | None = None) -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def listed(parts: list[str], most: int = 3) -> str:
    """A list in words, cut after a few."""
    if len(parts) > most:
        parts = [*parts[:most], f"{len(parts) - most:,} more"]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def place_text(node: Any) -> str:
    """Where the program made a node, as "file:line" with the file as seen from here; empty if it was not recorded."""
    where = lines.line_of(node)
    if not where and isinstance(node, CopySlicesBase) and node.fn is not None:
        where = lines.line_of(node.fn)
    return nearby(where) if where else ""


def cut_text(tensor: Any) -> str:
    """How a tensor lost its history and at which line, as "by detach() at file:line"; empty if that was not recorded."""
    found = lines.cut_of(tensor)
    return "" if found is None else f"{found[0]} at {nearby(found[1])}"


def nearby(where: str) -> str:
    """ "file:line" with the file as seen from here."""
    file, _, number = where.rpartition(":")
    if os.path.isabs(file):
        try:
            near = os.path.relpath(file)
        except ValueError:  # another drive
            near = file
        if not near.startswith(".."):
            file = near
    return f"{file}:{number}"


def label(node: Any) -> str:
    """A node's class, which is the name that ``grad_fn`` shows."""
    return type(node).__name__


def node_text(node: Any) -> str:
    """A node by its name and line."""
    where = place_text(node)
    return f"{label(node)} ({where})" if where else label(node)


def tensor_text(tensor: Any, names: dict[int, str]) -> str:
    """A tensor by its name, if it has one, and shape."""
    name = names.get(id(tensor)) or (tensor.extras is not None and tensor.extras.name)
    shape = shape_text(shape_of(tensor))
    return f"{name} {shape}" if name else f"unnamed {shape}"


def values_text(array: Any) -> str:
    """The values of an array in a few words: what is special about them, and their range."""
    if not isinstance(array, np.ndarray):
        return "of unknown values"
    total = array.size
    if total == 0:
        return "empty"
    if array.dtype.kind == "b":
        true = int(np.count_nonzero(array))
        return "all True" if true == total else "all False" if true == 0 else f"True in {true:,} of {total:,}"
    finite = finite_in(array)
    if finite is None:
        return "of unknown values"
    special = []
    if not finite.all():
        nan = int(np.count_nonzero(np.isnan(array)))
        inf = total - nan - int(np.count_nonzero(finite))
        if nan + inf == total:
            return f"all {'nan' if inf == 0 else 'inf' if nan == 0 else 'nan or inf'}"
        special = [f"{count:,} {word}" for count, word in ((nan, "nan"), (inf, "inf")) if count]
        array = array[finite]
    zeros = array.size - int(np.count_nonzero(array))
    if zeros == total:
        return "all 0"
    if array.dtype.kind == "c":
        array = np.abs(array)
    low, high = float(array.min()), float(array.max())
    text = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    if zeros and zeros < array.size:
        special.append(count_text(zeros, "zero"))
    return f"{text}, with {' and '.join(special)} in {total:,}" if special else text


def finite_in(array: Any) -> Any:
    """Where an array is finite; None for what is no plain array of numbers."""
    if not isinstance(array, np.ndarray):
        return None
    if array.dtype.kind in "biu":
        return np.ones(array.shape, bool)
    try:
        return np.isfinite(array)
    except TypeError:
        return None


def is_finite(array: Any) -> bool | None:
    """Whether all values are finite; None if that cannot be said."""
    finite = finite_in(array)
    return None if finite is None else bool(finite.all())


def facts(node: Any, telling: tuple[str, ...] = (), most: int = 3) -> str:
    """What a node's saved values are like; empty if it keeps none that can be read.

    telling   where some of the descriptions begin with one of these, leave out the others
    """
    parts = []
    for kept in kept_by(node):
        if isinstance(kept.array, np.ndarray) and not kept.packed:
            changed = "" if kept.intact else ", changed in place since"
            parts.append(f"{kept.name} {shape_text(kept.array.shape)} is {values_text(kept.array)}{changed}")
    row, values = node._op, node._saved
    if row is not None and values is not None:
        for position, saved in enumerate(row.saved):
            if type(values[position]) in (int, float) and saved.name in ("other", "exponent", "min", "max", "value"):
                parts.append(f"{saved.name} is {values[position]}")
    chosen = [part for part in parts if any(" is " + word in part for word in telling)] or parts
    return "; ".join(chosen[:most])


def result_text(node: Any, nr: int, shapes: dict[Key, tuple[int, ...]]) -> str:
    """A node with the shape of one of its results."""
    shape = shapes.get((id(node), nr))
    output = f"output {nr} of " if nr else ""
    return f"{output}{label(node)} {shape_text(shape)}"


def recorded_lines(nodes: Iterable[Any]) -> bool:
    """Whether any of these nodes knows its line."""
    return any(node._code is not None for node in nodes)
