"""Helpers that optimisers written for torch import from ``torch.optim.optimizer``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from livetape import dtypes, ops
from livetape._tape.modes import local, set_grad
from livetape.tensor import Tensor

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Run a step method with gradients on only if the optimiser is differentiable."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = local.grad
        set_grad(bool(self.defaults.get("differentiable", False)))
        try:
            return func(self, *args, **kwargs)
        finally:
            set_grad(before)

    return step


def _get_value(x: Any) -> Any:
    """The number in a tensor."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A one-element tensor without dimensions; other values as they are."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _dispatch_sqrt(x: Any) -> Any:
    """The square root of a number or a tensor."""
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of step counters."""
    return dtypes.float64 if not is_fused and dtypes.get_default_dtype() is dtypes.float64 else dtypes.float32


def _default_to_fused_or_foreach(params: list[Any], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """(fused, foreach): neither is the default on a CPU."""
    return False, False


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replace complex tensors in the lists by views of twice as many real numbers."""
    for i, param in enumerate(params):
        if param.is_complex():
            params[i] = ops.view_as_real(param)
            for tensors in state_and_grads:
                tensors[i] = ops.view_as_real(tensors[i])
