"""The nodes as a program sees them: ``y.grad_fn`` is one of these, of a class named as torch names it."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.saved import RESULT, SIZE, RelayBase, Saved, relays
from livetape._tape.tensor import Edge, Node, TensorBase, node_extras, tensor_extras, wrap
from livetape._tape.views import FREED, CopySlicesBase, copy_slices
from livetape.dtypes import of_numpy
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
        saved = [] if self._op is None else ["_saved_" + _torch_name(s) for s in self._op.saved]
        return [*(name for name in super().__dir__() if name != "_saved"), *saved]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"


def _saved_value(node: GradNode, name: str) -> Any:
    op = node._op
    if op is not None:
        for position, saved in enumerate(op.saved):
            if _torch_name(saved) == name or saved.name == name:
                if node._freed:
                    raise noted(RuntimeError(FREED))
                if node._saved is None or node._saved[position] is None:
                    return None
                found = op.unpack(node, position)
                if saved.kind == SIZE:
                    return tuple(found)
                if saved.name == "other" and op.name in ("mul", "div") and not isinstance(found, TensorBase):
                    return _zero_dim(found)
                return found
        if name == "alpha" and op.name in ("add", "sub", "rsub"):  # rows of their own take other alphas
            return 1
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")


def _torch_name(saved: Saved) -> str:
    """What torch calls a saved value: sizes and indices have names of their own there."""
    if saved.kind == SIZE:
        return saved.name.removesuffix("_size") + "_sym_sizes"
    return "indices" if saved.kind == RESULT and saved.index == 1 else saved.name


def _zero_dim(value: Any) -> Any:
    """A Python number that stood in a tensor's place, as the tensor that torch makes of it."""
    array = np.asarray(value)
    return wrap(array, of_numpy(array.dtype), None)


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
