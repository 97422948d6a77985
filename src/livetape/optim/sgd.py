"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.optim._kernels import FAST, sgd, sgd_momentum
from livetape.optim.optimizer import (
    Optimizer,
    check_fused,
    evaluate,
    number,
)
from livetape.tensor import Tensor

__all__ = ["SGD"]


class SGD(Optimizer):
    """``p -= lr * (grad + weight_decay * p)``, with momentum if asked for (source: ``torch.optim.SGD``).

    >>> import livetape as torch
    >>> w = torch.tensor([1., 2.], requires_grad=True)
    >>> optimizer = SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8000, 1.6000])
    """

    _splits_complex = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (
                ("nesterov", False),
                ("maximize", False),
                ("foreach", None),
                ("differentiable", False),
                ("fused", False),
            ):
                group.setdefault(name, value)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        if self.defaults["differentiable"]:
            return self._step_each(closure)
        loss = None if closure is None else evaluate(closure)
        for group in self.param_groups:
            if group["momentum"] == 0:
                self._plain(group)
            else:
                self._with_momentum(group)
        return loss

    def _plain(self, group: dict[str, Any]) -> None:
        flat: list[Any] = []
        slow: list[Tensor] = []
        for param in group["params"]:
            grad = param._gradient
            if grad is None:
                continue
            if param.dtype not in FAST:
                slow.append(param)
                continue
            flat += (param.array, grad.array)
            param.bump_version()
        if flat:
            sgd(flat, number(group["lr"]), number(group["weight_decay"]) or None, group["maximize"])
        if slow:
            self._unrecorded({**group, "params": slow})

    def _with_momentum(self, group: dict[str, Any]) -> None:
        lr, decay, maximize = number(group["lr"]), number(group["weight_decay"]) or None, group["maximize"]
        factor, keep, nesterov = group["momentum"], 1 - group["dampening"], group["nesterov"]
        flat: list[Any] = []
        first: list[Any] = []
        slow: list[Tensor] = []
        states = self.state
        for param in group["params"]:
            grad = param._gradient
            if grad is None:
                continue
            if param.dtype not in FAST:
                slow.append(param)
                continue
            buffer = states[param].get("momentum_buffer")
            if buffer is None:  # it begins as the gradient, undampened: 0 * buffer + 1 * gradient
                buffer = states[param]["momentum_buffer"] = ops.zeros_like(param, requires_grad=False)
                first += (param.array, grad.array, buffer.array)
            else:
                flat += (param.array, grad.array, buffer.array)
            param.bump_version()
        if first:
            sgd_momentum(first, lr, decay, factor, 1.0, nesterov, maximize)
        if flat:
            sgd_momentum(flat, lr, decay, factor, keep, nesterov, maximize)
        if slow:
            self._unrecorded({**group, "params": slow})

    def _before(self, state: dict[str, Any], group: dict[str, Any]) -> None:
        """There is no step counter."""

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        decay, momentum = number(group["weight_decay"]), group["momentum"]
        lr = group["lr"] if group["differentiable"] else number(group["lr"])
        if group["maximize"]:
            grad = -grad
        if decay != 0:
            grad = grad.add(param, alpha=decay)
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        if isinstance(lr, Tensor) and lr.requires_grad:
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=-number(lr))
