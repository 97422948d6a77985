"""The tape as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.tensor import Node, shape_of
from livetape.inspect.tape import (
    Tape,
    edge_to,
    is_freed,
    is_parameter,
    kept_by,
    key_of,
    memory_of,
    shapes_of,
    target_of,
)
from livetape.inspect.words import Report, bytes_text, count_text, names_of, place_text, result_text, shape_text


def graph_text(root: Any, names: Any = None, *, depth: int | None = None, limit: int = 200) -> Report:
    """The tape that leads to a tensor, newest node first, one node a line.

    root     a tensor, or a ``grad_fn``
    names    names for the leaves: a module, or a dictionary {name: tensor}
    depth    show only what is less than this many edges away
    limit    show at most this many lines

    What stands below a node at the same indentation is its input; further inputs branch off above it. A node that
    several others lead to is shown below the last of them, and referred to by a number before.

    >>> import livetape as torch
    >>> x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    >>> h = (x * w).relu()
    >>> graph_text((h.exp() + h).sum(), {"w": w})
    SumBackward0 []
    AddBackward0 [3]
    ├─ other = #1 ReluBackward0 [3], shown below
    ExpBackward0 [3], saves result 12 B
    #1 ReluBackward0 [3], saves result 12 B
    MulBackward0 [3], saves self 12 B
    leaf w [3]
    5 nodes, 1 leaf, 36 B saved
    """
    edge = edge_to(root)
    if edge is None:
        return Report(f"nothing is recorded: the tensor {shape_text(shape_of(root))} does not require grad")
    return Report(_Text(Tape(edge), root, names_of(names), depth, limit).render())


class _Text:
    """One rendering: what is to be shown, and what was shown already."""

    def __init__(self, tape: Tape, root: Any, names: dict[int, str], depth: int | None, limit: int) -> None:
        self.tape = tape
        self.names = names
        self.limit = limit
        self.shapes = shapes_of(tape, root)
        self.inside = _within(tape, depth)
        self.heights = _heights(tape)
        self.numbers: dict[int, int] = {}  # of the nodes that are referred to
        self.leaf_numbers: dict[int, int] = {}
        self.pending = {i: sum(1 for node, _ in tape.parents[i] if id(node) in self.inside) for i in self.inside}
        self.lines: list[str] = []
        self.shown = 0

    def render(self) -> str:
        """The lines, and the totals."""
        # Entries: the edge, how it is introduced, what starts its own line, and what starts those below it.
        stack: list[tuple[Any, str, str, str]] = [(self.tape.edge, "", "", "")]
        while stack and len(self.lines) < self.limit:
            edge, role, first, rest = stack.pop()
            vertex, nr = target_of(edge)
            if not isinstance(vertex, Node):
                self.lines.append(f"{first}{role}leaf {self.leaf(vertex)}")
                continue
            text = result_text(vertex, nr, self.shapes)
            if id(vertex) not in self.inside:
                self.lines.append(f"{first}{role}{text} ...")
                continue
            self.pending[id(vertex)] -= 1
            if self.pending[id(vertex)] > 0:
                number = self.numbers.setdefault(id(vertex), len(self.numbers) + 1)
                self.lines.append(f"{first}{role}#{number} {text}, shown below")
                continue
            number = self.numbers.get(id(vertex), 0)
            self.lines.append(f"{first}{role}{f'#{number} ' if number else ''}{text}{self.details(vertex)}")
            self.shown += 1
            stack += reversed(self.inputs(vertex, rest))
        return "\n".join([*self.lines, *self.summary()])

    def inputs(self, node: Any, rest: str) -> list[tuple[Any, str, str, str]]:
        """The entries of a node's inputs: branches first, and last the one that goes on at the same indentation."""
        edges = [(edge, self.role(node, place)) for place, edge in enumerate(node._edges) if edge is not None]
        if len(edges) == 1:
            return [(edges[0][0], "", rest, rest)]
        spine = max(range(len(edges)), key=lambda i: self.heights.get(id(target_of(edges[i][0])[0]), 0), default=0)
        if edges and not self.goes_on(edges[spine][0]):
            spine = -1
        found: list[tuple[Any, str, str, str]] = []
        for i, (edge, role) in enumerate(edges):
            if i != spine:
                found.append((edge, role, rest + "├─ ", rest + "│  "))
        if spine >= 0:
            found.append((edges[spine][0], "", rest, rest))
        elif found:
            edge, role = edges[-1]
            found[-1] = (edge, role, rest + "└─ ", rest + "   ")
        return found

    def goes_on(self, edge: Any) -> bool:
        """Whether what an edge leads to will be shown right there."""
        vertex = target_of(edge)[0]
        return isinstance(vertex, Node) and (id(vertex) not in self.inside or self.pending[id(vertex)] == 1)

    def role(self, node: Any, place: int) -> str:
        """Which argument an edge stands for."""
        row = node._op
        if row is None or place >= len(row.tensors):
            return ""
        return f"{row.params[0]}[{place}] = " if row.listed else f"{row.tensors[place]} = "

    def leaf(self, leaf: Any) -> str:
        """A leaf by its name, or by a number."""
        name = self.names.get(id(leaf)) or (leaf.extras.name if leaf.extras is not None else None)
        if not name:
            name = f"({self.leaf_numbers.setdefault(id(leaf), len(self.leaf_numbers) + 1)})"
        return f"{name} {shape_text(shape_of(leaf))}"

    def details(self, node: Any) -> str:
        """What a node has saved, where it was made, and what hangs on it."""
        saved = []
        for kept in kept_by(node):
            if kept.tensor is not None and id(kept.tensor) in self.names:
                saved.append(f"{kept.name} (is {self.names[id(kept.tensor)]})")
            elif is_parameter(kept.tensor):
                saved.append(f"{kept.name} (a {'leaf' if kept.tensor.base is None else 'view of a leaf'})")
            elif isinstance(kept.array, np.ndarray):
                saved.append(f"{kept.name} {bytes_text(kept.array.nbytes)}")
            else:
                saved.append(f"{kept.name} (packed by hooks)")
        text = ", saves " + ", ".join(saved) if saved else ", freed" if is_freed(node) else ""
        extras = node._extras
        if extras is not None and (extras.hooks or extras.pre_hooks or any((extras.tensor_hooks or {}).values())):
            text += ", has hooks"
        where = place_text(node)
        return f"{text}  {where}" if where else text

    def summary(self) -> list[str]:
        """The totals, and what was left out."""
        nodes = self.tape.nodes
        total = (
            f"{count_text(len(nodes), 'node')}, {count_text(len(self.tape.leaves), 'leaf', 'leaves')}, "
            f"{bytes_text(memory_of(nodes))} saved"
        )
        hidden = len(nodes) - self.shown
        return [f"... and {count_text(hidden, 'more node')}", total] if hidden else [total]


def _within(tape: Tape, depth: int | None) -> set[int]:
    """The nodes that are less than ``depth`` edges away from the root."""
    if depth is None:
        return {id(node) for node in tape.nodes}
    found: set[int] = set()
    layer = [target_of(tape.edge)[0]]
    for _ in range(depth):
        layer = [v for v in layer if isinstance(v, Node) and id(v) not in found]
        found.update(id(v) for v in layer)
        layer = [target_of(edge)[0] for node in layer for edge in node._edges if edge is not None]
    return found


def _heights(tape: Tape) -> dict[int, int]:
    """The number of nodes on the longest path from each vertex down to a leaf."""
    heights: dict[int, int] = {}
    for node in reversed(tape.nodes):
        heights[id(node)] = 1 + max((heights.get(key_of(e)[0], 0) for e in node._edges if e is not None), default=0)
    return heights
