"""Losses and similarities that torch builds from other operations, as they are here."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape.dtypes import FLOAT, SCALAR_TYPE
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.dims import wrap_dim
from livetape.ops.distances import plain_norm
from livetape.ops.loss_options import broadcast, logs_that_count, reduce_loss, reduction_of
from livetape.ops.refuse import must_be_tensors, must_have
from livetape.ops.smooth import LOG_SIGMOID


# ---------------------------------------------------------------- distances
def _unit(x: Any, dim: int, eps: float) -> Any:
    """``x`` over its norm along ``dim``, which is held at ``eps`` without gradient."""
    norm = x.norm(2, dim, True).clone()
    np.maximum(norm.array, np.asarray(eps, norm.array.dtype), out=norm.array)
    return x / norm


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along ``dim``, broadcast.

    Source: ``torch.nn.functional.cosine_similarity``.
    """
    must_be_tensors("cosine_similarity", x1=x1, x2=x2)
    kind = promote("cosine_similarity", x1, x2)
    if kind.category < FLOAT:
        raise noted(
            RuntimeError("expected common dtype to be floating point, yet common dtype is " + SCALAR_TYPE[kind])
        )
    x1, x2 = broadcast(x1.to(kind), x2.to(kind))
    axis = wrap_dim(dim, x1.array.ndim, "cosine_similarity", position=3)
    return (_unit(x1, axis, eps) * _unit(x2, axis, eps)).sum(axis)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of ``x1 - x2 + eps`` along the last dimension (source: ``torch.nn.functional.pairwise_distance``)."""
    must_be_tensors("pairwise_distance", x1=x1, x2=x2)
    return plain_norm(x1 - x2 + eps, p, -1, keepdim)


# ---------------------------------------------------------------- likelihoods
@single_in_autocast
def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """The Kullback-Leibler divergence of log probabilities from probabilities.

    Source: ``torch.nn.functional.kl_div``.
    """
    if size_average is not None or reduce is not None:
        how = reduction_of(reduction, size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
                "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed to "
                "behave the same as 'batchmean' in the next major release.",
                stacklevel=2,
            )
        how = reduction_of("sum" if reduction == "batchmean" else reduction)
    must_be_tensors("kl_div", input=input, target=target)
    if input.dtype.category < FLOAT or target.dtype.category < FLOAT:
        raise noted(RuntimeError("kl_div: Integral inputs not supported."))
    if log_target:
        weights = target.exp()
        loss = weights * (logs_that_count(weights, target) - logs_that_count(weights, input))
    else:
        loss = target.xlogy(target) - target * logs_that_count(target, input)
    loss = reduce_loss(loss, how)
    return loss / input.array.shape[0] if reduction == "batchmean" and input.array.ndim else loss


@single_in_autocast
def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The negative log likelihood of counts under Poisson laws (source: ``torch.nn.functional.poisson_nll_loss``)."""
    how = reduction_of(reduction, size_average, reduce)
    must_be_tensors("poisson_nll_loss", input=input, target=target)
    loss = input.exp() - target * logs_that_count(target, input) if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(loss, how)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """The negative log likelihood of values under normal laws (source: ``torch.nn.functional.gaussian_nll_loss``)."""
    if not isinstance(var, TensorBase):
        if var < 0:
            raise noted(ValueError("var has negative entry/entries"))
        var = wrap(np.full(input.array.shape, var, input.array.dtype), input.dtype, None)
    elif (var.array < 0).any():
        raise noted(ValueError("var has negative entry/entries"))
    must_have("size", input)
    size, have = tuple(shape_of(input)), tuple(shape_of(var))
    if have != size:
        if size[:-1] == have:
            var = var.unsqueeze(-1)
        elif not (len(size) == len(have) and all(h == s or h == 1 for h, s in zip(have, size))):
            raise noted(ValueError("var is of incorrect size"))
    if reduction not in ("none", "mean", "sum"):
        raise noted(ValueError(reduction + " is not valid"))
    var = var.clone()
    np.maximum(var.array, np.asarray(eps, var.array.dtype), out=var.array)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


# ---------------------------------------------------------------- margins
@single_in_autocast
def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """Distances where the target is 1, what they lack of ``margin`` where -1.

    Source: ``torch.nn.functional.hinge_embedding_loss``.
    """
    how = reduction_of(reduction, size_average, reduce)
    must_be_tensors("hinge_embedding_loss", input=input, target=target)
    short = (margin - input).clamp_min(0)
    return reduce_loss(_where(target != 1, short) + _where(target != -1, input), how)


def _where(condition: Any, values: Any) -> Any:
    return values.where(condition, values.new_zeros(()))


@single_in_autocast
def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """What ``target * (input1 - input2)`` lacks of ``margin`` (source: ``torch.nn.functional.margin_ranking_loss``)."""
    how = reduction_of(reduction, size_average, reduce)
    must_have("dim", input1, input2, target)
    if not input1.array.ndim == input2.array.ndim == target.array.ndim:
        raise noted(
            RuntimeError(
                f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                f"{shape_of(input1)}, input2: {shape_of(input2)}, target: {shape_of(target)} "
            )
        )
    return reduce_loss((-target * (input1 - input2) + margin).clamp_min(0), how)


@single_in_autocast
def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """1 - cosine where the target is 1, what the cosine has above ``margin`` where -1.

    Source: ``torch.nn.functional.cosine_embedding_loss``.
    """
    how = reduction_of(reduction, size_average, reduce)
    must_be_tensors("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    dims = target.array.ndim
    if dims > 1:
        raise noted(RuntimeError("0D or 1D target tensor expected, multi-target not supported"))
    if not input1.array.ndim == input2.array.ndim == dims + 1:
        raise noted(
            RuntimeError(
                f"{dims}D target tensor expects {dims + 1}D input tensors, but found inputs with sizes "
                f"{list(shape_of(input1))} and {list(shape_of(input2))}."
            )
        )
    epsilon = 1e-12
    product = (input1 * input2).sum(dims)
    square1 = (input1 * input1).sum(dims) + epsilon
    square2 = (input2 * input2).sum(dims) + epsilon
    cosine = product / (square1 * square2).sqrt()
    loss = _where(target == 1, 1 - cosine) + _where(target == -1, (cosine - margin).clamp_min(0))
    return reduce_loss(loss, how)


@single_in_autocast
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """What the negative lacks of being ``margin`` farther from the anchor than the positive is.

    Source: ``torch.nn.functional.triplet_margin_loss``.
    """
    how = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise noted(ValueError(f"margin must be greater than 0, got {margin}"))
    must_be_tensors("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    dims = [t.array.ndim for t in (anchor, positive, negative)]
    if not dims[0] == dims[1] == dims[2]:
        raise noted(
            RuntimeError(
                "The anchor, positive, and negative tensors are expected to have the same number of "
                f"dimensions, but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D "
                "inputs"
            )
        )
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduce_loss((margin + near - far).clamp_min(0), how)


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """`triplet_margin_loss` of any distance (source: ``torch.nn.functional.triplet_margin_with_distance_loss``)."""
    how = reduction_of(reduction)
    if margin <= 0:
        raise noted(ValueError(f"margin must be greater than 0, got {margin}"))
    distance = pairwise_distance if distance_function is None else distance_function
    dims = [t.array.ndim for t in (anchor, positive, negative)]
    if not dims[0] == dims[1] == dims[2]:
        raise noted(
            RuntimeError(
                "The anchor, positive, and negative tensors are expected to have the same number of "
                f"dimensions, but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D "
                "inputs"
            )
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduce_loss((margin + near - far).clamp_min(0), how)


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The mean over classes of the binary cross entropies of logits.

    Source: ``torch.nn.functional.multilabel_soft_margin_loss``.
    """
    how = reduction_of(reduction, size_average, reduce)
    rest = 1 - target
    yes, no = LOG_SIGMOID.call1(input), LOG_SIGMOID.call1(-input)
    from_logits = -(target * logs_that_count(target, yes) + rest * logs_that_count(rest, no))
    if weight is not None:
        from_logits = from_logits * weight
    dim = input.array.ndim - 1
    loss = from_logits.sum(dim) / input.array.shape[dim] if dim >= 0 else from_logits
    return reduce_loss(loss, how)


FUNCTIONAL = {
    "cosine_similarity": cosine_similarity,
    "pairwise_distance": pairwise_distance,
    "kl_div": kl_div,
    "poisson_nll_loss": poisson_nll_loss,
    "gaussian_nll_loss": gaussian_nll_loss,
    "hinge_embedding_loss": hinge_embedding_loss,
    "margin_ranking_loss": margin_ranking_loss,
    "cosine_embedding_loss": cosine_embedding_loss,
    "triplet_margin_loss": triplet_margin_loss,
    "triplet_margin_with_distance_loss": triplet_margin_with_distance_loss,
    "multilabel_soft_margin_loss": multilabel_soft_margin_loss,
}
