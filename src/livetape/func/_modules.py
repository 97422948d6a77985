"""Modules as functions of their parameters: functional_call and stack_module_state (source: ``torch.func``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from livetape.nn.modules.batchnorm import _BatchNorm
from livetape.nn.utils.stateless import call_swapped
from livetape.ops.joining import stack


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Run a module with other parameters and buffers than its own (source: ``torch.func.functional_call``).

    parameter_and_buffer_dicts    tensors by name, or several such dictionaries; what is missing stays as it is
    tie_weights                   what is tied in the module is tied in the call
    strict                        every parameter and buffer must be given, and nothing else
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for d in parameter_and_buffer_dicts for name in d]
        repeated = [name for i, name in enumerate(names) if name in names[:i]]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: value for d in parameter_and_buffer_dicts for name, value in d.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return call_swapped(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms of a module keep no running statistics, which vmap could not update (source: ``torch.func``)."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of several modules of one kind, stacked for vmap (source: ``torch.func``).

    Raises RuntimeError for no models, and for models of different classes or modes.
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {name: _stacked([p[name] for p in params]) for name in params[0]},
        {name: stack([b[name] for b in buffers]) for name in buffers[0]},
    )


def _stacked(tensors: list[Any]) -> Any:
    """Parameters stacked into a leaf of its own, which requires gradients if they do."""
    if not all(t.requires_grad == tensors[0].requires_grad for t in tensors):
        raise RuntimeError(f"Expected {[t.requires_grad for t in tensors]} to be the same")
    return stack([t.detach() for t in tensors]).requires_grad_(tensors[0].requires_grad)
