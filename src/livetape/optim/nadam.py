"""NAdam."""

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

__all__ = ["NAdam"]


class NAdam(Optimizer):
    """Adam with Nesterov momentum (Dozat 2016; source: ``torch.optim.NAdam``)."""

    _elementwise = True
    _scalars = ("step", "mu_product")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (
                ("maximize", False),
                ("foreach", None),
                ("capturable", False),
                ("differentiable", False),
                ("decoupled_weight_decay", False),
            ):
                group.setdefault(name, value)
        restore_steps(self.state)
        for entry in self.state.values():
            if entry and not isinstance(entry["mu_product"], Tensor):
                entry["mu_product"] = new_step().fill_(float(entry["mu_product"]))

    def _init_state(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["mu_product"] = new_step().fill_(1.0)
        state["exp_avg"] = zeros_as(param)
        state["exp_avg_sq"] = zeros_as(param)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        return self._step_each(closure)

    def _momenta(self, state: dict[str, Any], group: dict[str, Any]) -> tuple[float, float]:
        """The momentum of this step and of the next."""
        beta1, fade, step = number(group["betas"][0]), group["momentum_decay"], state["step"].item()
        return (beta1 * (1.0 - 0.5 * (0.96 ** (step * fade))), beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * fade))))

    def _before(self, state: dict[str, Any], group: dict[str, Any]) -> None:
        super()._before(state, group)
        product = state["mu_product"].array
        product *= self._momenta(state, group)[0]

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["capturable"]:
            comma = "," if group["foreach"] else ""
            check_capturable(f"params, mu_products{comma} and state_steps", xla=not group["foreach"])
        lr, beta1, beta2 = number(group["lr"]), number(group["betas"][0]), number(group["betas"][1])
        grad = decayed(param, grad, group)
        now, then = self._momenta(state, group)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = square.div(1 - beta2 ** state["step"].item()).sqrt()
        root = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
        done = state["mu_product"].item()
        param.addcdiv_(grad, root, value=-lr * (1.0 - now) / (1.0 - done))
        param.addcdiv_(mean, root, value=-lr * then / (1.0 - done * then))
