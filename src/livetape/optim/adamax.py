"""Adamax."""

from __future__ import annotations

from typing import Any

from livetape.optim.optimizer import (
    Optimizer,
    check_betas,
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

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Adam with the infinity norm (Kingma & Ba 2014; source: ``torch.optim.Adamax``)."""

    _elementwise = True

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
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
        state["exp_avg"] = zeros_as(param)
        state["exp_inf"] = zeros_as(param)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        return self._step_each(closure)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["capturable"]:
            check_capturable(xla=not group["foreach"])
        beta1, beta2 = number(group["betas"][0]), number(group["betas"][1])
        grad = decayed(param, grad, group)
        mean, largest = state["exp_avg"], state["exp_inf"]
        mean.lerp_(grad, 1 - beta1)
        # Written back by copy_, since out= records nothing.
        largest.copy_(largest.mul(beta2).maximum(grad.abs().add(group["eps"])))
        rate = number(group["lr"]) / (1 - beta1 ** state["step"].item())
        param.addcdiv_(mean, largest, value=-rate)
