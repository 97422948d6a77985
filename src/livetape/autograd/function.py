"""Function: a derivative of one's own, through the same node, engine and checks as every operation."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.explain import version_error
from livetape._tape.lines import note_line
from livetape._tape.modes import is_recording, local, saved_hooks, set_grad, state
from livetape._tape.saved import Packed, connected, packed, run_unpack_hook
from livetape._tape.tensor import (
    IN_FUNCTION,
    MULTI_OUTPUT,
    NO_GRAD,
    TensorBase,
    counter_of,
    make_view,
    node_extras,
    shape_of,
    version_of,
    wrap,
)
from livetape._tape.views import FREED, check_inplace, edge_of, needs_gradient, rebase_history
from livetape.dtypes import FLOAT
from livetape.ops.basics import cast, sum_to
from livetape.ops.nodes import HOOKS_FREED, HOOKS_TWICE, GradNode, SavedTensor, next_function, node_class


class _SavedOutput:
    """An output that was saved: its memory, so that the node does not own the tensor that owns it."""

    __slots__ = ("array", "counter", "dtype", "output_nr", "version")

    def __init__(self, tensor: Any, output_nr: int) -> None:
        self.array = tensor.array
        self.dtype = tensor.dtype
        self.counter = counter_of(tensor)
        self.version = self.counter.value
        self.output_nr = output_nr


class _PackedOutput:
    """An output that a pair of saved-tensor hooks keeps."""

    __slots__ = ("output_nr", "packed")

    def __init__(self, value: Packed, output_nr: int) -> None:
        self.packed = value
        self.output_nr = output_nr


class FunctionCtx(GradNode):
    """What ``forward`` hands to ``backward``: the node of this call, and a place for values of one's own."""

    _forward_cls: Any = None

    def __init__(self) -> None:
        super().__init__()
        self._to_save: tuple[Any, ...] = ()
        self._kept: list[Any] | None = None
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._materialize = True
        self._output_metas: list[Any] = []
        self._input_metas: list[Any] = []
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors for ``backward``, where they are found in ``ctx.saved_tensors``, checked for changes."""
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type(tensor).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for ``jvp``."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as "
                    "attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs ``forward`` changed in place."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no gradient."""
        self._non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Accepted for compatibility."""
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that nothing has reached are given to ``backward`` as zeros (the default) or as None."""
        self._materialize = value

    @property
    def to_save(self) -> tuple[Any, ...] | None:
        """What `save_for_backward` was given."""
        return self._to_save or None

    @property
    def dirty_tensors(self) -> tuple[Any, ...] | None:
        """What `mark_dirty` was given."""
        return self._dirty or None

    @property
    def non_differentiable(self) -> tuple[Any, ...] | None:
        """What `mark_non_differentiable` was given."""
        return self._non_differentiable or None

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` saved, in that order."""
        if self._kept is None:
            if self._to_save:  # still inside forward
                return self._to_save
            if self._released:
                raise RuntimeError(FREED)
            return ()
        return tuple([self._unpacked(i) for i in range(len(self._kept))])

    saved_variables = saved_tensors
    _released = False

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes of the tensors among the arguments, each with the number of the output that was used."""
        return tuple([next_function(e) for e, meta in zip(self._edges, self._input_metas) if meta is not None])

    __repr__ = object.__repr__

    def __call__(self, *grads: Any, **keywords: Any) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def apply(self, *grads: Any) -> Any:
        """What ``backward`` gives for the gradients of the outputs."""
        cls = self._forward_cls
        return (cls.backward if cls.vjp is Function.vjp else cls.vjp)(self, *grads)

    def _unpacked(self, i: int) -> Any:
        kept = self._kept[i]  # type: ignore[index]
        if isinstance(kept, Packed):
            return connected(run_unpack_hook(kept), kept.edge)
        if isinstance(kept, _PackedOutput):
            again = connected(run_unpack_hook(kept.packed), None)
            if again.dtype.category >= FLOAT:
                _connect(self, again, kept.output_nr)
            return again
        if isinstance(kept, tuple):
            tensor, version = kept
            if version_of(tensor) != version:
                raise version_error(self, tensor, version, version_of(tensor))
            return tensor
        if isinstance(kept, _SavedOutput):
            tensor = wrap(kept.array, kept.dtype, None)
            tensor.version = kept.counter
            if kept.dtype.category >= FLOAT:
                tensor.node = self
                tensor.output_nr = kept.output_nr
                tensor.recorded = True
            if kept.counter.value != kept.version:
                raise version_error(self, tensor, kept.version, kept.counter.value)
            return tensor
        return kept

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self._released:
            raise RuntimeError(FREED)
        return tuple([SavedTensor(self, i) for i in range(len(self._kept or ()))])

    def _look_up(self, place: Any) -> Any:
        return self._unpacked(place)

    def _pack_by(self, place: Any, pack: Any, unpack: Any) -> None:
        if self._kept is None:
            raise RuntimeError(HOOKS_FREED)
        kept = self._kept[place]
        if isinstance(kept, (Packed, _PackedOutput)):
            raise RuntimeError(HOOKS_TWICE)
        tensor = self._unpacked(place)
        if isinstance(kept, _SavedOutput):
            self._kept[place] = _PackedOutput(packed((pack, unpack), tensor, None), kept.output_nr)
        elif kept is not None:
            self._kept[place] = packed((pack, unpack), tensor, edge_of(tensor))

    # ------------------------------------------------------------ what apply does
    def _keep(self, outputs: tuple[Any, ...]) -> None:
        if not self._to_save:
            return
        hooks = saved_hooks() if state.hooking else None
        kept: list[Any] = []
        for tensor in self._to_save:
            if tensor is None:
                kept.append(None)
                continue
            nr = next((k for k, o in enumerate(outputs) if o is tensor), None)
            if hooks is not None:
                kept.append(
                    packed(hooks, tensor, edge_of(tensor))
                    if nr is None
                    else _PackedOutput(packed(hooks, tensor, None), nr)
                )
            elif nr is not None:
                kept.append(_SavedOutput(tensor, nr))
            else:
                kept.append((tensor, version_of(tensor)))
        self._kept = kept
        self._to_save = ()

    def _run(self, grads: Any, wanted: Any) -> Any:
        cls = self._forward_cls
        given: list[Any] = []
        for i, meta in enumerate(self._output_metas):
            g = grads[i] if i < len(grads) else None
            if g is None and meta is not None and self._materialize:
                size, kind = meta
                g = wrap(np.zeros(size, kind.np), kind, None)
            given.append(g)
        backward = cls.backward
        if cls.vjp is not Function.vjp:
            if backward is not Function.backward:
                raise RuntimeError(
                    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should "
                    "only implement one of them."
                )
            backward = cls.vjp
        found = backward(self, *given)
        results = list(found) if isinstance(found, tuple) else [found]
        return self._checked(results, wanted)

    def _checked(self, results: list[Any], wanted: Any) -> list[Any]:
        """The gradients of the tensor inputs, each fitted to its input, or torch's error."""
        name, count = type(self).__name__, len(self._input_metas)
        if len(results) > count and all(r is None for r in results[count:]):
            del results[count:]
        if len(results) != count:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {count}, got {len(results)})"
            )
        found: list[Any] = [None] * count
        for i, (g, meta) in enumerate(zip(results, self._input_metas)):
            if g is None:
                continue
            if meta is None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if not isinstance(g, TensorBase):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
            if not wanted[i]:
                continue
            size, kind = meta
            if g.dtype.is_complex and not kind.is_complex:
                raise RuntimeError(
                    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but "
                    "got false.  (Could this error message be improved?  If so, please report an enhancement request to "
                    "PyTorch.)"
                )
            if shape_of(g) != size:
                if not _expands(size, shape_of(g)):
                    raise RuntimeError(
                        f"Function {name} returned an invalid gradient at index {i} - got {list(shape_of(g))} "
                        f"but expected shape compatible with {list(size)}"
                    )
                g = sum_to(g, size)
            if g.dtype is not kind:
                g = cast(g, kind)
            found[i] = g
        return found

    def _release(self) -> None:
        if self._kept:
            self._kept = None
            self._released = True


def _expands(size: Any, target: Any) -> bool:
    if len(size) > len(target):
        return False
    return all(n in (1, m) for n, m in zip(reversed(size), reversed(target)))


class _FunctionMeta(type):
    """Gives every Function the class of its nodes."""

    def __init__(cls, name: str, bases: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        node = type(name + "Backward", (FunctionCtx,), {"_forward_cls": cls, "__module__": "torch.autograd.function"})
        cls._backward_cls = node  # type: ignore[attr-defined]
        super().__init__(name, bases, attributes)


class Function(metaclass=_FunctionMeta):
    """An operation with a derivative of one's own (source: ``torch.autograd.Function``).

    Subclass it with static methods ``forward(ctx, *args)`` (or ``forward(*args)`` and ``setup_context(ctx, inputs,
    output)``) and ``backward(ctx, *grad_outputs)``; call it as ``MyFunction.apply(*args)``.

    >>> import livetape as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return grad * 2 * x
    >>> x = torch.tensor([3.], requires_grad=True)
    >>> Square.apply(x)
    tensor([9.], grad_fn=<SquareBackward>)
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(_LEGACY)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation itself; to be overridden."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what ``backward`` needs, where ``forward`` has no ``ctx``; to be overridden."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of all arguments; to be overridden."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to "
            "use it with backward mode AD."
        )

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for `backward`."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to "
            "use it with backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, for forward mode; to be overridden."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The operation on a batch; to be overridden."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and append a node whose derivative is ``backward``."""
        if local.transforms and cls.setup_context is Function.setup_context:
            raise RuntimeError(_NEEDS_SETUP)
        if state.interposed:
            interposers = local.interposers
            if interposers:
                local.interposers = interposers[:-1]
                try:
                    return interposers[-1].intercept_function(cls, args, kwargs)
                finally:
                    local.interposers = interposers
        return cls._apply(*args, **kwargs)

    @classmethod
    def _apply(cls, *args: Any, **kwargs: Any) -> Any:
        ctx = cls._backward_cls()  # type: ignore[attr-defined]
        every = args if not kwargs else (*args, *kwargs.values())
        needs = tuple([isinstance(a, TensorBase) and needs_gradient(a) for a in every])
        ctx.needs_input_grad = needs
        recording = is_recording() and True in needs
        edges = tuple([edge_of(a) if n else None for a, n in zip(every, needs)]) if recording else ()
        before = local.grad
        set_grad(False)
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        finally:
            set_grad(before)
        outputs = output if isinstance(output, tuple) else (output,)
        if recording:
            ctx._edges = edges
            ctx._input_metas = [(shape_of(a), a.dtype) if isinstance(a, TensorBase) else None for a in every]
            if state.watching:
                note_line(ctx)
        wrapped = _wrapped(ctx, every, outputs, recording)
        if recording:
            ctx._keep(tuple(wrapped))
            ctx._dirty = ctx._non_differentiable = ()
        return tuple(wrapped) if isinstance(output, tuple) else wrapped[0]


_NEEDS_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
    "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
)
_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
    "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


def _contains(tensors: tuple[Any, ...], tensor: Any) -> bool:
    return any(t is tensor for t in tensors)


def _wrapped(ctx: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...], recording: bool) -> list[Any]:
    """The outputs of a Function, connected to its node."""
    for tensor in ctx._dirty:
        if not _contains(outputs, tensor):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                "modified inplace must all be outputs of the Function."
            )
        if not _contains(inputs, tensor):
            raise RuntimeError("mark_dirty only accepts input tensors, but argument is not an input")
    wrapped: list[Any] = []
    metas: list[Any] = []
    saved = ctx._to_save
    for nr, output in enumerate(outputs):
        if not isinstance(output, TensorBase):
            wrapped.append(output)
            metas.append(None)
            continue
        is_input, dirty = _contains(inputs, output), _contains(ctx._dirty, output)
        result: Any = output
        differentiable = recording and output.dtype.category >= FLOAT and not _contains(ctx._non_differentiable, output)
        if dirty:
            if recording:
                _rebase(ctx, output, nr)
            else:
                counter_of(output).bump()
        elif is_input:
            result = make_view(output, output.array, IN_FUNCTION if recording else NO_GRAD)
            saved = tuple([result if s is output and not _contains(inputs, s) else s for s in saved])
            if differentiable:
                _connect(ctx, result, nr)
        elif differentiable:
            if output.base is not None:
                output.creation = IN_FUNCTION if len(outputs) == 1 else MULTI_OUTPUT
                output.view_version = version_of(output)
            _connect(ctx, result, nr)
        elif recording and output.node is None and output.recorded:
            result = make_view(output, output.array, NO_GRAD)
        wrapped.append(result)
        metas.append((shape_of(result), result.dtype))
    ctx._to_save = saved
    ctx._output_metas = metas
    if len(outputs) > 1:
        node_extras(ctx).outputs = metas
    return wrapped


def _connect(ctx: Any, result: Any, nr: int) -> None:
    result.node = ctx
    result.output_nr = nr
    result.recorded = True


def _rebase(ctx: Any, target: Any, nr: int) -> None:
    if target.base is None and target.recorded and target.node is None:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    check_inplace(target, True)
    counter_of(target).bump()
    if target.base is not None:
        rebase_history(target, ctx)
    else:
        _connect(ctx, target, nr)


# ---------------------------------------------------------------- decorators
class _ErrorNode(node_class("Error")):  # type: ignore[misc]
    """Stands where a derivative does not exist."""

    def __init__(self, message: str, count: int) -> None:
        super().__init__()
        self.message = message
        self.count = count

    def _run(self, grads: Any, wanted: Any) -> Any:
        raise RuntimeError(self.message)

    def _release(self) -> None:
        pass


_ErrorNode.__name__ = _ErrorNode.__qualname__ = "Error"
_ErrorNode.__module__ = "builtins"


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Run ``backward`` without recording; a derivative of its result is an error (source: torch's decorator)."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = is_recording()
        before = local.grad
        set_grad(False)
        try:
            outputs = fn(ctx, *args)
        finally:
            set_grad(before)
        if not recording or not any(isinstance(a, TensorBase) and needs_gradient(a) for a in args):
            return outputs
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        node = _ErrorNode(
            "trying to differentiate twice a function that was marked with @once_differentiable", len(results)
        )
        marked: list[Any] = []
        edges = []
        for result in results:
            if result is not None:  # as in torch, nothing leads on to the arguments
                source = wrap(result.array, result.dtype, result._size)
                source.recorded = True
                edges.append(source)
                result = wrap(result.array, result.dtype, result._size)
                _connect(node, result, 0)
            marked.append(result)
        node._edges = tuple(edges)
        return tuple(marked) if isinstance(outputs, tuple) else marked[0]

    return wrapper


class InplaceFunction(Function):
    """A Function that may work in place; kept for old code (source: the torch class of that name)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


BackwardCFunction = FunctionCtx
