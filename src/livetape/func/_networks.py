"""Batching rules of network operations: convolutions, normalisations and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.tensor import TensorBase, from_array, shape_of
from livetape.func._rules import aligned, all_batches, expanded, loop
from livetape.func._special import rule, spread_out
from livetape.kernels.loss import MEAN, NONE
from livetape.ops.arithmetic import mul
from livetape.ops.permuting import movedim
from livetape.ops.shape import reshape
from livetape.ops.table import TABLE

CONVOLUTION, NLL = TABLE["convolution"], TABLE["nll_loss"]
EXPAND, SUM_DIM = TABLE["expand"], TABLE["sum.dim"]
LAYER_NORM, LAYER_NORM_BACKWARD = TABLE["native_layer_norm"], TABLE["native_layer_norm_backward"]


def _into_channels(tensor: Any) -> Any:
    """(B, N, C, ...) as (N, B * C, ...): the samples become groups of channels."""
    b, n, c = shape_of(tensor)[:3]
    return reshape(movedim(tensor, 0, 1), (n, b * c, *shape_of(tensor)[3:]))


def _from_channels(tensor: Any, size: int) -> Any:
    n, c = shape_of(tensor)[:2]
    return movedim(reshape(tensor, (n, size, c // size, *shape_of(tensor)[2:])), 1, 0)


# ---------------------------------------------------------------- convolutions
@rule("convolution")
def _convolution(op: Any, values: Any, flags: Any, size: int) -> Any:
    input, weight, bias, *numbers, groups = values
    if flags[1]:
        input = _into_channels(input if flags[0] else expanded(input, size))
        weight = reshape(weight, (size * shape_of(weight)[1], *shape_of(weight)[2:]))
        if bias is not None:
            bias = reshape(bias if flags[2] else expanded(bias, size), (-1,))
        return _from_channels(CONVOLUTION.apply((input, weight, bias, *numbers, groups * size)), size)
    late = bias if flags[2] else None
    if flags[0]:
        n = shape_of(input)[1]
        folded = reshape(input, (size * n, *shape_of(input)[2:]))
        found = CONVOLUTION.apply((folded, weight, None if flags[2] else bias, *numbers, groups))
        found = reshape(found, (size, n, *shape_of(found)[1:]))
    else:
        found = expanded(CONVOLUTION.apply((input, weight, None, *numbers, groups)), size)
    if late is not None:
        found = found + reshape(late, (size, 1, -1, *[1] * (int(found.array.ndim) - 3)))
    return found


@rule("convolution_backward")
def _convolution_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, input, *numbers, groups = all_batches(op, values, flags, size)
    found = op.apply((_into_channels(grad), _into_channels(input), *numbers, groups * size))
    return reshape(found, (size, shape_of(found)[0] // size, *shape_of(found)[1:]))


# ---------------------------------------------------------------- normalisations
@rule("layer_norm")
def _layer_norm(op: Any, values: Any, flags: Any, size: int) -> Any:
    input, shape, weight, bias, eps = values
    if not (flags[2] or flags[3]):
        return op.apply(values)
    input = input if flags[0] else expanded(input, size)
    found, mean, rstd = LAYER_NORM.apply((input, shape, None, None, eps))
    ndim = int(input.array.ndim)
    if weight is not None:
        found = mul(found, spread_out(weight, ndim) if flags[2] else weight)
    if bias is not None:
        found = found + (spread_out(bias, ndim) if flags[3] else bias)
    return found, mean, rstd


@rule("layer_norm_backward")
def _layer_norm_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, input, shape, mean, rstd, weight, eps, _ = values
    grad, input, mean, rstd = [
        v if f else expanded(v, size)
        for v, f in ((grad, flags[0]), (input, flags[1]), (mean, flags[3]), (rstd, flags[4]))
    ]
    ndim = int(input.array.ndim)
    over = tuple(range(1, ndim - len(shape)))
    scaled = grad
    if weight is not None:
        scaled = mul(grad, spread_out(weight, ndim) if flags[5] else weight)
    by_input = LAYER_NORM_BACKWARD.apply((scaled, input, shape, mean, rstd, None, eps, [True, False, False]))[0]
    by_weight = mul(grad, mul(input - mean, rstd))
    by_bias = grad
    if over:
        by_weight, by_bias = (SUM_DIM.apply((v, over, False, None)) for v in (by_weight, by_bias))
    return by_input, by_weight, by_bias


@rule("group_norm")
def _group_norm(op: Any, values: Any, flags: Any, size: int) -> Any:
    input, weight, bias, n, c, area, group, eps = values
    folded = reshape(input if flags[0] else expanded(input, size), (size * n, *shape_of(input)[2 if flags[0] else 1 :]))
    late = flags[1] or flags[2]
    found, mean, rstd = op.apply(
        (folded, None if late else weight, None if late else bias, size * n, c, area, group, eps)
    )
    found, mean, rstd = (reshape(v, (size, n, *shape_of(v)[1:])) for v in (found, mean, rstd))
    if late:
        ends = [1] * (int(found.array.ndim) - 3)
        if weight is not None:
            found = mul(found, reshape(weight, (size if flags[1] else 1, 1, c, *ends)))
        if bias is not None:
            found = found + reshape(bias, (size if flags[2] else 1, 1, c, *ends))
    return found, mean, rstd


# ---------------------------------------------------------------- losses
def _spread_loss(op: Any, values: Any, flags: Any, size: int) -> list[Any]:
    """The arguments of an elementwise loss as batches of one shape where they have the input's."""
    found = aligned(values, flags, op.tensor_at)
    for at in op.tensor_at[:2]:
        if not flags[at]:
            found[at] = expanded(found[at], size)
    ndim = max([int(found[at].array.ndim) for at in op.tensor_at[:2]])
    for at in op.tensor_at[:2]:
        found[at] = spread_out(found[at], ndim)
    return found


@rule("loss")
def _loss(op: Any, values: Any, flags: Any, size: int) -> Any:
    at = op.params.index("reduction")
    found = _spread_loss(op, values, flags, size)
    how, found[at] = found[at], NONE
    loss = op.apply(tuple(found))
    if how == NONE:
        return loss
    dims = tuple(range(1, int(loss.array.ndim)))
    total = SUM_DIM.apply((loss, dims, False, None)) if dims else loss
    return total / (loss.array.size // max(size, 1)) if how == MEAN else total


@rule("loss_backward")
def _loss_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    at = op.params.index("reduction")
    how = values[at]
    given = list(values)
    sample = max(
        [shape_of(values[i])[int(flags[i]) :] for i in op.tensor_at[1:3] if isinstance(values[i], TensorBase)], key=len
    )
    grad = given[0] if flags[0] else expanded(given[0], size)
    if how != NONE:
        count = 1
        for n in sample:
            count *= n
        if how == MEAN and count:
            grad = grad / count
        grad = EXPAND.apply((spread_out(grad, len(sample) + 1), (size, *sample)))
    given[0], given[at] = grad, NONE
    found = aligned(tuple(given), [True, *flags[1:]], op.tensor_at)
    for i in op.tensor_at[1:3]:
        if not flags[i]:
            found[i] = expanded(found[i], size)
    return op.apply(tuple(found))


def _with_rows(tensor: Any, flag: bool, size: int, single: bool) -> Any:
    """(B, N, ...) folded into (B * N, ...); a sample that is a single row counts as one of one."""
    tensor = tensor if flag else expanded(tensor, size)
    shape = shape_of(tensor)
    return tensor if single else reshape(tensor, (size * shape[1], *shape[2:]))


@rule("nll")
def _nll(op: Any, values: Any, flags: Any, size: int) -> Any:
    input, target, weight, how, ignored = values
    if flags[2]:
        return loop(op, values, flags, size)
    single = int(input.array.ndim) - int(flags[0]) == 1
    folded = _with_rows(input, flags[0], size, single)
    places = _with_rows(target, flags[1], size, single)
    if single and places.array.ndim == 2:
        places = reshape(places, (size,))
    loss = (
        op.apply((folded, places, weight, NONE, ignored))
        if not single
        else NLL.apply((folded, places, weight, NONE, ignored))
    )
    if single:
        return loss if how != MEAN else loss / _weights(folded, places, weight, ignored)
    loss = reshape(loss, (size, shape_of(loss)[0] // size, *shape_of(loss)[1:]))
    if how == NONE:
        return loss
    dims = tuple(range(1, int(loss.array.ndim)))
    total = SUM_DIM.apply((loss, dims, False, None))
    if how != MEAN:
        return total
    weights = reshape(_weights(folded, places, weight, ignored), shape_of(loss))
    return total / SUM_DIM.apply((weights, dims, False, None))


def _weights(input: Any, target: Any, weight: Any, ignored: int) -> Any:
    """The weight of each target's class, 0 where it is ignored: the loss of -1 everywhere."""
    return NLL.apply((from_array(np.full(shape_of(input), -1, input.dtype.np)), target, weight, NONE, ignored))


@rule("nll_backward")
def _nll_backward(op: Any, values: Any, flags: Any, size: int) -> Any:
    grad, shape, target, weight, how, ignored = values
    if flags[3]:
        return loop(op, values, flags, size)
    single = len(shape) == 1
    places = _with_rows(target, flags[2], size, single)
    if single and places.array.ndim == 2:
        places = reshape(places, (size,))
    folded = (size, *shape) if single else (size * shape[0], *shape[1:])
    grad = grad if flags[0] else expanded(grad, size)
    sample = shape_of(places)[1:] if single else (shape[0], *shape_of(places)[1:])
    if how != NONE:
        if how == MEAN:
            minus = from_array(np.full(folded, -1, grad.dtype.np))
            weights = reshape(NLL.apply((minus, places, weight, NONE, ignored)), (size, -1))
            grad = grad / SUM_DIM.apply((weights, (1,), False, None))
        grad = EXPAND.apply((spread_out(grad, len(sample) + 1), (size, *sample)))
    flat = grad if single else reshape(grad, (size * shape[0], *sample[1:]))
    found = op.apply((flat, folded, places, weight, NONE, ignored))
    return reshape(found, (size, *shape))
