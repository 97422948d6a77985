"""Losses that are rows of the table: negative log likelihood, squares, absolute values, cross entropies and margins."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from livetape._tape.explain import argument_error, noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import FLOAT, SCALAR_TYPE, int64, uint8
from livetape.kernels import loss as kernels
from livetape.kernels.loss import MEAN, NONE, SUM
from livetape.ops import distance_loss, label_loss
from livetape.ops.autocasting import brought_together
from livetape.ops.loss_options import (
    broadcast,
    collapsed,
    count,
    logs_that_count,
    reduce_loss,
    reduction_of,
    refuse_gradient,
    share,
)
from livetape.ops.softmax import LOG_SOFTMAX
from livetape.ops.table import elementwise, row
from livetape.thread_modes import casting

# torch's own functions divide and multiply by numbers where a program would by tensors: other nodes
DIV_NUMBER = elementwise(
    "div", np.true_divide, node="DivBackward1", key="div.number", self=lambda grad, other: grad / other
)
MUL_NUMBER = elementwise(
    "mul", np.multiply, node="MulBackward1", key="mul.number", self=lambda grad, other: grad * other
)


# ---------------------------------------------------------------- negative log likelihood
NLL_BACKWARD = row(
    "nll_loss_backward",
    kernels.nll_backward,
    params="grad_output size target weight reduction ignore_index",
    tensors="grad_output target weight",
    linear=True,
    batch="nll_backward",
    grad_output=lambda grad, target, weight, reduction, ignore_index: NLL.apply(
        (grad, target, weight, reduction, ignore_index)
    ),
)


def _nll_self(grad: Any, self_size: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    return NLL_BACKWARD.apply((grad, self_size, target, weight, reduction, ignore_index))


_NLL_PARAMS = "self target weight reduction ignore_index"
NLL = row(
    "nll_loss",
    kernels.nll,
    params=_NLL_PARAMS,
    tensors="self target weight",
    linear=True,
    batch="nll",
    self=_nll_self,
)
NLL2D = row(
    "nll_loss2d",
    kernels.nll,
    params=_NLL_PARAMS,
    tensors="self target weight",
    node="NllLoss2DBackward0",
    linear=True,
    batch="nll",
    self=_nll_self,
)


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The negative of each target class's log probability: input (N, C, d...) and target (N, d...), or (C,) and ().

    Source: ``torch.nn.functional.nll_loss``.
    """
    how = reduction_of(reduction, size_average, reduce)
    if not isinstance(input, TensorBase):
        raise noted(argument_error("nll_loss_nd", 0, input))
    if not isinstance(target, TensorBase):
        raise noted(
            TypeError(f"nll_loss_nd(): argument 'target' (position 2) must be Tensor, not {type(target).__name__}")
        )
    return _nll(input, target, weight, how, ignore_index)


def _nll(input: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    size, places = input.array.shape, target.array.shape
    ndim = len(size)
    if weight is not None:
        refuse_gradient("nll_loss2d_forward" if ndim > 2 else "nll_loss_forward", "weight", weight)
    if ndim < 1:
        raise noted(ValueError("Expected 1 or more dimensions (got 0)"))
    if ndim > 1 and (not places or size[0] != places[0]):
        raise noted(
            ValueError(
                f"Expected input batch_size ({size[0]}) to match target batch_size ({places[0] if places else 1})."
            )
        )
    if ndim == 1:
        if places and places[0] != 1:
            raise noted(ValueError(f"For 1D input, 1D target must have size 1, but got target size: {places[0]}"))
    elif ndim > 2:
        return _nll_places(input, target, weight, reduction, ignore_index)
    if len(places) > 1:
        raise noted(RuntimeError("0D or 1D target tensor expected, multi-target not supported"))
    if target.dtype is not int64:
        _check_target(target)
    if weight is not None:
        _check_weight(input, weight, size[-1])
    return NLL.apply((input, target, weight, reduction, ignore_index))


def _check_target(target: Any) -> None:
    if target.dtype is not int64 and target.dtype is not uint8:
        raise noted(RuntimeError(f"expected target dtype to be Long or Byte, but got {SCALAR_TYPE[target.dtype]}"))


def _check_weight(input: Any, weight: Any, classes: int) -> None:
    if weight.array.ndim != 1 or weight.array.size != classes:
        raise noted(
            RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got "
                f"weight tensor of shape: {list(weight.array.shape)}"
            )
        )
    if weight.dtype is not input.dtype and not brought_together(input, weight):
        raise noted(
            RuntimeError(f"expected scalar type {SCALAR_TYPE[input.dtype]} but found {SCALAR_TYPE[weight.dtype]}")
        )


def _nll_places(input: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """The loss of (N, C, d...); as torch does, other than two d are made two."""
    size, places = input.array.shape, target.array.shape
    ndim = len(size)
    out = (size[0], *size[2:])
    if ndim != 4:
        if places[1:] != size[2:]:
            raise noted(RuntimeError(f"Expected target size {list(out)}, got {list(places)}"))
        flat = (size[0], size[1], 1, -1) if input.array.size else (size[0], size[1], 0, 0)
        input = input.contiguous().view(flat)
        target = target.contiguous().view((flat[0], *flat[2:]))
    elif len(places) != 3:
        raise noted(
            RuntimeError(
                f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(places)}"
            )
        )
    elif places[1:] != size[2:]:
        raise noted(RuntimeError(f"size mismatch (got input: {list(size)} , target: {list(places)}"))
    _check_target(target)
    if weight is not None:
        if weight.array.size != size[1]:
            raise noted(RuntimeError("weight tensor should be defined either for all or no classes"))
        _check_weight(input, weight, size[1])
    loss = NLL2D.apply((input, target, weight, reduction, ignore_index))
    return loss.view(out) if reduction == NONE and ndim != 4 else loss


# ---------------------------------------------------------------- cross entropy
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy between logits (N, C, d...) and classes (N, d...) or class probabilities (N, C, d...).

    Source: ``torch.nn.functional.cross_entropy``.

    >>> import livetape as torch
    >>> torch.nn.functional.cross_entropy(torch.zeros(1, 4), torch.tensor([2]))
    tensor(1.3863)
    """
    how = reduction_of(reduction, size_average, reduce)
    if casting.threads and (autocast := casting.current()) is not None:
        return autocast.single(
            cross_entropy, input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing
        )
    if not isinstance(input, TensorBase) or not isinstance(target, TensorBase):
        name, position, value = ("target", 2, target) if isinstance(input, TensorBase) else ("input", 1, input)
        raise noted(
            TypeError(
                f"cross_entropy_loss(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
            )
        )
    size = input.array.shape
    axis = 0 if len(size) == 1 else 1
    if size == target.array.shape:
        return _of_probabilities(input, target, weight, how, ignore_index, label_smoothing, axis)
    if label_smoothing > 0:
        return _smoothed(input, target, weight, how, ignore_index, label_smoothing, axis)
    if axis >= len(size):
        raise noted(IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)"))
    return _nll(LOG_SOFTMAX.apply((input, axis)), target, weight, how, ignore_index)


def _along(weight: Any, ndim: int, axis: int) -> Any:
    """A vector of class weights, shaped to multiply along ``axis``."""
    return weight.view([-1 if i == axis else 1 for i in range(ndim)])


def _of_probabilities(
    input: Any, target: Any, weight: Any, how: int, ignore_index: int, smoothing: float, axis: int
) -> Any:
    if target.dtype.category < FLOAT:
        raise noted(
            RuntimeError(
                f"Expected floating point type for target with class probabilities, got {SCALAR_TYPE[target.dtype]}"
            )
        )
    if ignore_index >= 0:
        raise noted(RuntimeError("ignore_index is not supported for floating point target"))
    _check_smoothing(smoothing)
    size = input.array.shape
    axis = min(axis, max(len(size) - 1, 0))
    classes = size[axis] if size else 1
    if weight is not None and (weight.array.ndim != 1 or weight.array.size != classes):
        raise noted(
            RuntimeError(
                f"cross_entropy: weight tensor should be defined either for all {classes} classes or no "
                f"classes but got weight tensor of shape: {list(weight.array.shape)}"
            )
        )
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    product = logs_that_count(target, LOG_SOFTMAX.apply((input, axis))) * target
    if weight is not None:
        product = product * _along(weight, len(size), axis)
    if how == NONE:
        return -product.sum(axis)
    total = -product.sum()
    return total if how == SUM else DIV_NUMBER.apply((total, float(input.array.size / classes) if classes else 0.0))


def _check_smoothing(smoothing: float) -> None:
    if smoothing > 1:
        raise noted(RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing:g}"))


def _smoothed(input: Any, target: Any, weight: Any, how: int, ignore_index: int, smoothing: float, axis: int) -> Any:
    _check_smoothing(smoothing)
    logs = LOG_SOFTMAX.apply((input, axis))
    loss = _nll(logs, target, weight, how, ignore_index)
    spread = -(logs if weight is None else logs * _along(weight, len(input.array.shape), axis)).sum(axis)
    counts = target != ignore_index
    spread = spread.masked_fill(target == ignore_index, 0.0)
    if how == MEAN:
        if weight is None:
            spread = spread.masked_select(counts).mean()
        else:
            spread = spread.sum() / weight[target.masked_select(counts)].sum()
    elif how == SUM:
        spread = spread.sum()
    return MUL_NUMBER.apply((loss, 1 - smoothing)) + MUL_NUMBER.apply((spread, smoothing / input.array.shape[axis]))


# ---------------------------------------------------------------- of a difference
MSE_BACKWARD = row(
    "mse_loss_backward",
    lambda grad_output, self, target, reduction: kernels.mse_backward(grad_output, self, target, reduction),
    tensors="grad_output self target",
    batch="loss_backward",
    grad_output=lambda grad, self, target, reduction: (
        collapsed(MSE_BACKWARD.apply((grad, self, target, NONE)), reduction) / count(self, reduction)
    ),
    self=lambda grad, grad_output, self_size, reduction: grad * share(grad_output * 2.0, self_size.numel(), reduction),
    target=lambda grad, grad_output, self_size, reduction: (
        grad * share(grad_output * -2.0, self_size.numel(), reduction)
    ),
)
MSE = row(
    "mse_loss",
    kernels.mse,
    tensors="self target",
    batch="loss",
    self=lambda grad, self, target, reduction: MSE_BACKWARD.apply((grad, self, target, reduction)),
    target=lambda grad, self, target, reduction: MSE_BACKWARD.apply((grad, target, self, reduction)),
    uses=lambda used, self: used.expand_as(self),
)


def _bounded_second(sign: float) -> Any:
    """d slope / d self of huber's slope, which is 1 within the bound and 0 beyond."""

    def formula(grad: Any, grad_output: Any, self: Any, target: Any, reduction: int, bound: float) -> Any:
        within = (self - target).abs() < bound
        return grad * share(grad_output * sign, self.array.size, reduction) * within

    return formula


def _smooth_second(sign: float) -> Any:
    inner = _bounded_second(sign)

    def formula(grad: Any, grad_output: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
        return inner(grad, grad_output, self, target, reduction, beta) / beta

    return formula


HUBER_BACKWARD = row(
    "huber_loss_backward",
    lambda grad_output, self, target, reduction, bound: kernels.huber_backward(
        grad_output, self, target, reduction, bound
    ),
    tensors="grad_output self target",
    batch="loss_backward",
    grad_output=lambda grad, self, target, reduction, bound: (
        collapsed(HUBER_BACKWARD.apply((grad, self, target, NONE, bound)), reduction) / count(self, reduction)
    ),
    self=_bounded_second(1.0),
    target=_bounded_second(-1.0),
)
HUBER = row(
    "huber_loss",
    kernels.huber,
    tensors="self target",
    batch="loss",
    self=lambda grad, self, target, reduction, delta: HUBER_BACKWARD.apply((grad, self, target, reduction, delta)),
    target=lambda grad, self, target, reduction, delta: HUBER_BACKWARD.apply((grad, target, self, reduction, delta)),
    uses=lambda used, self: used.expand_as(self),
)
SMOOTH_L1_BACKWARD = row(
    "smooth_l1_loss_backward",
    lambda grad_output, self, target, reduction, beta: kernels.smooth_l1_backward(
        grad_output, self, target, reduction, beta
    ),
    tensors="grad_output self target",
    batch="loss_backward",
    grad_output=lambda grad, self, target, reduction, beta: (
        collapsed(SMOOTH_L1_BACKWARD.apply((grad, self, target, NONE, beta)), reduction) / count(self, reduction)
    ),
    self=_smooth_second(1.0),
    target=_smooth_second(-1.0),
)
SMOOTH_L1 = row(
    "smooth_l1_loss",
    kernels.smooth_l1,
    tensors="self target",
    node="SmoothL1LossBackward0",
    batch="loss",
    self=lambda grad, self, target, reduction, beta: SMOOTH_L1_BACKWARD.apply((grad, self, target, reduction, beta)),
    target=lambda grad, self, target, reduction, beta: SMOOTH_L1_BACKWARD.apply((grad, target, self, reduction, beta)),
    uses=lambda used, self: used.expand_as(self),
)


def _same_shape(input: Any, target: Any) -> tuple[Any, Any]:
    """Both broadcast to one shape, with torch's warning if they were not of one."""
    for value in (input, target):
        if not isinstance(value, TensorBase):
            raise AttributeError(f"'{type(value).__name__}' object has no attribute 'size'")
    left, right = shape_of(input), shape_of(target)
    if left is right or left == right:
        return input, target
    warnings.warn(
        f"Using a target size ({right}) that is different to the input size ({left}). This will likely lead "
        "to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
    return broadcast(input, target)


def _weighted(loss: Any, weight: Any, input: Any, reduction: int) -> Any:
    """A weighted loss; its mean is over the weights."""
    if shape_of(weight) != shape_of(input):
        raise noted(ValueError("Weights and input must have the same size."))
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == MEAN else loss.sum() if reduction == SUM else loss


def mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """The squared difference (source: ``torch.nn.functional.mse_loss``)."""
    x, y = _same_shape(input, target)
    how = reduction_of(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(MSE.apply((x, y, NONE)), weight, input, how)
    return MSE.apply((x, y, how))


def l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """The absolute difference (source: ``torch.nn.functional.l1_loss``)."""
    if casting.threads and (autocast := casting.current()) is not None:
        return autocast.single(l1_loss, input, target, size_average, reduce, reduction, weight)
    x, y = _same_shape(input, target)
    how = reduction_of(reduction, size_average, reduce)
    loss = (x - y).abs()
    return reduce_loss(loss, how) if weight is None else _weighted(loss, weight, input, how)


def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Any:
    """Half the squared difference over ``beta`` up to ``beta``, and straight beyond.

    Source: ``torch.nn.functional.smooth_l1_loss``.
    """
    if casting.threads and (autocast := casting.current()) is not None:
        return autocast.single(smooth_l1_loss, input, target, size_average, reduce, reduction, beta)
    x, y = _same_shape(input, target)
    how = reduction_of(reduction, size_average, reduce)
    if beta == 0:
        return reduce_loss((x - y).abs(), how)
    if beta < 0:
        raise noted(RuntimeError("smooth_l1_loss does not support negative values for beta."))
    return SMOOTH_L1.apply((x, y, how, float(beta)))


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """Half the squared difference up to ``delta``, and straight beyond (source: ``torch.nn.functional.huber_loss``)."""
    x, y = _same_shape(input, target)
    how = reduction_of(reduction)
    if delta <= 0:
        raise noted(RuntimeError("huber_loss does not support non-positive values for delta."))
    if weight is None:
        return HUBER.apply((x, y, how, float(delta)))
    if shape_of(weight) != shape_of(input):
        raise noted(ValueError("Weights and input must have the same size."))
    return reduce_loss(HUBER.apply((x, y, NONE, float(delta))) * weight, how)


FUNCTIONS = ["cosine_similarity", "pairwise_distance"]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {
    "nll_loss": nll_loss,
    "cross_entropy": cross_entropy,
    "mse_loss": mse_loss,
    "l1_loss": l1_loss,
    "smooth_l1_loss": smooth_l1_loss,
    "huber_loss": huber_loss,
    **distance_loss.FUNCTIONAL,
    **label_loss.FUNCTIONAL,
}
globals().update(FUNCTIONAL)

if TYPE_CHECKING:  # names that a loop above gives

    def __getattr__(name: str) -> Any: ...
