"""Calls of a Function: its forward run unrecorded, its outputs connected to one node, its gradients checked."""

from __future__ import annotations

import warnings
from typing import Any

from mypy_extensions import i64, mypyc_attr

from livetape._tape.explain import version_error
from livetape._tape.lines import note_line
from livetape._tape.modes import is_recording, local, saved_hooks, set_grad, state
from livetape._tape.saved import Packed, connected, packed, run_unpack_hook
from livetape._tape.tensor import (
    IN_FUNCTION,
    MULTI_OUTPUT,
    NO_GRAD,
    Node,
    TensorBase,
    VersionCounter,
    counter_of,
    make_view,
    node_extras,
    shape_of,
    takes_any_dtype,
    version_of,
    wrap,
)
from livetape._tape.views import FREED, check_inplace, edge_of, needs_gradient, primitives, rebase_history
from livetape.dtypes import FLOAT, dtype


class SavedOutput:
    """An output that was saved: its memory, so that the node does not own the tensor that owns it."""

    __slots__ = ("array", "counter", "kind", "output_nr", "version")

    def __init__(self, tensor: TensorBase, output_nr: int) -> None:
        self.array: Any = tensor.array
        self.kind: dtype = tensor.dtype
        self.counter: VersionCounter = counter_of(tensor)
        self.version: i64 = self.counter.value
        self.output_nr: int = output_nr


class PackedOutput:
    """An output that a pair of saved-tensor hooks keeps."""

    __slots__ = ("output_nr", "packed")

    def __init__(self, value: Packed, output_nr: int) -> None:
        self.packed: Packed = value
        self.output_nr: int = output_nr


@mypyc_attr(allow_interpreted_subclasses=True)
class CustomNode(Node):
    """The node of one call of a Function; `autograd.function.FunctionCtx` adds what programs see of it."""

    __slots__ = (
        "_dirty",
        "_input_metas",
        "_kept",
        "_materialize",
        "_non_differentiable",
        "_output_metas",
        "_released",
        "_to_save",
        "needs_input_grad",
    )

    def __init__(self) -> None:
        super().__init__()
        self._to_save: tuple[Any, ...] = ()
        self._kept: list[Any] | None = None
        self._released: bool = False
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._materialize: Any = True
        self._output_metas: list[Any] = []
        self._input_metas: list[Any] = []
        self.needs_input_grad: Any = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors for ``backward``, where they are found in ``ctx.saved_tensors``, checked for changes."""
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` saved, in that order."""
        kept = self._kept
        if kept is None:
            if self._to_save:  # still inside forward
                return self._to_save
            if self._released:
                raise RuntimeError(FREED)
            return ()
        return tuple([self._unpacked(value) for value in kept])

    def _unpacked(self, value: Any) -> Any:
        """The tensor that a place of ``_kept`` stands for."""
        if isinstance(value, tuple):
            tensor: TensorBase = value[0]
            version: int = value[1]
            if version_of(tensor) != version:
                raise version_error(self, tensor, version, int(version_of(tensor)))
            return tensor
        if isinstance(value, SavedOutput):
            output = wrap(value.array, value.kind, None)
            output.version = value.counter
            if value.kind.category >= FLOAT:
                connect(self, output, value.output_nr)
            if value.counter.value != value.version:
                raise version_error(self, output, int(value.version), int(value.counter.value))
            return output
        if isinstance(value, Packed):
            return connected(run_unpack_hook(value), value.edge)
        if isinstance(value, PackedOutput):
            again: TensorBase = connected(run_unpack_hook(value.packed), None)
            if again.dtype.category >= FLOAT:
                connect(self, again, value.output_nr)
            return again
        return value

    def _keep(self, outputs: list[Any]) -> None:
        """Save what `save_for_backward` was given."""
        if not self._to_save:
            return
        hooks = saved_hooks() if state.hooking != 0 else None
        kept: list[Any] = []
        for tensor in self._to_save:
            if tensor is None:
                kept.append(None)
                continue
            if not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {len(kept)} is of type "
                    f"{type(tensor).__name__}"
                )
            nr = place_of(outputs, tensor)
            if hooks is not None:
                if nr < 0:
                    kept.append(packed(hooks, tensor, edge_of(tensor)))
                else:
                    kept.append(PackedOutput(packed(hooks, tensor, None), nr))
            elif nr >= 0:
                kept.append(SavedOutput(tensor, nr))
            else:
                kept.append((tensor, int(version_of(tensor))))
        self._kept = kept
        self._to_save = ()

    def _run(self, grads: list[TensorBase | None], wanted: list[bool]) -> list[TensorBase | None]:
        given: list[Any] = []
        count = len(grads)
        place = 0
        for meta in self._output_metas:
            g: Any = grads[place] if place < count else None
            if g is None and meta is not None and self._materialize:
                size, kind = meta
                g = primitives.zeros(size, kind)
            given.append(g)
            place += 1
        node: Any = self
        found = node.apply(*given)
        results: list[Any] = list(found) if isinstance(found, tuple) else [found]
        return self._checked(results, wanted)

    def _checked(self, results: list[Any], wanted: list[bool]) -> list[TensorBase | None]:
        """The gradients of the tensor inputs, each fitted to its input, or torch's error."""
        count = len(self._input_metas)
        if len(results) > count and all(r is None for r in results[count:]):
            del results[count:]
        if len(results) != count:
            raise RuntimeError(
                f"function {type(self).__name__} returned an incorrect number of gradients (expected {count}, got "
                f"{len(results)})"
            )
        found: list[TensorBase | None] = []
        place = 0
        for g in results:
            found.append(None if g is None else self._fitted(g, place, wanted[place]))
            place += 1
        return found

    def _fitted(self, g: Any, place: int, wanted: bool) -> TensorBase | None:
        """One gradient, of its input's shape and dtype."""
        name = type(self).__name__
        meta = self._input_metas[place]
        if meta is None:
            raise RuntimeError(
                f"function {name} returned a gradient different than None at position {place + 1}, but the "
                "corresponding forward input was not a Variable"
            )
        if not isinstance(g, TensorBase):
            raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
        if not wanted:
            return None
        found: TensorBase = g
        size = meta[0]
        kind: dtype = meta[1]
        if found.dtype is not kind and found.dtype.is_complex and not kind.is_complex:
            raise RuntimeError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but "
                "got false.  (Could this error message be improved?  If so, please report an enhancement request to "
                "PyTorch.)"
            )
        shape = shape_of(found)
        if shape is not size and shape != size:
            if not expands(size, shape):
                raise RuntimeError(
                    f"Function {name} returned an invalid gradient at index {place} - got {list(shape)} "
                    f"but expected shape compatible with {list(size)}"
                )
            found = primitives.sum_to(found, size)
        if found.dtype is not kind and not takes_any_dtype(self._edges[place]):
            found = primitives.cast(found, kind)
        return found

    def _release(self) -> None:
        if self._kept:
            self._kept = None
            self._released = True


def expands(size: Any, target: Any) -> bool:
    """Whether a tensor of this size can be broadcast to the target."""
    if len(size) > len(target):
        return False
    return all(n == 1 or n == m for n, m in zip(reversed(size), reversed(target)))


def place_of(values: Any, tensor: Any) -> int:
    """Where an object stands in a sequence; -1 if it does not."""
    place = 0
    for value in values:
        if value is tensor:
            return place
        place += 1
    return -1


def apply_function(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], divided: bool) -> Any:
    """Run ``cls.forward`` and append a node; ``divided`` says that `setup_context` does the saving."""
    ctx: CustomNode = cls._backward_cls()
    every = (*args, *kwargs.values()) if kwargs else args
    needs: list[bool] = []
    recording = False
    for a in every:
        needed = isinstance(a, TensorBase) and needs_gradient(a)
        needs.append(needed)
        if needed:
            recording = True
    ctx.needs_input_grad = tuple(needs)
    if recording:
        recording = is_recording()
    if recording:
        ctx._edges = tuple([edge_of(a) if isinstance(a, TensorBase) and a.recorded else None for a in every])
    before: bool = local.grad
    set_grad(False)
    try:
        if divided:
            output = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, output)
        elif kwargs:
            output = cls.forward(ctx, *args, **kwargs)
        else:
            output = cls.forward(ctx, *args)
    finally:
        set_grad(before)
    outputs: tuple[Any, ...] = output if isinstance(output, tuple) else (output,)
    if recording:
        ctx._input_metas = [(shape_of(a), a.dtype) if isinstance(a, TensorBase) else None for a in every]
        if state.watching:
            note_line(ctx)
    wrapped = wrap_outputs(ctx, every, outputs, recording)
    if recording:
        ctx._keep(wrapped)
        ctx._dirty = ()
        ctx._non_differentiable = ()
    return tuple(wrapped) if isinstance(output, tuple) else wrapped[0]


def wrap_outputs(ctx: CustomNode, inputs: tuple[Any, ...], outputs: tuple[Any, ...], recording: bool) -> list[Any]:
    """The outputs of a Function, connected to its node."""
    for tensor in ctx._dirty:
        if not isinstance(tensor, TensorBase):  # torch's text ends there, too
            raise RuntimeError("mark_dirty can only accept variables, but argument ")
        if place_of(outputs, tensor) < 0:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                "modified inplace must all be outputs of the Function."
            )
    for tensor in ctx._non_differentiable:
        if not isinstance(tensor, TensorBase):
            raise RuntimeError("mark_non_differentiable only accepts variable arguments, but got ")
    wrapped: list[Any] = []
    metas: list[Any] = []
    nr = 0
    for output in outputs:
        if isinstance(output, TensorBase):
            result = wrap_output(ctx, inputs, output, nr, recording, len(outputs) == 1)
            wrapped.append(result)
            metas.append((shape_of(result), result.dtype))
        else:
            wrapped.append(output)
            metas.append(None)
        nr += 1
    ctx._output_metas = metas
    if nr > 1:
        node_extras(ctx).outputs = metas
    return wrapped


def wrap_output(
    ctx: CustomNode, inputs: tuple[Any, ...], output: TensorBase, nr: int, recording: bool, single: bool
) -> TensorBase:
    """One output, connected to the node; a view of it where it is an input that was not changed."""
    differentiable = recording and output.dtype.category >= FLOAT and place_of(ctx._non_differentiable, output) < 0
    if place_of(ctx._dirty, output) >= 0:
        if recording and place_of(inputs, output) < 0:
            warnings.warn(DIRTY_OUTPUT, UserWarning, stacklevel=4)
            counter_of(output).bump()
            if differentiable:
                connect(ctx, output, nr)
        elif recording:
            rebase_output(ctx, output, nr, single)
        else:
            counter_of(output).bump()
        return output
    if place_of(inputs, output) >= 0:
        view = make_view(output, output.array, IN_FUNCTION if recording else NO_GRAD)
        if differentiable:
            connect(ctx, view, nr)
        return view
    if differentiable:
        if output.base is not None:
            output.creation = IN_FUNCTION if single else MULTI_OUTPUT
            output.view_version = version_of(output)
        connect(ctx, output, nr)
    elif recording and output.node is None and output.recorded:
        return make_view(output, output.array, NO_GRAD)
    return output


def connect(node: Node, tensor: TensorBase, nr: int) -> None:
    """Make a tensor an output of a node."""
    tensor.node = node
    tensor.output_nr = nr
    tensor.recorded = True


DIRTY_OUTPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed "
    "to ctx.mark_dirty()."
)
DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one "
    "Tensor. This is not supported by the current autograd engine. You should either make sure the input is not a view "
    "(using .clone() for example) or make your Function only return one Tensor (potentially splitting it into two Functions: "
    "one doing the inplace that returns a single Tensor and a second one that does the other operations). You can ask on "
    "the forum https://discuss.pytorch.org/ if you need help to do this change."
)


def rebase_output(ctx: CustomNode, target: TensorBase, nr: int, single: bool) -> None:
    """Make the node the newest in-place change of an input."""
    if target.base is None and target.recorded and target.node is None:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if target.base is not None and not single:
        raise RuntimeError(DIRTY_VIEW)
    check_inplace(target, True)
    counter_of(target).bump()
    if target.base is not None:
        rebase_history(target, ctx)
    else:
        connect(ctx, target, nr)
