"""What the transforms have in common: levels, and the place of a level's inputs and outputs on the tape.

A reverse-mode level needs no interposer: its inputs are aliases with places of their own on the one tape, so a walk to them
is a walk of this level, however many are nested. What it returns is cut from the tape unless something that lies below the
level is recorded too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from livetape._tape.backward import run_backward
from livetape._tape.modes import (
    is_recording,
    is_transformed,
    local,
    push_interposer,
    remove_interposer,
    set_grad,
    state,
)
from livetape._tape.tensor import Edge, TensorBase, wrap
from livetape._tape.views import edge_of, needs_gradient
from livetape.autograd._dual import KEY, DualLevel, Entry, linked
from livetape.autograd._tangents import lifted
from livetape.dtypes import FLOAT
from livetape.func._arrays import Batched, serials
from livetape.func._text import leads_between, text_of, wraps
from livetape.ops.basics import zeros_like


def local_level() -> int:
    """How many transforms are under way in this thread."""
    return len(local.levels)


def name_of(function: Any) -> str:
    """What messages call a function."""
    name = getattr(function, "__name__", None)
    if name is not None:
        return str(name)
    if isinstance(function, functools.partial):
        return f"functools.partial({name_of(function.func)}, ...)"
    return repr(function)


def check_tensor(value: Any) -> Any:
    """The value, if it is a tensor; torch's error for other inputs of transforms."""
    if not isinstance(value, TensorBase):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    return value


def check_outputs(values: list[Any], where: str) -> None:
    """Raise torch's error unless there are outputs, and all are tensors."""
    if not values or (len(values) == 1 and values[0] is None):
        raise RuntimeError(f"{where}: Expected f to be a function that has non-empty output (got output = {values})")
    for value in values:
        if not isinstance(value, TensorBase):
            raise RuntimeError(
                f"{where}: expected f(*primals) to return only tensors, got unsupported type {type(value)}"
            )


class Transform:
    """A context: a transform is under way, with its interposer on the stack if it has one."""

    def __init__(self, interposer: Any = None) -> None:
        self.interposer = interposer

    def __enter__(self) -> None:
        local.levels = (*local.levels, self)
        if self.interposer is not None:
            push_interposer(self.interposer)

    def __exit__(self, *error: Any) -> None:
        local.levels = tuple([level for level in local.levels if level is not self])
        if self.interposer is not None:
            remove_interposer(self.interposer)

    def layer(self, tensor: Any, above: int | None) -> tuple[str | None, Any] | None:
        """What this level makes of a tensor, in words, and what the tensor is below it; None if nothing."""
        interposer = self.interposer
        if isinstance(interposer, DualLevel):
            if interposer.tangent(tensor) is None:
                return None
            return f"GradTrackingTensor(lvl={local.levels.index(self) + 1}", tensor
        array = tensor.array
        if interposer is None or type(array) is not Batched or array.level is not interposer:
            return None
        return (None, array.inner) if array.lifted else (array.heading(), array.whole())

    text_of = staticmethod(text_of)
    wraps = staticmethod(wraps)


class GradLevel:
    """One level of reverse mode."""

    def __init__(self) -> None:
        self.serial = next(serials)
        self.recording = is_recording()  # whether what lies below this level is recorded
        self.start = int(state.sequence)
        self.leaves: dict[int, Any] = {}
        self.inside: set[int] = set()  # nodes known to lead to nothing below

    def __enter__(self) -> GradLevel:
        self.before = local.grad
        local.levels = (*local.levels, self)
        set_grad(True)
        return self

    def __exit__(self, *error: Any) -> None:
        local.levels = tuple([level for level in local.levels if level is not self])
        set_grad(self.before)

    def layer(self, tensor: Any, above: int | None) -> tuple[str | None, Any] | None:
        """What this level makes of a tensor, in words, and what the tensor is below it; None if nothing."""
        if not leads_between(tensor, self, above):
            return None
        return f"GradTrackingTensor(lvl={local.levels.index(self) + 1}", tensor

    text_of = staticmethod(text_of)
    wraps = staticmethod(wraps)

    def variable(self, value: Any) -> Any:
        """An input of the level: the same tensor, with a place of its own on the tape."""
        tensor = check_tensor(value)
        if tensor.dtype.category < FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        made = linked(lifted(tensor))
        if not made.recorded:
            made.recorded = True
            self.leaves[id(made)] = made
        return made

    # ------------------------------------------------------------ what lies below
    def leads_below(self, tensor: Any) -> bool:
        """Whether a tensor's history leads to more than this level's own inputs."""
        edge = edge_of(tensor)
        if edge is None:
            return False
        stack, met = [edge], []
        while stack:
            vertex = stack.pop()
            if isinstance(vertex, Edge):
                vertex = vertex.node
            if isinstance(vertex, TensorBase):
                if id(vertex) not in self.leaves:
                    return True
                continue
            if id(vertex) in self.inside:
                continue
            if vertex._sequence <= self.start:
                return True
            self.inside.add(id(vertex))
            met.append(vertex)
            stack += [e for e in vertex._edges if e is not None]
        return False

    def below_is_recorded(self, tensors: list[Any]) -> bool:
        """Whether derivatives of this level's derivatives may be asked for from below."""
        if not self.recording:
            return False
        self.inside.clear()
        found = any(self.leads_below(t) for t in tensors)
        self.inside.clear()
        return found or any(getattr(i, "records_below", False) for i in local.interposers)

    def closed(self, tensors: list[Any]) -> list[Any]:
        """Results of the level: those that depend on nothing below it are cut from the tape."""
        return [self.close(tensor) for tensor in tensors]

    def close(self, tensor: Any) -> Any:
        """One result; of a batch made inside the level, what the batch consists of."""
        array = tensor.array
        if type(array) is Batched and array.level.serial > self.serial:
            inner = self.close(array.inner)
            if inner is not array.inner:
                array = array.around(inner)
        self.inside.clear()
        keep = not needs_gradient(tensor) or (self.recording and self.leads_below(tensor))
        self.inside.clear()
        return tensor if keep and array is tensor.array else cut(tensor, array, keep)

    # ------------------------------------------------------------ the walk
    def pull(
        self, outputs: list[Any], inputs: list[Any], grads: list[Any], keep: bool, create: bool | None = None
    ) -> list[Any]:
        """The gradients of ``outputs`` with respect to ``inputs``; zeros where there is no way."""
        if create is None:
            # where interposers stand, sums are to be made by operations that they see
            create = is_transformed() or self.below_is_recorded([*outputs, *grads])
        edges, starts = [], []
        for output, grad in zip(outputs, grads):
            edge = edge_of(output)
            if edge is not None:
                edges.append(edge)
                starts.append(grad)
        found: list[Any] = [None] * len(inputs)
        if edges:
            wanted = [edge_of(i) for i in inputs]
            found = run_backward(edges, starts, keep or create, create, wanted, False)
        return self.closed([zeros_like(i) if g is None else g for g, i in zip(found, inputs)])


def cut(tensor: Any, array: Any, linked: bool = False) -> Any:
    """A tensor with another array, or the same; tangents included, without its history unless it is to stay linked."""
    twin: Any = wrap(array, tensor.dtype, tensor._size)
    if linked:
        twin.node, twin.output_nr, twin.recorded = tensor.node, tensor.output_nr, tensor.recorded
    for level in local.interposers:
        if isinstance(level, DualLevel):
            entry = level.entry(tensor)
            if entry is not None:
                value = entry.value
                twin.__dict__.setdefault(KEY, {})[level.number] = Entry(
                    cut(value, value.array) if value.recorded and not linked else value, False
                )
    return twin


def chosen(args: tuple[Any, ...], argnums: Any) -> tuple[Any, ...] | Any:
    """The arguments that ``argnums`` names: one, or a tuple."""
    check_argnums(argnums, len(args))
    return args[argnums] if isinstance(argnums, int) else tuple([args[n] for n in argnums])


def check_argnums(argnums: Any, count: int) -> None:
    """Raise torch's error for an ``argnums`` that names no arguments."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"argnums elements must be int, got {type(number)}")
        if not -count <= number < count:
            raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
    placed = [n % count for n in numbers]
    if len(set(placed)) != len(placed):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")


def replaced(args: tuple[Any, ...], argnums: Any, values: Any) -> tuple[Any, ...]:
    """The arguments with those that ``argnums`` names replaced."""
    found = list(args)
    for number, value in zip((argnums,), (values,)) if isinstance(argnums, int) else zip(argnums, values):
        found[number] = value
    return tuple(found)


def wrapped(function: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    """``inner`` under the name and docstring of ``function``, where it has any."""
    return functools.update_wrapper(inner, function)
