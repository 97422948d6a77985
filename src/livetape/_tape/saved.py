"""What a node saves for its derivative: which values, when, and how saved-tensor hooks keep them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mypy_extensions import i64, mypyc_attr

from livetape._tape.modes import local, set_grad, state
from livetape._tape.tensor import Edge, Node, TensorBase, counter_of, version_of, wrap

# What a saved name stands for.
PARAM: Final = 0  # an argument that is no tensor
INPUT: Final = 1  # an input tensor (or the number given in its place)
RESULT: Final = 2  # an output
SIZE: Final = 3  # the Size of an input: `self_size`
WANTED: Final = 4  # which inputs need a gradient, for a formula that computes several at once

INFERENCE_SAVED: Final = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
    "`torch.no_grad()` instead of `torch.inference_mode()`."
)


def argument_names(fn: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's positional arguments."""
    code: Any = fn.__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount]
    return names


class Saved:
    """One name that a derivative may ask for: where its value comes from."""

    __slots__ = ("index", "kind", "name")

    def __init__(self, name: str, kind: int, index: int) -> None:
        self.name = name
        self.kind: i64 = kind
        self.index: i64 = index


class Formula:
    """The derivative with respect to one input, or to several at once: a function of `grad` and of saved names."""

    __slots__ = ("count", "fn", "inputs", "needs", "takes_all")

    def __init__(
        self, fn: Callable[..., Any], inputs: tuple[int, ...], needs: tuple[int, ...], takes_all: bool
    ) -> None:
        self.fn = fn
        self.inputs = inputs  # positions of the inputs whose gradients it gives
        self.needs = needs  # positions in Op.saved
        self.count: i64 = len(needs)
        self.takes_all = takes_all  # whether it takes the gradients of all outputs, as `grads`


class Plan:
    """What a node saves when certain inputs need a gradient: positions in Op.saved, the first one in full."""

    __slots__ = ("count", "first", "in_order", "index", "kind", "positions", "total")

    def __init__(self, positions: tuple[int, ...], saved: list[Saved]) -> None:
        self.positions = positions
        self.count: i64 = len(positions)
        self.total: i64 = len(saved)
        self.first: i64 = positions[0] if positions else 0
        self.kind: i64 = saved[self.first].kind if positions else 0
        self.index: i64 = saved[self.first].index if positions else 0
        # Whether it is the size of the first argument, then the arguments after it, as views save them.
        self.in_order: bool = self.count == self.total and all(
            s.index == i and s.kind == (PARAM if i else SIZE) for i, s in enumerate(saved)
        )

    def only(self, value: Any) -> tuple[Any, ...]:
        """Node._saved for a plan of one name."""
        if self.total == 1:
            return (value,)
        if self.total == 2:
            return (value, None) if self.first == 0 else (None, value)
        kept: list[Any] = [None] * self.total
        kept[self.first] = value
        return tuple(kept)


class Packed:
    """A saved value that a pair of saved-tensor hooks keeps."""

    __slots__ = ("edge", "found", "remember", "unpack", "value")

    def __init__(self, unpack: Any, value: Any, edge: Any = None) -> None:
        self.unpack = unpack
        self.value = value
        self.remember: bool = False  # while the derivative is computed, what the hook gave back is kept
        self.found: TensorBase | None = None
        self.edge = edge  # what an edge to the saved input leads to: whatever the hooks return takes its place


def packed(hooks: Any, tensor: TensorBase, edge: Any, late: bool = False) -> Packed:
    """A tensor as a pair of saved-tensor hooks keeps it, which are given it without its history if they come late."""
    value = run_pack_hook(hooks[0], apart(tensor) if late else tensor)
    if value is tensor and edge is None:  # a node must not own the tensor that owns it
        value = wrap(tensor.array, tensor.dtype, tensor._size)
    return Packed(hooks[1], value, edge)


def apart(tensor: TensorBase) -> TensorBase:
    """A saved tensor without its history, as hooks get it that are registered later."""
    twin = wrap(tensor.array, tensor.dtype, tensor._size)
    twin.version = counter_of(tensor)
    return twin


def connected(found: TensorBase, edge: Any) -> TensorBase:
    """What an unpack hook gave back, in the place of the saved tensor that ``edge`` led to."""
    again = wrap(found.array, found.dtype, found._size)
    if edge is None:
        return again
    if isinstance(edge, Edge):
        again.node = edge.node
        again.output_nr = edge.output_nr
    elif isinstance(edge, Node):
        again.node = edge
    else:
        relay: Node = relays.cls()
        relay._edges = (edge,)
        again.node = relay
    again.recorded = True
    return again


@mypyc_attr(allow_interpreted_subclasses=True)
class RelayBase(Node):
    """Hands its gradient on: between a leaf and the tensor that stands for it after unpacking."""

    __slots__ = ()

    def _run(self, grads: list[TensorBase | None], wanted: list[bool]) -> list[TensorBase | None]:
        return [grads[0]]

    def _release(self) -> None:
        pass


class RelayClass:
    """The class of these nodes, given by the floor above so that it has torch's methods."""

    def __init__(self) -> None:
        self.cls: Any = RelayBase


relays: Final = RelayClass()


def run_pack_hook(pack: Any, tensor: TensorBase) -> Any:
    """What a saved-tensor hook makes of a tensor, which it must not change. Nothing that it does is recorded."""
    before = version_of(tensor)
    state.hooking -= 1  # what the hook itself saves is not packed again
    hooks = local.saved_hooks
    local.saved_hooks = ()
    recording = bool(local.grad)
    set_grad(False)
    try:
        packed = pack(tensor)
    finally:
        set_grad(recording)
        local.saved_hooks = hooks
        state.hooking += 1
    if version_of(tensor) != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
            "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
            "need to perform in-place operations on the input to a pack hook."
        )
    return packed


def run_unpack_hook(packed: Packed) -> TensorBase:
    """The tensor that an unpack hook gives back."""
    if packed.found is not None:
        return packed.found
    found = packed.unpack(packed.value)
    if not isinstance(found, TensorBase):
        raise TypeError(
            f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(found).__name__}"
        )
    if packed.remember:
        packed.found = found
    return found
