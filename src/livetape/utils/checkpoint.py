"""Checkpointing: keep the inputs of a piece of the graph, and compute its inside again in backward().

Source: ``torch.utils.checkpoint``. With ``use_reentrant=False`` the forward is recorded as usual, but what it saves is
replaced by holders, which a second forward fills when backward() first asks for one. With ``use_reentrant=True`` the
forward is not recorded, and the node that stands for it runs a backward() of its own.
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from livetape._tape.modes import local
from livetape._tape.tensor import TensorBase, from_array, shape_of, wrap
from livetape.amp import autocast, switches
from livetape.autograd.function import Function
from livetape.autograd.grad_mode import enable_grad, no_grad
from livetape.autograd.graph import saved_tensors_hooks
from livetape.gradients import backward
from livetape.ops.basics import detach
from livetape.random import fork_rng, get_rng_state, set_rng_state
from livetape.utils._selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_EXPLICIT = (
    "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
    "use_reentrant=True. Refer to docs for more details on the differences between the two variants."
)

_PRUNED = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)

_TIP = (
    "\n\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint\N{NON-BREAKING HYPHEN}debug mode globally.\n\n"
    "If this error occurs under torch.compile with automatic_dynamic_shapes enabled,\n"
    "it may be because the recomputation selected a different compiled graph than the\n"
    "forward pass (e.g., a dynamic graph instead of the original static graph).\n"
    "To fix this, either:\n"
    "  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as\n"
    "    dynamic upfront, avoiding the static-to-dynamic transition.\n"
    "  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache\n"
    "    reordering, which can change which graph is checked first between forward\n"
    "    and recompute.\n"
    "See https://github.com/pytorch/pytorch/issues/166926 for more details and\n"
    "workaround examples.\n"
)


class CheckpointError(RuntimeError):
    """The second forward did not save what the first one did."""


def noop_context_fn() -> tuple[Any, Any]:
    """Contexts for the two forwards that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class _Settings:
    """What the context managers below set for all checkpoints."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Within the block, say for all checkpoints whether the second forward stops once it has saved what is needed."""
    before = _Settings.early_stop
    _Settings.early_stop = enable
    try:
        yield
    finally:
        _Settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Accepted for compatibility: errors name shapes and dtypes in any case."""
    before = _Settings.debug
    _Settings.debug = enabled
    try:
        yield
    finally:
        _Settings.debug = before


def detach_variable(inputs: Any) -> tuple[Any, ...]:
    """Leaves with the values of the given tensors; what is no tensor stays as it is."""
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: ", type(inputs).__name__)
    found = []
    for one in inputs:
        if isinstance(one, TensorBase):
            required = one.requires_grad  # type: ignore[attr-defined]
            one = detach(one)
            one.requires_grad = required
        found.append(one)
    return tuple(found)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The devices among the arguments and their generators' states: none, there is no device but the CPU."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Set the states that `get_device_states` gave: there are none."""


def check_backward_validity(inputs: Any) -> None:
    """Warn if none of the inputs requires a gradient."""
    if not any(isinstance(i, TensorBase) and i.requires_grad for i in inputs):  # type: ignore[attr-defined]
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def _casting() -> Any:
    """What the autocast of now is again: a context for the second forward."""
    return autocast(
        "cpu",
        switches.get_autocast_dtype("cpu"),
        switches.is_autocast_enabled("cpu"),
        switches.is_autocast_cache_enabled(),
    )


# ---------------------------------------------------------------- without a walk inside the walk
class _SaveInputs(Function):
    """Saves the inputs in a node, so that changes are noticed and outer hooks see them."""

    @staticmethod
    def forward(ctx: Any, start: Any, *tensors: Any) -> Any:
        ctx.save_for_backward(*tensors)
        return from_array(np.zeros(0, np.float32))


class _Stop(Exception):
    """The second forward has saved what is needed."""


class _Holder:
    """Stands in a node for a tensor that was not saved. The second forward puts it here, by number of the walk."""

    __slots__ = ("__weakref__", "found")

    def __init__(self) -> None:
        self.found: dict[Any, Any] = {}


def _described(tensor: Any) -> dict[str, Any]:
    return {"shape": shape_of(tensor), "dtype": tensor.dtype, "device": tensor.device}


class _Frame:
    """One checkpointed call: how to repeat it, and the holders of what it saved."""

    def __init__(self, repeat: Callable[..., None], early_stop: bool, described: bool) -> None:
        self.repeat = repeat
        self.early_stop = early_stop
        self.holders: list[weakref.ref[_Holder]] = []
        self.metadata: list[dict[str, Any]] | None = [] if described else None
        self.saver: Any = None  # the node that keeps the tensors among the arguments
        self.completed = False
        self.repeated: set[Any] = set()
        self.unfinished = False  # whether a second forward overtook the first

    def pack(self, tensor: Any) -> _Holder:
        """Save a holder instead of a tensor."""
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        if self.metadata is not None:
            self.metadata.append(_described(tensor))
        return holder

    def unpack(self, holder: _Holder) -> Any:
        """The tensor, after a second forward if this walk has not done it yet."""
        walk = local.walk
        number = object() if walk is None else walk.number
        if number not in self.repeated:
            count = self.run_again(number)
            self.repeated.add(number)
            self.check(number, count)
        found = holder.found.pop(number, None)
        if found is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you "
                "are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an "
                "issue with details on your use case."
            )
        if walk is None:  # a look from outside: nothing is kept for later
            self.repeated.discard(number)
            for reference in self.holders:
                other = reference()
                if other is not None:
                    other.found.pop(number, None)
        return found

    def run_again(self, number: Any) -> int:
        """Run the forward a second time and fill the holders; the number of tensors it saved."""
        count = 0

        def keep(tensor: Any) -> Any:
            nonlocal count
            at = count
            count += 1
            tensor = detach(tensor)
            if at >= len(self.holders):
                if self.completed:
                    raise CheckpointError(
                        "torch.utils.checkpoint: trying to save more tensors during recomputation "
                        "than during the original forward pass." + _TIP
                    )
                self.unfinished = True
                return tensor
            holder = self.holders[at]()
            if holder is not None:
                holder.found[number] = tensor
            if self.early_stop and self.completed and count == len(self.holders):
                raise _Stop
            return tensor

        inputs = () if self.saver is None else self.saver.saved_tensors
        with contextlib.suppress(_Stop), saved_tensors_hooks(keep, _same), enable_grad():
            self.repeat(*inputs)
        return count

    def check(self, number: Any, count: int) -> None:
        """Raise if the second forward saved other tensors than the first."""
        if self.unfinished:
            return
        if count != len(self.holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {count}." + _TIP
            )
        if self.metadata is None:
            return
        differing = ""
        for at, (reference, before) in enumerate(zip(self.holders, self.metadata)):
            holder = reference()
            if holder is None or number not in holder.found:
                continue
            now = _described(holder.found[number])
            if now != before:
                differing += f"tensor at position {at}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"
        if differing:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different "
                f"metadata than during the forward pass.\n{differing}." + _TIP
            )


def _same(value: Any) -> Any:
    return value


def _without_reentry(
    function: Callable[..., Any],
    preserve: bool,
    context_fn: Callable[[], tuple[Any, Any]],
    determinism_check: str,
    early_stop: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    first, second = context_fn()
    if not local.grad:
        return function(*args, **kwargs)
    state = get_rng_state() if preserve else None
    casting = _casting()
    places = [k for k, a in enumerate(args) if isinstance(a, TensorBase)]
    rest = [None if k in places else a for k, a in enumerate(args)]

    def repeat(*tensors: Any) -> None:
        given = list(rest)
        for k, tensor in zip(places, tensors):
            given[k] = tensor
        with fork_rng(enabled=preserve):
            if state is not None:
                set_rng_state(state)
            with casting, second:
                function(*given, **kwargs)

    stop = early_stop if _Settings.early_stop is None else _Settings.early_stop
    frame = _Frame(repeat, stop, determinism_check == "default")
    start = wrap(np.zeros(0, np.float32), from_array(np.zeros(0, np.float32)).dtype, None)
    start.recorded = True
    # not apply(): the tensors themselves are saved, whatever transforms and interposers there are
    frame.saver = _SaveInputs._apply(start, *[args[k] for k in places]).grad_fn
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        found = function(*args, **kwargs)
    frame.completed = True
    return found


# ---------------------------------------------------------------- with a walk inside the walk
class CheckpointFunction(Function):
    """A piece of the graph that is one node: its derivative runs the piece again, recorded, and walks it."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = get_rng_state() if preserve_rng_state else None
        ctx.casting = _casting()
        ctx.places = [k for k, a in enumerate(args) if isinstance(a, TensorBase)]
        ctx.rest = [None if k in ctx.places else a for k, a in enumerate(args)]
        ctx.save_for_backward(*[args[k] for k in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if local.walk is not None and local.walk.pruned:
            raise RuntimeError(_PRUNED)
        inputs = list(ctx.rest)
        for k, tensor in zip(ctx.places, ctx.saved_tensors):
            inputs[k] = tensor
        leaves = detach_variable(tuple(inputs))
        with fork_rng(enabled=ctx.state is not None):
            if ctx.state is not None:
                set_rng_state(ctx.state)
            with enable_grad(), ctx.casting:
                outputs = ctx.run_function(*leaves)
        if isinstance(outputs, TensorBase):
            outputs = (outputs,)
        roots: list[Any] = []
        seeds: list[Any] = []
        for output, given in zip(outputs, grads):
            if isinstance(output, TensorBase) and output.requires_grad:  # type: ignore[attr-defined]
                roots.append(output)
                seeds.append(given)
        if not roots:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward(roots, seeds)
        return (
            None,
            None,
            *[
                leaf.grad if isinstance(leaf, TensorBase) else None  # type: ignore[attr-defined]
                for leaf in leaves
            ],
        )


# ---------------------------------------------------------------- the public functions
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args)``, keeping only the arguments for backward(), which runs it again (source: the torch function).

    use_reentrant         False is the better variant: it works with grad(), keyword arguments and nested structures
    context_fn            gives two context managers, for the first and for the second forward
    determinism_check     "default": the shapes and dtypes of both forwards must agree; "none": no check
    early_stop            end the second forward once everything needed is there
    preserve_rng_state    (keyword) repeat the random numbers of the first forward; default True

    >>> import livetape as torch
    >>> from livetape.utils.checkpoint import checkpoint
    >>> x = torch.tensor([0., 1.], requires_grad=True)
    >>> checkpoint(lambda t: (t ** 2).exp(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([0.0000, 5.4366])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in "
            "PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception. "
            "" + _EXPLICIT,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _without_reentry(function, preserve, context_fn, determinism_check, early_stop, args, kwargs)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run functions one after the other, in ``segments`` checkpointed pieces; the last is not checkpointed.

    functions    a Sequential or a list of functions (source: ``torch.utils.checkpoint.checkpoint_sequential``)

    >>> import livetape as torch
    >>> from livetape.utils.checkpoint import checkpoint_sequential
    >>> x = torch.zeros(2, requires_grad=True)
    >>> checkpoint_sequential([torch.sin, torch.exp, torch.tanh], 2, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([0.4200, 0.4200])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed "
            "explicitly. In version 2.9 we will raise an exception if use_reentrant is not passed. "
            "" + _EXPLICIT,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments
    last = -1
    for start in range(0, size * (segments - 1), size):
        last = start + size - 1
        piece = _chain(steps[start : last + 1])
        input = checkpoint(piece, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _chain(steps[last + 1 :])(input)


def _chain(steps: list[Any]) -> Callable[[Any], Any]:
    def run(input: Any) -> Any:
        for step in steps:
            input = step(input)
        return input

    return run
