"""Averaged stochastic gradient descent."""

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

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """Gradient descent that also averages the parameters (Polyak & Juditsky 1992; source: ``torch.optim.ASGD``)."""

    _elementwise = True
    _scalars = ("step", "eta", "mu")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
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
        for entry in self.state.values():
            for name in ("eta", "mu"):
                if entry and not isinstance(entry[name], Tensor):
                    entry[name] = new_step().fill_(float(entry[name]))

    def _init_state(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["eta"] = new_step().fill_(number(group["lr"]))
        state["mu"] = new_step().fill_(1.0)
        state["ax"] = zeros_as(param)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        return self._step_each(closure)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["capturable"]:
            check_capturable("params, mus, etas, and state_steps", xla=not group["foreach"])
        grad = decayed(param, grad, group)
        rate, weight, average = state["eta"].item(), state["mu"].item(), state["ax"]
        param.mul_(1 - group["lambd"] * rate)
        param.add_(grad, alpha=-rate)
        if weight != 1:
            average.add_(param.sub(average).mul_(weight))
        else:
            average.copy_(param)

    def _after(self, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, step = number(group["lr"]), state["step"].item()
        state["eta"].fill_(lr / ((1 + group["lambd"] * lr * step) ** group["alpha"]))
        state["mu"].fill_(1 / max(1, step - group["t0"]))
