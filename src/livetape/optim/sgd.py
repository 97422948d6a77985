"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from livetape.optim import _kernels
from livetape.optim.optimizer import (
    Optimizer,
    check_fused,
    check_lr,
    check_not_negative,
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
        check_lr(lr)
        check_not_negative(momentum=momentum, weight_decay=weight_decay)
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
        lr, decay, maximize = number(group["lr"]), number(group["weight_decay"]), group["maximize"]
        kind = rate = shrink = None
        slow = False
        for param in group["params"]:
            grad = param._gradient
            if grad is None:
                continue
            if param.dtype is not kind:
                if param.dtype not in _kernels.FAST:
                    slow = True
                    continue
                kind = param.dtype
                # Maximising turns the gradient's sign: then both the rate and the decay change theirs.
                rate = _kernels.scalar(-lr if maximize else lr, kind)
                shrink = None if decay == 0 else _kernels.scalar(-decay if maximize else decay, kind)
            _kernels.sgd(param.array, grad.array, rate, shrink)
            param.bump_version()
        if slow:
            self._rest(group)

    def _with_momentum(self, group: dict[str, Any]) -> None:
        lr, decay, maximize = number(group["lr"]), number(group["weight_decay"]), group["maximize"]
        factor, dampening, nesterov = group["momentum"], group["dampening"], group["nesterov"]
        kind = rate = shrink = momentum = keep = None
        slow = False
        states = self.state
        for param in group["params"]:
            grad = param._gradient
            if grad is None:
                continue
            if param.dtype is not kind:
                if param.dtype not in _kernels.FAST:
                    slow = True
                    continue
                kind = param.dtype
                rate, momentum = _kernels.scalar(lr, kind), _kernels.scalar(factor, kind)
                shrink = None if decay == 0 else _kernels.scalar(decay, kind)
                keep = None if dampening == 0 else _kernels.scalar(1 - dampening, kind)
            array = grad.array
            if maximize:
                array = -array
            buffer = states[param].get("momentum_buffer")
            if buffer is None:
                _kernels.sgd_first(param.array, array, self._new_buffer(param, grad), rate, shrink, momentum, nesterov)
            else:
                _kernels.sgd_momentum(param.array, array, buffer.array, rate, shrink, momentum, keep, nesterov)
            param.bump_version()
        if slow:
            self._rest(group)

    def _new_buffer(self, param: Tensor, grad: Tensor) -> Any:
        buffer = grad.detach().clone()
        self.state[param]["momentum_buffer"] = buffer
        return buffer.array

    def _rest(self, group: dict[str, Any]) -> None:
        """The parameters of a group whose dtype has no kernel."""
        rest = [param for param in group["params"] if param.dtype not in _kernels.FAST]
        self._unrecorded({**group, "params": rest})

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
