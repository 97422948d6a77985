"""Why a tensor's gradient is None, zero or nan."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from livetape._tape.tensor import Node, TensorBase, shape_of
from livetape._tape.views import is_borrowing, needs_gradient
from livetape.autograd.function import FunctionCtx
from livetape.dtypes import FLOAT
from livetape.inspect import advice
from livetape.inspect.live import Live
from livetape.inspect.replay import BAD, FINITE, Replay
from livetape.inspect.tape import Kept, Tape, edge_to, is_freed, is_marked, kept_by, same_counter, shares, target_of
from livetape.inspect.words import (
    Report,
    count_text,
    cut_text,
    facts,
    is_finite,
    label,
    listed,
    names_of,
    node_text,
    recorded_lines,
    shape_text,
    tensor_text,
    values_text,
)


def explain_grad(tensor: Any, loss: Any = None, names: Any = None) -> Report:
    """Why the ``.grad`` of a tensor is None, zero or nan, as far as the tape shows it.

    tensor   the tensor whose gradient is in question
    loss     what backward() was or will be called on; without it, the newest live result that depends on the tensor
    names    names for other tensors in the text: a module, or a dictionary {name: tensor}

    Works before and after backward(), and says more while the tape keeps what it saved: before backward(), or after
    ``backward(retain_graph=True)``. Nothing is changed; where a gradient is zero or nan, the derivatives between
    ``loss`` and ``tensor`` are computed once more, without hooks.

    >>> import livetape as torch
    >>> w, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    >>> h = w * 3
    >>> explain_grad(w, (h.detach() * b).sum())
    .grad is None: not on any path to the loss
      MulBackward0 uses the result of MulBackward0 without its history: it was detached between
      Next: take the detach() away, if this tensor is to learn from this loss
    >>> explain_grad(h)
    .grad is None: not a leaf, but the result of MulBackward0; only leaves keep their gradient
      Next: call retain_grad() on it before backward(), or take autograd.grad(loss, tensor)
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"expected a tensor, not {type(tensor).__name__}")
    inquiry = Inquiry(loss, names_of(names), [tensor])
    finding = inquiry.explain(tensor)
    if inquiry.guessed and finding.reason in ("zero", "not finite", "no backward", "gradient gone"):
        finding = finding._replace(
            evidence=(*finding.evidence, "taken for the loss: the newest live result that depends on it")
        )
    return finding.report()


class Finding(NamedTuple):
    """What was found out about one tensor."""

    reason: str  # a word or two, the same for the same cause
    verdict: str
    evidence: tuple[str, ...] = ()
    step: str = ""
    brief: str = ""  # for one line; without it, the first of the evidence

    def report(self) -> Report:
        """All of it as text."""
        lines = [self.verdict, *["  " + one for one in self.evidence]]
        if self.step:
            lines.append("  Next: " + self.step)
        return Report("\n".join(lines), self.reason)


class Inquiry:
    """Questions about tensors and one loss, which share what was found on the way."""

    def __init__(self, loss: Any, names: dict[int, str], tensors: list[Any]) -> None:
        self.names = names
        self.tensors = tensors
        self._live: Live | None = None
        self._constants: list[tuple[Any, Kept]] | None = None
        self._replay: Replay | None = None
        self.guessed = False
        if loss is None:
            loss = self.guess()
            self.guessed = loss is not None
        self.loss = loss
        self.tape = Tape(None if loss is None else edge_to(loss))

    # ------------------------------------------------------------ what is looked up once
    @property
    def live(self) -> Live:
        """What is alive."""
        if self._live is None:
            self._live = Live()
        return self._live

    @property
    def constants(self) -> list[tuple[Any, Kept]]:
        """The floating point tensors without a history that the loss's nodes have saved, each with its node."""
        if self._constants is None:
            self._constants = [
                (node, kept)
                for node in self.tape.nodes
                for kept in kept_by(node)
                if kept.tensor is not None and kept.tensor.dtype.category >= FLOAT and self.is_constant(node, kept)
            ]
        return self._constants

    def is_constant(self, node: Any, kept: Kept) -> bool:
        """Whether a node used a saved tensor without a way for gradients to it."""
        if kept.place is not None and not isinstance(node, FunctionCtx):
            return node._edges[kept.place] is None
        return not kept.tensor.recorded

    @property
    def replay(self) -> Replay:
        """The gradients of the loss once more, for all tensors whose gradient is strange."""
        if self._replay is None:
            targets = []
            for tensor in self.tensors:
                grad = tensor._gradient
                vertex = self.vertex(tensor)
                if grad is not None and vertex in self.tape and _kind(grad) != FINITE:
                    targets.append(vertex)
            self._replay = Replay(self.tape, self.loss if isinstance(self.loss, TensorBase) else None, targets)
        return self._replay

    def vertex(self, tensor: Any) -> Any:
        """What receives the gradient of a tensor."""
        edge = edge_to(tensor)
        return tensor if edge is None else target_of(edge)[0]

    def guess(self) -> Any:
        """The newest live result that depends on any of the tensors: the tensor, or its node if that alone is alive."""
        ends = self.live.ends_above([self.vertex(tensor) for tensor in self.tensors if needs_gradient(tensor)])
        return self.live.results().get(id(ends[0]), [ends[0]])[0] if ends else None

    def loss_text(self) -> str:
        """The loss by its node and shape."""
        if isinstance(self.loss, TensorBase):
            node = self.loss.node
            return f"{node_text(node) if node is not None else 'a leaf'} {shape_text(shape_of(self.loss))}"
        return node_text(target_of(self.tape.edge)[0])

    # ------------------------------------------------------------ the answer
    def explain(self, tensor: Any) -> Finding:
        """What is the matter with one tensor."""
        grad = tensor._gradient
        if grad is not None:
            return self.of_gradient(tensor, grad)
        if not needs_gradient(tensor):
            return self.not_recorded(tensor)
        vertex = self.vertex(tensor)
        if isinstance(vertex, Node) and not (tensor.extras is not None and tensor.extras.retains):
            evidence = [] if self.loss is None or vertex in self.tape else ["besides, the loss does not depend on it"]
            return Finding(
                "non-leaf",
                f".grad is None: not a leaf, but the result of {node_text(vertex)}; only leaves keep their gradient",
                tuple(evidence),
                "call retain_grad() on it before backward(), or take autograd.grad(loss, tensor)",
            )
        if self.loss is None:
            return Finding(
                "unused",
                ".grad is None: no live tape leads to it",
                ("it was not used since it required grad, or the results are gone",),
                "pass the loss: explain_grad(tensor, loss)",
            )
        if self.tape.edge is None:
            twin = self.twin(self.loss)
            why = (
                "no_grad() was on, or nothing it was computed from requires grad: the tape keeps none of such a result"
            )
            cut = cut_text(self.loss)
            if twin is not None:
                why = f"it shares its memory with {self.describe(twin)}: detached{' ' + cut if cut else ''}"
            elif cut:
                why = f"its history was cut {cut}"
            return Finding(
                "loss not recorded",
                ".grad is None: the loss itself does not require grad",
                (why,),
                "look for no_grad(), detach(), .data, item(), numpy() and integer results on the way to the loss",
            )
        if vertex not in self.tape:
            return self.unreachable(tensor)
        return self.reachable(tensor, vertex)

    def not_recorded(self, tensor: Any) -> Finding:
        """For a tensor that does not require grad."""
        start = ".grad is None: "
        if tensor.dtype.category < FLOAT:
            return Finding(
                "dtype",
                f"{start}{tensor.dtype!r} has no gradients, only floating point and complex dtypes do",
                (),
                "convert before the forward: t.float().requires_grad_()",
            )
        if tensor.inference:
            return Finding(
                "inference_mode",
                f"{start}made in inference_mode(){_at(tensor)}",
                (),
                "make it outside of inference_mode(), or take a clone() of it outside and requires_grad_()",
            )
        twin = self.twin(tensor)
        if twin is not None and type(twin).__name__ == "Parameter":
            return Finding(
                "requires_grad is False",
                f"{start}requires_grad is False",
                (f"its memory is that of a parameter, {tensor_text(twin, self.names)}",),
                "look at the .grad of the parameter",
            )
        if twin is not None:
            how = "detach()" if same_counter(tensor, twin) else ".data, numpy() or from_numpy()"
            return Finding(
                "detached",
                f"{start}it does not require grad",
                (f"it shares its memory with {self.describe(twin)}, as {how} gives it{_at(tensor)}",),
                "use the tensor itself instead of its detached twin",
            )
        cut = cut_text(tensor)
        if cut:
            return Finding(
                "detached" if "by " in cut else "no_grad",
                f"{start}it does not require grad",
                (f"its history was cut {cut}",),
                "do without that, if gradients are to flow through it",
            )
        if type(tensor).__name__ == "Parameter":
            return Finding(
                "frozen",
                f"{start}a frozen parameter, requires_grad is False",
                (),
                "requires_grad_() before the forward",
            )
        return Finding(
            "requires_grad is False",
            f"{start}requires_grad is False",
            (
                "a frozen leaf; or a result of tensors without requires_grad, or made under no_grad(): the tape keeps none of it",
            ),
            "requires_grad_() on the leaf before the forward, and no no_grad() or detach() around the forward",
        )

    def describe(self, tensor: Any) -> str:
        """A tensor that requires grad, by its name or by what made it."""
        if tensor.node is not None:
            return f"the result {shape_text(shape_of(tensor))} of {node_text(tensor.node)}"
        return f"the leaf {self.names.get(id(tensor), '')} {shape_text(shape_of(tensor))}".replace("  ", " ")

    def twin(self, tensor: Any) -> Any:
        """A live tensor on the tape that shares this one's memory."""
        for other in self.live.tensors:
            if other is not tensor and other.recorded and not other.inference and shares(other, tensor):
                return other
        return None

    # ------------------------------------------------------------ not on a path
    def unreachable(self, tensor: Any) -> Finding:
        """For a tensor that requires grad, and that the loss does not lead to."""
        verdict = ".grad is None: not on any path to the loss"
        for node, kept in self.constants:
            if kept.tensor is tensor:
                return _used_as_constant(node, kept, verdict)
        for leaf in self.tape.leaves.values():
            if shares(leaf, tensor):
                how = "a view that was told to require grad" if leaf.base is not None else "a detached twin of it"
                return Finding(
                    "detached",
                    verdict,
                    (f"the loss depends on another leaf with the same memory: {how}, which gets the gradient instead",),
                    "use the tensor itself in the forward",
                )
        for node, kept in self.constants:
            if shares(kept.tensor, tensor):
                how = "detach()" if same_counter(kept.tensor, tensor) else ".data or numpy()"
                return Finding(
                    "detached",
                    verdict,
                    (f"{node_text(node)} used its memory without its history, as {how} gives it{_at(kept.tensor)}",),
                    "use the tensor itself in the forward",
                )
        for other in self.live.tensors:
            if other.recorded and other.node is None and other.base is not None and is_borrowing(other):
                if other is tensor:
                    return Finding(
                        "detached",
                        verdict,
                        ("it is a view made under no_grad(): it requires grad as its base does, and passes none on",),
                        "make the view outside of no_grad(), or call requires_grad_() on the view itself",
                    )
                if shares(other, tensor):
                    return Finding(
                        "detached",
                        verdict,
                        (
                            f"there is a view of it made under no_grad(){_at(other)}: what uses that passes no gradient on",
                        ),
                        "make the view outside of no_grad()",
                    )
        return self.cut_off(tensor, verdict)

    def cut_off(self, tensor: Any, verdict: str) -> Finding:
        """`unreachable` where the loss's own tape does not know the tensor at all."""
        ends = self.live.ends_above([self.vertex(tensor)])
        if not ends:
            return self.unused(verdict)
        makers = {id(counter): node for node, counter in self.counters_above(tensor)}
        for node, kept in self.constants:
            maker = makers.get(id(kept.tensor.version))
            if maker is not None and kept.tensor.version is not None:
                return Finding(
                    "detached",
                    verdict,
                    (
                        f"{node_text(node)} uses the result of {node_text(maker)} without its history: it was detached "
                        + (_at(kept.tensor).strip() or "between"),
                    ),
                    "take the detach() away, if this tensor is to learn from this loss",
                )
        return Finding(
            "unused",
            verdict,
            (
                f"another live tape uses it, which ends at {listed([node_text(n) for n in ends])}",
                *self.notes(),
            ),
            "look for detach(), .data, item(), numpy() or no_grad() between that result and the loss",
        )

    def counters_above(self, tensor: Any) -> list[tuple[Any, Any]]:
        """The live nodes that depend on a tensor, with the version counters of their results."""
        found = []
        seen: set[int] = set()
        stack = [self.vertex(tensor)]
        while stack:
            for node in self.live.consumers.get(id(stack.pop()), ()):
                if id(node) not in seen:
                    seen.add(id(node))
                    stack.append(node)
                    found += [(node, counter) for counter, _ in (node._counters or {}).values()]
        return found

    def unused(self, verdict: str) -> Finding:
        """`cut_off` where nothing alive depends on the tensor."""
        return Finding(
            "unused",
            verdict,
            ("no live node uses it: it was not used in this forward, or what used it is gone", *self.notes()),
            "is the layer called in forward(), and does its result reach the loss without detach() or no_grad()?",
            "no live node uses it",
        )

    def notes(self) -> list[str]:
        """What the loss depends on, where detached tensors come in, and what the tape could show and does not."""
        found = [self.leaves_text()]
        marked = [(node, kept) for node, kept in self.constants if is_marked(kept.tensor)]
        cuts = [(node, kept, cut_text(kept.tensor)) for node, kept in self.constants]
        told = [f"{node_text(node)} (its {kept.name}, cut {cut})" for node, kept, cut in cuts if cut]
        if told:
            found.append(f"what had a history once, and lost it, enters at {listed(told)}")
        elif marked:
            shown = [f"{node_text(node)} (its {kept.name}, {shape_text(kept.array.shape)})" for node, kept in marked]
            found.append(f"what looks detached (it shares its version counter) enters at {listed(shown)}")
        return found + self.missing()

    def leaves_text(self) -> str:
        """What the loss does depend on."""
        leaves = [tensor_text(leaf, self.names) for leaf in self.tape.leaves.values()]
        if not leaves:
            return f"the loss, {self.loss_text()}, depends on no leaf"
        return f"the loss, {self.loss_text()}, depends on {count_text(len(leaves), 'leaf', 'leaves')}: {listed(leaves)}"

    def missing(self) -> list[str]:
        """What the tape could show, and does not."""
        notes = []
        checkpoints = [node for node in self.tape.nodes if label(node) == "CheckpointFunctionBackward"]
        if checkpoints:
            notes.append(
                f"{node_text(checkpoints[0])} hides what is inside: with use_reentrant=False it is on the tape"
            )
        if any(is_freed(node) for node in self.tape.nodes):
            notes.append(
                "backward() has freed what the nodes saved: before it, or with retain_graph=True, detach() can be seen"
            )
        if not recorded_lines(self.tape.nodes):
            notes.append("no lines are recorded: run the forward inside `with livetape.inspect.record_lines():`")
        return notes

    # ------------------------------------------------------------ on a path
    def reachable(self, tensor: Any, vertex: Any) -> Finding:
        """For a tensor on a path to the loss that has no gradient."""
        path = self.tape.above(vertex)
        if not path:
            return Finding(
                "no backward",
                ".grad is None: it is the loss itself, and backward() was not called on it",
                (),
                "loss.backward()",
            )
        nodes = list(path.values())
        functions = [node for node in nodes if isinstance(node, FunctionCtx)]
        freed = [node for node in nodes if is_freed(node)]
        way = f"the loss, {self.loss_text()}, leads to it through {count_text(len(nodes), 'node')}"
        if freed:
            causes = ["zero_grad() has run since", "the walk was autograd.grad() or had inputs="]
            if functions:
                causes.append(f"{node_text(functions[0])} returned None for it")
            return Finding(
                "gradient gone",
                ".grad is None, although a backward has walked this graph",
                (", or ".join(causes), f"{way}, {len(freed):,} of them freed"),
                "look at .grad between backward() and zero_grad()",
            )
        if any(True for node in nodes for _ in kept_by(node)):
            return Finding(
                "no backward",
                ".grad is None: no backward() has freed this graph",
                ("it was not called yet; or with retain_graph=True, and .grad was set to None since", way),
                "loss.backward()",
            )
        return Finding(
            "no backward",
            ".grad is None: backward() was not called yet, or .grad was set to None since",
            ("its nodes save nothing, so the tape does not show which", way),
            "loss.backward(), then look at .grad before zero_grad()",
        )

    # ------------------------------------------------------------ with a gradient
    def of_gradient(self, tensor: Any, grad: Any) -> Finding:
        """For a tensor that has a gradient."""
        kind = _kind(grad)
        if kind == FINITE:
            return Finding("ok", f"has a gradient {shape_text(shape_of(grad))}: {values_text(grad.array)}")
        bad = kind == BAD
        reason = "not finite" if bad else "zero"
        verdict = f".grad is {values_text(grad.array)}" if bad else ".grad is 0 everywhere"
        if is_finite(tensor.array) is False:
            return Finding(
                reason,
                verdict,
                (f"the tensor itself is {values_text(tensor.array)}: an earlier step broke it",),
                "find the first step whose gradient is not finite: with nan_trace_backward(): loss.backward()",
            )
        vertex = self.vertex(tensor)
        if vertex not in self.tape:
            return Finding(reason, verdict, ("no live tape that could tell why leads to it",), _again(bad))
        if not isinstance(self.loss, TensorBase):
            return Finding(reason, verdict, ("the loss itself is gone",), "pass it: explain_grad(tensor, loss)")
        if bad and is_finite(self.loss.array) is False:
            return Finding(
                reason,
                verdict,
                (f"the loss is {values_text(self.loss.array)} already",),
                "nan_trace(loss) tells where that began",
            )
        replay = self.replay
        if replay.fault is not None:
            gates = "" if bad else self.gates(vertex)
            return Finding(
                reason, verdict, (f"the tape cannot tell why: {replay.fault}", *([gates] if gates else [])), _again(bad)
            )
        sources = replay.sources(vertex, bad)
        if sources:
            return self.from_sources(reason, verdict, sources, bad)
        return self.disagreeing(reason, verdict, replay.kind_at(vertex), bad)

    def from_sources(self, reason: str, verdict: str, sources: list[tuple[Any, int]], bad: bool) -> Finding:
        """The nodes at which a gradient became zero or nan."""
        evidence = []
        for node, _ in sources[:3]:
            what = facts(node) if bad else facts(node, ("all 0", "all False", "all True"))
            kept = f": {what}" if what else ""
            if bad:
                evidence.append(f"{node_text(node)} got a finite gradient and handed on nan or inf{kept}")
            else:
                evidence.append(f"{node_text(node)} got a gradient and handed on 0{kept}")
        if len(sources) > 3:
            evidence.append(f"so did {count_text(len(sources) - 3, 'more node')}")
        if self.loss.array.size != 1:
            evidence.append("for a gradient of ones: the loss is no scalar")
        if bad:
            masked = id(sources[0][0]) in self.replay.masked
            if masked:
                evidence.append(advice.BEHIND_MASK)
            step = advice.MASKED if masked else advice.BREAKS
        else:
            step = advice.of_zero(sources[0][0])
        return Finding(reason, verdict, tuple(evidence), step or "look at the values that this operation saved")

    def disagreeing(self, reason: str, verdict: str, kind: int, bad: bool) -> Finding:
        """A replay that does not explain what is in .grad."""
        if kind == FINITE:
            word = "finite" if bad else "not 0"
            return Finding(
                reason,
                verdict,
                (
                    f"this loss gives it a gradient that is {word}: an earlier backward(), a hook or a later change made it so",
                ),
                "zero_grad() before backward()" if bad else "look at .grad right after backward()",
            )
        if bad:
            return Finding(reason, verdict, ("finite gradients add up to it: an overflow",), "scale the loss down")
        return Finding(
            reason, verdict, ("gradients arrive along several paths and add up to 0",), "look for terms that cancel"
        )

    def gates(self, vertex: Any) -> str:
        """The operations on the way that may have stopped a gradient."""
        found = [node for node in self.tape.above(vertex).values() if advice.is_gate(node)]
        found.sort(key=lambda node: int(node._sequence), reverse=True)
        return f"what may have stopped it: {listed([node_text(node) for node in found])}" if found else ""


def _at(tensor: Any) -> str:
    """The line at which a tensor lost its history, if that was recorded: " at file:line"."""
    _, found, place = cut_text(tensor).rpartition(" at ")
    return f" at {place}" if found else ""


def _used_as_constant(node: Any, kept: Kept, verdict: str) -> Finding:
    """For a tensor that a node of the loss has saved, without an edge to it."""
    row = node._op
    if row is not None and not row.listed and kept.place is not None and row.of_input[kept.place] is None:
        return Finding(
            "used as a constant",
            verdict,
            (f"{node_text(node)} uses it as {kept.name}, and {row.name} has no derivative with respect to that",),
            "write that operation with others that have one",
        )
    return Finding(
        "used as a constant",
        verdict,
        (f"{node_text(node)} used it as a constant: it did not require grad then",),
        "requires_grad_() before the forward, not after it",
    )


def _again(bad: bool) -> str:
    if bad:
        return (
            "with nan_trace_backward(): loss.backward() names the node; or backward(retain_graph=True), and ask again"
        )
    return "call backward(retain_graph=True), and ask again with loss="


def _kind(grad: Any) -> int:
    if is_finite(grad.array) is False:
        return BAD
    return FINITE if grad.array.size == 0 or np.any(grad.array) else 1
