"""Which graphs are alive, what they keep, and who holds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from livetape._tape.tensor import Node, shape_of
from livetape.inspect.live import Live, holders
from livetape.inspect.tape import Tape, is_freed, memory_of, target_of
from livetape.inspect.words import Report, bytes_text, count_text, label, listed, place_text, shape_text

_CANNOT_SEE = (
    "not seen: objects that gc does not track or that gc.freeze() has set aside, and variables of suspended generators"
)


class Graph(NamedTuple):
    """A live graph: what a root leads to, without what a newer root leads to as well."""

    root: Any
    tensors: list[Any]  # the live tensors that the root made
    nodes: int
    freed: int  # how many nodes a backward has freed
    bytes: int  # that its nodes keep, parameters left out


def weight(graph: Graph) -> int:
    """How much a graph takes, roughly: what its nodes keep, and the nodes themselves."""
    return graph.bytes + 400 * graph.nodes


def live_graphs() -> list[Graph]:
    """The graphs that are alive, the one that keeps most first. What several roots share belongs to the newest."""
    live = Live()
    results = live.results()
    seen: set[int] = set()
    counted: set[int] = set()
    found = []
    for root in live.roots():
        nodes = []
        stack = [root]
        seen.add(id(root))
        while stack:
            node = stack.pop()
            nodes.append(node)
            for edge in node._edges:
                if edge is not None:
                    below = target_of(edge)[0]
                    if isinstance(below, Node) and id(below) not in seen:
                        seen.add(id(below))
                        stack.append(below)
        freed = sum(1 for node in nodes if is_freed(node))
        found.append(Graph(root, results.get(id(root), []), len(nodes), freed, memory_of(nodes, counted)))
    found.sort(key=weight, reverse=True)
    return found


def memory_report(limit: int = 10) -> Report:
    """The graphs that are alive: what their nodes keep in memory, where they were made, and which variables hold them.

    limit   show at most this many; graphs alike are shown as one

    Results that are kept for too long show up here: ``running_loss += loss`` keeps the graphs of all steps, and so does
    ``losses.append(loss)``. Parameters and their gradients are not counted. Lines are known where `record_lines` was on.

    >>> import livetape as torch
    >>> w = torch.ones(100000, requires_grad=True)
    >>> losses = [(w * w).exp().sum() for step in range(5)]
    >>> print("now", memory_report())
    now ... live graphs: ... nodes keep ..., beside the parameters...
     1.9 MiB  in 5 graphs alike: SumBackward0 [], 3 nodes each; held by ...
              if these are kept for their values: append(loss.item()), or detach()
    ...
    """
    graphs = live_graphs()
    if not graphs:
        return Report("no live graphs\n" + _CANNOT_SEE)
    groups: dict[tuple[Any, ...], list[Graph]] = {}
    for graph in graphs:
        shape = shape_of(graph.tensors[0]) if graph.tensors else None
        groups.setdefault((label(graph.root), place_text(graph.root), shape, graph.nodes), []).append(graph)
    ordered = sorted(groups.values(), key=lambda group: sum(weight(one) for one in group), reverse=True)
    nodes = sum(graph.nodes for graph in graphs)
    total = bytes_text(sum(graph.bytes for graph in graphs))
    lines = [
        f"{count_text(len(graphs), 'live graph')}: {count_text(nodes, 'node')} keep {total}, beside the parameters"
    ]
    shown = ordered[:limit]
    held = holders([tensor for group in shown for tensor in _tensors_of(group)], [graph.tensors for graph in graphs])
    for group in shown:
        lines += _group_lines(group, held)
    if len(ordered) > limit:
        lines.append(f"... and {count_text(sum(len(group) for group in ordered[limit:]), 'more graph')}")
    return Report("\n".join([*lines, _CANNOT_SEE]))


def _tensors_of(group: list[Graph]) -> list[Any]:
    """The tensors whose holders are looked for."""
    return [tensor for graph in group[:3] for tensor in graph.tensors]


def _group_lines(group: list[Graph], held: dict[int, list[str]]) -> Iterator[str]:
    """Graphs alike, or a single one."""
    first = group[0]
    shape = " " + shape_text(shape_of(first.tensors[0])) if first.tensors else ""
    where = place_text(first.root)
    size = bytes_text(sum(graph.bytes for graph in group))
    title = f"{label(first.root)}{shape}{f' ({where})' if where else ''}, {count_text(first.nodes, 'node')}"
    if len(group) > 1:
        title = f"in {len(group):,} graphs alike: {title} each"
    freed = sum(graph.freed for graph in group)
    if freed:
        title += f", {freed:,} freed by backward()"
    texts = list(dict.fromkeys(text for tensor in _tensors_of(group) for text in held.get(id(tensor), [])))
    if texts:
        title += f"; held by {listed(texts)}"
    elif first.tensors:
        title += "; its holder is not seen"
    else:
        title += "; no tensor is left, only nodes"
    yield f"{size:>8}  {title}"
    if len(group) > 2:
        yield f"{'':10}if these are kept for their values: append(loss.item()), or detach()"
    terms = _accumulated(first)
    if terms:
        yield (
            f"{'':10}a sum of {terms:,} results of separate forward passes through the same leaves: "
            "total += loss.item(), or loss.detach(), lets go of them"
        )


def _accumulated(graph: Graph) -> int:
    """How many results a root adds up one after the other, if it looks like ``total += loss``; otherwise 0."""
    if not graph.tensors or graph.tensors[0].array.size != 1 or graph.root._op is None or graph.root._op.name != "add":
        return 0
    terms = []
    node = graph.root
    kind = type(node)
    while True:
        below = [target_of(edge)[0] for edge in node._edges if edge is not None]
        more = [one for one in below if type(one) is kind]
        terms += [one for one in below if type(one) is not kind]
        if len(more) != 1:
            break
        node = more[0]
    if len(terms) < 3:
        return 0
    newest, other = Tape(terms[0]), Tape(terms[1])
    apart = not ({id(n) for n in newest.nodes} & {id(n) for n in other.nodes})
    return len(terms) if apart and newest.leaves.keys() & other.leaves.keys() else 0
