"""Adafactor."""

from __future__ import annotations

from typing import Any

from livetape import dtypes, ops
from livetape.optim.optimizer import Optimizer, new_step, number
from livetape.tensor import Tensor

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Keeps the squares of a matrix's gradient as row and column means only (Shazeer & Stern 2018;
    source: ``torch.optim.Adafactor``)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)

    def _init_state(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state["step"] = new_step()
        if grad.dim() > 1:
            state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
            state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
        else:
            state["variance"] = ops.zeros_like(grad)

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient."""
        return self._step_each(closure)

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, (eps1, eps2) = number(group["lr"]), group["eps"]
        if eps1 is None:
            eps1 = _EPS[param.dtype]
        if group["maximize"]:
            grad = -grad
        step = state["step"].item()
        weight = step ** group["beta2_decay"]
        rate = max(eps2, _norm(param) / param.numel() ** 0.5) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            rows, cols = state["row_var"], state["col_var"]
            rows.lerp_((grad * grad).mean(dim=-1, keepdim=True), weight)
            cols.lerp_((grad * grad).mean(dim=-2, keepdim=True), weight)
            square = (rows @ cols).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            variance = state["variance"]
            variance.lerp_(grad * grad, weight)
            square = variance.clone()
        update = square.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        excess = max(1.0, _norm(update) / (update.numel() ** 0.5 * group["d"]))
        param.add_(update, alpha=-rate / excess)


_EPS = {dtypes.float16: 2.0**-10, dtypes.bfloat16: 2.0**-7, dtypes.float32: 2.0**-23, dtypes.float64: 2.0**-52}


def _norm(tensor: Tensor) -> float:
    return float((tensor * tensor).sum().item() ** 0.5)
