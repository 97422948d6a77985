"""Losses of labels: binary cross entropies and margins that are rows of the table."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import broadcast_error, noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape.dtypes import BOOL, FLOAT, SCALAR_TYPE, int64
from livetape.kernels import loss as kernels
from livetape.kernels.loss import NONE
from livetape.ops.loss_options import broadcast, collapsed, count, reduction_of, refuse_gradient, share
from livetape.ops.refuse import must_be_tensors
from livetape.ops.repeating import broadcast_shapes
from livetape.ops.shape import expand
from livetape.ops.table import row


# ---------------------------------------------------------------- binary cross entropy
def _bce_target(grad: Any, self: Any, self_size: Any, target: Any, weight: Any, reduction: int) -> Any:
    slope = (-self).log1p().clamp(min=-100.0) - self.log().clamp(min=-100.0)
    return _times(slope, weight) * share(grad, self_size.numel(), reduction)


def _times(values: Any, weight: Any) -> Any:
    return values if weight is None else values * weight


def _bce_second_self(grad: Any, grad_output: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    rest = 1.0 - self
    curve = (target / (self * self).clamp(min=1e-12)) + (1.0 - target) / (rest * rest).clamp(min=1e-12)
    return grad * _times(curve, weight) * share(grad_output, self.array.size, reduction)


def _bce_second_target(grad: Any, grad_output: Any, self: Any, weight: Any, reduction: int) -> Any:
    slope = -1.0 / ((1.0 - self) * self).clamp(min=1e-12)
    return grad * _times(slope, weight) * share(grad_output, self.array.size, reduction)


BCE_BACKWARD = row(
    "binary_cross_entropy_backward",
    lambda grad_output, self, target, weight, reduction: kernels.bce_backward(
        grad_output, self, target, weight, reduction
    ),
    tensors="grad_output self target weight",
    batch="loss_backward",
    grad_output=lambda grad, self, target, weight, reduction: (
        collapsed(BCE_BACKWARD.apply((grad, self, target, weight, NONE)), reduction) / count(self, reduction)
    ),
    self=_bce_second_self,
    target=_bce_second_target,
)
BCE = row(
    "binary_cross_entropy",
    kernels.bce,
    tensors="self target weight",
    batch="loss",
    self=lambda grad, self, target, weight, reduction: BCE_BACKWARD.apply((grad, self, target, weight, reduction)),
    target=_bce_target,
    uses=lambda used, self: used.expand_as(self),
)


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The cross entropy of probabilities and targets in [0, 1].

    Source: ``torch.nn.functional.binary_cross_entropy``.
    """
    how = reduction_of(reduction, size_average, reduce)
    _of_tensors(target, input)
    if shape_of(target) != shape_of(input):
        raise noted(
            ValueError(
                f"Using a target size ({shape_of(target)}) that is different to the input size "
                f"({shape_of(input)}) is deprecated. Please ensure they have the same size."
            )
        )
    if weight is not None:
        refuse_gradient("binary_cross_entropy", "weight", weight)
        weight = expand(weight, broadcast_shapes(shape_of(target), shape_of(weight)))
    for other in (target, weight):
        if other is not None and other.dtype is not input.dtype:
            raise noted(RuntimeError(f"Found dtype {SCALAR_TYPE[other.dtype]} but expected {SCALAR_TYPE[input.dtype]}"))
    return BCE.apply((input, target, weight, how))


def _of_tensors(*values: Any) -> None:
    for value in values:
        if not isinstance(value, TensorBase):
            raise AttributeError(f"'{type(value).__name__}' object has no attribute 'size'")


# ---------------------------------------------------------------- with logits
def _logits_target(grad: Any, self: Any, self_size: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    slope = -self
    if pos_weight is not None:
        slope = slope + (pos_weight - 1.0) * soft_plus(-self)
    return _times(slope, weight) * share(grad, self_size.numel(), reduction)


def soft_plus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow, in tensor operations."""
    return x.clamp(min=0) + (-x.abs()).exp().log1p()


def _logits_second_self(
    grad: Any, grad_output: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int
) -> Any:
    s = self.sigmoid()
    curve = s * (1.0 - s)
    if pos_weight is not None:
        curve = curve * ((pos_weight - 1.0) * target + 1.0)
    return grad * _times(curve, weight) * share(grad_output, self.array.size, reduction)


def _logits_second_target(grad: Any, grad_output: Any, self: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    part = -grad if pos_weight is None else grad * ((pos_weight - 1.0) * self.sigmoid() - pos_weight)
    return _times(part, weight) * share(grad_output, self.array.size, reduction)


LOGITS_BACKWARD = row(
    "binary_cross_entropy_with_logits_backward",
    lambda grad_output, self, target, weight, pos_weight, reduction: kernels.bce_logits_backward(
        grad_output, self, target, weight, pos_weight, reduction
    ),
    tensors="grad_output self target weight pos_weight",
    batch="loss_backward",
    grad_output=lambda grad, self, target, weight, pos_weight, reduction: (
        collapsed(LOGITS_BACKWARD.apply((grad, self, target, weight, pos_weight, NONE)), reduction)
        / count(self, reduction)
    ),
    self=_logits_second_self,
    target=_logits_second_target,
)
LOGITS = row(
    "binary_cross_entropy_with_logits",
    kernels.bce_logits,
    tensors="self target weight pos_weight",
    batch="loss",
    self=lambda grad, self, target, weight, pos_weight, reduction: LOGITS_BACKWARD.apply(
        (grad, self, target, weight, pos_weight, reduction)
    ),
    target=_logits_target,
    differs="infinite logits",
    uses=lambda used, self: used.expand_as(self),
)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """`binary_cross_entropy` of ``sigmoid(input)``, computed without loss.

    Source: ``torch.nn.functional.binary_cross_entropy_with_logits``.
    """
    how = reduction_of(reduction, size_average, reduce)
    _of_tensors(target, input)
    size = shape_of(input)
    if shape_of(target) != size:
        raise noted(ValueError(f"Target size ({shape_of(target)}) must be the same as input size ({size})"))
    if target.dtype.category < FLOAT:
        if target.dtype.category == BOOL:
            raise noted(
                RuntimeError(
                    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                    "`logical_xor()` operator instead."
                )
            )
        raise noted(
            RuntimeError(
                f"result type {SCALAR_TYPE[input.dtype]} can't be cast to the desired output type "
                f"{SCALAR_TYPE[target.dtype]}"
            )
        )
    for name, value in (("weight", weight), ("pos_weight", pos_weight)):
        if value is not None:
            refuse_gradient("binary_cross_entropy_with_logits", name, value)
            _check_fits(value, size)
    return LOGITS.apply((input, target, weight, pos_weight, how))


def _check_fits(value: Any, size: Any) -> None:
    have = shape_of(value)
    for at in range(1, min(len(have), len(size)) + 1):
        if have[-at] != size[-at] and have[-at] != 1 and size[-at] != 1:
            raise noted(broadcast_error(tuple(have), tuple(size)))


# ---------------------------------------------------------------- margins
def _soft_margin_second(grad: Any, grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    s = (self * target).sigmoid()
    return grad * (s * (1.0 - s) * target * target) * share(grad_output, self.array.size, reduction)


SOFT_MARGIN_BACKWARD = row(
    "soft_margin_loss_backward",
    lambda grad_output, self, target, reduction: kernels.soft_margin_backward(grad_output, self, target, reduction),
    tensors="grad_output self target",
    batch="loss_backward",
    grad_output=lambda grad, self, target, reduction: (
        collapsed(SOFT_MARGIN_BACKWARD.apply((grad, self, target, NONE)), reduction) / count(self, reduction)
    ),
    self=_soft_margin_second,
)
SOFT_MARGIN = row(
    "soft_margin_loss",
    kernels.soft_margin,
    tensors="self target",
    batch="loss",
    self=lambda grad, self, target, reduction: SOFT_MARGIN_BACKWARD.apply((grad, self, target, reduction)),
    uses=lambda used, self: used.expand_as(self),
)


def soft_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """log(1 + exp(-target * input)) for targets 1 and -1 (source: ``torch.nn.functional.soft_margin_loss``)."""
    how = reduction_of(reduction, size_average, reduce)
    must_be_tensors("soft_margin_loss", input=input, target=target)
    refuse_gradient("soft_margin_loss", "target", target)
    if shape_of(input) != shape_of(target):
        size = shape_of(input)
        input, target = broadcast(input, target)
        if shape_of(input) != size:
            words = f"output with shape {list(size)} doesn't match the broadcast shape {list(shape_of(input))}"
            raise noted(RuntimeError(words))
    return SOFT_MARGIN.apply((input, target, how))


def _not_implemented(name: str) -> Any:
    """A formula that raises torch's error for a second derivative that it lacks."""

    def formula(grad: Any) -> Any:
        raise noted(RuntimeError(f"derivative for aten::{name} is not implemented"))

    return formula


MULTI_MARGIN_BACKWARD = row(
    "multi_margin_loss_backward",
    lambda grad_output, self, target, p, margin, weight, reduction: kernels.multi_margin_backward(
        grad_output, self, target, p, margin, weight, reduction
    ),
    tensors="grad_output self target weight",
    node="NotImplemented",
    grad_output=_not_implemented("multi_margin_loss_backward"),
    self=_not_implemented("multi_margin_loss_backward"),
)
MULTI_MARGIN = row(
    "multi_margin_loss",
    kernels.multi_margin,
    tensors="self target weight",
    self=lambda grad, self, target, p, margin, weight, reduction: MULTI_MARGIN_BACKWARD.apply(
        (grad, self, target, p, margin, weight, reduction)
    ),
)


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The margins by which classes come too close to the target class.

    Source: ``torch.nn.functional.multi_margin_loss``.
    """
    how = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise noted(ValueError("only p == 1 and p == 2 supported"))
    must_be_tensors("multi_margin_loss", input=input, target=target)
    size, places = input.array.shape, target.array.shape
    if weight is not None:
        refuse_gradient("multi_margin_loss", "weight", weight)
        if weight.array.ndim != 1:
            raise noted(ValueError("weight must be one-dimensional"))
        if weight.array.size != (size[-1] if size else 1):
            raise noted(
                RuntimeError(
                    f"inconsistent weight size, expected {size[-1] if size else 1} but got {list(weight.array.shape)}"
                )
            )
    if len(size) > 2 or (size and size[-1] == 0):
        raise noted(
            RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(size)}")
        )
    batch = size[0] if len(size) == 2 else 1
    if len(places) > 1 or target.array.size != batch:
        raise noted(
            RuntimeError(
                "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
                f"samples (batch size). Expected target size [{batch}], but got {list(places)}. Input has "
                f"shape {list(size)}."
            )
        )
    if target.dtype is not int64:
        raise noted(RuntimeError(f"expected scalar type Long but found {SCALAR_TYPE[target.dtype]}"))
    return MULTI_MARGIN.apply((input, target, p, margin, weight, how))


LABEL_MARGIN_BACKWARD = row(
    "multilabel_margin_loss_backward",
    lambda grad_output, self, target, reduction: kernels.multilabel_margin_backward(
        grad_output, self, target, reduction
    ),
    tensors="grad_output self target",
    node="NotImplemented",
    grad_output=_not_implemented("multilabel_margin_loss_backward"),
    self=_not_implemented("multilabel_margin_loss_backward"),
)
LABEL_MARGIN = row(
    "multilabel_margin_loss",
    kernels.multilabel_margin,
    tensors="self target",
    self=lambda grad, self, target, reduction: LABEL_MARGIN_BACKWARD.apply((grad, self, target, reduction)),
)


def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The margins between named classes and the others (source: ``torch.nn.functional.multilabel_margin_loss``)."""
    how = reduction_of(reduction, size_average, reduce)
    must_be_tensors("multilabel_margin_loss", input=input, target=target)
    size, places = input.array.shape, target.array.shape
    if len(size) > 2 or (size and size[-1] == 0):
        raise noted(
            RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(size)}")
        )
    if places != size and not (len(size) < 2 and target.array.size == input.array.size):
        raise noted(RuntimeError(f"inconsistent target size: {list(places)} for input of size: {list(size)}"))
    if target.dtype is not int64:
        raise noted(RuntimeError(f"expected scalar type Long but found {SCALAR_TYPE[target.dtype]}"))
    return LABEL_MARGIN.apply((input, target, how))


FUNCTIONAL = {
    "binary_cross_entropy": binary_cross_entropy,
    "binary_cross_entropy_with_logits": binary_cross_entropy_with_logits,
    "soft_margin_loss": soft_margin_loss,
    "multi_margin_loss": multi_margin_loss,
    "multilabel_margin_loss": multilabel_margin_loss,
}
