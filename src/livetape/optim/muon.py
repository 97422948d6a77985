"""Muon."""

from __future__ import annotations

import math
from typing import Any

from livetape.optim.optimizer import Optimizer, zeros_as
from livetape.tensor import Tensor

__all__ = ["Muon"]


class Muon(Optimizer):
    """Momentum whose steps are made nearly orthogonal matrices (Jordan et al. 2024; source: ``torch.optim.Muon``)."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ("original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    def _init_state(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state["momentum_buffer"] = zeros_as(grad)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        return self._step_each(closure)

    def _before(self, state: dict[str, Any], group: dict[str, Any]) -> None:
        """There is no step counter."""

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        momentum, lr = group["momentum"], float(group["lr"])
        buffer = state["momentum_buffer"]
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, cols = param.shape[:2]
        if group["adjust_lr_fn"] == "match_rms_adamw":
            adjusted = lr * 0.2 * math.sqrt(max(rows, cols))
        else:
            adjusted = lr * math.sqrt(max(1, rows / cols))
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(update, alpha=-adjusted)


def orthogonal(grad: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """About the nearest orthogonal matrix, by a quintic Newton-Schulz iteration in bfloat16.

    The arithmetic is float32, rounded to bfloat16 after each product, as hardware does it.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if grad.ndim != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x: Any = _rounded(grad.float())
    tall = grad.shape[0] > grad.shape[1]
    if tall:
        x = x.T
    x = _rounded(x / _rounded((x * x).sum().sqrt()).clamp(min=eps))
    for _ in range(steps):
        gram = _rounded(x @ x.T)
        polynomial = _rounded(b * gram + c * (gram @ gram))
        x = _rounded(a * x + polynomial @ x)
    return (x.T if tall else x).to(grad.dtype)


def _rounded(tensor: Tensor) -> Tensor:
    return tensor.bfloat16().float()
