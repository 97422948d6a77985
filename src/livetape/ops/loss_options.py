"""What the losses share: reductions, broadcasting, and the refusal of gradients that torch does not define."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import broadcast_error, noted
from livetape._tape.modes import is_recording, state
from livetape._tape.tensor import TensorBase, shape_of
from livetape._tape.views import needs_gradient
from livetape.compat import compat
from livetape.kernels.loss import MEAN, NONE, SUM

_REDUCTIONS = {"none": NONE, "mean": MEAN, "sum": SUM}


def reduction_of(reduction: Any, size_average: Any = None, reduce: Any = None) -> int:
    """0, 1 or 2 for "none", "mean" or "sum", or for the deprecated flags, with a warning."""
    if size_average is not None or reduce is not None:
        found = "none" if reduce is False else "mean" if size_average is None or size_average else "sum"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=3
        )
        return _REDUCTIONS[found]
    try:
        return _REDUCTIONS[reduction]
    except (KeyError, TypeError):
        pass
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=3)
        return MEAN
    raise noted(ValueError(f"{reduction} is not a valid value for reduction"))


def logs_that_count(weights: Any, logs: Any) -> Any:
    """``logs`` with 0 where an infinite one has the weight 0: 0 log(0) is 0 in sums over probabilities."""
    if compat.torch or state.interposed != 0 or not np.isinf(np.min(logs.array, initial=0)):
        return logs
    return logs.masked_fill((weights == 0) & logs.isinf(), 0)


def reduce_loss(loss: Any, reduction: int) -> Any:
    """The loss itself, its mean or its sum."""
    return loss.mean() if reduction == MEAN else loss.sum() if reduction == SUM else loss


def refuse_gradient(name: str, argument: str, value: Any) -> None:
    """Raise torch's error if an argument that has no derivative requires one."""
    if isinstance(value, TensorBase) and is_recording() and needs_gradient(value):
        raise noted(
            RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument '{argument}'. This "
                "input cannot have requires_grad True."
            )
        )


def share(grad: Any, count: int, reduction: int) -> Any:
    """The gradient of each of ``count`` losses."""
    return grad / count if reduction == MEAN and count else grad


def collapsed(values: Any, reduction: int) -> Any:
    """Gradients of a loss's incoming gradient: their sum, unless it has one for each element."""
    return values.sum() if reduction else values


def count(tensor: Any, reduction: int) -> int:
    """What a mean divides by."""
    return max(1, tensor.array.size) if reduction == MEAN else 1


def broadcast(input: Any, target: Any) -> tuple[Any, Any]:
    """Two tensors expanded to one shape, or torch's error."""
    left, right = tuple(shape_of(input)), tuple(shape_of(target))
    try:
        size = np.broadcast_shapes(left, right)
    except ValueError:
        raise noted(broadcast_error(left, right)) from None
    return input if left == size else input.expand(size), target if right == size else target.expand(size)
