"""Adagrad."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.optim._kernels import adagrad
from livetape.optim.optimizer import (
    Optimizer,
    check_fused,
    check_lr,
    check_not_negative,
    decayed,
    evaluate,
    new_step,
    number,
    restore_steps,
)
from livetape.tensor import Tensor

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of its squares (Duchi et al. 2011; source:
    ``torch.optim.Adagrad``)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative(
            lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps
        )
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self._init_state(param, param, self.state[param], group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("foreach", None), ("maximize", False), ("differentiable", False), ("fused", None)):
                group.setdefault(name, value)
        restore_steps(self.state)

    def _init_state(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        start = group["initial_accumulator_value"]
        state["step"] = new_step()
        state["sum"] = ops.full_like(param, complex(start, start) if param.is_complex() else start, requires_grad=False)

    def share_memory(self) -> None:
        """Move the state into shared memory."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        if self.defaults["differentiable"]:
            return self._step_each(closure)
        loss = None if closure is None else evaluate(closure)
        for group in self.param_groups:
            decay = group["weight_decay"] or None
            for step, flat in self._gather(group, lambda state: (state["sum"].array,)).items():
                rate = number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
                adagrad(flat, rate, group["eps"], decay, group["maximize"])
        return loss

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        grad = decayed(param, grad, group)
        rate = number(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        total = state["sum"]
        total.addcmul_(grad, grad, value=1)
        root = total.sqrt() + group["eps"] if group["differentiable"] else total.sqrt().add_(group["eps"])
        param.addcdiv_(grad, root, value=-rate)
