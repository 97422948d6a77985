"""Where nan and inf come from: in a result, and in a backward."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from livetape._tape.modes import state
from livetape._tape.tensor import Node, TensorBase, shape_of, version_of
from livetape.inspect import advice
from livetape.inspect.live import Live
from livetape.inspect.replay import is_masked
from livetape.inspect.tape import Kept, Key, Tape, edge_to, is_freed, kept_by, key_of, target_of
from livetape.inspect.words import (
    Report,
    count_text,
    facts,
    is_finite,
    listed,
    names_of,
    node_text,
    recorded_lines,
    shape_text,
    tensor_text,
    values_text,
)


def nan_trace(tensor: Any, names: Any = None) -> Report:
    """Where the nan or inf in a tensor came from: the first operation whose inputs are finite and whose result is not.

    tensor   a result on the tape
    names    names for the leaves: a module, or a dictionary {name: tensor}

    It looks at what the nodes have saved and at results that are still alive; nothing is computed again. Where a value
    was not saved, or backward() has freed it, it says so and names all operations that come into question.

    >>> import livetape as torch
    >>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
    >>> nan_trace((x.log() * 2).sum())
    the tensor [] is all nan
      not saved: the results of LogBackward0 and MulBackward0
      LogBackward0 is the first of them; its inputs are finite: self [2] is -1 to 2
      ...
      Next: keep its input in the range where the result is finite (clamp, a smaller step, log-space, float64)
    """
    return _Trace(tensor, names_of(names)).report()


class _Trace:
    """One walk back from a tensor that is not finite."""

    def __init__(self, tensor: Any, names: dict[int, str]) -> None:
        self.tensor = tensor
        self.names = names
        self.tape = Tape(edge_to(tensor))
        self.values: dict[Key, Any] = {}  # what is known of results
        self.constants: dict[int, list[Kept]] = {}  # by id of a node: what it saved of inputs that are not on the tape
        self.collect()

    def collect(self) -> None:
        """Gather the values that are known."""
        for leaf in self.tape.leaves.values():
            self.values[id(leaf), 0] = leaf.array
        inside = {id(node) for node in self.tape.nodes}
        for result in Live().tensors:
            if result.node is not None and id(result.node) in inside and _is_current(result):
                self.values[id(result.node), int(result.output_nr)] = result.array
        for node in self.tape.nodes:
            for kept in kept_by(node):
                if kept.packed or not kept.intact:
                    continue
                if kept.tensor is None:
                    if kept.name.startswith("result"):
                        self.values.setdefault((id(node), int(kept.name[6:] or 0)), kept.array)
                elif kept.tensor.recorded:
                    if _is_current(kept.tensor):
                        edge = edge_to(kept.tensor)
                        self.values.setdefault(key_of(edge), kept.array)
                else:
                    self.constants.setdefault(id(node), []).append(kept)
        if self.tape.edge is not None:
            self.values[key_of(self.tape.edge)] = self.tensor.array

    def known(self, edge: Any) -> bool | None:
        """Whether what an edge leads to is finite; None if its values are not known."""
        array = self.values.get(key_of(edge))
        return None if array is None else is_finite(array)

    def report(self) -> Report:
        """What was found."""
        tensor = self.tensor
        start = f"the tensor {shape_text(shape_of(tensor))} is {values_text(tensor.array)}"
        if is_finite(tensor.array) is not False:
            return Report(f"{start}: nothing to trace", "finite")
        if self.tape.edge is None:
            return Report(f"{start}, and it is not on the tape: it does not require grad", "not recorded")
        if not self.tape.nodes:
            return Report(f"{start}, and it is a leaf: its values came from outside of the tape", "leaf")
        suspects, inputs = self.walk()
        suspects.sort(key=lambda node: int(node._sequence))
        lines = [start]
        for text in inputs:
            lines.append("  " + text)
        if inputs:
            return Report("\n".join([*lines, "  Next: look at what made these values"]), "input")
        first = suspects[0]
        certain = self.is_bad(first)
        if not certain:
            unknown = [node for node in suspects if not self.is_bad(node)]
            results = "result" if len(unknown) == 1 else "results"
            lines.append(f"  not saved: the {results} of {listed([node_text(node) for node in unknown])}")
            if any(is_freed(node) for node in self.tape.nodes):
                lines.append("  backward() has freed what the nodes saved: ask before it, or with retain_graph=True")
        shown = [node for node in suspects if self.is_bad(node) and self.is_origin(node)] if certain else [first]
        for node in shown[:3]:
            verb = "made it" if certain else "is the first of them"
            lines.append(f"  {node_text(node)} {verb}; its inputs are finite: {self.inputs_text(node)}")
        if not recorded_lines(self.tape.nodes):
            lines.append("  no lines are recorded: run the forward inside `with livetape.inspect.record_lines():`")
        return Report("\n".join([*lines, "  Next: " + advice.OVERFLOW]), "found" if certain else "not saved")

    def walk(self) -> tuple[list[Any], list[str]]:
        """The nodes that may have made it, and inputs from outside that had it already."""
        suspects: list[Any] = []
        inputs: list[str] = []
        stack: list[Any] = [self.tape.nodes[0]]
        seen = {id(stack[0])}
        while stack:
            node = stack.pop()
            edges = [edge for edge in node._edges if edge is not None]
            bad = [edge for edge in edges if self.known(edge) is False]
            constants = [kept for kept in self.constants.get(id(node), []) if is_finite(kept.array) is False]
            for kept in constants:
                what = f"{kept.name} {shape_text(kept.array.shape)} is {values_text(kept.array)}"
                inputs.append(f"{node_text(node)} was given it from outside of the tape: {what}")
            if not bad and not constants:
                suspects.append(node)
                bad = [edge for edge in edges if self.known(edge) is None]
            for edge in bad:
                vertex = target_of(edge)[0]
                if id(vertex) in seen:
                    continue
                seen.add(id(vertex))
                if isinstance(vertex, Node):
                    stack.append(vertex)
                else:
                    inputs.append(f"the leaf {tensor_text(vertex, self.names)} is {values_text(vertex.array)}")
        return suspects, inputs

    def is_bad(self, node: Any) -> bool:
        """Whether a result of a node is known not to be finite."""
        outputs = 1 if node._extras is None or node._extras.outputs is None else len(node._extras.outputs)
        return any(is_finite(self.values.get((id(node), nr))) is False for nr in range(outputs))

    def is_origin(self, node: Any) -> bool:
        """Whether all inputs of a node are known to be finite."""
        return all(self.known(edge) is True for edge in node._edges if edge is not None)

    def inputs_text(self, node: Any) -> str:
        """The inputs of a node that are known."""
        row = node._op
        parts = []
        for place, edge in enumerate(node._edges):
            array = None if edge is None else self.values.get(key_of(edge))
            if array is not None:
                named = row is not None and not row.listed and place < len(row.tensors)
                name = row.tensors[place] if named else f"input {place}"
                given = self.names.get(id(target_of(edge)[0]))
                parts.append(
                    f"{name} {f'({given}) ' if given else ''}{shape_text(array.shape)} is {values_text(array)}"
                )
        for kept in self.constants.get(id(node), []):
            parts.append(f"{kept.name} {shape_text(kept.array.shape)} is {values_text(kept.array)}")
        return "; ".join(parts[:4])


def _is_current(tensor: Any) -> bool:
    """Whether a tensor still has the values that its node gave it, as far as its versions tell."""
    version = int(version_of(tensor))
    if tensor.base is not None and version != int(tensor.view_version):
        return False
    known = (tensor.node._counters or {}).get(int(tensor.output_nr)) if tensor.node is not None else None
    return known is None or known[0] is not tensor.version or int(known[1]) == int(known[0].value)


# ---------------------------------------------------------------- in a backward
class nan_trace_backward:
    """Find the node whose backward made the first nan or inf of a backward() inside the block.

    The backward goes on as if nothing was watched; afterwards ``str()`` of this object tells. Where the forward is inside
    the block too, the lines of its nodes are known. Hooks count to the node that they stand at.

    >>> import livetape as torch
    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> with nan_trace_backward() as trace:
    ...     torch.where(x > 0, x.sqrt(), 0.0).sum().backward()
    >>> trace.reason
    'nan'
    >>> print(trace)
    SqrtBackward0 (...) got a finite gradient and made 1 nan of it
    ...
    """

    def __init__(self) -> None:
        self.inf: str | None = None
        self.nan: str | None = None
        self.step = ""
        self.entered: str | None = None
        self.nodes = 0
        self.outer: Any = None
        self.watching = False
        self.running = _Running()

    # ------------------------------------------------------------ the block
    def __enter__(self) -> nan_trace_backward:
        self.outer, self.watching = state.anomaly, state.watching
        state.anomaly = self
        state.watching = True
        return self

    def __exit__(self, *error: Any) -> None:
        state.anomaly, state.watching = self.outer, self.watching

    # ------------------------------------------------------------ what the tape calls
    def note(self, node: Any, frame: Any) -> None:
        """A node was made."""
        if self.outer is not None:
            self.outer.note(node, frame)

    def guard(self, walk: Any, node: Any, slot: Any) -> None:
        """Run a node, with what it receives and has saved in sight."""
        running = self.running
        before = running.at
        running.at = None
        if self.nan is None:
            grads = [slot.grad] if slot.grads is None else list(slot.grads)
            # What is saved is let go of before `look` is called, so it is put into words after the fact from here.
            running.at = (node, grads, node._saved)
            self.nodes += 1
        try:
            if self.outer is not None:
                self.outer.guard(walk, node, slot)
            else:
                walk.evaluate(node, slot)
        finally:
            running.at = before

    def look(self, node: Any, grads: Sequence[TensorBase | None]) -> None:
        """A node has run: see whether it broke its gradient."""
        at = self.running.at
        if at is not None and at[0] is node and self.nan is None:
            self.judge(node, at[1], at[2], [grad for grad in grads if grad is not None])
        if self.outer is not None:
            self.outer.look(node, grads)

    def judge(self, node: Any, incoming: list[Any], saved: Any, found: list[Any]) -> None:
        """Note the first node that makes inf of a finite gradient, and the first that makes nan of one without."""
        given = [grad for grad in incoming if grad is not None]
        if all(is_finite(grad.array) is not False for grad in found):
            return
        was_finite = all(is_finite(grad.array) is not False for grad in given)
        had_nan = any(_has_nan(grad) for grad in given)
        if had_nan:
            if self.inf is None and self.entered is None:
                self.entered = (
                    f"the gradient that {node_text(node)} got is nan already: given to backward(), or made by a hook"
                )
            return
        nan = any(_has_nan(grad) for grad in found)
        if not nan and (not was_finite or self.inf is not None):
            return
        held, node._saved = node._saved, saved
        try:
            what = facts(node)
        finally:
            node._saved = held
        worst = next(grad for grad in found if (_has_nan(grad) if nan else is_finite(grad.array) is False))
        got = "a finite gradient" if was_finite else "a gradient with inf"
        text = f"{node_text(node)} got {got} and made {_count(worst.array)} of it"
        if what:
            text += f"\n  {what}"
        masked = nan and any(is_masked(given, grad) for grad in found)
        if masked:
            text += "\n  " + advice.BEHIND_MASK
        if nan:
            self.nan = text
            self.step = advice.MASKED if masked else advice.BREAKS
        else:
            self.inf = text
            self.step = advice.BREAKS

    # ------------------------------------------------------------ the answer
    @property
    def reason(self) -> str:
        """'nan', 'inf', 'nan given', 'finite', or 'no backward' if there was none in the block."""
        if self.nan is not None:
            return "nan"
        if self.inf is not None:
            return "inf"
        if self.entered is not None:
            return "nan given"
        return "finite" if self.nodes else "no backward"

    def __str__(self) -> str:
        if self.nan is None and self.inf is None:
            if self.entered is not None:
                return self.entered
            return (
                f"{count_text(self.nodes, 'node')} ran, and all gradients are finite"
                if self.nodes
                else "no backward() ran"
            )
        parts = []
        if self.nan is not None:
            parts.append(self.nan)
        if self.inf is not None:
            parts.append(("before that, " if self.nan is not None else "") + self.inf)
        return "\n".join([*parts, "  Next: " + self.step])

    __repr__ = __str__


class _Running(threading.local):
    """The node that this thread's backward is at: it, its gradients and what it saved."""

    at: Any = None


def _has_nan(grad: Any) -> bool:
    return is_finite(grad.array) is False and bool(np.isnan(grad.array).any())


def _count(array: Any) -> str:
    nan = int(np.count_nonzero(np.isnan(array)))
    inf = int(np.count_nonzero(np.isinf(array)))
    return " and ".join(f"{count:,} {word}" for count, word in ((nan, "nan"), (inf, "inf")) if count)
