"""How tensors print inside transforms: one wrapping a level, as in torch, the newest level outside."""

from __future__ import annotations

from typing import Any

from livetape import printing
from livetape._tape.modes import local
from livetape._tape.tensor import Edge, Node, TensorBase, wrap
from livetape._tape.views import edge_of
from livetape.ops.slicing import ALIAS


def text_of(tensor: Any) -> str:
    """``repr(tensor)`` while transforms are under way."""
    return _text(tensor, local.levels)


def wraps(tensor: Any) -> bool:
    """Whether a tensor belongs to one of the transforms under way."""
    return any(level.layer(tensor, None) is not None for level in local.levels)


def _text(tensor: Any, levels: tuple[Any, ...]) -> str:
    above = None  # the start of the next level of reverse mode above the one that is looked at
    for place in range(len(levels) - 1, -1, -1):
        layer = levels[place].layer(tensor, above)
        if layer is not None:
            heading, inner = layer
            text = _text(inner, levels[:place])
            return text if heading is None else f"{heading}, value=\n    {indented(text)}\n)"
        start = getattr(levels[place], "start", None)
        above = above if start is None else start
    return printing.tensor_str(_outermost(tensor))


def indented(text: str) -> str:
    """The text of a value, four columns in."""
    return "\n".join([line and ("    " if i else "") + line for i, line in enumerate(text.split("\n"))])


def leads_between(tensor: Any, level: Any, above: int | None) -> bool:
    """Whether a tensor's history reaches what was made in a level of reverse mode before ``above``, if that is given."""
    edge = edge_of(tensor)
    stack, met = [] if edge is None else [edge], set()
    while stack:
        vertex = stack.pop()
        if isinstance(vertex, Edge):
            vertex = vertex.node
        if isinstance(vertex, TensorBase):
            if id(vertex) in level.leaves:
                return True
            continue
        if id(vertex) in met or vertex._sequence <= level.start:
            continue
        if above is None or vertex._sequence <= above:
            return True
        met.add(id(vertex))
        stack += [e for e in vertex._edges if e is not None]
    return False


def _outermost(tensor: Any) -> Any:
    """What is left of a tensor below all levels: its values, with the history that it has there."""
    first = next((level for level in local.levels if hasattr(level, "start")), None)
    if first is None:
        return tensor
    plain: Any = wrap(tensor.array, tensor.dtype, tensor._size)
    edge = edge_of(tensor)
    while isinstance(edge, Node) and edge._op is ALIAS and edge._sequence > first.start:  # a level's input
        edge = edge._edges[0]
    if isinstance(edge, TensorBase):
        plain.recorded = id(edge) not in first.leaves
    elif edge is not None and first.leads_below(tensor):
        plain.node = edge.node if isinstance(edge, Edge) else edge
        plain.recorded = True
    return plain
