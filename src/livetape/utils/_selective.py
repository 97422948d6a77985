"""Selective checkpointing: which results of a checkpointed piece are kept, and which are computed again in backward().

Two interposers share a storage. The first one asks the policy about every operation of the forward, and keeps what it
says; in the second forward the other one takes the results that were kept instead of running the operation.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from livetape._tape.modes import local, push_below, remove_interposer
from livetape._tape.tensor import version_of
from livetape.autograd._dual import run_below
from livetape.ops import aten
from livetape.ops.basics import detach


class CheckpointPolicy(enum.Enum):
    """What to do with the result of an operation (source: ``torch.utils.checkpoint.CheckpointPolicy``).

    ``SAVE`` keeps it, ``RECOMPUTE`` computes it again. There is no other device to offload to: ``CPU_OFFLOAD`` keeps it too.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVED = tuple([p for p in CheckpointPolicy if not p.name.endswith("RECOMPUTE")])

# Operations that no policy is asked about.
SAC_IGNORED_OPS = {aten.packet("detach").default, aten.packet("alias").default}


class SelectiveCheckpointContext:
    """What a policy is told besides the operation and its arguments: the result, ``op_output``."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """A result that was kept, and how often its memory had been changed."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: Any) -> None:
        self.tensor = detach(tensor)
        self.version = int(version_of(self.tensor))

    def take(self, changes_allowed: bool) -> Any:
        """The result."""
        if not changes_allowed and version_of(self.tensor) != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.tensor


_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)
_COMPUTE, _TAKEN = "compute it again", "was taken already"
Storage = defaultdict[Any, dict[int, Any]]  # by operation, and by how many calls of it came before


class _Mode:
    """An interposer that is on inside a ``with`` block."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.calls: defaultdict[Any, int] = defaultdict(int)

    def __enter__(self) -> None:
        push_below(self)

    def __exit__(self, *error: object) -> None:
        remove_interposer(self)

    def number(self, overload: Any) -> int:
        """How many calls of this operation there were before."""
        self.calls[overload] += 1
        return self.calls[overload] - 1

    def intercept_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a custom Function; what its forward runs is met too."""
        below = local.interposers
        local.interposers = (*below, self)
        try:
            return cls._apply(*args, **kwargs) if not below else cls.apply(*args, **kwargs)
        finally:
            local.interposers = below


class _Caching(_Mode):
    """In the first forward: keeps what the policy says."""

    def __init__(self, policy: Callable[..., Any], storage: Storage) -> None:
        super().__init__(storage)
        self.policy = policy

    def intercept(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation and ask what to do with its result."""
        found = run_below(op, args, kwargs)
        overload = aten.overload_of(op, args, bool(kwargs))
        if overload in SAC_IGNORED_OPS:
            return found
        context = SelectiveCheckpointContext(is_recompute=False, op_output=found)
        choice = self.policy(context, overload, *args)
        if isinstance(choice, bool):
            choice = CheckpointPolicy.MUST_SAVE if choice else CheckpointPolicy.PREFER_RECOMPUTE
        entry: Any = _COMPUTE
        if choice in _SAVED and not kwargs and not op.view:
            entry = [_Kept(one) for one in (found if isinstance(found, tuple) else (found,))]
        self.storage[overload][self.number(overload)] = entry
        return found


class _Cached(_Mode):
    """In the second forward: takes what was kept."""

    def __init__(self, storage: Storage, changes_allowed: bool) -> None:
        super().__init__(storage)
        self.changes_allowed = changes_allowed

    def __enter__(self) -> None:
        self.calls.clear()
        super().__enter__()

    def intercept(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Take the result of an operation, recorded anew, or run it."""
        overload = aten.overload_of(op, args, bool(kwargs))
        if overload in SAC_IGNORED_OPS:
            return run_below(op, args, kwargs)
        number = self.number(overload)
        known = self.storage.get(overload)
        if known is None:
            raise RuntimeError(f"{overload} encountered during backward but not found in storage. {_MISMATCH}")
        entry = known.get(number)
        if entry is None:
            raise RuntimeError(
                f"{overload} invocation index {number} encountered during backward but not found in storage. {_MISMATCH}"
            )
        if entry is _TAKEN:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if entry is _COMPUTE:
            return run_below(op, args, kwargs)
        known[number] = _TAKEN
        results = tuple([kept.take(self.changes_allowed) for kept in entry])
        op.record(args, results)
        return results if len(results) > 1 or op.outputs != 1 else results[0]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Contexts for the two forwards of a checkpoint that keep the results of some operations (source: the torch function).

    policy_fn_or_list             operations whose results are kept, or ``policy(ctx, op, *args)``, which is asked about
                                  every operation of the first forward and returns a `CheckpointPolicy`
    allow_cache_entry_mutation    no error if a result that was kept has been changed in place

    Views and in-place changes are always run again: there is nothing to save by keeping their results.

    >>> import functools
    >>> import livetape as torch
    >>> from livetape.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda t: (t @ t).sin(), x, use_reentrant=False, context_fn=keep).sum().backward()
    >>> x.grad
    tensor([[-1.6646, -1.6646],
            [-1.6646, -1.6646]])
    """
    policy: Any
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, aten.OpOverload):
                more = ""
                if isinstance(op, aten.OpOverloadPacket):
                    more = (
                        "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
                        "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                    )
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {more}"
                )
        listed = list(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in listed else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: Storage = defaultdict(dict)
    return _Caching(policy, storage), _Cached(storage, allow_cache_entry_mutation)
