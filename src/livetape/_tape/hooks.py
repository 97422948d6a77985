"""Running the hooks of tensors and nodes in a backward."""

from __future__ import annotations

from typing import Any

from livetape._tape.tensor import NodeExtras, TensorBase, shape_of
from livetape._tape.views import primitives


def run_tensor_hooks(hooks: dict[int, Any], grad: TensorBase | None) -> TensorBase | None:
    """Give a gradient, None if there is none, to a tensor's hooks, each of which may replace it."""
    for hook in list(hooks.values()):
        given = hook(grad)
        if given is not None:
            if not isinstance(given, TensorBase):
                raise TypeError(f"expected Variable, but hook returned '{type(given).__name__}'")
            if grad is None:
                raise RuntimeError("can't replace a None gradient with a non-None value")
            grad = checked_replacement(hook, grad, given)
    return grad


def checked_replacement(hook: Any, before: TensorBase, after: TensorBase) -> TensorBase:
    """A hook may replace a gradient by one of the same type and size."""
    name = getattr(hook, "__name__", type(hook).__name__)
    if after.dtype is not before.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {primitives_type(before)} got {primitives_type(after)})"
        )
    if shape_of(after) != shape_of(before):
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    return after


def primitives_type(tensor: TensorBase) -> str:
    """The type of a tensor as hook errors name it."""
    kind: Any = tensor
    name = str(kind.type())
    if tensor.dtype.is_complex:  # not one of torch's old tensor types
        return "CPU" + name.removeprefix("torch.").removesuffix("Tensor") + "Type"
    return name


def run_pre_hooks(hooks: dict[int, Any], grads: list[TensorBase | None]) -> list[TensorBase | None]:
    """Give a node's incoming gradients to its pre-hooks, each of which may replace them."""
    for hook in list(hooks.values()):
        given = hook(tuple(grads))
        if given is not None:
            if not isinstance(given, tuple):
                raise TypeError(f"expected tuple, but hook returned '{type(given).__name__}'")
            grads = checked_tuple(hook, grads, given)
    return grads


def checked_tuple(hook: Any, before: list[TensorBase | None], given: tuple[Any, ...]) -> list[TensorBase | None]:
    """A node's hook may replace gradients by others of the same types and sizes, or by None."""
    if len(given) != len(before):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(given)}, but expected {len(before)})"
        )
    found: list[TensorBase | None] = []
    for old, new in zip(before, given):
        if new is None:
            found.append(None)
            continue
        if not isinstance(new, TensorBase):
            raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
        if old is None:
            raise RuntimeError("can't replace a None gradient with a non-None value")
        found.append(checked_replacement(hook, old, new))
    return found


def run_output_hooks(extras: NodeExtras, grads: list[TensorBase | None], entering: bool) -> bool:
    """The hooks of a node's outputs, its pre-hooks if it is going to run, then the retained gradients. Whether any ran."""
    ran = False
    if extras.tensor_hooks is not None:
        for nr, hooks in extras.tensor_hooks.items():
            g = grads[nr] if nr < len(grads) else None
            if hooks:
                grads[nr] = run_tensor_hooks(hooks, g)
                ran = True
    if entering and extras.pre_hooks is not None and extras.pre_hooks:
        replaced = run_pre_hooks(extras.pre_hooks, grads)
        for i in range(len(grads)):
            grads[i] = replaced[i]
        ran = True
    if extras.retained is not None:
        for nr, reference in extras.retained.items():
            tensor = reference()
            g = grads[nr] if nr < len(grads) else None
            if tensor is not None and g is not None:
                kept: TensorBase = tensor
                before = kept._gradient
                kept._gradient = primitives.clone(g) if before is None else primitives.add(before, g)
                ran = True
    return ran


def run_node_hooks(
    hooks: dict[int, Any], found: list[TensorBase | None], grads: list[TensorBase | None]
) -> list[TensorBase | None]:
    """Give a node's results to its hooks, each of which may replace them."""
    for hook in list(hooks.values()):
        given = hook(tuple(found), tuple(grads))
        if given is not None:
            if not isinstance(given, tuple):
                raise TypeError(f"expected tuple, but hook returned '{type(given).__name__}'")
            found = checked_tuple(hook, found, given)
    return found
