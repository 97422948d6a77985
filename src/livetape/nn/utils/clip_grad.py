"""Limiting gradients."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from livetape import dtypes, ops
from livetape._tape.tensor import from_array
from livetape.autograd.grad_mode import no_grad
from livetape.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


_PLAIN = (dtypes.float32, dtypes.float64)


def _as_list(tensors: Any) -> list[Any]:
    if isinstance(tensors, Tensor):
        return [tensors]
    if isinstance(tensors, types.GeneratorType):
        found = list(tensors)
        if not found:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
        return found
    return list(tensors)


def _two_norm(tensors: list[Any]) -> Any:
    """The 2-norm by way of plain arrays; None where that would lose range, derivatives or precision."""
    kind = tensors[0].dtype
    if kind not in _PLAIN:
        return None
    total = 0.0
    for tensor in tensors:
        if tensor.dtype is not kind or tensor.recorded:
            return None
        flat = tensor.array.reshape(-1)
        total += float(flat.dot(flat))
    if not 1e-30 < total < 1e30:  # float32 squares may have over- or underflowed
        return None
    return from_array(np.array(math.sqrt(total), kind.np))


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all the tensors as if they were one vector."""
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not found:
        return ops.tensor(0.0)
    total: Any = _two_norm(found) if norm_type == 2.0 else None
    if total is None:
        with no_grad():
            norms = [ops.norm(tensor, norm_type) for tensor in found]
            total = ops.norm(ops.stack(norms), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale the gradients by ``max_norm / total_norm``, if that is below 1."""
    found = [parameters] if isinstance(parameters, Tensor) else parameters
    grads = [p.grad for p in found if p.grad is not None]
    if not grads:
        return
    factor = float(max_norm) / (total_norm.item() + 1e-6)
    if factor >= 1.0:  # torch multiplies by 1 here, so that a device need not be waited for
        return
    with no_grad():
        for grad in grads:
            if grad.dtype in _PLAIN and not grad.recorded:
                np.multiply(grad.array, factor, grad.array)
                grad.bump_version()
            else:
                grad.mul_(factor)


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients down to a total norm of ``max_norm`` at most, and return the norm they had.

    Source: ``torch.nn.utils.clip_grad_norm_``.
    """
    found = _as_list(parameters)
    total = get_total_norm([p.grad for p in found if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated name of ``clip_grad_norm_``."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the gradients to [-clip_value, clip_value]."""
    found: Iterable[Any] = [parameters] if isinstance(parameters, Tensor) else parameters
    clip_value = float(clip_value)
    with no_grad():
        for param in found:
            if param.grad is not None:
                param.grad.clamp_(min=-clip_value, max=clip_value)
