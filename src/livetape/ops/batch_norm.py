"""Batch norm and instance norm."""

from __future__ import annotations

import math
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import counter_of, shape_of
from livetape.dtypes import FLOAT
from livetape.kernels import normalization as kernels
from livetape.ops.basics import zeros_like
from livetape.ops.matrices import plus
from livetape.ops.normalization import check_params, second_derivatives
from livetape.ops.refuse import must_be_tensors, must_have
from livetape.ops.table import row


def _batch_second(
    grads: Any, grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, train: bool, eps: float
) -> Any:
    ndim = input.array.ndim
    if ndim < 2:  # an empty one
        return zeros_like(grad_out), zeros_like(input), None
    axes = (0, *range(2, ndim))
    shape = (1, input.array.shape[1], *[1] * (ndim - 2))
    if train:
        return second_derivatives(grads, grad_out, input, weight, eps, axes, shape, axes)
    to_input, to_weight, to_bias = grads
    rstd = (running_var + eps).rsqrt().view(shape)
    by_grad = by_input = by_weight = None
    if to_input is not None:
        by_grad = to_input * (rstd if weight is None else rstd * weight.view(shape))
        by_weight = None if weight is None else (to_input * grad_out * rstd).sum(axes)
    if to_weight is not None:
        turned = to_weight.view(shape) * rstd
        by_grad = plus(by_grad, turned * (input - running_mean.view(shape)))
        by_input = turned * grad_out
    if to_bias is not None:
        by_grad = plus(by_grad, to_bias.view(shape).expand(shape_of(grad_out)))
    return by_grad, by_input, by_weight


BATCH_NORM_BACKWARD = row(
    "native_batch_norm_backward",
    lambda grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, wanted_: (
        kernels.batch_norm_backward(
            grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, wanted_
        )
    ),
    tensors="grad_out input weight running_mean running_var save_mean save_invstd",
    outputs=3,
    batch="batch_norm_backward",
)
BATCH_NORM_BACKWARD.joint("grad_out input weight", _batch_second)


def batch_norm_row(name: str, node: str, key: str | None = None) -> Any:
    """A row of batch norm. torch has several, which differ by name."""
    made = row(
        name,
        kernels.batch_norm,
        params="input weight bias running_mean running_var training momentum eps",
        tensors="input weight bias running_mean running_var",
        outputs=3,
        node=node,
        key=key,
        batch="batch_norm",
    )
    return made.joint(
        "input weight bias",
        lambda grad, input, weight, running_mean, running_var, result1, result2, training, eps, wanted: (
            BATCH_NORM_BACKWARD.apply(
                (grad, input, weight, running_mean, running_var, result1, result2, training, eps, list(wanted))
            )
        ),
    )


BATCH_NORM = batch_norm_row("native_batch_norm", "NativeBatchNormBackward0")


def batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    """`functional_batch_norm` with the arguments in the order of ``torch.batch_norm``."""
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def functional_batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """(N, C, d...) with mean 0 and variance 1 in each channel, then scaled and shifted.

    In training the mean and variance are the batch's, and the running ones move towards them; else those are used.
    Source: ``torch.nn.functional.batch_norm``.
    """
    if training:
        size = shape_of(input)
        if math.prod((*size[:1], *size[2:])) == 1:
            raise noted(ValueError(f"Expected more than 1 value per channel when training, got input size {size}"))
    if eps <= 0:
        if training:
            raise noted(ValueError(f"batch_norm eps must be positive during training, but got {eps}"))
        if eps < 0:
            raise noted(ValueError(f"batch_norm eps must be non-negative, but got {eps}"))
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    must_be_tensors("batch_norm", input=input)
    size = input.array.shape
    channels = size[1] if len(size) > 1 else 0
    if not training:
        for name, value in (("running_mean", running_mean), ("running_var", running_var)):
            if value is None:
                raise noted(RuntimeError(f"{name} must be defined in evaluation mode"))
    elif (running_mean is None) != (running_var is None):
        raise noted(ValueError("running_mean and running_var must either both be None or neither be None"))
    params = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias))
    for name, value in params:
        if value is not None and value.array.size != channels:
            raise noted(RuntimeError(f"{name} should contain {channels} elements not {value.array.size}"))
    if len(size) < 2 and input.array.size:
        raise noted(IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)"))
    if input.dtype.category == FLOAT:
        check_params(input.dtype, weight, bias, running_mean, running_var)
    if not input.array.size:  # as torch does
        found = input.clone()
        if weight is not None:
            found = found * weight[0]
        return found if bias is None else found + bias[0]
    return BATCH_NORM.apply((input, weight, bias, running_mean, running_var, training, momentum, eps))[0]


# ---------------------------------------------------------------- instance norm
def functional_instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """`batch_norm` of each sample by itself (source: ``torch.nn.functional.instance_norm``)."""
    if use_input_stats:
        must_have("size", input)
        size = shape_of(input)
        if math.prod(size[2:]) == 1:
            raise noted(ValueError(f"Expected more than 1 spatial element when training, got input size {size}"))
    return instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    """`functional_instance_norm` with the arguments in the order of ``torch.instance_norm``."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise noted(RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false"))
    size = shape_of(input)
    batch, channels = size[0], size[1]

    def repeated(values: Any) -> Any:
        return None if values is None else values.repeat(batch)

    mean, var = repeated(running_mean), repeated(running_var)
    flat = input.contiguous().view(1, batch * channels, *size[2:])
    found = _batch_norm(flat, repeated(weight), repeated(bias), mean, var, use_input_stats, momentum, eps)
    if use_input_stats:
        for running, used in ((running_mean, mean), (running_var, var)):
            if running is not None:
                running.array[...] = used.array.reshape(batch, channels).mean(axis=0)
                counter_of(running).bump()
    return found.view(size)


FUNCTIONS = [
    "batch_norm",
    "instance_norm",
]
FUNCTIONAL = {
    "batch_norm": functional_batch_norm,
    "instance_norm": functional_instance_norm,
}
