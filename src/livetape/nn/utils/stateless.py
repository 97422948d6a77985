"""Calling a module with other parameters than its own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from livetape.tensor import Tensor

__all__ = ["functional_call"]

_ABSENT = object()


def _tied_names(module: Any) -> dict[str, set[str]]:
    """For every name of a tensor the names of the same tensor."""
    groups: dict[int, set[str]] = {}
    for name, tensor in [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]:
        groups.setdefault(id(tensor), set()).add(name)
    return {name: group for group in groups.values() for name in group}


@contextlib.contextmanager
def swapped(module: Any, tensors: dict[str, Any], tie_weights: bool = True, strict: bool = False) -> Iterator[None]:
    """Within the block the named parameters and buffers of ``module`` are these tensors."""
    tied = _tied_names(module)
    if strict:
        unexpected = [name for name in tensors if name not in tied]
        missing = [name for name in tied if not tied[name] & tensors.keys()]
        text = []
        if unexpected:
            text.append("Unexpected key(s): {}.".format(", ".join(repr(name) for name in sorted(unexpected))))
        if missing:
            text.append("Missing key(s): {}.".format(", ".join(repr(name) for name in sorted(missing))))
        if text:
            raise RuntimeError(
                "Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(text))
            )
    wanted = dict(tensors)
    if tie_weights:
        for name, tensor in tensors.items():
            for other in tied.get(name, ()):
                if other not in wanted:
                    wanted[other] = tensor
                elif other != name and tensors[other] is not tensor:
                    raise ValueError(
                        f"functional_call got multiple values for keys {sorted([name, other])}, which are "
                        "tied. Consider using tie_weights=False"
                    )
    undo: list[Any] = []
    try:
        for name, tensor in wanted.items():
            path, _, leaf = name.rpartition(".")
            owner = module.get_submodule(path)
            if not isinstance(tensor, Tensor):
                raise TypeError(f"{tensor} is not an instance of torch.Tensor")
            place = next((p for p in (owner._parameters, owner._buffers) if leaf in p), None)
            if place is None:
                present = getattr(owner, leaf, None)
                if present is not None and not isinstance(present, Tensor):
                    raise TypeError(f"attribute `{leaf}`: {present} is not an instance of torch.Tensor")
                place = owner.__dict__
            undo.append((place, leaf, place.get(leaf, _ABSENT)))
            place[leaf] = tensor
        yield
    finally:
        for place, leaf, tensor in reversed(undo):
            if tensor is _ABSENT:
                del place[leaf]
            else:
                place[leaf] = tensor


def call_swapped(
    module: Any,
    tensors: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The module's result with other parameters and buffers."""
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with swapped(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated name of ``torch.func.functional_call``."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
        "future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
        "replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_swapped(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
