"""Adadelta."""

from __future__ import annotations

from typing import Any

from livetape.optim.optimizer import (
    Optimizer,
    check_capturable,
    check_lr,
    check_not_negative,
    decayed,
    new_step,
    number,
    restore_steps,
    zeros_as,
)
from livetape.tensor import Tensor

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Steps scaled by running means of squared steps and gradients (Zeiler 2012; source: ``torch.optim.Adadelta``)."""

    _elementwise = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (
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
        state["acc_delta"] = zeros_as(param)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        return self._step_each(closure)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["capturable"]:
            check_capturable(xla=False)
        rho, eps = group["rho"], group["eps"]
        grad = decayed(param, grad, group)
        square, moved = state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        root = square.add(eps).sqrt_()
        delta = moved.add(eps).sqrt_()
        if group["differentiable"]:
            delta = delta.clone()
        delta.div_(root).mul_(grad)
        moved.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-number(group["lr"]))
