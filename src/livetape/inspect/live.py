"""What is alive: the nodes and tensors that the garbage collector knows, and who holds them."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from typing import Any

from livetape._tape.tensor import Node, TensorBase
from livetape.inspect.tape import target_of
from livetape.ops.nodes import AccumulateGrad


class Live:
    """One look at all objects: the tensors on the tape, and the nodes.

    consumers   by id of a vertex: the nodes that lead to it
    """

    def __init__(self) -> None:
        self.tensors: list[Any] = []
        self.nodes: list[Any] = []
        for found in gc.get_objects():
            kind = type(found)  # not isinstance, which asks proxies for the class of what may be gone
            if issubclass(kind, TensorBase):
                self.tensors.append(found)
            elif issubclass(kind, Node) and not issubclass(kind, AccumulateGrad):
                self.nodes.append(found)
        self.consumers: dict[int, list[Any]] = {}
        for node in self.nodes:
            for edge in node._edges:
                if edge is not None:
                    self.consumers.setdefault(id(target_of(edge)[0]), []).append(node)

    def roots(self) -> list[Any]:
        """The nodes that no other leads to, newest first."""
        found = [node for node in self.nodes if id(node) not in self.consumers]
        return sorted(found, key=lambda node: int(node._sequence), reverse=True)

    def results(self) -> dict[int, list[Any]]:
        """By id of a node: the live tensors that it made."""
        found: dict[int, list[Any]] = {}
        for tensor in self.tensors:
            if tensor.node is not None and tensor.recorded:
                found.setdefault(id(tensor.node), []).append(tensor)
        return found

    def ends_above(self, vertices: list[Any]) -> list[Any]:
        """The newest nodes of the tapes that lead to some vertices, newest first."""
        given = {id(vertex) for vertex in vertices}
        seen = set(given)
        stack = list(vertices)
        ends = []
        while stack:
            one = stack.pop()
            above = self.consumers.get(id(one), ())
            if not above and id(one) not in given:
                ends.append(one)
            for node in above:
                if id(node) not in seen:
                    seen.add(id(node))
                    stack.append(node)
        return sorted(ends, key=lambda node: int(node._sequence), reverse=True)


class _Name:
    """How the program calls an object: an expression, and the function whose variable it starts with."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where

    def __str__(self) -> str:
        return self.text + self.where


def holders(wanted: list[Any], skipped: list[Any]) -> dict[int, list[str]]:
    """In words, by id: which variables and containers hold each of the given objects, where that can be seen.

    ``skipped`` are containers of the asker's own.
    """
    found: dict[int, list[str]] = {id(one): [] for one in wanted}
    if not wanted:
        return found
    names, passed = _variables()
    passed.update(id(one) for one in skipped)
    passed.update((id(wanted), id(skipped)))
    for one in wanted:
        if id(one) in names:
            found[id(one)].append(str(names[id(one)]))
    for holder in gc.get_referrers(*wanted):
        if id(holder) in passed or type(holder).__name__ == "frame":
            continue
        for inner, text in _contents(holder, names.get(id(holder))):
            if id(inner) in found and text not in found[id(inner)]:
                found[id(inner)].append(text)
    return found


def _contents(holder: Any, name: _Name | None) -> Iterator[tuple[Any, str]]:
    """What a container or an object holds, each with words for the holder."""
    kind = type(holder)
    text, where = (name.text, name.where) if name is not None else ("", "")
    if kind in (list, tuple, set):
        size = f"a {kind.__name__} of {len(holder):,}"
        for inner in list(holder):
            yield inner, f"{text} ({size}){where}" if name else size
    elif kind is dict:
        for key, inner in list(holder.items()):
            yield inner, f"{text}[{key!r}]{where}" if name else f"{key!r} of a dict or an object"
    elif issubclass(kind, TensorBase):
        if holder._gradient is not None:
            yield holder._gradient, f"{text or 'a leaf'}.grad{where}"
    elif not issubclass(kind, Node) and isinstance(getattr(holder, "__dict__", None), dict):
        for key, inner in list(vars(holder).items()):
            yield inner, f"{text or 'an object ' + kind.__name__}.{key}{where}"


def _frames() -> Iterator[Any]:
    """The frames of the program, in all threads, innermost first."""
    for frame in sys._current_frames().values():
        at: Any = frame
        while at is not None:
            if not at.f_globals.get("__name__", "").startswith("livetape."):
                yield at
            at = at.f_back


def _variables() -> tuple[dict[int, _Name], set[int]]:
    """The names of what the variables of the program's frames and modules hold, and the ids of these namespaces."""
    names: dict[int, _Name] = {}
    passed: set[int] = set()
    frames = list(_frames())
    for frame in frames:
        space = frame.f_locals
        passed.add(id(space))
        if space is not frame.f_globals:
            where = f" in {frame.f_code.co_name}() ({os.path.basename(frame.f_code.co_filename)})"
            for name, value in list(space.items()):
                names.setdefault(id(value), _Name(name, where))
    for frame in frames:
        space = frame.f_globals
        if id(space) not in passed or space is frame.f_locals:
            passed.add(id(space))
            for name, value in list(space.items()):
                if not name.startswith("__"):
                    names.setdefault(id(value), _Name(name, ""))
    return names, passed
