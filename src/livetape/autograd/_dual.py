"""The interposer of forward mode: operations on tensors that have tangents give results that have tangents.

A tensor keeps its tangents itself, one for each level; a tangent is a tensor, which may have tangents of lower levels.
"""

from __future__ import annotations

import itertools
from typing import Any

from livetape import printing
from livetape._tape.modes import is_inferring, local
from livetape._tape.saved import INPUT, RESULT
from livetape._tape.tensor import TensorBase, counter_of, node_extras, shape_of, wrap
from livetape._tape.views import edge_of, geometry, needs_gradient
from livetape.autograd._tangents import tangents_of
from livetape.autograd.function import Function
from livetape.autograd.grad_mode import no_grad
from livetape.dtypes import FLOAT
from livetape.ops.basics import (
    AS_STRIDED,
    AS_STRIDED_BACKWARD,
    clone,
    clone_as,
    copy_,
    extent_of,
    layout_of,
    owner_of,
    strided_view,
    zeros_like,
)
from livetape.ops.table import TABLE
from livetape.size import size_of

ALIAS = TABLE["alias"]
KEY = "_tangents"  # in a tensor's __dict__, and in the metadata of a node for the results it has saved
_numbers = itertools.count(1)


class Entry:
    """A tangent that a tensor has. It is the tensor's ``own`` if a change in place may change its memory too."""

    __slots__ = ("own", "value")

    def __init__(self, value: Any, own: bool) -> None:
        self.value = value
        self.own = own


class DualLevel:
    """One level of forward mode (source: ``torch.autograd.forward_ad``, ``torch.func.jvp``)."""

    def __init__(self, functional: bool) -> None:
        self.number = next(_numbers)
        self.functional = functional  # whether it belongs to a transform of torch.func

    # ------------------------------------------------------------ what a tensor has
    def entry(self, tensor: Any) -> Entry | None:
        """The tangent of a tensor: its own, its base's seen through the same view, or that of a result that was saved."""
        held = tensor.__dict__.get(KEY)
        if held is not None and self.number in held:
            found: Entry | None = held[self.number]
            return found
        base = tensor.base
        if base is not None and base.dtype is tensor.dtype:
            whole = self.entry(base)
            if whole is not None:
                self.make_own(base, whole)
                size, strides, offset = geometry(tensor, base)
                return self.set(tensor, strided_view(whole.value, size, strides, offset), True)
        node = tensor.node
        if node is not None and node._extras is not None and node._extras.metadata is not None:
            kept = node._extras.metadata.get(KEY)
            if kept is not None:
                return kept.get((self.number, int(tensor.output_nr)))  # type: ignore[no-any-return]
        return None

    def tangent(self, tensor: Any) -> Any:
        """The tangent of a tensor, or None."""
        found = self.entry(tensor)
        return None if found is None else found.value

    def set(self, tensor: Any, value: Any, own: bool) -> Entry:
        """Give a tensor a tangent."""
        made = Entry(value, own)
        tensor.__dict__.setdefault(KEY, {})[self.number] = made
        return made

    def forget(self, tensor: Any) -> None:
        """Let a tensor have no tangent, even if its base has."""
        tensor.__dict__.setdefault(KEY, {})[self.number] = None

    def make_own(self, tensor: Any, entry: Entry) -> None:
        """Give a tangent memory of its own, laid out as the tensor's: views and changes in place are to follow."""
        if not entry.own:
            layout = layout_of(tensor.array)
            if layout is not None and 0 in layout:
                layout = None
            entry.value = clone_as(_materialized(entry.value), layout)
            entry.own = True

    def make_whole(self, tensor: Any, entry: Entry) -> None:
        """Give a tangent the room of the memory that its tensor is a part of, of zeros: a view may reach beyond it."""
        array = tensor.array
        owner = owner_of(array)
        here = (array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]) // array.itemsize
        steps = tuple([s // array.itemsize for s in array.strides])
        room = size_of((owner.nbytes // array.itemsize,))
        memory = AS_STRIDED_BACKWARD.apply((_materialized(entry.value), room, None, shape_of(tensor), steps, here))
        entry.value = AS_STRIDED.apply((memory, shape_of(tensor), steps, here, None))
        entry.own = True

    # ------------------------------------------------------------ operations
    def intercept(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation; its results get the tangents that those of its arguments give them."""
        given: list[Any] = []
        found = False
        for at in op.tensor_at:
            value = args[at]
            if isinstance(value, TensorBase):
                tangent: Any = self.tangent(value)
                found = found or tangent is not None
            elif isinstance(value, (list, tuple)):
                tangent = [self.tangent(v) if isinstance(v, TensorBase) else None for v in value]
                found = found or any(t is not None for t in tangent)
                if not op.listed:
                    tangent = None  # indices
            else:
                tangent = None
            given.append(tangent)
        if not found or (not self.functional and is_inferring()):  # inference mode has no derivatives of either kind
            return run_below(op, args, kwargs)
        if op.view:
            source = self.entry(args[0])
            if source is not None:
                if op is AS_STRIDED and not source.own and _reaches_beyond(args):
                    self.make_whole(args[0], source)
                self.make_own(args[0], source)
                given[0] = source.value
        if "inplace" in kwargs:
            return self.change(op, args, given)
        if kwargs:
            run_below(op, args, kwargs)
            self.set(args[0], op.apply((given[0], *args[1:])), True)
            return args[0]
        results = op.apply(args)
        outs = results if isinstance(results, tuple) else (results,)
        if op.formulas or op.tangent is not None:
            for out, value in zip(outs, tangents_of(op, args, given, outs)):
                if value is not None and out.dtype.category >= FLOAT:
                    self.set(out, value, op.view)
            self.note(op, outs[0].node, outs)
        return results

    def note(self, op: Any, node: Any, outs: tuple[Any, ...]) -> None:
        """Let a node that saved results know their tangents: it keeps their arrays only."""
        if node is None or node._op is not op:
            return
        for saved in op.saved:
            if saved.kind == RESULT:
                self.note_outputs(node, outs)
                return

    def note_outputs(self, node: Any, outs: tuple[Any, ...]) -> None:
        """Note the tangents of a node's outputs."""
        extras = node_extras(node)
        if extras.metadata is None:
            extras.metadata = {}
        kept = extras.metadata.setdefault(KEY, {})
        for nr, out in enumerate(outs):
            entry = self.entry(out) if isinstance(out, TensorBase) else None
            if entry is not None:
                kept[self.number, nr] = Entry(entry.value, False)

    def change(self, op: Any, args: tuple[Any, ...], given: list[Any]) -> Any:
        """Run an operation in place; the tangent is changed with its tensor."""
        target = args[0]
        before = target
        for saved in op.saved:
            if saved.kind == INPUT and args[saved.index] is target:
                before = clone(target)
                break
        self.keep_noted(target)
        entry = self.entry(target)
        old = None if entry is None else clone(entry.value) if entry.own and needs_gradient(target) else entry.value
        op.inplace(*args)
        values = tuple([before if a is target else a for a in args])
        self.update(target, tangents_of(op, values, given, (target,))[0])
        self.adopt(op, target, args, old)
        return target

    def keep_noted(self, target: Any) -> None:
        """A node that saved the target as its result keeps the tangent of before the change."""
        entry, node = self.entry(target), target.node
        if entry is None or not entry.own or node is None or node._extras is None or node._extras.metadata is None:
            return
        kept = node._extras.metadata.get(KEY)
        if kept is not None and (self.number, int(target.output_nr)) in kept:
            kept[self.number, int(target.output_nr)] = Entry(clone(entry.value), False)

    def adopt(self, op: Any, target: Any, args: tuple[Any, ...], old: Any) -> None:
        """Give their tangents to what the node of a change in place has saved: a copy of the target, or its result."""
        node = target.node
        if node is not None and node._op is not op:  # a view: its node is inside the base's
            node = None if target.base is None else getattr(target.base.node, "fn", None)
        if node is None or node._op is not op:
            return
        for value in node._saved or ():
            if old is not None and isinstance(value, TensorBase) and not any(value is a for a in args):
                self.set(value, old, False)
        self.note(op, node, (target,))

    def update(self, target: Any, value: Any) -> None:
        """Change the tangent of a tensor that was changed in place."""
        entry = self.entry(target)
        if value is None:
            if entry is None:
                return
            value = zeros_like(target)
        if entry is None and target.base is not None:
            base = target.base
            self.set(base, clone_as(_materialized(zeros_like(base)), layout_of(base.array)), True)
            entry = self.entry(target)
        if entry is None:
            self.set(target, value, False)
        elif entry.own:
            copy_(entry.value, value)
        else:
            entry.value = value

    # ------------------------------------------------------------ Functions
    def intercept_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a Function; its ``jvp`` gives the tangents of the results."""
        every = (*args, *kwargs.values())
        tangents = [self.tangent(a) if isinstance(a, TensorBase) else None for a in every]
        if all(t is None for t in tangents) or (not self.functional and is_inferring()):
            return cls.apply(*args, **kwargs)
        contexts: list[Any] = []
        if cls.setup_context is Function.setup_context:
            output = _capturing(cls, contexts).apply(*args, **kwargs)
            context = contexts[-1]
        else:
            output = cls.apply(*args, **kwargs)
            context = cls._backward_cls()
            with no_grad():
                cls.setup_context(context, args, output)
        context.needs_input_grad = tuple([t is not None for t in tangents])
        if context._materialize:
            tangents = [
                zeros_like(a) if t is None and isinstance(a, TensorBase) else t for a, t in zip(every, tangents)
            ]
        found = _run_jvp(cls, context, tangents)
        outputs = output if isinstance(output, tuple) else (output,)
        values = found if isinstance(found, tuple) else (found,)
        _check_tangents(context, every, tangents, outputs, values)
        self.set_outputs(cls, outputs, values)
        return output

    def set_outputs(self, cls: Any, outputs: tuple[Any, ...], values: tuple[Any, ...]) -> None:
        """Give a Function's outputs their tangents."""
        for out, value in zip(outputs, values):
            if isinstance(out, TensorBase) and isinstance(value, TensorBase):
                if shape_of(value) != shape_of(out):
                    raise RuntimeError(size_error(out, value))
                self.set(out, value, False)
        node = next((o.node for o in outputs if isinstance(o, TensorBase) and o.node is not None), None)
        if node is not None and getattr(type(node), "_forward_cls", None) is not None:
            self.note_outputs(node, outputs)

    # ------------------------------------------------------------ elsewhere
    def describe(self, tensor: Any) -> str | None:
        """The text of a tensor that has a tangent."""
        tangent = self.tangent(tensor)
        return None if tangent is None or self.functional else printing.tensor_str(tensor, tangent=tangent)

    def refuse_out(self, name: str, tensors: list[Any]) -> None:
        """Raise torch's error for ``out=`` where a tensor has a tangent."""
        if any(self.tangent(t) is not None for t in tensors):
            raise NotImplementedError(
                f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
            )


def run_below(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hand a call on to the next interposer, as it came."""
    if not kwargs:
        return op.apply(args)
    change = kwargs.get("reshape")
    return op.inplace(*args) if change is None else change(op, args)


def size_error(primal: Any, tangent: Any) -> str:
    """Torch's words for a tangent of another size."""
    return (
        "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
        f"supported. Tensor is of size {list(shape_of(primal))} while the given forward gradient is of size "
        f"{list(shape_of(tangent))}."
    )


def _materialized(tensor: Any) -> Any:
    """The tensor with memory for every sample of every vmap level, since changes in place may differ between samples."""
    levels: list[Any] = [i for i in local.interposers if hasattr(i, "materialize")]
    return levels[-1].materialize(tensor, levels[:-1]) if levels else tensor


def _check_tangents(
    context: Any, inputs: Any, tangents: Any, outputs: tuple[Any, ...], values: tuple[Any, ...]
) -> None:
    """Raise torch's error for what a Function's ``jvp`` must not return."""
    for place, value in enumerate(values):
        if value is not None and not isinstance(value, TensorBase):
            raise RuntimeError(f"expected Variable or None (got {type(value).__name__}) for grad output {place}.")
    if len(values) != len(outputs):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients "
            f"(expected {len(outputs)} but got {len(values)})"
        )
    fixed = [id(t) for t in context._non_differentiable or ()]
    dirty = [id(t) for t in context._dirty or ()]
    along = {id(a): t for a, t in zip(inputs, tangents) if isinstance(t, TensorBase)}
    for place, (out, value) in enumerate(zip(outputs, values)):
        if value is None or not isinstance(out, TensorBase):
            continue
        if id(out) in fixed or out.dtype.category < FLOAT:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {place}, but  the corresponding forward output is not a "
                "differentiable Tensor.You should return None at that position instead."
            )
        if id(out) in dirty:
            if value is not along.get(id(out), value):
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
        elif out.base is not None and value.base is None and id(value) not in map(id, tangents):
            if any(isinstance(a, TensorBase) and (a is out.base or a.base is out.base) for a in inputs):
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
                    "view."
                )


def _capturing(cls: Any, contexts: list[Any]) -> Any:
    """A twin of a Function that notes the ctx of its calls."""

    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        contexts.append(ctx)
        return cls.forward(ctx, *args, **kwargs)

    return type(cls)(cls.__name__, (cls,), {"forward": staticmethod(forward), "__module__": cls.__module__})


def _run_jvp(cls: Any, context: Any, tangents: list[Any]) -> Any:
    """Run a Function's ``jvp``, in which ``ctx.saved_tensors`` is what was saved for it."""
    given = getattr(context, "saved_for_forward", None)
    kept, to_save = context._kept, context._to_save
    if given is not None:
        context._kept, context._to_save = None, given
    try:
        return cls.jvp(context, *tangents)
    finally:
        context._kept, context._to_save = kept, to_save


def linked(tensor: Any) -> Any:
    """A tensor of the same memory, history and tangents, with a place of its own on the tape."""
    twin: Any = wrap(tensor.array, tensor.dtype, tensor._size)
    twin.inference = tensor.inference
    if not tensor.inference:
        twin.version = counter_of(tensor)
    if needs_gradient(tensor):
        node = ALIAS.node_class()
        node._op = ALIAS
        node._edges = (edge_of(tensor),)
        twin.node = node
        twin.recorded = True
    for level in local.interposers:
        if isinstance(level, DualLevel):
            entry = level.entry(tensor)
            if entry is not None:
                twin.__dict__.setdefault(KEY, {})[level.number] = entry
    return twin


def _reaches_beyond(args: tuple[Any, ...]) -> bool:
    """Whether a view by strides has elements that are not between the first and the last of its tensor."""
    tensor, size, stride, offset, layout = args
    last = offset + sum([(n - 1) * s for n, s in zip(size, stride)])
    return offset < 0 or last >= extent_of(shape_of(tensor), layout)
