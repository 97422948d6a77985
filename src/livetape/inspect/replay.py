"""A backward that changes nothing: the gradients of a loss once more, from what the tape still keeps.

It runs the derivatives of the table between a loss and some vertices, and notes where gradients are zero or not finite.
No hook is called, no ``.grad`` is touched, nothing is freed, and no code of the program's own is run: at a custom Function
and at values that saved-tensor hooks have packed it stops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.modes import local, set_grad
from livetape._tape.saved import RelayBase
from livetape._tape.tensor import Node, shape_of, wrap
from livetape._tape.views import CopySlicesBase, primitives
from livetape.inspect.tape import Tape, is_freed, kept_by, target_of
from livetape.inspect.words import is_finite, node_text

NONE = 0  # there was no gradient
ZERO = 1  # it was 0 everywhere
FINITE = 2
BAD = 3  # it had nan or inf


def state_of(grad: Any) -> int:
    """What kind of gradient this is."""
    if grad is None:
        return NONE
    if is_finite(grad.array) is False:
        return BAD
    return FINITE if np.count_nonzero(grad.array) else ZERO


def is_masked(incoming: list[Any], grad: Any) -> bool:
    """Whether a gradient has nan only where the one it was made of is 0."""
    if len(incoming) != 1 or incoming[0] is None:
        return False
    before, nan = incoming[0].array, np.isnan(grad.array)
    return before.shape == nan.shape and bool(nan.any()) and not np.any(before[nan])


class Replay:
    """The gradients on the way from a loss to some vertices, as kinds.

    fault      why it stopped short; None if it came through
    entering   by id of a node: the kind of its gradient, the worst of those of its outputs
    leaving    by id of a node and place of an edge: the kind of the gradient it hands on there
    arrived    by id of a leaf: the kind of the gradient that it gets
    masked     the ids of nodes that made nan of a gradient of 0
    """

    def __init__(self, tape: Tape, loss: Any, targets: list[Any]) -> None:
        self.tape = tape
        self.fault: str | None = None
        self.entering: dict[int, int] = {}
        self.leaving: dict[tuple[int, int], int] = {}
        self.arrived: dict[int, int] = {}
        self.masked: set[int] = set()
        needed: dict[int, Any] = {}
        for target in targets:
            needed.update(tape.above(target))
        wanted = set(needed) | {id(target) for target in targets}
        nodes = [node for node in tape.nodes if id(node) in needed]
        for node in nodes:
            self.fault = self.fault or _obstacle(node)
        if self.fault is None and loss is not None and nodes:
            before = local.grad
            set_grad(False)
            try:
                self.run(loss, nodes, wanted)
            except Exception as error:  # a saved value was changed in place, or the like
                self.fault = f"replaying the derivatives raised {type(error).__name__}: {str(error)[:200]}"
            finally:
                set_grad(before)

    def run(self, loss: Any, nodes: list[Any], wanted: set[int]) -> None:
        """Hand the gradients on, newest node first."""
        sums: dict[int, dict[int, tuple[Any, int]]] = {}  # by id of a vertex and output: the gradient and its kind
        start, nr = target_of(self.tape.edge)
        sums[id(start)] = {nr: (wrap(np.ones(shape_of(loss), loss.dtype.np), loss.dtype, None), FINITE)}
        for node in nodes:
            known = sums.pop(id(node), {})
            outputs = max([*known, 0, len(getattr(node, "_output_metas", ())) - 1])
            extras = node._extras
            if extras is not None and extras.outputs is not None:
                outputs = len(extras.outputs) - 1
            incoming = [known[i][0] if i in known else None for i in range(outputs + 1)]
            self.entering[id(node)] = max([kind for _, kind in known.values()], default=NONE)
            flags = [edge is not None and id(target_of(edge)[0]) in wanted for edge in node._edges]
            found = primitives.gradients(node, incoming, flags)
            for place, edge in enumerate(node._edges):
                if not flags[place]:
                    continue
                grad = found[place]
                kind = self.leaving[id(node), place] = state_of(grad)
                if grad is None:
                    continue
                if kind == BAD and is_masked(incoming, grad):
                    self.masked.add(id(node))
                below, output = target_of(edge)
                sofar = sums.setdefault(id(below), {})
                if output in sofar:
                    grad = primitives.add(sofar[output][0], grad)
                    kind = state_of(grad)
                sofar[output] = (grad, kind)
        for vertex, known in sums.items():
            self.arrived[vertex] = max(kind for _, kind in known.values())

    def kind_at(self, vertex: Any) -> int:
        """The kind of the gradient of a leaf or a node."""
        kinds = self.entering if isinstance(vertex, Node) else self.arrived
        return kinds.get(id(vertex), NONE)

    def sources(self, vertex: Any, bad: bool) -> list[tuple[Any, int]]:
        """Where the gradient of a vertex became what it is: nodes, newest first, with the place of the edge.

        bad    look for the nodes that got a finite gradient and handed on nan or inf; otherwise for those that got
               one that was not 0 and handed on 0, or none
        """
        found = []
        seen = {id(vertex)}
        stack = [vertex]
        while stack:
            for node, place in self.tape.parents.get(id(stack.pop()), ()):
                entering, leaving = self.entering.get(id(node), NONE), self.leaving.get((id(node), place), NONE)
                if bad:
                    stops, goes_on = leaving == BAD and entering != BAD, leaving == BAD
                else:
                    stops, goes_on = leaving <= ZERO and entering > ZERO, leaving <= ZERO
                if stops:
                    found.append((node, place))
                elif goes_on and id(node) not in seen:
                    seen.add(id(node))
                    stack.append(node)
        return sorted(found, key=lambda source: int(source[0]._sequence), reverse=True)


def _obstacle(node: Any) -> str | None:
    """Why the derivative of a node cannot be replayed."""
    if is_freed(node):
        return "backward() has freed the saved values"
    if node._op is None:
        if isinstance(node, CopySlicesBase):
            return None if node.fn is None else _obstacle(node.fn)
        if not isinstance(node, RelayBase) and not _is_own_function(node):
            return f"{node_text(node)} is a Function, whose backward is not run for this"
    elif any(kept.packed for kept in kept_by(node)):
        return f"saved-tensor hooks keep the values of {node_text(node)}"
    return None


def _is_own_function(node: Any) -> bool:
    """Whether this is a Function of the package that only computes; a checkpoint would start a backward."""
    cls = getattr(node, "_forward_cls", None)
    module = getattr(cls, "__module__", "")
    return module.startswith("livetape.") and module != "livetape.utils.checkpoint"
