"""The engine: walk the tape from the roots to the leaves, accumulate what it finds, and free it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from mypy_extensions import i64

from livetape._tape.explain import shape_mismatch
from livetape._tape.hooks import run_node_hooks, run_output_hooks, run_pre_hooks, run_tensor_hooks
from livetape._tape.modes import local, set_grad, state
from livetape._tape.overriding import unseen
from livetape._tape.record import Op
from livetape._tape.tensor import (
    NDARRAY,
    Edge,
    Node,
    Slot,
    TensorBase,
    TensorExtras,
    Vertex,
    counter_of,
    shape_of,
    wrap,
)
from livetape._tape.unused import Unused, joined, note_border, passed_on, settle
from livetape._tape.views import FREED, CopySlicesBase, edge_of, primitives
from livetape.dtypes import FLOAT
from livetape.thread_modes import accumulating, elsewhere

add_arrays: Final = np.add
copyto: Final = np.copyto
empty: Final = np.empty
empty_like: Final = np.empty_like

acquire: Final = accumulating.acquire
release: Final = accumulating.release

DEEP: Final = 30  # walks inside each other, as Functions start them, before a thread is asked for help


class Task:
    """One walk: what it keeps, what it returns, and the vertices it has notes on."""

    __slots__ = (
        "accumulate",
        "create",
        "depth",
        "finished",
        "keep",
        "leaves",
        "number",
        "overflow",
        "pruned",
        "ready",
        "records",
        "results",
        "visited",
    )

    def __init__(self, keep: bool, create: bool, accumulate: bool, captures: int) -> None:
        state.walks += 1
        self.number: i64 = state.walks
        self.keep = keep
        self.create = create
        self.accumulate = accumulate  # whether leaves receive their gradient in .grad
        self.pruned: bool = False  # whether only paths to the captured inputs are walked
        self.finished: bool = False
        self.depth: i64 = 0  # how many walks this one is inside of
        self.records: bool = False  # whether the walk is recorded for the sake of a node on its way
        self.results: list[Any] = [None] * captures
        self.visited: list[Vertex] = []
        self.overflow: dict[Vertex, Slot] = {}  # notes on vertices that another unfinished walk has notes on
        self.ready: list[Node] = []  # a heap: the newest node comes first
        self.leaves: list[tuple[TensorBase, Slot]] = []  # that wait until the node is done, while a profiler watches

    # ------------------------------------------------------------ notes on vertices
    def find(self, vertex: Vertex) -> Slot | None:
        """This walk's slot of a vertex, if it has one."""
        slot = vertex.slot
        if slot is not None and slot.task is self:
            return slot
        if self.overflow:
            return self.overflow.get(vertex)
        return None

    def visit(self, vertex: Vertex) -> Slot:
        """A new slot for a vertex that this walk has not met."""
        slot = Slot(self)
        if vertex.slot is None:
            vertex.slot = slot
        else:
            self.overflow[vertex] = slot
        self.visited.append(vertex)
        return slot

    def leave(self, vertex: Vertex) -> None:
        """Drop the notes on a vertex."""
        slot = vertex.slot
        if slot is not None and slot.task is self:
            vertex.slot = None
        elif self.overflow:
            self.overflow.pop(vertex, None)

    def finish(self) -> None:
        """Drop all notes, also after an exception."""
        for vertex in self.visited:
            slot = vertex.slot
            if slot is not None and slot.task is self:
                vertex.slot = None
        self.finished = True
        self.visited = []
        self.overflow = {}
        self.ready = []

    # ------------------------------------------------------------ what is to be done
    def discover(self) -> None:
        """Count, for each vertex that the roots lead to, how many gradients it will receive."""
        stack: list[Vertex] = list(self.visited)
        while stack:
            vertex = stack.pop()
            if not isinstance(vertex, Node):
                continue
            for edge in vertex._edges:
                if edge is None:
                    continue
                child: Vertex
                if isinstance(edge, Edge):
                    child = edge.node
                else:
                    child = edge
                slot = child.slot
                if slot is None or slot.task is not self:
                    slot = self.find(child)
                    if slot is None:
                        slot = self.visit(child)
                        stack.append(child)
                slot.pending += 1

    def prune(self) -> None:
        """Mark the vertices on a path to a captured input: only they are walked.

        Nodes of results that are to accumulate run too, as in torch, for their hooks' sake.
        """
        self.pruned = True
        for vertex in sorted(self.visited, key=order):  # children come first
            slot = self.find(vertex)
            if slot is None:
                continue
            slot.needed = False
            if isinstance(vertex, Node):
                if self.accumulate and slot.captured is not None:
                    slot.needed = True
                    continue
                for edge in vertex._edges:
                    if edge is None:
                        continue
                    below = self.find(edge.node if isinstance(edge, Edge) else edge)
                    if below is not None and (below.needed or below.captured is not None):
                        slot.needed = True
                        break

    def check_not_freed(self) -> None:
        """Raise before anything is changed if a node on the way was freed by an earlier walk."""
        for vertex in self.visited:
            if isinstance(vertex, Node) and vertex._freed:
                slot = self.find(vertex)
                if slot is not None and slot.needed:
                    raise freed_error(vertex)

    # ------------------------------------------------------------ walks that are recorded for a node's sake
    def leads_to_recorder(self) -> bool:
        """Whether a node on the way asks how its gradients depend on its results."""
        for vertex in self.visited:
            if isinstance(vertex, Node) and vertex._extras is not None and vertex._extras.records:
                return True
        return False

    def forget(self, keep: bool) -> None:
        """Leave no trace of the recording: what is returned has no history, and what was saved is freed unless kept."""
        for i, result in enumerate(self.results):
            if result is not None:
                self.results[i] = wrap(result.array, result.dtype, result._size)
        if not keep:
            for vertex in self.visited:
                if isinstance(vertex, Node) and (vertex._op is None or vertex._op.has_saved_tensors(vertex)):
                    vertex._release()

    # ------------------------------------------------------------ the heap of ready nodes
    def push(self, node: Node) -> None:
        """Add a node that has received all its gradients."""
        ready = self.ready
        ready.append(node)
        place = len(ready) - 1
        while place > 0:
            parent = (place - 1) >> 1
            above = ready[parent]
            if above._sequence >= node._sequence:
                break
            ready[place] = above
            ready[parent] = node
            place = parent

    def pop(self) -> Node:
        """The newest ready node."""
        ready = self.ready
        last = ready.pop()
        count = len(ready)
        if count == 0:
            return last
        first = ready[0]
        place = 0
        while True:
            child = 2 * place + 1
            if child >= count:
                break
            if child + 1 < count and ready[child + 1]._sequence > ready[child]._sequence:
                child += 1
            if ready[child]._sequence <= last._sequence:
                break
            ready[place] = ready[child]
            place = child
        ready[place] = last
        return first

    # ------------------------------------------------------------ the walk
    def walk(self) -> None:
        """Run every ready node until none is left."""
        if self.leaves:
            self.finish_leaves()
        while self.ready:
            node = self.pop()
            slot = self.find(node)
            if slot is None:
                continue
            self.leave(node)
            if state.anomaly is None and state.profiling == 0:
                self.evaluate(node, slot)
            else:
                self.watched(node, slot)
        if self.leaves:
            self.finish_leaves()

    def watched(self, node: Node, slot: Slot) -> None:
        """`evaluate` while anomaly mode is on or a profiler is."""
        recorder = local.recorder
        span = None if recorder is None else recorder.enter_node(node)
        try:
            if state.anomaly is None:
                self.evaluate(node, slot)
            else:
                state.anomaly.guard(self, node, slot)
        finally:
            if recorder is not None:
                recorder.leave(span)
        if self.leaves:
            self.finish_leaves()

    def finish_leaves(self) -> None:
        """Let the leaves that wait receive their gradients, each as a step of its own."""
        recorder = local.recorder
        waiting = self.leaves
        self.leaves = []
        for leaf, slot in waiting:
            if recorder is None:
                self.finish_leaf(leaf, slot)
                continue
            span = recorder.enter_leaf(leaf, slot.grad)
            try:
                self.finish_leaf(leaf, slot)
            finally:
                recorder.leave(span)

    def evaluate(self, node: Node, slot: Slot) -> None:
        """Run one node: hooks, derivative, hooks, and hand its gradients on."""
        grads: list[TensorBase | None]
        several = slot.grads
        grads = [slot.grad] if several is None else several
        owned = slot.owned
        extras = node._extras
        captured = slot.captured
        if captured is not None and slot.needed:  # torch captures before the hooks, unless the walk ends here
            self.capture(captured, grads)
        if extras is not None:
            if run_output_hooks(extras, grads, slot.needed):
                owned = False
                if grads[0] is not slot.grad:
                    slot.unused = None  # of what a hook put in its place nothing is known
        if captured is not None:
            owned = False
            if not slot.needed:
                self.capture(captured, grads)
        if self.pruned and not slot.needed:
            return
        edges = node._edges
        wanted: list[bool] = [False] * len(edges)
        count: i64 = 0
        i = 0
        for edge in edges:
            if edge is not None:
                if not self.pruned or self.is_needed(edge):
                    wanted[i] = True
                    count += 1
            i += 1
        op = node._op
        unused: Unused | None = None
        handed: list[Unused | None] | None = None
        if slot.unused is not None and several is None:
            unused = slot.unused
        if op is not None:
            given: Op = op
            if unused is not None or given.selects:
                handed = passed_on(node, grads, wanted, unused)
        elif isinstance(node, CopySlicesBase):
            handed = passed_on(node, grads, wanted, unused)
        if state.profiling == 0:
            found = gradients(node, grads, wanted, unused)
        else:
            found = profiled(node, grads, wanted, unused)
        if not self.keep:
            if op is None:
                node._release()
            else:
                row: Op = op
                if row.has_saved_tensors(node):
                    node._release()
        if extras is not None and extras.hooks is not None:
            found = run_node_hooks(extras.hooks, found, grads)
            owned = False
            handed = None
        if state.anomaly is not None:
            state.anomaly.look(node, found)
        trusted = node._op is not None and (extras is None or extras.hooks is None)
        i = 0
        for edge in edges:
            if wanted[i]:
                g = found[i]
                exclusive = g is not None and trusted and is_exclusive(g, found, grads, owned, count == 1)
                self.deliver(edge, g, exclusive, None if handed is None else handed[i])
            i += 1

    def capture(self, captured: list[tuple[int, int]], grads: list[TensorBase | None]) -> None:
        """Put the gradients that were asked for into the results."""
        for nr, place in captured:
            self.results[place] = grads[nr] if nr < len(grads) else None

    def is_needed(self, edge: Any) -> bool:
        """Whether an edge leads towards a captured input."""
        slot = self.find(edge.node if isinstance(edge, Edge) else edge)
        return slot is not None and (slot.needed or slot.captured is not None)

    def deliver(self, edge: Any, grad: TensorBase | None, exclusive: bool, unused: Unused | None) -> None:
        """Add a gradient to what an edge leads to, which is ready once it has received all.

        ``exclusive`` says that nobody else sees the gradient's memory: it may be added to in place, or kept. ``unused``
        are elements of it that are 0 because nothing uses them.
        """
        vertex: Vertex
        nr: i64 = 0
        if isinstance(edge, Edge):
            vertex = edge.node
            nr = edge.output_nr
        else:
            vertex = edge
        slot = vertex.slot
        if slot is None or slot.task is not self:
            slot = self.find(vertex)
            if slot is None:
                return
        if grad is not None:
            if unused is not None or slot.unused is not None:
                slot.unused = unused if slot.grad is None else joined(slot.unused, unused)
            self.add(vertex, slot, nr, grad, exclusive)
        slot.pending -= 1
        if slot.pending <= 0:
            if isinstance(vertex, Node):
                self.push(vertex)
            else:
                leaf: TensorBase = vertex  # type: ignore[assignment]
                self.leave(leaf)
                if state.profiling == 0:
                    self.finish_leaf(leaf, slot)
                else:
                    self.leaves.append((leaf, slot))

    def add(self, vertex: Vertex, slot: Slot, nr: i64, grad: TensorBase, exclusive: bool) -> None:
        """Add a gradient to the sum in a slot."""
        if slot.grads is None and (nr > 0 or (isinstance(vertex, Node) and has_several(vertex))):
            slot.grads = [None] * output_count(vertex, nr)
        sums = slot.grads
        before = slot.grad if sums is None else sums[nr]
        if before is None:
            total = grad
        elif self.create or self.records or state.interposed != 0:
            total = primitives.add(before, grad)
            exclusive = False
        elif (
            slot.owned
            and before.dtype is grad.dtype
            and before.array.shape == grad.array.shape
            and before.array.flags.writeable
        ):
            add_arrays(before.array, grad.array, out=before.array)
            total = before
            exclusive = True
        else:
            total = primitives.add(before, grad)
            exclusive = True
        if sums is None:
            slot.grad = total
            slot.owned = exclusive
        else:
            sums[nr] = total

    def finish_leaf(self, leaf: TensorBase, slot: Slot) -> None:
        """Run a leaf's hooks and let it receive its gradient."""
        grad = slot.grad
        exclusive = slot.owned
        extras: TensorExtras | None = leaf.extras
        entering = self.accumulate and (not self.pruned or slot.captured is not None)
        if extras is not None:
            if extras.grad_dtype and grad is not None and grad.dtype is not extras.grad_dtype:
                grad = primitives.cast(grad, extras.grad_dtype)
                exclusive = not grad.recorded
            if extras.hooks is not None and extras.hooks:
                grad = run_tensor_hooks(extras.hooks, grad)
                exclusive = False
            if entering and extras.node_pre_hooks is not None and extras.node_pre_hooks:
                grad = run_pre_hooks(extras.node_pre_hooks, [grad])[0]
                exclusive = False
        if slot.captured is not None:
            for _, place in slot.captured:
                self.results[place] = grad
            exclusive = False
        if entering:
            if grad is not None:
                acquire()
                try:
                    accumulate_grad(leaf, grad, exclusive, self.create)
                finally:
                    release()
            if extras is not None:
                if extras.accumulate_hooks is not None:
                    for hook in list(extras.accumulate_hooks.values()):
                        given = hook(leaf)
                        if given is not None and not isinstance(given, TensorBase):
                            raise TypeError(f"expected Variable, but hook returned '{type(given).__name__}'")
                if extras.node_hooks is not None and extras.node_hooks:
                    run_node_hooks(extras.node_hooks, [], [grad])


def is_exclusive(
    grad: TensorBase, found: list[TensorBase | None], grads: list[TensorBase | None], owned: bool, alone: bool
) -> bool:
    """Whether nobody but the receiver of ``grad`` sees its memory.

    A formula returns something new, or its incoming gradient or a view of it, which is the receiver's own if the
    incoming one was (``owned``) and no other input gets a gradient (``alone``).
    """
    base = grad.array.base
    if base is not None and (type(base) is not NDARRAY or 0 in grad.array.strides):  # an expanded view repeats elements
        return False
    memory = grad.array if base is None else base
    for g in grads:
        if g is not None and (g.array is memory or g.array.base is memory):
            return owned and alone
    if alone:
        return True
    seen = 0
    for g in found:
        if g is not None and (g.array is memory or g.array.base is memory):
            seen += 1
    return seen == 1


def has_several(node: Node) -> bool:
    """Whether a node has more than one output."""
    extras = node._extras
    return extras is not None and extras.outputs is not None


def output_count(vertex: Vertex, nr: i64) -> int:
    """How many outputs a node has, at least ``nr`` + 1."""
    if isinstance(vertex, Node):
        extras = vertex._extras
        if extras is not None and extras.outputs is not None:
            return len(extras.outputs)
    return int(nr) + 1


def order(vertex: Vertex) -> int:
    """The place of a vertex among all: leaves first, then nodes by age."""
    return int(vertex._sequence) if isinstance(vertex, Node) else 0


def freed_error(node: Node) -> RuntimeError:
    """Torch's error for a second walk, with a note on the node that was freed."""
    error = RuntimeError(FREED)
    error.add_note(
        f"livetape: {type(node).__name__} let go of its saved tensors in an earlier backward(). Call backward "
        "once for each forward pass, or pass retain_graph=True to all but the last call. "
        "livetape.inspect.graph_text(loss) shows what was freed."
    )
    return error


def gradients(
    node: Node, grads: list[TensorBase | None], wanted: list[bool], unused: Unused | None = None
) -> list[TensorBase | None]:
    """The gradients of a node's inputs, each brought to its input's shape and dtype: broadcasting is undone here."""
    op = node._op
    found: list[TensorBase | None]
    if op is None:
        found = node._run(grads, wanted)
    else:
        nothing = True
        for g in grads:
            if g is not None:
                nothing = False
        if nothing:
            return [None] * len(wanted)
        row: Op = op
        found = unseen(row.backward, node, grads, wanted) if state.overriding else row.backward(node, grads, wanted)
        if unused is not None:
            settle(node, row, grads, wanted, found, unused)
    metas = node._metas
    if metas is not None:
        for i in range(len(found)):
            g = found[i]
            meta = metas[i]
            if g is not None and meta is not None:
                size, kind = meta
                if size is not None:
                    shape = shape_of(g)
                    if shape is not size and shape != size:
                        g = primitives.sum_to(g, size)
                if g.dtype is not kind:
                    g = primitives.cast(g, kind)
                found[i] = g
    return found


def profiled(
    node: Node, grads: list[TensorBase | None], wanted: list[bool], unused: Unused | None
) -> list[TensorBase | None]:
    """`gradients` while a profiler is on, in this thread or in another."""
    recorder = local.recorder
    if recorder is None:
        return gradients(node, grads, wanted, unused)
    span = recorder.enter_gradients(node, grads)
    try:
        return gradients(node, grads, wanted, unused)
    finally:
        recorder.leave(span)


def is_laid_out_as(array: Any, leaf: Any) -> bool:
    """Whether a gradient lies in memory as its leaf does, or in the usual order if the leaf has gaps."""
    if leaf.flags.c_contiguous:
        return bool(array.flags.c_contiguous) or not local.lays_out
    return not local.lays_out or array.strides == empty_like(leaf).strides == leaf.strides


def laid_out_as(array: Any, leaf: Any) -> Any:
    """A copy of a gradient that lies in memory as its leaf does, or in the usual order if the leaf has gaps."""
    if not leaf.flags.c_contiguous:
        made = empty_like(leaf)
        if made.strides == leaf.strides:
            copyto(made, array)
            return made
    return array.copy()


def accumulate_grad(leaf: TensorBase, grad: TensorBase, exclusive: bool, create: bool) -> None:
    """Add a gradient to a leaf's .grad: in place, unless the graph of the gradient itself is being recorded."""
    if not leaf.recorded:
        return
    extras: TensorExtras | None = leaf.extras
    kind: Any = leaf.dtype
    if extras is not None and extras.grad_dtype is not False:
        kind = extras.grad_dtype
    if kind is not None and grad.dtype is not kind:
        grad = primitives.cast(grad, kind)
    if grad.array.shape != leaf.array.shape:
        raise shape_mismatch(leaf, grad)
    before = leaf._gradient
    if before is None:
        if create and type(leaf.array) is NDARRAY:
            leaf._gradient = primitives.copy_(
                wrap(empty_like(leaf.array, grad.array.dtype), grad.dtype, leaf._size), grad
            )
        elif create:
            leaf._gradient = primitives.clone(grad)
        elif exclusive and grad.array.flags.writeable and not grad.recorded and is_laid_out_as(grad.array, leaf.array):
            leaf._gradient = grad
        else:
            leaf._gradient = wrap(laid_out_as(grad.array, leaf.array), grad.dtype, grad._size)
    elif create:
        leaf._gradient = primitives.add(before, grad)
    else:
        if grad.dtype is not before.dtype:
            grad = primitives.cast(grad, before.dtype)
        add_arrays(before.array, grad.array, out=before.array)
        counter_of(before).bump()


# ---------------------------------------------------------------- the way in
def run_backward(
    roots: list[Any], root_grads: list[Any], keep: bool, create: bool, inputs: list[Any] | None, accumulate: bool
) -> list[Any]:
    """Walk from ``roots`` (edges) with ``root_grads`` (tensors); return the gradients of ``inputs`` (edges), if any.

    With ``accumulate`` the leaves receive theirs in .grad: all of them, or those among ``inputs``.
    """
    task = Task(keep, create, accumulate, 0 if inputs is None else len(inputs))
    outer = local.walk
    if outer is not None:
        task.depth = outer.depth + 1
        if task.depth % DEEP == 0:  # Python's stack would end: another thread has one of its own
            return list(elsewhere(run, (task, roots, root_grads, inputs)))
    return run(task, roots, root_grads, inputs)


def run(task: Task, roots: list[Any], root_grads: list[Any], inputs: list[Any] | None) -> list[Any]:
    """`run_backward`, once it is known where."""
    keep, create = task.keep, task.create
    own: dict[str, Any] = local.__dict__  # this thread's
    before = bool(own.get("grad", True))
    outer = own.get("walk")
    own["walk"] = task
    try:
        for root in roots:
            vertex: Vertex = root.node if isinstance(root, Edge) else root
            if task.find(vertex) is None:
                task.visit(vertex)
        task.discover()
        if inputs is not None:
            place = 0
            for entry in inputs:
                slot = None if entry is None else task.find(entry.node if isinstance(entry, Edge) else entry)
                if slot is not None:
                    if slot.captured is None:
                        slot.captured = []
                    slot.captured.append((int(entry.output_nr) if isinstance(entry, Edge) else 0, place))
                place += 1
            task.prune()
        task.check_not_freed()
        if state.records and outer is None and task.leads_to_recorder():
            task.records = True
            task.keep = True
        set_grad(create or task.records)
        for root in roots:  # a root counts as one more gradient to come
            slot = task.find(root.node if isinstance(root, Edge) else root)
            if slot is not None:
                slot.pending += 1
        for i in range(len(roots)):
            task.deliver(roots[i], root_grads[i], False, None)
        task.walk()
        if task.records and not create:
            task.forget(keep)
    finally:
        own["walk"] = outer
        set_grad(before)
        task.finish()
    return task.results


def backward_from(root: TensorBase, keep: bool, create: bool) -> bool:
    """The plain ``loss.backward()``: walk from a real scalar to all leaves. False if ``root`` is not one."""
    edge = edge_of(root)
    if edge is None or root.dtype.category != FLOAT or root.array.size != 1:
        return False
    one = empty(root.array.shape, root.dtype.np)
    one.fill(1)
    grad = wrap(one, root.dtype, root._size)
    run_backward([edge], [grad], keep, create, None, True)
    return True


primitives.gradients = gradients
primitives.note_border = note_border
