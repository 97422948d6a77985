"""Reading the tape: what a root leads to, what its nodes have saved, and what shapes they gave. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from livetape._tape.saved import INPUT, RESULT, SIZE, Packed
from livetape._tape.tensor import Edge, Node, TensorBase, shape_of, version_of
from livetape._tape.views import CopySlicesBase, edge_of
from livetape.autograd.function import FunctionCtx
from livetape.ops.nodes import AccumulateGrad

Key = tuple[int, int]  # the id of a vertex, and the number of its output

# Rows that save nothing and give their input's shape.
_KEEP_SHAPE = frozenset(("clone", "to_copy", "zero", "fill", "cumsum", "flip", "roll", "tril", "triu", "copy"))


class Kept(NamedTuple):
    """One value that a node keeps for its derivative."""

    name: str
    tensor: Any  # the input that was saved; None for a result
    array: Any  # the values, or what saved-tensor hooks made of them
    place: int | None  # which edge of the node the input belongs to, where that is known
    intact: bool  # whether the values are still those that were saved
    packed: bool = False  # whether saved-tensor hooks keep them


def target_of(edge: Any) -> tuple[Any, int]:
    """The vertex that an edge leads to, and which of its outputs."""
    return (edge.node, int(edge.output_nr)) if isinstance(edge, Edge) else (edge, 0)


def edge_to(root: Any) -> Any:
    """The edge to a tensor, a node or a GradientEdge; None for a tensor that is not on the tape."""
    if isinstance(root, TensorBase):
        try:
            return edge_of(root)
        except RuntimeError:  # a view whose history may not be rewritten: its old one is what there is
            return root.node if root.output_nr == 0 or root.node is None else Edge(root.node, root.output_nr)
    if isinstance(root, AccumulateGrad):
        return root.variable
    if isinstance(root, Node):
        return root
    if isinstance(root, tuple) and len(root) >= 2 and isinstance(root[0], Node):
        node, nr = root[0], root[1]
        if isinstance(node, AccumulateGrad):
            return node.variable
        return node if nr == 0 else Edge(node, nr)
    raise TypeError(f"expected a tensor, a grad_fn or a GradientEdge, not {type(root).__name__}")


def key_of(edge: Any) -> Key:
    """An edge as a key: edges to the same output of the same vertex have the same."""
    vertex, nr = target_of(edge)
    return id(vertex), nr


def is_freed(node: Any) -> bool:
    """Whether a backward has let go of what a node saved."""
    return bool(node._freed) or bool(getattr(node, "_released", False))


class Tape:
    """All that a root leads to.

    nodes      newest first: each stands before those it leads to
    leaves     by id, in the order in which they were met
    parents    by id of a vertex: the nodes that lead to it, each with the place of the edge
    """

    def __init__(self, edge: Any) -> None:
        self.edge = edge
        self.nodes: list[Any] = []
        self.leaves: dict[int, Any] = {}
        self.parents: dict[int, list[tuple[Any, int]]] = {}
        self.walk()

    def walk(self) -> None:
        """Meet every vertex once."""
        if self.edge is None:
            return
        start = target_of(self.edge)[0]
        self.parents[id(start)] = []
        stack = [start]
        while stack:
            vertex = stack.pop()
            if not isinstance(vertex, Node):
                self.leaves[id(vertex)] = vertex
                continue
            self.nodes.append(vertex)
            for place, edge in enumerate(vertex._edges):
                if edge is None:
                    continue
                below = target_of(edge)[0]
                known = self.parents.get(id(below))
                if known is None:
                    known = self.parents[id(below)] = []
                    stack.append(below)
                known.append((vertex, place))
        self.nodes.sort(key=_age, reverse=True)

    def __contains__(self, vertex: Any) -> bool:
        return id(vertex) in self.parents

    def above(self, vertex: Any) -> dict[int, Any]:
        """The nodes on the paths from the root to a vertex, by id."""
        found: dict[int, Any] = {}
        stack = [vertex]
        while stack:
            for node, _ in self.parents.get(id(stack.pop()), ()):
                if id(node) not in found:
                    found[id(node)] = node
                    stack.append(node)
        return found


def _age(node: Any) -> int:
    return int(node._sequence)


# ---------------------------------------------------------------- what nodes keep
def kept_by(node: Any) -> Iterator[Kept]:
    """The tensors and arrays that a node keeps."""
    if isinstance(node, CopySlicesBase):
        if node.fn is not None:
            yield from kept_by(node.fn)
        return
    row = node._op
    if row is None:
        if isinstance(node, FunctionCtx):
            yield from _kept_by_function(node)
        return
    values = node._saved
    if values is None:
        return
    for position, saved in enumerate(row.saved):
        value = values[position]
        if isinstance(value, TensorBase):
            expected = 0 if node._versions is None else int(node._versions[position])
            place = None
            if saved.kind == INPUT and not row.listed:
                place = row.tensor_at.index(saved.index)
            yield Kept(saved.name, value, value.array, place, int(version_of(value)) == expected)
        elif isinstance(value, Packed):
            yield _packed(saved.name, value)
        elif isinstance(value, np.ndarray):
            counter = (node._counters or {}).get(int(saved.index)) if saved.kind == RESULT else None
            yield Kept(saved.name, None, value, None, counter is None or int(counter[0].value) == int(counter[1]))
        elif type(value) in (list, tuple):
            for one in value:
                if isinstance(one, TensorBase):
                    yield Kept(saved.name, one, one.array, None, True)
                elif isinstance(one, np.ndarray):
                    yield Kept(saved.name, None, one, None, True)


def _kept_by_function(node: Any) -> Iterator[Kept]:
    """What a Function saved, and the tensors that it put on its ctx."""
    for value in node._kept or ():
        if isinstance(value, tuple):
            tensor, version = value
            yield Kept("saved", tensor, tensor.array, None, int(version_of(tensor)) == version)
        elif value is not None:
            packed = value if isinstance(value, Packed) else getattr(value, "packed", None)
            if packed is not None:
                yield _packed("saved", packed)
            else:
                yield Kept("saved", None, value.array, None, value.counter.value == value.version)
    for name, value in vars(node).items():
        if isinstance(value, TensorBase) and not name.startswith("_"):
            yield Kept("ctx." + name, value, value.array, None, True)


def _packed(name: str, value: Packed) -> Kept:
    made = value.value
    return Kept(name, None, made.array if isinstance(made, TensorBase) else made, None, True, True)


def is_parameter(tensor: Any) -> bool:
    """Whether this is a leaf that requires grad, or a view of one: to save it keeps nothing alive that would not live."""
    if tensor is None:
        return False
    owner = tensor if tensor.base is None else tensor.base
    return owner.node is None and bool(owner.recorded)


def block_of(array: Any) -> Any:
    """The array that owns the memory: a saved view keeps all of it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def memory_of(nodes: Any, counted: set[int] | None = None) -> int:
    """The bytes that nodes keep, each piece of memory once and parameters left out; ``counted`` are pieces done before."""
    if counted is None:
        counted = set()
    total = 0
    for node in nodes:
        for kept in kept_by(node):
            if isinstance(kept.array, np.ndarray) and not is_parameter(kept.tensor):
                block = block_of(kept.array)
                if id(block) not in counted:
                    counted.add(id(block))
                    total += block.nbytes
    return total


# ---------------------------------------------------------------- who shares memory
def same_counter(a: Any, b: Any) -> bool:
    """Whether changes of either tensor are seen at both: what detach() gives, and views."""
    return a.version is not None and a.version is b.version


def shares(a: Any, b: Any) -> bool:
    """Whether two tensors have memory in common."""
    if a is b:
        return False
    x, y = a.array, b.array
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)) or not x.size or not y.size:
        return False
    return block_of(x) is block_of(y) and bool(np.may_share_memory(x, y))


def is_marked(tensor: Any) -> bool:
    """Whether a tensor shares its version counter with another that it is no view of: the mark that detach() leaves."""
    return tensor.version is not None and tensor.base is None and int(tensor.version.value) == 0


# ---------------------------------------------------------------- shapes
def shapes_of(tape: Tape, root: Any = None) -> dict[Key, tuple[int, ...]]:
    """The shapes of what the nodes gave, where the tape tells: nodes do not keep them as such."""
    found: dict[Key, tuple[int, ...]] = {}
    if isinstance(root, TensorBase) and tape.edge is not None:
        found[key_of(tape.edge)] = tuple(shape_of(root))
    for leaf in tape.leaves.values():
        found[id(leaf), 0] = tuple(shape_of(leaf))
    for node in tape.nodes:  # from the results to the inputs
        _note_outputs(node, found)
        for place, edge in enumerate(node._edges):
            if edge is not None and key_of(edge) not in found:
                shape = _input_shape(node, place, found)
                if shape is not None:
                    found[key_of(edge)] = shape
    for node in reversed(tape.nodes):  # and from the inputs to the results
        if (id(node), 0) not in found:
            shape = _result_shape(node, found)
            if shape is not None:
                found[id(node), 0] = shape
    return found


def _note_outputs(node: Any, found: dict[Key, tuple[int, ...]]) -> None:
    """Shapes of results that the node itself knows."""
    extras = node._extras
    metas = extras.outputs if extras is not None and extras.outputs is not None else getattr(node, "_output_metas", ())
    for nr, meta in enumerate(metas):
        if meta is not None:
            found.setdefault((id(node), nr), tuple(meta[0]))
    row, values = node._op, node._saved
    if row is not None and values is not None:
        for position, saved in enumerate(row.saved):
            if saved.kind == RESULT and isinstance(values[position], np.ndarray):
                found.setdefault((id(node), int(saved.index)), values[position].shape)


def _input_shape(node: Any, place: int, found: dict[Key, tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape of one of a node's inputs."""
    metas = node._metas
    if metas is not None and metas[place] is not None and metas[place][0] is not None:
        return tuple(metas[place][0])
    own = found.get((id(node), 0))
    row = node._op
    if row is None:
        inputs = getattr(node, "_input_metas", None)
        if inputs:
            return None if inputs[place] is None else tuple(inputs[place][0])
        if place and isinstance(node, CopySlicesBase):
            return None if node.fn is None else _input_shape(node.fn, place, {(id(node.fn), 0): tuple(node.size)})
        return own if place == 0 else None  # the tensor before the change, or what the node stands for
    if row.is_elementwise() or (row.name in _KEEP_SHAPE and (place == 0 or row.name == "copy")):
        return own
    values = node._saved
    if values is None:
        return None
    for position, saved in enumerate(row.saved):
        value = values[position]
        if value is None:
            continue
        if row.listed:
            if saved.kind == SIZE and isinstance(value, list) and place < len(value):
                return tuple(value[place])
        elif saved.kind in (INPUT, SIZE) and saved.index == row.tensor_at[place]:
            if isinstance(value, TensorBase):
                return tuple(shape_of(value))
            if saved.kind == SIZE:
                return tuple(value)
    return None


def _result_shape(node: Any, found: dict[Key, tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape of a node's result from those of its inputs: for views by making one of an array without memory."""
    inputs = [None if edge is None else found.get(key_of(edge)) for edge in node._edges]
    first = inputs[0] if inputs else None
    row = node._op
    if row is None:
        return first if isinstance(node, CopySlicesBase) else None
    if row.name in _KEEP_SHAPE:
        return first
    if row.is_elementwise():
        return None if node._metas is not None else next((shape for shape in inputs if shape is not None), None)
    if not row.view or row.listed or row.outputs != 1 or first is None:
        return None
    values = node._saved or ()
    given = {saved.name: values[position] for position, saved in enumerate(row.saved) if position < len(values)}
    names = [name for name in row.params if name not in row.tensors]
    if any(given.get(name) is None for name in names):
        return None
    try:
        return tuple(row.kernel(np.broadcast_to(np.float32(0), first), *[given[name] for name in names]).shape)
    except (TypeError, ValueError, IndexError, RuntimeError):
        return None
