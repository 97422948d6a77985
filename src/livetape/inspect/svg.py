"""The tape as a standalone SVG picture: layers from the result down, inputs below what uses them."""

from __future__ import annotations

import itertools
from html import escape
from typing import Any

import numpy as np

from livetape._tape.tensor import Node, shape_of
from livetape.inspect.tape import Tape, edge_to, is_freed, kept_by, shapes_of, target_of
from livetape.inspect.words import bytes_text, count_text, label, names_of, place_text, shape_text

LETTER = 6.7  # the width of a letter
HEIGHT = 36  # of a box
ACROSS = 22  # between neighbours
DOWN = 70  # from layer to layer
MARGIN = 20


class Picture:
    """An SVG picture. ``str()`` is the text of its file, `save` writes it, and a notebook shows it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.text

    def save(self, path: Any) -> None:
        """Write the file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)


def graph_svg(root: Any, names: Any = None, *, limit: int = 300) -> Picture:
    """The tape that leads to a tensor as a picture: operations as boxes, leaves in blue, freed nodes dashed.

    root    a tensor, or a ``grad_fn``
    names   names for the leaves: a module, or a dictionary {name: tensor}
    limit   draw at most this many nodes: the newest

    Resting the pointer on a box shows the line that made it, where lines are recorded, and what it has saved.

    >>> import livetape as torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> str(graph_svg((w * 2).exp().sum(), {"w": w})).startswith("<svg ")
    True
    """
    edge = edge_to(root)
    if edge is None:
        raise ValueError("there is nothing to draw: the tensor does not require grad")
    tape = Tape(edge)
    return Picture(_Drawing(tape, shapes_of(tape, root), names_of(names), limit).render())


class _Box:
    """A vertex of the tape, or a bend in an edge that passes a layer."""

    __slots__ = ("above", "below", "layer", "lines", "vertex", "width", "x")

    def __init__(self, vertex: Any, layer: int, lines: tuple[str, ...]) -> None:
        self.vertex = vertex
        self.layer = layer
        self.lines = lines
        self.width = max((len(line) for line in lines), default=0) * LETTER + (16 if lines else 0)
        self.x = 0.0
        self.above: list[_Box] = []
        self.below: list[_Box] = []


class _Drawing:
    """Layers of boxes, their order and their places."""

    def __init__(self, tape: Tape, shapes: Any, names: dict[int, str], limit: int) -> None:
        self.nodes = tape.nodes[:limit]
        self.hidden = len(tape.nodes) - len(self.nodes)
        self.names = names
        self.shapes = shapes
        self.layers: list[list[_Box]] = []
        self.make(tape)
        self.order()
        self.place()

    # ------------------------------------------------------------ layers
    def make(self, tape: Tape) -> None:
        """A box for each node, one layer below the lowest of those that lead to it, with bends in longer edges.

        A leaf is drawn once for each of its uses, right below it.
        """
        depths: dict[int, int] = {id(target_of(tape.edge)[0]): 0}
        inside = {id(node) for node in self.nodes}
        edges: list[tuple[Any, Any]] = []
        for node in self.nodes:
            for edge in node._edges:
                below = None if edge is None else target_of(edge)[0]
                if below is None or (isinstance(below, Node) and id(below) not in inside):
                    continue
                edges.append((node, below))
                if isinstance(below, Node):
                    depths[id(below)] = max(depths.get(id(below), 0), depths[id(node)] + 1)
        boxes = {id(node): self.add(_Box(node, depths[id(node)], self.text(node))) for node in self.nodes}
        if not self.nodes:
            self.add(_Box(tape.edge, 0, self.text(tape.edge)))
        for above, below in edges:
            upper = boxes[id(above)]
            lower = boxes.get(id(below)) or self.add(_Box(below, upper.layer + 1, self.text(below)))
            for layer in range(upper.layer + 1, lower.layer):
                bend = self.add(_Box(None, layer, ()))
                join(upper, bend)
                upper = bend
            join(upper, lower)

    def add(self, box: _Box) -> _Box:
        """Put a box at the end of its layer."""
        while len(self.layers) <= box.layer:
            self.layers.append([])
        self.layers[box.layer].append(box)
        return box

    def text(self, vertex: Any) -> tuple[str, ...]:
        """The two lines in a box."""
        if isinstance(vertex, Node):
            return label(vertex), shape_text(self.shapes.get((id(vertex), 0)))
        return self.names.get(id(vertex), "leaf"), shape_text(shape_of(vertex))

    # ------------------------------------------------------------ places
    def order(self) -> None:
        """Sort each layer by the mean place of the neighbours in the layer before, down and up a few times."""
        for sweep in range(6):
            down = sweep % 2 == 0
            for layer in self.layers if down else self.layers[::-1]:
                layer.sort(key=lambda box: _wish(box, down))
                self.pack(layer)

    def pack(self, layer: list[_Box]) -> None:
        """Set a layer's boxes beside each other, around 0."""
        total = sum(box.width + ACROSS for box in layer) - ACROSS
        left = -total / 2
        for box in layer:
            box.x = left + box.width / 2
            left += box.width + ACROSS

    def place(self) -> None:
        """Move boxes towards their neighbours as far as those beside them allow."""
        for sweep in range(8):
            down = sweep % 2 == 0
            for layer in self.layers if down else self.layers[::-1]:
                wishes = [_wish(box, down) for box in layer]
                spread(layer, wishes)

    # ------------------------------------------------------------ the picture
    def render(self) -> str:
        """The text of the SVG file."""
        boxes = [box for layer in self.layers for box in layer]
        left = min(box.x - box.width / 2 for box in boxes) - MARGIN
        width = max(box.x + box.width / 2 for box in boxes) + MARGIN - left
        height = len(self.layers) * DOWN - (DOWN - HEIGHT) + 2 * MARGIN + (20 if self.hidden else 0)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
            f'height="{height}" font-family="monospace" font-size="11" fill="#222" text-anchor="middle">',
            f'<rect width="{width:.0f}" height="{height}" fill="#fff"/>',
            f'<g transform="translate({-left:.1f} {MARGIN})">',
        ]
        for box in boxes:
            top = box.layer * DOWN
            for below in box.below:
                start = top + (HEIGHT if box.vertex is not None else 0)
                end = below.layer * DOWN
                middle = (start + end) / 2
                parts.append(
                    f'<path d="M{box.x:.1f} {start}C{box.x:.1f} {middle} {below.x:.1f} {middle} {below.x:.1f} {end}" '
                    'fill="none" stroke="#888"/>'
                )
        parts += [self.box(box) for box in boxes if box.vertex is not None]
        if self.hidden:
            parts.append(f'<text y="{height - MARGIN - 8}">{count_text(self.hidden, "older node")} not drawn</text>')
        return "\n".join([*parts, "</g>", "</svg>"]) + "\n"

    def box(self, box: _Box) -> str:
        """One vertex."""
        left, top = box.x - box.width / 2, box.layer * DOWN
        vertex = box.vertex
        style = 'fill="#f3f3f3" stroke="#666"'
        notes = []
        if isinstance(vertex, Node):
            if is_freed(vertex):
                style += ' stroke-dasharray="4 3"'
                notes.append("freed by backward()")
            notes += [place_text(vertex)] if place_text(vertex) else []
            for kept in kept_by(vertex):
                size = f" {bytes_text(kept.array.nbytes)}" if isinstance(kept.array, np.ndarray) else ""
                notes.append(f"saves {kept.name}{size}")
        else:
            style = 'fill="#dbe9fb" stroke="#48c"'
        title = f"<title>{escape(chr(10).join(notes))}</title>" if notes else ""
        return (
            f'<g>{title}<rect x="{left:.1f}" y="{top}" width="{box.width:.1f}" height="{HEIGHT}" rx="4" {style}/>'
            f'<text x="{box.x:.1f}" y="{top + 15}">{escape(box.lines[0])}</text>'
            f'<text x="{box.x:.1f}" y="{top + 29}" fill="#666">{escape(box.lines[1])}</text></g>'
        )


def join(above: _Box, below: _Box) -> None:
    """Connect two boxes of neighbouring layers."""
    above.below.append(below)
    below.above.append(above)


def _wish(box: _Box, down: bool) -> float:
    """Where a box would like to be: in the middle of its neighbours in the layer above, or below."""
    neighbours = box.above if down else box.below
    return sum([other.x for other in neighbours]) / len(neighbours) if neighbours else box.x


def spread(layer: list[_Box], wishes: list[float]) -> None:
    """Place boxes in their order, as near to their wishes as their widths allow: neighbours that collide share theirs.

    Each group of touching boxes stands where the mean of its members' wishes would put it (pool adjacent violators).
    """
    offsets = [0.0]
    for left, right in itertools.pairwise(layer):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + ACROSS)
    groups: list[list[float]] = []  # sum of wishes less offsets, and how many
    for wish, offset in zip(wishes, offsets):
        groups.append([wish - offset, 1.0])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    places = [total / count for total, count in groups for _ in range(int(count))]
    for box, place, offset in zip(layer, places, offsets):
        box.x = place + offset
