"""RMSprop."""

from __future__ import annotations

from typing import Any

from livetape.optim._kernels import rmsprop
from livetape.optim.optimizer import (
    Optimizer,
    check_capturable,
    check_lr,
    check_not_negative,
    decayed,
    evaluate,
    new_step,
    number,
    restore_steps,
    zeros_as,
)
from livetape.tensor import Tensor

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """Steps by the gradient over the root of the running mean of its square (Hinton 2012; source:
    ``torch.optim.RMSprop``)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (
                ("momentum", 0),
                ("centered", False),
                ("foreach", None),
                ("maximize", False),
                ("differentiable", False),
                ("capturable", False),
            ):
                group.setdefault(name, value)
        restore_steps(self.state)

    def _init_state(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["square_avg"] = zeros_as(param)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_as(param)
        if group["centered"]:
            state["grad_avg"] = zeros_as(param)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        if self.defaults["differentiable"]:
            return self._step_each(closure)
        loss = None if closure is None else evaluate(closure)
        for group in self.param_groups:
            self._fast(group)
        return loss

    def _fast(self, group: dict[str, Any]) -> None:
        if group["capturable"]:
            check_capturable()
        alpha, momentum, centered = group["alpha"], group["momentum"], group["centered"]

        def arrays(state: dict[str, Any]) -> tuple[Any, ...]:
            return (
                state["square_avg"].array,
                state["grad_avg"].array if centered else None,
                state["momentum_buffer"].array if momentum > 0 else None,
            )

        decay = group["weight_decay"] or None
        rate, eps, turn = number(group["lr"]), group["eps"], group["maximize"]
        for flat in self._gather(group, arrays).values():
            rmsprop(flat, rate, alpha, 1 - alpha, eps, decay, momentum, centered, turn)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["capturable"]:
            check_capturable()
        alpha, lr = group["alpha"], number(group["lr"])
        grad = decayed(param, grad, group)
        square = state["square_avg"]
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = square.sqrt()
        root = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(grad, root)
            param.add_(buffer, alpha=-lr)
        else:
            param.addcdiv_(grad, root, value=-lr)
