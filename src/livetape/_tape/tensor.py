"""TensorBase: an ndarray plus what the tape knows of it."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from mypy_extensions import i64, mypyc_attr

from livetape._tape.modes import is_inferring, state
from livetape.dtypes import dtype, float32, of_numpy
from livetape.size import size_of

NDARRAY: Final = np.ndarray

EMPTY: Final = np.empty(0, np.float32)

# How a view came to be, which decides whether its base's history may be rewritten through it.
DEFAULT: Final = 0
NO_GRAD: Final = 1
MULTI_OUTPUT: Final = 2
IN_FUNCTION: Final = 3
INFERENCE: Final = 4


def calling() -> Any:
    """The innermost interpreted frame outside the package, or None."""
    frame: Any = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("livetape"):
        frame = frame.f_back
    return frame


class VersionCounter:
    """Counts the in-place changes of one memory. Made when the first view, detached twin or change needs it."""

    __slots__ = ("changes", "value")

    def __init__(self) -> None:
        self.value: i64 = 0
        self.changes: list[tuple[int, Any, int]] | None = None  # while lines are recorded: version, code, instruction

    def bump(self) -> None:
        """Count a change."""
        self.value += 1
        if state.watching:
            self.note_change()

    def note_change(self) -> None:
        """Remember the line that makes the newest change; the oldest ones are forgotten."""
        frame = calling()
        if frame is None:
            return
        if self.changes is None:
            self.changes = []
        self.changes.append((int(self.value), frame.f_code, frame.f_lasti))
        if len(self.changes) > 200:
            del self.changes[:100]


@mypyc_attr(allow_interpreted_subclasses=True)
class Vertex:
    """What an edge of the tape can lead to: a node, or a leaf, which receives its gradient itself."""

    __slots__ = ("slot",)

    def __init__(self) -> None:
        self.slot: Slot | None = None


class Slot:
    """One backward's notes on a vertex: how many gradients are still to come, and their sum so far."""

    __slots__ = ("captured", "grad", "grads", "needed", "owned", "pending", "task", "unused")

    def __init__(self, task: object) -> None:
        self.task = task
        self.pending: i64 = 0
        self.grad: TensorBase | None = None  # of output 0
        self.grads: list[TensorBase | None] | None = None  # of all outputs, for a node that has several
        self.owned: bool = False  # whether `grad` is a sum that the engine made itself and may add to in place
        self.needed: bool = True
        self.captured: list[tuple[int, int]] | None = None  # (output, position in the results) to be returned
        self.unused: Any = None  # Unused: elements of `grad` that are 0 because nothing uses them


@mypyc_attr(allow_interpreted_subclasses=True)
class Node(Vertex):
    """One recorded operation (source: ``torch.autograd.graph.Node``).

    ``_edges`` has an entry for each differentiable input: None, a Node (its output 0), an Edge (another output) or a
    leaf tensor. ``_saved`` holds what the derivative asked for, in the order of the operation's saved names.
    """

    __slots__ = (
        "_code",
        "_counters",
        "_edges",
        "_extras",
        "_freed",
        "_lasti",
        "_metas",
        "_op",
        "_saved",
        "_sequence",
        "_versions",
    )

    def __init__(self) -> None:
        self.slot = None
        self._op: Any = None
        self._edges: tuple[Any, ...] = ()
        self._saved: tuple[Any, ...] | None = None
        self._versions: tuple[int, ...] | None = None  # of the saved inputs, where any was not 0
        self._counters: dict[int, Any] | None = None  # output number: (its VersionCounter, version when saved)
        self._metas: tuple[Any, ...] | None = None  # per input: None or the (Size, dtype) its gradient is reduced to
        self._extras: NodeExtras | None = None
        self._code: Any = None  # the code object and instruction that made it, see state.watching
        self._lasti: i64 = 0
        self._freed: bool = False
        state.sequence += 1
        self._sequence: i64 = state.sequence

    def _run(self, grads: list[TensorBase | None], wanted: list[bool]) -> list[TensorBase | None]:
        """The gradients of the inputs. Nodes without an operation of the table override it."""
        raise RuntimeError("this node has no derivative")

    def _release(self) -> None:
        """Let go of what was saved."""
        self._saved = None
        self._versions = None
        self._freed = True


class NodeExtras:
    """What few nodes have: hooks, metadata, output shapes."""

    __slots__ = ("hooks", "metadata", "outputs", "packed", "pre_hooks", "records", "retained", "tensor_hooks")

    def __init__(self) -> None:
        self.hooks: dict[int, Any] | None = None
        self.pre_hooks: dict[int, Any] | None = None
        self.tensor_hooks: dict[int, dict[int, Any]] | None = None  # output number: its tensor's hooks
        self.retained: dict[int, Any] | None = None  # output number: weak reference to the tensor that keeps its grad
        self.metadata: dict[Any, Any] | None = None
        self.outputs: list[Any] | None = None  # (Size, dtype) of each output, for nodes that have several
        self.packed: bool = False  # whether saved-tensor hooks keep what was saved
        self.records: bool = False  # whether walks that lead here are recorded, see ops/repeated.py


class Edge:
    """An edge to an output of a node other than its first."""

    __slots__ = ("node", "output_nr")

    def __init__(self, node: Node, output_nr: i64) -> None:
        self.node = node
        self.output_nr: i64 = output_nr


@mypyc_attr(allow_interpreted_subclasses=True)
class TensorBase(Vertex):
    """An ndarray plus requires_grad, grad, grad_fn, output_nr, version and base.

    The attributes are the tape's own view of a tensor; `Tensor` adds torch's properties and methods.
    """

    __slots__ = (
        "_gradient",
        "_size",
        "array",
        "base",
        "creation",
        "dtype",
        "extras",
        "inference",
        "node",
        "output_nr",
        "recorded",
        "version",
        "view_version",
    )

    def __init__(self, *args: Any) -> None:
        self.slot = None
        self.array: Any = EMPTY
        self.dtype: dtype = float32
        self._size: Any = None  # Size, filled in when first asked for
        self.recorded: bool = False  # requires_grad
        self.node: Node | None = None  # grad_fn; stale for a view whose base has changed, see edge_of
        self.output_nr: i64 = 0
        self._gradient: TensorBase | None = None
        self.base: TensorBase | None = None
        self.version: VersionCounter | None = None
        self.view_version: i64 = 0
        self.creation: i64 = 0
        self.inference: bool = False
        self.extras: Any = None  # TensorExtras
        if args:
            factory.legacy(self, args)

    @property
    def shape(self) -> Any:
        """The shape, a ``torch.Size``."""
        return shape_of(self)

    def bump_version(self) -> None:
        """Note that the memory of this tensor was changed in place."""
        counter_of(self).bump()


class TensorExtras:
    """What few tensors have: hooks, a name, a retained gradient, the face of their AccumulateGrad."""

    __slots__ = (
        "accumulate_hooks",
        "accumulator",
        "asked",
        "border",
        "cut",
        "grad_dtype",
        "hooks",
        "name",
        "node_hooks",
        "node_pre_hooks",
        "retains",
    )

    def __init__(self) -> None:
        self.hooks: dict[int, Any] | None = None
        self.accumulate_hooks: dict[int, Any] | None = None
        self.node_hooks: dict[int, Any] | None = None  # of the leaf's AccumulateGrad
        self.node_pre_hooks: dict[int, Any] | None = None
        self.accumulator: Any = None  # weak reference to the leaf's AccumulateGrad object
        self.retains: bool = False
        self.grad_dtype: Any = False  # of the gradient that accumulates; None: any, False: the tensor's own
        self.asked: bool = False  # whether requires_grad was set on this view itself
        self.name: str | None = None
        self.border: tuple[Any, ...] | None = None  # of a comparison's result: what was compared, see note_border
        self.cut: tuple[str, Any, int] | None = None  # how, code and instruction: see note_cut


class Factory:
    """The class of new tensors, given by the floor above."""

    __slots__ = ("legacy", "tensor")

    def __init__(self) -> None:
        self.tensor: Any = TensorBase
        self.legacy: Any = None  # (tensor, args): what ``torch.Tensor(*args)`` makes of a new tensor


factory: Final = Factory()


def shape_of(tensor: TensorBase) -> Any:
    """The Size of a tensor."""
    size = tensor._size
    if size is None:
        size = size_of(tensor.array.shape)
        tensor._size = size
    return size


def wrap(array: Any, kind: dtype, size: Any) -> TensorBase:
    """A new tensor around ``array``, of dtype ``kind``; ``size`` may be None."""
    tensor: TensorBase = factory.tensor()
    tensor.array = array
    tensor.dtype = kind
    tensor._size = size
    if state.inferring != 0:
        tensor.inference = is_inferring()
    return tensor


def from_array(array: Any) -> TensorBase:
    """A new tensor around an ndarray (or NumPy scalar), of the dtype that NumPy gives."""
    if type(array) is not NDARRAY:
        array = np.asarray(array)
    return wrap(array, of_numpy(array.dtype), None)


def counter_of(tensor: TensorBase) -> VersionCounter:
    """The version counter of a tensor's memory, made if there is none yet."""
    counter = tensor.version
    if counter is None:
        base = tensor.base
        if base is not None:
            counter = counter_of(base)
        else:
            counter = VersionCounter()
            node = tensor.node
            if node is not None:  # the node may have saved this result, and wants to notice changes
                if node._counters is None:
                    node._counters = {}
                node._counters[int(tensor.output_nr)] = (counter, 0)
        tensor.version = counter
    return counter


def versions_of(values: Any) -> int:
    """The changes of all tensors in a list, such as the indices of ``x[i, j]``, together."""
    total = 0
    for value in values:
        if isinstance(value, TensorBase):
            total += int(version_of(value))
    return total


def version_of(tensor: TensorBase) -> i64:
    """How often a tensor's memory was changed in place."""
    counter = tensor.version
    if counter is not None:
        return counter.value
    base = tensor.base
    if base is None:
        return 0
    counter = base.version
    return 0 if counter is None else counter.value


def make_view(tensor: TensorBase, array: Any, creation: i64) -> TensorBase:
    """A view of ``tensor`` with the elements of ``array``: it shares base and version."""
    view: TensorBase = factory.tensor()
    view.array = array
    view.dtype = tensor.dtype
    if state.inferring != 0 and is_inferring():
        view.inference = tensor.inference  # a view of a normal tensor stays one
        if tensor.inference:
            return view
        creation = INFERENCE
    elif tensor.inference:
        view.inference = True
        return view
    base = tensor.base
    view.base = tensor if base is None else base
    view.version = tensor.version
    view.view_version = version_of(tensor)
    view.creation = creation if creation != DEFAULT else tensor.creation
    if creation == NO_GRAD:  # a leaf of its own that may require gradients, as in torch
        view.recorded = tensor.recorded
    return view


def node_extras(node: Node) -> NodeExtras:
    """The extras of a node, made if there are none yet."""
    if node._extras is None:
        node._extras = NodeExtras()
    return node._extras


def tensor_extras(tensor: TensorBase) -> TensorExtras:
    """The extras of a tensor, made if there are none yet."""
    if tensor.extras is None:
        tensor.extras = TensorExtras()
    extras: TensorExtras = tensor.extras
    return extras


def takes_any_dtype(edge: Any) -> bool:
    """Whether an edge leads to a leaf whose ``grad_dtype`` is None."""
    if not isinstance(edge, TensorBase):
        return False
    extras: TensorExtras | None = edge.extras
    return extras is not None and extras.grad_dtype is None
