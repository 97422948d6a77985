"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

from livetape import ops
from livetape.optim import _kernels
from livetape.optim._kernels import AdamScalars
from livetape.optim._pack import Pack, make_pack
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

_ATTEMPTS = 4  # how often small parameters are packed anew after something did not fit


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
        self._packs: dict[int, Pack | None] = {}
        self._attempts: dict[int, int] = {}
        self._constants: dict[Any, AdamScalars] = {}

    def _scalars_of(self, kind: Any, beta1: float, beta2: float, eps: float) -> AdamScalars:
        key = (kind, beta1, beta2, eps)
        found = self._constants.get(key)
        if found is None:
            self._constants.clear()
            found = self._constants[key] = AdamScalars(kind, beta1, beta2, eps)
        return found

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
        for i, group in enumerate(self.param_groups):
            self._fast(i, group)
        return loss

    def _fast(self, index: int, group: dict[str, Any]) -> None:
        """Update a group off the tape: small parameters together, large ones one by one."""
        if group["capturable"] and not group["fused"]:
            check_capturable()
        lr, eps, decay = number(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = number(group["betas"][0]), number(group["betas"][1])
        amsgrad, maximize, decoupled = group["amsgrad"], group["maximize"], group["decoupled_weight_decay"]
        shrinks = decay != 0 and decoupled
        params, states = group["params"], self.state
        kind: Any = None
        by: Any = None
        last = -1.0

        pack = self._packs.get(index)
        packed = False
        if pack is not None:
            step = pack.gather(params, states, amsgrad)
            if step:
                packed = True
                kind, last = pack.members[0][0].dtype, step
                by = self._scalars_of(kind, beta1, beta2, eps)
                by.set(1 - beta1**step, 1 - beta2**step, lr, None if decoupled else _kernels.some(decay, kind))
                if shrinks:
                    by.shrink = self._shrink(pack, 1 - lr * decay, kind)
                if maximize:
                    _kernels.negative(pack.grad, pack.grad)
                _kernels.adam(pack.param, pack.grad, pack.mean, pack.square, pack.largest, by)
                pack.scatter(step)
                if len(pack.members) == len(params):
                    return
            else:
                self._packs[index] = None

        slow = False
        for param in params:
            grad = param._gradient
            if grad is None or (packed and param in pack.inside):  # type: ignore[union-attr]
                continue
            if param.dtype is not kind:
                if param.dtype not in _kernels.FAST:
                    slow = True
                    continue
                kind = param.dtype
                last = -1.0
            state = states[param]
            if not state:
                self._init_state(param, grad, state, group)
            counter = state["step"].array
            step = counter.item() + 1
            counter[()] = step
            if step != last:  # mostly the parameters of a group have all seen the same number of steps
                by = self._scalars_of(kind, beta1, beta2, eps)
                by.set(1 - beta1**step, 1 - beta2**step, lr, None if decoupled else _kernels.some(decay, kind))
                last = step
            if shrinks:
                by.shrink = self._shrink(param, 1 - lr * decay, kind)
            array = grad.array
            if maximize:
                array = -array
            _kernels.adam(
                param.array,
                array,
                state["exp_avg"].array,
                state["exp_avg_sq"].array,
                state["max_exp_avg_sq"].array if amsgrad else None,
                by,
            )
            param.bump_version()
        if slow:
            rest = [param for param in params if param.dtype not in _kernels.FAST]
            self._unrecorded({**group, "params": rest})
        if not packed and self._attempts.get(index, 0) < _ATTEMPTS:
            self._attempts[index] = self._attempts.get(index, 0) + 1
            self._packs[index] = make_pack(params, states, _kernels.FAST, amsgrad)

    def _shrink(self, param: Any, factor: float, kind: Any) -> Any:
        """The factor of decoupled decay as a 0-d array, or None.

        A factor so close to 1 that it rounds to 1 would never decay anything. Such factors are saved up until their
        product is worth several units in the last place, and applied at once.
        """
        found = _kernels.scalar(factor, kind)
        if factor < 1 - 1e-7 or float(found) != 1.0 or factor == 1.0:
            return found
        owed = self._owed.get(param, 1.0) * factor
        if owed > 1 - 8e-7:
            self._owed[param] = owed
            return None
        found = _kernels.scalar(owed, kind)
        self._owed[param] = owed / float(found)
        return found

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
