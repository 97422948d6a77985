"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.optim.optimizer import (
    Optimizer,
    check_capturable,
    check_lr,
    new_step,
    number,
    restore_steps,
    zeros_as,
)
from livetape.tensor import Tensor

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Steps by the gradient's sign, of sizes that grow and shrink as it stays or turns (Riedmiller & Braun 1993;
    source: ``torch.optim.Rprop``)."""

    _elementwise = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
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
        lr = number(group["lr"])
        state["step"] = new_step()
        state["prev"] = zeros_as(param)
        state["step_size"] = ops.full_like(grad, complex(lr, lr) if param.is_complex() else lr, requires_grad=False)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        return self._step_each(closure)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["capturable"]:
            check_capturable()
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        if group["maximize"]:
            grad = -grad
        before, size = state["prev"], state["step_size"]
        turn = grad.mul(before.clone() if group["differentiable"] else before).sign()
        factor = turn.masked_fill(turn > 0, grow).masked_fill(turn < 0, shrink).masked_fill(turn.eq(0), 1.0)
        size.mul_(factor).clamp_(smallest, largest)
        grad = grad.masked_fill(turn < 0, 0)  # where it turned, stay this time
        param.addcmul_(grad.sign(), size, value=-1)
        before.copy_(grad)
