"""Function: a derivative of one's own, through the same node, engine and checks as every operation."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from livetape._tape.custom import CustomNode, PackedOutput, SavedOutput, apply_function, connect
from livetape._tape.modes import is_recording, local, set_grad, state
from livetape._tape.saved import Packed, packed
from livetape._tape.tensor import TensorBase, wrap
from livetape._tape.views import FREED, edge_of, needs_gradient
from livetape.ops.nodes import HOOKS_FREED, HOOKS_TWICE, GradNode, SavedTensor, next_function, node_class


class FunctionCtx(GradNode, CustomNode):
    """What ``forward`` hands to ``backward``: the node of this call, and a place for values of one's own."""

    _forward_cls: Any = None

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
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

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
        if cls.vjp is Function.vjp:
            return cls.backward(self, *grads)
        if cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement "
                "one of them."
            )
        return cls.vjp(self, *grads)

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self._released:
            raise RuntimeError(FREED)
        return tuple([SavedTensor(self, i) for i in range(len(self._kept or ()))])

    def _look_up(self, place: Any) -> Any:
        return None if self._kept is None else self._unpacked(self._kept[place])

    def _pack_by(self, place: Any, pack: Any, unpack: Any) -> None:
        if self._kept is None:
            raise RuntimeError(HOOKS_FREED)
        kept = self._kept[place]
        if isinstance(kept, (Packed, PackedOutput)):
            raise RuntimeError(HOOKS_TWICE)
        tensor = self._unpacked(kept)
        if isinstance(kept, SavedOutput):
            self._kept[place] = PackedOutput(packed((pack, unpack), tensor, None, late=True), kept.output_nr)
        elif kept is not None:
            self._kept[place] = packed((pack, unpack), tensor, edge_of(tensor), late=True)


class BackwardCFunction(FunctionCtx):
    """What the nodes of all Functions have in common (source: the torch class of that name)."""


class _FunctionMeta(type):
    """Gives every Function the class of its nodes."""

    def __init__(cls, name: str, bases: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        node = type(
            name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        )
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
        divided = cls.setup_context is not Function.setup_context
        if local.levels and not divided:
            raise RuntimeError(_NEEDS_SETUP)
        if divided:
            args, kwargs = _with_defaults(cls.forward, args, kwargs), {}
        elif kwargs:
            args, kwargs = _in_order(cls.forward, args, kwargs)
        if state.interposed:
            interposers = local.interposers
            if interposers:
                local.interposers = interposers[:-1]
                try:
                    return interposers[-1].intercept_function(cls, args, kwargs)
                finally:
                    local.interposers = interposers
        return apply_function(cls, args, kwargs, divided)

    @classmethod
    def _apply(cls, *args: Any, **kwargs: Any) -> Any:
        """`apply` past all interposers."""
        return apply_function(cls, args, kwargs, cls.setup_context is not Function.setup_context)


def _with_defaults(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a ``forward`` without context, as `setup_context` gets them: by position, defaults included."""
    code = getattr(forward, "__code__", None)
    if code is not None and not kwargs and len(args) == code.co_argcount and not code.co_kwonlyargcount:
        return args
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    for name in bound.kwargs:  # a gradient has no place by name
        raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    return bound.args


def _in_order(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments given by name in their places, since the gradients of ``backward`` have places only."""
    code = getattr(forward, "__code__", None)
    if code is None:
        return args, kwargs
    names = code.co_varnames[1 : code.co_argcount]
    found: dict[int, Any] = {}
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        place = names.index(name)
        if place < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
        found[place] = value
    for place in range(len(args), max(found) + 1):
        if place not in found:
            raise TypeError(f"forward() missing required argument: '{names[place]}' (position {place})")
    return (*args, *[found[place] for place in sorted(found)]), {}


_NEEDS_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
    "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
)
_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
    "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


# ---------------------------------------------------------------- decorators
class _ErrorNode(node_class("Error")):  # type: ignore[misc]
    """Stands where a derivative does not exist."""

    def __init__(self, message: str, count: int) -> None:
        super().__init__()
        self.message = message
        self.count = count

    def name(self) -> str:
        return "torch::autograd::Error"

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
                connect(node, result, 0)
            marked.append(result)
        node._edges = tuple(edges)
        return tuple(marked) if isinstance(outputs, tuple) else marked[0]

    return wrapper


class InplaceFunction(Function):
    """A Function that may work in place; kept for old code (source: the torch class of that name)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
