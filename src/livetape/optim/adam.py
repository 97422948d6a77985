"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import ops
from livetape.compat import compat
from livetape.dtypes import float32
from livetape.optim._kernels import FAST, adam
from livetape.optim.optimizer import (
    Optimizer,
    check_betas,
    check_capturable,
    check_fused,
    check_lr,
    check_not_negative,
    evaluate,
    new_step,
    number,
    restore_steps,
    zeros_as,
)
from livetape.tensor import Tensor

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Steps by the running mean of the gradient over the root of that of its square (Kingma & Ba 2014).

    ``weight_decay`` is added to the gradient, or with ``decoupled_weight_decay`` shrinks the parameters themselves, as
    in AdamW (source: ``torch.optim.Adam``).
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor):
            if foreach and not capturable:
                raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
            if lr.numel() != 1:
                raise ValueError("Tensor lr must be 1-element")
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        self._make_caches()

    def _make_caches(self) -> None:
        self._owed: dict[Any, float] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._make_caches()
        for group in self.param_groups:
            for name, value in (
                ("amsgrad", False),
                ("maximize", False),
                ("foreach", None),
                ("capturable", False),
                ("differentiable", False),
                ("decoupled_weight_decay", False),
                ("fused", None),
            ):
                group.setdefault(name, value)
        restore_steps(self.state)

    def _init_state(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = new_step()
        state["exp_avg"] = zeros_as(param)
        state["exp_avg_sq"] = zeros_as(param)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_as(param)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        if self.defaults["differentiable"]:
            return self._step_each(closure)
        loss = None if closure is None else evaluate(closure)
        for group in self.param_groups:
            self._fast(group)
        return loss

    def _fast(self, group: dict[str, Any]) -> None:
        """Update a group off the tape, all parameters that have made the same number of steps at once."""
        if group["capturable"] and not group["fused"]:
            check_capturable(xla=not group["foreach"])
        decay, amsgrad = group["weight_decay"], group["amsgrad"]
        factor = 1 - number(group["lr"]) * decay if group["decoupled_weight_decay"] and decay != 0 else None
        rounds = factor is not None and 1 - 1e-7 < factor < 1  # to 1, in float32
        shrink, last = factor, -1.0
        flat: list[Any] = []
        slow: list[Tensor] = []
        states = self.state
        for param in group["params"]:
            grad = param._gradient
            if grad is None:
                continue
            if param.dtype not in FAST:
                slow.append(param)
                continue
            state = states[param]
            if not state:
                self._init_state(param, grad, state, group)
            counter = state["step"].array
            step = counter.item() + 1
            counter[()] = step
            own = factor if factor is None or not rounds else self._shrink(param, factor)
            if step != last or own != shrink:  # mostly all parameters of a group have seen the same number of steps
                if flat:
                    self._run(flat, last, shrink, group)
                    flat = []
                shrink, last = own, step
            flat += (
                param.array,
                grad.array,
                state["exp_avg"].array,
                state["exp_avg_sq"].array,
                state["max_exp_avg_sq"].array if amsgrad else None,
            )
            param.bump_version()
        if flat:
            self._run(flat, last, shrink, group)
        if slow:
            self._unrecorded({**group, "params": slow})

    def _run(self, flat: list[Any], step: float, shrink: float | None, group: dict[str, Any]) -> None:
        """The step number ``step`` for the arrays of several parameters."""
        beta1, beta2 = number(group["betas"][0]), number(group["betas"][1])
        decay = None if group["decoupled_weight_decay"] or group["weight_decay"] == 0 else group["weight_decay"]
        rate, bias = number(group["lr"]) / (1 - beta1**step), (1 - beta2**step) ** 0.5
        adam(flat, rate, 1 - beta1, beta2, 1 - beta2, group["eps"], bias, decay, shrink, group["maximize"])

    def _shrink(self, param: Any, factor: float) -> float | None:
        """The factor of decoupled decay, or None.

        In float32, a factor so close to 1 that it rounds to 1 would never decay anything. Such factors are saved up
        until their product is worth several units in the last place, and applied at once.
        """
        if compat.torch or param.dtype is not float32 or float(np.float32(factor)) != 1.0:
            return factor
        owed = self._owed.get(param, 1.0) * factor
        if owed > 1 - 8e-7:
            self._owed[param] = owed
            return None
        self._owed[param] = owed / float(np.float32(owed))
        return owed

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        differentiable = group["differentiable"]
        lr, (beta1, beta2) = group["lr"], group["betas"]
        if not differentiable:
            lr, beta1, beta2 = number(lr), number(beta1), number(beta2)
        mean, square, step = state["exp_avg"], state["exp_avg_sq"], state["step"]
        if group["maximize"]:
            grad = -grad
        decay = group["weight_decay"]
        if decay != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - lr * decay)
            else:
                grad = grad.add(param, alpha=decay)
        mean.lerp_(grad, 1 - beta1)
        if isinstance(beta2, Tensor) and beta2.requires_grad:
            square.lerp_(grad * grad, 1 - beta2)
        else:
            kept = number(beta2)
            square.mul_(kept).addcmul_(grad, grad, value=1 - kept)
        count: Any = step if differentiable else step.item()
        bias1, bias2 = 1 - beta1**count, 1 - beta2**count
        size = lr / bias1
        root = bias2.sqrt() if isinstance(bias2, Tensor) else bias2**0.5
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            largest.copy_(ops.maximum(largest.clone() if differentiable else largest, square))
            square = largest
        if differentiable:
            param.addcdiv_(mean, square.sqrt() / (root * -size) + group["eps"] / -size)
        else:
            param.addcdiv_(mean, (square.sqrt() / root).add_(group["eps"]), value=-size)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2017; source: ``torch.optim.AdamW``)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
