"""What a shape, index or creation function gives, written down the same way for torch and for this package."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

LARGEST = 24  # of longer results only the first elements and the sum are kept


def run(torch: Any, inputs: str, call: str) -> dict[str, Any]:
    """The outcome of ``call``, after the statements ``inputs``: an error, a text, or tensors with their gradients."""
    torch.manual_seed(0)
    scope: dict[str, Any] = {"torch": torch, "np": np}
    exec(inputs, scope)
    tensors = {k: v for k, v in scope.items() if isinstance(v, torch.Tensor)}
    *first, last = call.split("; ")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for statement in first:
                exec(statement, scope)
            found = eval(last, scope)
        except Exception as error:
            return {"error": type(error).__name__, "message": str(error)}
    said = sorted({re.sub(r"\s*\(Triggered internally.*", "", str(w.message), flags=re.S) for w in caught})
    results = _flat(torch, found)
    if not results and not isinstance(found, (tuple, list)):
        return {"text": repr(found), "warnings": said}
    outcome: dict[str, Any] = {
        "kind": type(found).__name__,
        "results": [_described(torch, r) for r in results],
        "warnings": said,
    }
    grads = _gradients(torch, results, {k: v for k, v in tensors.items() if v.requires_grad and v.is_leaf})
    if grads:
        outcome["grads"] = grads
    outcome["changed"] = {k: v._version for k, v in tensors.items() if v._version}
    return outcome


def _flat(torch: Any, found: Any) -> list[Any]:
    if isinstance(found, torch.Tensor):
        return [found]
    return [r for f in found for r in _flat(torch, f)] if isinstance(found, (tuple, list)) else []


def _numbers(torch: Any, tensor: Any) -> Any:
    """The elements as short numbers that JSON holds."""
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    flat = [float(f"{v:.6g}") if isinstance(v, float) else v for v in np.ravel(tensor.tolist()).tolist()]
    return flat if len(flat) <= LARGEST else [*flat[:8], float(f"{sum(flat):.5g}")]


def _described(torch: Any, tensor: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "values": _numbers(torch, tensor)}
    if tensor.numel() > 1:
        made["strides"] = list(tensor.stride())
    if tensor._is_view():
        made["view"] = True
    if tensor.requires_grad:
        nodes, node = [], tensor.grad_fn
        while node is not None and len(nodes) < 5:
            nodes.append(type(node).__name__)
            following = node.next_functions
            node = following[0][0] if following else None
        made["nodes"] = nodes
    return made


def _gradients(torch: Any, results: list[Any], leaves: dict[str, Any]) -> dict[str, Any]:
    loss: Any = None
    for tensor in results:
        if tensor.grad_fn is not None:
            weights = torch.tensor((np.arange(tensor.numel()) % 7 + 1.0) / 3).reshape(tensor.shape)
            weighed = torch.view_as_real(tensor * weights) if tensor.is_complex() else tensor.double() * weights
            part = weighed.sum()
            loss = part if loss is None else loss + part
    if loss is None or not loss.requires_grad:
        return {}
    try:
        loss.backward()
    except RuntimeError as error:
        return {"error": str(error).split("\n")[0]}
    return {k: _numbers(torch, v.grad) for k, v in leaves.items() if v.is_leaf and v.grad is not None}
