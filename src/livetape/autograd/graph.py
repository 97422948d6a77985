"""The graph as a program may look at it and hook into it (source: ``torch.autograd.graph``)."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from livetape._tape.modes import local, pop_saved_hooks, push_saved_hooks
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape.gradients import GradientEdge
from livetape.hooks import RemovableHandle
from livetape.ops.basics import detach
from livetape.ops.nodes import GradNode as Node

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The node that made a tensor (or a leaf's AccumulateGrad) and which of its outputs the tensor is.

    >>> import livetape as torch
    >>> a, b = torch.ones(2, requires_grad=True).unbind()
    >>> torch.autograd.graph.get_gradient_edge(b).output_nr
    1
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, output_nr = tensor._gradient_edge()
    edge = GradientEdge(node, output_nr)
    edge._shape, edge._kind = shape_of(tensor), tensor.dtype
    return edge


def increment_version(tensor: Any) -> None:
    """Tell the tape that the memory of a tensor, or of several, was changed behind its back."""
    if isinstance(tensor, TensorBase):
        tensor = (tensor,)
    elif not isinstance(tensor, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for one in tensor:
        if not isinstance(one, TensorBase):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not one.inference:
            one.bump_version()


# ---------------------------------------------------------------- what happens to saved tensors
class saved_tensors_hooks:
    """Within the block, ``pack_hook(tensor)`` decides what is saved, and ``unpack_hook`` makes a tensor of it again.

    To let the graph die by itself, ``pack_hook`` should not return the tensor it was given, but its ``detach()``.

    >>> import livetape as torch
    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = x ** 2
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        pack, unpack = self.pack_hook, self.unpack_hook
        if not (callable(pack) and callable(unpack)):
            raise TypeError(
                "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types "
                "are supported:\n    1. (arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\n"
                f"Invoked with: {pack!r}, {unpack!r}"
            )
        push_saved_hooks(pack, unpack)

    def __exit__(self, *error: object) -> None:
        pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in main memory, where they are already: accepted for compatibility."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(detach, _same)


def _same(value: Any) -> Any:
    return value


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within the block, saved-tensor hooks raise RuntimeError(error_message)."""
    if local.saved_hooks:
        raise RuntimeError(error_message)
    before = local.saved_hooks_refused
    local.saved_hooks_refused = error_message
    try:
        yield
    finally:
        local.saved_hooks_refused = before


class _Kept:
    """Stands in a node for a saved copy, which its context owns."""

    __slots__ = ("__weakref__",)


class _AllowMutationOnSavedContext:
    """The copies that `allow_mutation_on_saved_tensors` has made, each for as long as a node may ask for it."""

    def __init__(self) -> None:
        self.cloned: weakref.WeakKeyDictionary[_Kept, Any] = weakref.WeakKeyDictionary()

    def clear(self) -> None:
        """Let go of all copies: backward is no longer possible."""
        self.cloned.clear()

    def pack(self, tensor: Any) -> _Kept:
        """Copy what is saved: in-place changes of the original are no longer seen."""
        kept = _Kept()
        self.cloned[kept] = wrap(tensor.array.copy(), tensor.dtype, tensor._size)
        return kept

    def unpack(self, kept: _Kept) -> Any:
        """The copy."""
        found = self.cloned.get(kept)
        if found is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which "
                "the graph was originally recorded."
            )
        return found


class _Mutating(threading.local):
    """Whether this thread is inside `allow_mutation_on_saved_tensors`."""

    inside = False


_mutating = _Mutating()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Within the block, saved tensors may be changed in place; backward() must be called inside it too.

    >>> import livetape as torch
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = torch.ones(2, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b ** 2).sum()
    ...     _ = b.sin_()
    ...     out.backward()
    >>> a.grad
    tensor([2., 2.])
    """
    context = _AllowMutationOnSavedContext()
    if _mutating.inside:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    with saved_tensors_hooks(context.pack, context.unpack):
        _mutating.inside = True
        try:
            yield context
        finally:
            _mutating.inside = False
            context.clear()


# ---------------------------------------------------------------- hooks on several gradients
class _MultiHandle(RemovableHandle):
    """Removes the hooks of `register_multi_grad_hook`."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


class _Gathering:
    """What one backward has brought so far: the gradients, and how many are still to come."""

    __slots__ = ("grads", "pending")

    def __init__(self, count: int, pending: int) -> None:
        self.grads: list[Any] = [None] * count
        self.pending = pending


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` with the gradients of several tensors once in a backward (source: the torch function of that name).

    mode    "all": when all are there, with a list that has None for those without; "any": at the first, with it alone
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    if mode == "any":
        done: dict[Any, bool] = {}

        @functools.wraps(fn)
        def first(grad: Any) -> None:
            walk = _walk()
            with lock:
                for other in [w for w in done if w is not walk and w is not None and w.finished]:
                    del done[other]
                if walk is not None and walk in done:
                    return
                done[walk] = True
            fn(grad)

        return _MultiHandle(tuple([t.register_hook(first) for t in tensors if t.requires_grad]))

    vertices = [_vertex(t) for t in tensors]
    gathered: dict[Any, _Gathering] = {}

    def gather(place: int, grad: Any) -> None:
        walk = _walk()
        with lock:
            found = gathered.get(walk)
            if found is None:
                for other in [w for w in gathered if w is not None and w.finished]:
                    del gathered[other]
                others = [v for k, v in enumerate(vertices) if k != place and _is_awaited(walk, v)]
                found = gathered[walk] = _Gathering(len(vertices), 1 + len(others))
            found.grads[place] = grad
            found.pending -= 1
            if found.pending:
                return
            del gathered[walk]
        fn(found.grads)

    return _MultiHandle(tuple([t.register_hook(functools.partial(gather, k)) for k, t in enumerate(tensors)]))


def _walk() -> Any:
    """The backward that this thread is in."""
    return local.walk


def _vertex(tensor: Any) -> Any:
    """What receives a tensor's gradient: its node, or the leaf itself."""
    if not tensor.requires_grad:
        raise AssertionError("Expected gradient function to be set")
    node = tensor.grad_fn
    return tensor if node is None else node


def _is_awaited(walk: Any, vertex: Any) -> bool:
    """Whether a vertex has still to run in this backward."""
    slot = walk.find(vertex)
    return slot is not None and (slot.needed or slot.captured is not None)
