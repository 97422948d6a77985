"""The nodes as a program sees them: ``y.grad_fn`` is one of these, of a class named as torch names it."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

from livetape._tape.record import RelayBase, relays
from livetape._tape.tensor import Edge, Node, TensorBase, node_extras, tensor_extras
from livetape._tape.views import FREED, CopySlicesBase, copy_slices
from livetape.hooks import RemovableHandle


class GradNode(Node):
    """A recorded operation (source: ``torch.autograd.graph.Node``)."""

    __slots__ = ()

    def name(self) -> str:
        """The name of the operation that this node reverses."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that this one leads to, each with the number of the output that was used."""
        row = self._op
        if row is None or row.listed:
            return tuple([next_function(edge) for edge in self._edges])
        # indices, masks and the like are no inputs of the tape
        return tuple([next_function(e) for e, formula in zip(self._edges, row.of_input) if formula is not None])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the program's own notes."""
        extras = node_extras(self)
        if extras.metadata is None:
            extras.metadata = {}
        return extras.metadata

    def register_hook(self, fn: Any) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has run; it may return other ``grad_inputs``."""
        extras = node_extras(self)
        if extras.hooks is None:
            extras.hooks = OrderedDict()
        return RemovableHandle.added(extras.hooks, fn)

    def register_prehook(self, fn: Any) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node runs; it may return other ``grad_outputs``."""
        extras = node_extras(self)
        if extras.pre_hooks is None:
            extras.pre_hooks = OrderedDict()
        return RemovableHandle.added(extras.pre_hooks, fn)

    def _sequence_nr(self) -> int:
        return int(self._sequence)

    def _input_metadata(self) -> Any:
        extras = self._extras
        return [] if extras is None or extras.outputs is None else list(extras.outputs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return _saved_value(self, name[7:])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        saved = [] if self._op is None else ["_saved_" + s.name.replace("_size", "_sym_sizes") for s in self._op.saved]
        return [*super().__dir__(), *saved]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"


def _saved_value(node: GradNode, name: str) -> Any:
    sizes = name.removesuffix("_sym_sizes") + "_size" if name.endswith("_sym_sizes") else None
    if node._op is not None:
        for position, saved in enumerate(node._op.saved):
            if saved.name == name or saved.name == sizes:
                if node._freed:
                    raise RuntimeError(FREED)
                if node._saved is None or node._saved[position] is None:
                    return None
                found = node._op.unpack(node, position)
                return tuple(found) if sizes else found
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")


def next_function(edge: Any) -> tuple[Any, int]:
    """What an edge leads to, as ``next_functions`` shows it."""
    if edge is None:
        return (None, 0)
    if isinstance(edge, Edge):
        return (edge.node, int(edge.output_nr))
    if isinstance(edge, TensorBase):
        return (accumulator_of(edge), 0)
    return (edge, 0)


class AccumulateGrad(GradNode):
    """The end of the tape at a leaf, where the gradient is added to ``variable.grad``.

    An edge leads to the leaf itself; this object stands for it where a program looks, and lives as long as it is looked
    at. Its hooks belong to the leaf.
    """

    __slots__ = ("__weakref__", "variable")

    def __init__(self, variable: TensorBase) -> None:
        super().__init__()
        self.variable = variable
        self._sequence = 0

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def register_hook(self, fn: Any) -> RemovableHandle:
        extras = tensor_extras(self.variable)
        if extras.node_hooks is None:
            extras.node_hooks = OrderedDict()
        return RemovableHandle.added(extras.node_hooks, fn)

    def register_prehook(self, fn: Any) -> RemovableHandle:
        extras = tensor_extras(self.variable)
        if extras.node_pre_hooks is None:
            extras.node_pre_hooks = OrderedDict()
        return RemovableHandle.added(extras.node_pre_hooks, fn)

    def _sequence_nr(self) -> int:
        return 2**64 - 1


AccumulateGrad.__module__ = "builtins"


def accumulator_of(leaf: TensorBase) -> AccumulateGrad:
    """The one AccumulateGrad object of a leaf."""
    extras = tensor_extras(leaf)
    found = extras.accumulator() if extras.accumulator is not None else None
    if found is None:
        found = AccumulateGrad(leaf)
        extras.accumulator = weakref.ref(found)
    return found


def node_class(name: str) -> type[GradNode]:
    """A class for the nodes of an operation: the class is real, so that ``type(y.grad_fn).__name__`` is its name."""
    known = _classes.get(name)
    if known is None:
        known = _classes[name] = type(name, (GradNode,), {"__slots__": (), "__module__": "builtins"})
    return known


_classes: dict[str, type[GradNode]] = {}


class CopySlices(CopySlicesBase, GradNode):
    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::CopySlices"


class AliasBackward0(RelayBase, GradNode):
    __slots__ = ()


AliasBackward0.__module__ = "builtins"
AliasBackward0.__doc__ = RelayBase.__doc__
relays.cls = AliasBackward0
CopySlices.__module__ = "builtins"
CopySlices.__doc__ = CopySlicesBase.__doc__
copy_slices.cls = CopySlices
