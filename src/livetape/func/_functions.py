"""autograd.Function under vmap: its own rule, or one made from its forward and backward."""

from __future__ import annotations

from typing import Any, NamedTuple

from livetape._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from livetape._tape.modes import is_recording, local, state
from livetape._tape.tensor import TensorBase
from livetape._tape.views import needs_gradient
from livetape.autograd.function import Function
from livetape.func._arrays import serials
from livetape.ops.permuting import movedim

_SEE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What the ``vmap`` of a Function is told (source: ``torch._functorch.autograd_function``)."""

    batch_size: int
    randomness: str


class FunctionRules:
    """The part of a vmap level that runs Functions."""

    size: int
    randomness: str
    number: int

    def intercept_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a Function on batches."""
        level: Any = self
        pairs = [level.opened(a) if isinstance(a, TensorBase) else (a, False) for a in args]
        if all(p[0] is a for p, a in zip(pairs, args)):
            return cls.apply(*args, **kwargs)
        inner, flags = [p[0] for p in pairs], [p[1] for p in pairs]
        if not any(flags):
            output = _mapped(cls.apply(*inner, **kwargs), level.lift)
        elif cls.generate_vmap_rule:
            if cls.vmap is not Function.vmap:
                raise RuntimeError(
                    f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
                    "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
                    f"ambiguity. {_SEE}"
                )
            output = _mapped(vmapped(cls, level, flags).apply(*inner), level.batched)
        elif cls.vmap is Function.vmap:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override "
                f"and implement the vmap staticmethod or set generate_vmap_rule=True. {_SEE}"
            )
        else:
            output = self.by_own_rule(cls, inner, flags)
        recorded = is_recording() and any(
            isinstance(a, TensorBase) and level.owns(a) and needs_gradient(a) for a in args
        )
        return self.recorded(cls, args, output) if recorded else output

    def by_own_rule(self, cls: Any, inner: list[Any], flags: list[bool]) -> Any:
        """Run a Function's ``vmap``."""
        level: Any = self
        found = cls.vmap(VmapInfo(self.size, self.randomness), tuple([0 if f else None for f in flags]), *inner)
        if not isinstance(found, tuple) or len(found) != 2:
            got = f"{len(found)} returns" if isinstance(found, tuple) else f"a {type(found)}"
            raise RuntimeError(
                "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
                f"structure compatible with the output. Got {got} instead"
            )
        output, out_dims = found
        leaves, spec = tree_flatten(output)
        dims = _broadcast_to_and_flatten(out_dims, spec)
        if dims is None:
            raise RuntimeError(
                "Expected the vmap staticmethod to have out_dims with pytree structure compatible with the "
                f"output, got {out_dims} for an output with structure {spec}"
            )
        made = [
            leaf
            if not isinstance(leaf, TensorBase)
            else level.lift(leaf)
            if dim is None
            else level.batched(leaf if dim == 0 else movedim(leaf, dim, 0))
            for leaf, dim in zip(leaves, dims)
        ]
        return tree_unflatten(made, spec)

    def recorded(self, cls: Any, args: tuple[Any, ...], output: Any) -> Any:
        """The outputs connected, on the tape of this level, to a node of the Function."""
        level: Any = self
        given = type(cls)(
            cls.__name__, (cls,), {"forward": staticmethod(lambda *args: output), "__module__": cls.__module__}
        )
        with _Inside(level):
            return given._apply(*level.own(args))


def _mapped(output: Any, function: Any) -> Any:
    """A Function's outputs with ``function`` applied to the tensors."""
    if isinstance(output, tuple):
        return tuple([function(o) if isinstance(o, TensorBase) else o for o in output])
    return function(output) if isinstance(output, TensorBase) else output


class _Inside:
    """A context with a level on the stack."""

    def __init__(self, level: Any) -> None:
        self.level = level
        self.below: Any = ()

    def __enter__(self) -> None:
        self.level.serial = next(serials)
        self.below = local.interposers
        local.interposers = (*self.below, self.level)
        state.interposed += 1

    def __exit__(self, *error: Any) -> None:
        local.interposers = self.below
        state.interposed -= 1


class _Context:
    """A Function's ctx as samples see it: what it saves are batches."""

    def __init__(self, ctx: Any, level: Any) -> None:
        object.__setattr__(self, "_inner", ctx)
        object.__setattr__(self, "_level", level)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)

    def _opened(self, tensors: Any) -> tuple[list[Any], list[bool]]:
        pairs = [(None, False) if t is None else self._level.opened(t) for t in tensors]
        return [p[0] for p in pairs], [p[1] for p in pairs]

    def _shown(self, tensors: Any, flags: list[bool]) -> tuple[Any, ...]:
        return tuple([self._level.batched(t) if f else t for t, f in zip(tensors, flags)])

    def save_for_backward(self, *tensors: Any) -> None:
        inner, self._inner._saved_flags = self._opened(tensors)
        self._inner.save_for_backward(*inner)

    def save_for_forward(self, *tensors: Any) -> None:
        inner, self._inner._saved_flags = self._opened(tensors)
        self._inner.save_for_forward(*inner)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self._shown(self._inner.saved_tensors, getattr(self._inner, "_saved_flags", []))

    def mark_dirty(self, *tensors: Any) -> None:
        self._inner.mark_dirty(*self._opened(tensors)[0])

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._inner.mark_non_differentiable(*self._opened(tensors)[0])


def vmapped(cls: Any, outer: Any, flags: list[bool]) -> Any:
    """The Function that does on batches what ``cls`` does on samples."""
    level = type(outer)(outer.size, outer.randomness, outer.number)

    def shown(values: Any, which: Any) -> list[Any]:
        return [level.batched(v) if f and isinstance(v, TensorBase) else v for v, f in zip(values, which)]

    def whole(value: Any) -> Any:
        return level.whole(value) if isinstance(value, TensorBase) else value

    def forward(*inner: Any) -> Any:
        with _Inside(level):
            output = cls.forward(*shown(inner, flags))
        return _mapped(output, whole)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        every = _mapped(output, level.batched)
        with _Inside(level):
            cls.setup_context(_Context(ctx, level), tuple(shown(inputs, flags)), every)

    def backward(ctx: Any, *grads: Any) -> Any:
        with _Inside(level):
            found = cls.backward(_Context(ctx, level), *shown(grads, [True] * len(grads)))
        found = found if isinstance(found, tuple) else (found,)
        summed = [g if g is None else whole(g) if f else whole(g).sum(0) for g, f in zip(found, flags)]
        return tuple(summed)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        every = [t if t is None else t if f else level.whole(t) for t, f in zip(tangents, flags)]
        with _Inside(level):
            found = cls.jvp(_Context(ctx, level), *shown(every, [True] * len(every)))
        return _mapped(found, whole)

    members: dict[str, Any] = {"forward": forward, "setup_context": setup_context, "backward": backward}
    if cls.jvp is not Function.jvp:
        members["jvp"] = jvp
    namespace: dict[str, Any] = {name: staticmethod(member) for name, member in members.items()}
    namespace.update(generate_vmap_rule=True, __module__=cls.__module__)
    metaclass: Any = type(Function)
    return metaclass(cls.__name__, (Function,), namespace)
