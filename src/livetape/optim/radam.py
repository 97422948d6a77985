"""RAdam."""

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

__all__ = ["RAdam"]


class RAdam(Optimizer):
    """Adam that waits until its variance estimate can be trusted (Liu et al. 2019; source: ``torch.optim.RAdam``)."""

    _elementwise = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
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
                ("decoupled_weight_decay", False),
                ("capturable", False),
            ):
                group.setdefault(name, value)
        restore_steps(self.state)

    def _init_state(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["exp_avg"] = zeros_as(param)
        state["exp_avg_sq"] = zeros_as(param)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        return self._step_each(closure)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["capturable"]:
            check_capturable(xla=not group["foreach"])
        lr, beta1, beta2 = number(group["lr"]), number(group["betas"][0]), number(group["betas"][1])
        step = state["step"].item()
        grad = decayed(param, grad, group)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        bias2 = 1 - beta2**step
        direction = mean / (1 - beta1**step)
        longest = 2 / (1 - beta2) - 1  # the length of the simple moving average that the estimate approaches
        length = longest - 2 * step * (beta2**step) / bias2
        if length > 5.0:
            rectified = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            root = square.sqrt()
            root = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
            param.add_(direction * lr * (bias2**0.5 / root) * rectified, alpha=-1.0)
        else:
            param.add_(direction * lr, alpha=-1.0)
