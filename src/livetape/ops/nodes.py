"""The nodes as a program sees them: ``y.grad_fn`` is one of these, of a class named as torch names it."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from livetape._tape.backward import accumulate_grad
from livetape._tape.explain import noted
from livetape._tape.saved import INPUT, RESULT, SIZE, Packed, RelayBase, Saved, packed, relays
from livetape._tape.tensor import Edge, Node, TensorBase, node_extras, tensor_extras, wrap
from livetape._tape.views import FREED, CopySlicesBase, copy_slices, edge_of
from livetape.dtypes import of_numpy
from livetape.hooks import RemovableHandle
from livetape.ops.saved_names import derived_values, fixed_values, shown_name, shown_value

# what every node has, and torch shows nothing of
_INTERNAL = frozenset(
    name for name in dir(Node) if not name.startswith("__") and name not in ("name", "metadata", "next_functions")
) | {"_called", "_pack_by", "_look_up"}


class GradNode(Node):
    """A recorded operation (source: ``torch.autograd.graph.Node``)."""

    __slots__ = ()

    def name(self) -> str:
        """The name of the operation that this node reverses."""
        name = type(self).__name__
        return "torch::autograd::NotImplemented" if name == "NotImplemented" else name

    def __call__(self, *grads: Any, **keywords: Any) -> Any:
        """The gradients of the inputs for those of the outputs, as the formulas give them; no hook is called."""
        if keywords:
            raise noted(TypeError("keyword arguments are not supported"))
        extras = self._extras
        count = 1 if extras is None or extras.outputs is None else len(extras.outputs)
        if len(grads) != count:
            raise noted(TypeError(f"expected {count} arguments, got {len(grads)} instead"))
        for at, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, TensorBase):
                raise noted(TypeError(f"argument {at} is not a Variable"))
        found = self._called(list(grads))
        return found[0] if len(found) == 1 else tuple(found)

    def _called(self, grads: list[Any]) -> list[Any]:
        wanted = [edge is not None for edge in self._edges]
        if all(g is None for g in grads):
            found: list[Any] = [None] * len(wanted)
        elif self._op is None:
            found = self._run(grads, wanted)
        else:
            found = self._op.backward(self, grads, wanted)
        if self._op is None or self._op.listed:
            return found
        return [g for g, formula in zip(found, self._op.of_input) if formula is not None]

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that this one leads to, each with the number of the output that was used."""
        row = self._op
        if row is None or row.listed:
            return tuple([next_function(edge) for edge in self._edges])
        # indices, masks and the like are no inputs of the tape
        return tuple([next_function(e) for e, formula in zip(self._edges, row.of_input) if formula is not None])

    @property
    def requires_grad(self) -> bool:
        """Whether gradients pass through the node: always."""
        return True

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
        if name.startswith("_raw_saved_"):
            return _raw_value(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        kind = type(self).__name__
        rows = [] if self._op is None else self._op.saved
        shown = [(name, s) for s in rows if (name := _torch_name(kind, s)) is not None]
        raw = ["_raw_saved_" + name for name, s in shown if s.kind in (INPUT, RESULT)]
        more = [] if self._op is None else [*fixed_values(kind), *derived_values(kind)]
        names = (name for name in super().__dir__() if name not in _INTERNAL)
        return [*names, *raw, *{"_saved_" + name for name in [*[name for name, _ in shown], *more]}]

    def _pack_by(self, place: Any, pack: Any, unpack: Any) -> None:
        """Let a pair of hooks keep what was saved at a place."""
        if self._freed or self._saved is None:
            raise noted(RuntimeError(HOOKS_FREED))
        value = self._saved[place]
        if isinstance(value, Packed):
            raise noted(RuntimeError(HOOKS_TWICE))
        row = self._op
        tensor = row.unpack(self, place)
        edge = edge_of(tensor) if row.saved[place].kind == INPUT else None
        kept = list(self._saved)
        kept[place] = packed((pack, unpack), tensor, edge, late=True)
        self._saved = tuple(kept)
        node_extras(self).packed = True

    def _look_up(self, place: Any) -> Any:
        return self._op.unpack(self, place)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"


class SavedTensor:
    """A tensor that a node has saved: a place for a pair of hooks of its own (source: ``torch._C._autograd.SavedTensor``).

    >>> import livetape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), torch.tensor)
    >>> y.sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """

    __slots__ = ("_node", "_place")

    def __init__(self, node: Any = None, place: Any = None) -> None:
        if node is None:
            raise noted(RuntimeError("Trying to create a SavedTensor object from Python is forbidden."))
        self._node = node
        self._place = place

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Keep ``pack_hook(tensor)``, which is run at once; ``unpack_hook`` of that takes the tensor's place in backward."""
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise noted(
                TypeError(
                    "register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                    "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: "
                    f"collections.abc.Callable) -> None\n\nInvoked with: {self!r}, {pack_hook!r}, {unpack_hook!r}"
                )
            )
        self._node._pack_by(self._place, pack_hook, unpack_hook)

    def unpack(self) -> Any:
        """The tensor, as the derivative would get it."""
        return self._node._look_up(self._place)


SavedTensor.__module__ = "torch._C._autograd"

HOOKS_TWICE = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at "
    "a time."
)
HOOKS_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when "
    "you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second "
    "time or if you need to access saved variables after calling backward."
)


def _raw_value(node: GradNode, name: str) -> Any:
    """What ``_raw_saved_*`` gives: a SavedTensor."""
    if node._op is not None:
        kind = type(node).__name__
        for place, saved in enumerate(node._op.saved):
            if saved.kind in (INPUT, RESULT) and _torch_name(kind, saved) == name[11:]:
                return SavedTensor(node, place)
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")


def _saved_value(node: GradNode, name: str) -> Any:
    op = node._op
    if op is not None:
        kind = type(node).__name__
        for position, saved in enumerate(op.saved):
            if _torch_name(kind, saved) == name or saved.name == name:
                if node._freed:
                    raise noted(RuntimeError(FREED))
                if node._saved is None or node._saved[position] is None:
                    return None
                found = op.unpack(node, position)
                if saved.kind == SIZE:
                    return tuple(found)
                if saved.name == "other" and op.name in ("mul", "div") and not isinstance(found, TensorBase):
                    return _zero_dim(found)
                return shown_value(name, found)
        fixed = fixed_values(kind)
        if name in fixed:  # rows of their own take other values
            return fixed[name]
        derived = derived_values(kind)
        if name in derived:
            source, follow = derived[name]
            value = _saved_value(node, source)
            return None if value is None else follow(value)
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")


def _torch_name(kind: str, saved: Saved) -> str | None:
    """What torch calls a saved value of a node of class ``kind``; None for what it does not save."""
    return shown_name(kind, saved.name, saved.kind == SIZE, saved.kind == RESULT and saved.index == 1)


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

    def _called(self, grads: list[Any]) -> list[Any]:
        if grads[0] is not None:
            accumulate_grad(self.variable, grads[0], False, False)
        return []

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
