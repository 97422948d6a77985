"""Adam for sparse gradients."""

from __future__ import annotations

from typing import Any

from livetape.optim.optimizer import Optimizer, check_betas, evaluate
from livetape.tensor import Tensor

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that touches only the rows a sparse gradient has (source: ``torch.optim.SparseAdam``).

    All gradients here are dense, for which it refuses to work, as in torch.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        complex_params = [
            [i, k]
            for i, group in enumerate(self.param_groups)
            for k, param in enumerate(group["params"])
            if param.is_complex()
        ]
        if complex_params:
            raise ValueError(
                f"Complex params at indices {complex_params}: SparseAdam does not support complex parameters"
            )

    def step(self, closure: Any = None) -> Any:
        """Raises RuntimeError if there is a gradient, since it is dense."""
        loss = evaluate(closure)
        for group in self.param_groups:
            if any(param.grad is not None for param in group["params"]):
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
