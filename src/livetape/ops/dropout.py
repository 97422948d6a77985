"""Dropout and other activations with random parts: the numbers are torch's for the same seed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import argument_error, noted, type_name
from livetape._tape.modes import state
from livetape._tape.tensor import TensorBase, shape_of, wrap
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE, boolean, float16
from livetape.kernels import activation as kernels
from livetape.kernels.draws import unit
from livetape.kernels.sampling import bernoulli, dropout_mask
from livetape.kernels.select import refuse
from livetape.ops.arithmetic import add, add_, mul
from livetape.ops.basics import detach, zeros_like
from livetape.ops.refuse import must_have
from livetape.ops.sampling import interposed
from livetape.ops.table import elementwise, row
from livetape.random import default_generator

# torch's alpha_dropout keeps the mean and variance of selu's outputs
_ALPHA = 1.7580993408473766


# ---------------------------------------------------------------- what all kinds do
def _run(name: str, input: Any, p: float, train: bool, inplace: bool, feature: bool, alpha: bool) -> Any:
    if not isinstance(input, TensorBase):
        raise noted(argument_error(name, 0, input))
    if not 0 <= p <= 1:
        raise noted(RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}"))
    if type(train) is not bool:
        raise noted(TypeError(f"{name}(): argument 'train' (position 3) must be bool, not {type_name(train)}"))
    array = input.array
    if p == 0 or not train or not array.size:
        return input
    if p == 1:
        nothing = wrap(np.zeros((), array.dtype), input.dtype, None)
        return mul.inplace(input, nothing) if inplace else mul(input, nothing)
    if feature and array.ndim < 2:
        raise noted(RuntimeError("Feature dropout requires at least 2 dimensions in the input"))
    category = input.dtype.category
    if category == COMPLEX:
        raise noted(refuse("bernoulli_scalar_cpu_", array.dtype))
    if category < FLOAT:
        raise noted(
            RuntimeError(f"result type Float can't be cast to the desired output type {SCALAR_TYPE[input.dtype]}")
        )
    bits = default_generator.bits
    if state.interposed != 0:
        return _interposed(input, bits, p, inplace, feature, alpha)
    if feature:
        kept = bernoulli(bits, (*array.shape[:2], *[1] * (array.ndim - 2)), 1.0 - p)
    else:
        kept = dropout_mask(bits, array, p)
    if alpha:
        return _alpha(input, kept, p, inplace)
    scale = np.asarray(1.0, array.dtype) / np.asarray(1.0 - p, array.dtype)
    noise = wrap(np.multiply(kept, scale), input.dtype, None if feature else shape_of(input))
    return mul.inplace(input, noise) if inplace else mul(input, noise)


def _interposed(input: Any, bits: Any, p: float, inplace: bool, feature: bool, alpha: bool) -> Any:
    """As `_run`, the mask drawn by a row and the rest operations, so that interposers see them."""
    size = shape_of(input)
    if feature:
        size = (*size[:2], *[1] * (len(size) - 2))
    kept = interposed(lambda shape, kind: bernoulli(bits, shape, 1.0 - p, kind), size, input.dtype, False, input)
    if not alpha:
        noise = kept * (1.0 / (1.0 - p))
        return mul.inplace(input, noise) if inplace else mul(input, noise)
    scale = float(1.0 / np.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p)))
    move = (kept - 1) * (_ALPHA * scale) + _ALPHA * scale * p
    return add_(mul.inplace(input, kept * scale), move) if inplace else add(mul(input, kept * scale), move)


def _alpha(input: Any, kept: Any, p: float, inplace: bool) -> Any:
    kind = input.array.dtype
    scale = 1.0 / np.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = np.subtract(kept, 1, dtype=kind)
    shift *= np.asarray(_ALPHA * scale, kind)
    shift += np.asarray(_ALPHA * scale * p, kind)
    noise = wrap(np.multiply(kept, np.asarray(scale, kind)), input.dtype, None)
    move = wrap(shift, input.dtype, None)
    if inplace:
        return add_(mul.inplace(input, noise), move)
    return add(mul(input, noise), move)


# ---------------------------------------------------------------- torch.dropout and its kin
def dropout(input: Any, p: float, train: bool) -> Any:
    """``input`` with each element dropped with probability ``p``, the rest scaled up (source: ``torch.dropout``)."""
    return _run("dropout", input, p, train, False, False, False)


def dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place `dropout`."""
    return _run("dropout_", input, p, train, True, False, False)


def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """`dropout` of whole channels (source: ``torch.feature_dropout``)."""
    return _run("feature_dropout", input, p, train, False, True, False)


def feature_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place `feature_dropout`."""
    return _run("feature_dropout_", input, p, train, True, True, False)


def alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """Dropout to selu's lowest value that keeps mean and variance (source: ``torch.alpha_dropout``)."""
    return _run("alpha_dropout", input, p, train, False, False, True)


def alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place `alpha_dropout`."""
    return _run("alpha_dropout_", input, p, train, True, False, True)


def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """`alpha_dropout` of whole channels (source: ``torch.feature_alpha_dropout``)."""
    return _run("feature_alpha_dropout", input, p, train, False, True, True)


def feature_alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place `feature_alpha_dropout`."""
    return _run("feature_alpha_dropout_", input, p, train, True, True, True)


# ---------------------------------------------------------------- torch.nn.functional's
def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise noted(ValueError(f"dropout probability has to be between 0 and 1, but got {p}"))


def functional_dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """``input`` with each element dropped with probability ``p`` in training.

    Source: ``torch.nn.functional.dropout``.
    """
    _check(p)
    return _run("dropout_" if inplace else "dropout", input, p, training, inplace, False, False)


def functional_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """`alpha_dropout` in training (source: ``torch.nn.functional.alpha_dropout``)."""
    _check(p)
    return _run("alpha_dropout_" if inplace else "alpha_dropout", input, p, training, inplace, False, True)


def functional_feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """`feature_alpha_dropout` in training (source: ``torch.nn.functional.feature_alpha_dropout``)."""
    _check(p)
    name = "feature_alpha_dropout_" if inplace else "feature_alpha_dropout"
    return _run(name, input, p, training, inplace, True, True)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels of (N, C, L) or (C, L) (source: ``torch.nn.functional.dropout1d``)."""
    _check(p)
    must_have("dim", input)
    ndim = input.array.ndim
    if ndim not in (2, 3):
        raise noted(
            RuntimeError(
                f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to provide "
                "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
                "dimension (i.e. 2D or 3D inputs)."
            )
        )
    return _channels(input, p, training, inplace, ndim == 3)


def _channels(input: Any, p: float, training: bool, inplace: bool, batched: bool) -> Any:
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    found = _run("feature_dropout", input, p, training, inplace, True, False)
    if not batched:
        found = found.squeeze_(0) if inplace else found.squeeze(0)
    return found


def _warn_dims(name: str, ndim: int, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
        "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
        f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
        f"dimension, and an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=3,
    )


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels of (N, C, H, W) or (N, C, L) (source: ``torch.nn.functional.dropout2d``)."""
    _check(p)
    must_have("dim", input)
    ndim = input.array.ndim
    if ndim not in (3, 4):
        _warn_dims("dropout2d", ndim, 2)
    if ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _channels(input, p, training, inplace, True)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W) (source: ``torch.nn.functional.dropout3d``)."""
    _check(p)
    must_have("dim", input)
    ndim = input.array.ndim
    if ndim not in (4, 5):
        _warn_dims("dropout3d", ndim, 3)
    return _channels(input, p, training, inplace, ndim == 5)


# ---------------------------------------------------------------- with the mask as a second result
NATIVE_DROPOUT_BACKWARD = elementwise(
    "native_dropout_backward",
    lambda grad_output, mask, scale: grad_output * (mask * grad_output.dtype.type(scale)),
    tensors="grad_output mask",
    promote="float",
    node="NativeDropoutBackwardBackward0",
    grad_output=lambda grad, mask, scale: NATIVE_DROPOUT_BACKWARD.apply((grad, mask, scale)),
)
NATIVE_DROPOUT = row(
    "native_dropout",
    lambda input, kept, p, train: (input * (kept * input.dtype.type(_scale(p, train))), kept),
    tensors="input kept",
    outputs=2,
    input=lambda grad, kept, p, train: NATIVE_DROPOUT_BACKWARD.apply((grad, kept, _scale(p, train))),
)


def _scale(p: float, train: bool) -> float:
    """What kept elements are multiplied by."""
    return 1.0 if not train else 0.0 if p == 1 else 1 / (1 - p)


def native_dropout(input: Any, p: float, train: bool | None) -> Any:
    """`dropout` with the mask of what was kept (source: ``torch.native_dropout``).

    train   False: keep everything; None stands for True
    """
    if not isinstance(input, TensorBase):
        raise noted(argument_error("native_dropout", 0, input))
    array, train = input.array, train is None or train
    if train and input.dtype.category < FLOAT:
        raise noted(
            RuntimeError(f"result type Float can't be cast to the desired output type {SCALAR_TYPE[input.dtype]}")
        )
    if train and not 0 <= p <= 1:
        raise noted(RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={1 - p:g}"))
    if not train:
        kept: Any = np.ones(array.shape, bool)
    elif p == 1:
        kept = np.zeros(array.shape, bool)
    else:
        kept = bernoulli(default_generator.bits, array.shape, 1.0 - p).astype(bool)
    return NATIVE_DROPOUT.apply((input, wrap(kept, boolean, shape_of(input)), p, train))


# ---------------------------------------------------------------- rrelu
def _rrelu_backward(grad_output: Any, self: Any, noise: Any, lower: float, upper: float, training: bool) -> Any:
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return kernels.leaky_relu_backward(grad_output, self, (lower + upper) / 2)


RRELU_BACKWARD = elementwise(
    "rrelu_with_noise_backward",
    _rrelu_backward,
    tensors="grad_output self noise",
    grad_output=lambda grad, self, noise, lower, upper, training: RRELU_BACKWARD.apply(
        (grad, self, noise, lower, upper, training)
    ),
    self=lambda grad: zeros_like(grad),
)


def _rrelu(self: Any, noise: Any, lower: float, upper: float, training: bool) -> Any:
    return self * noise if training else kernels.leaky_relu(self, (lower + upper) / 2)


RRELU = elementwise(
    "rrelu_with_noise",
    _rrelu,
    tensors="self noise",
    self=lambda grad, self, noise, lower, upper, training: RRELU_BACKWARD.apply(
        (grad, self, noise, lower, upper, training)
    ),
)
RRELU_ = elementwise(
    "rrelu_with_noise",
    _rrelu,
    tensors="self noise",
    node="RreluWithNoiseBackward1",
    key="rrelu_with_noise.inplace",
    self=lambda grad, result, noise, lower, upper, training: RRELU_BACKWARD.apply(
        (grad, result, noise, lower, upper, training)
    ),
)


def _slopes(name: str, input: Any, lower: float, upper: float, training: bool, generator: Any) -> tuple[Any, ...]:
    """The arguments of rrelu's row: a random slope for each element that is not positive, 1 for the others."""
    if not isinstance(input, TensorBase):
        raise noted(argument_error(name, 0, input))
    if lower > upper:
        raise noted(RuntimeError("Lower bound should be less than or equal to the upper bound"))
    array = input.array
    if input.dtype.category != FLOAT or (training and input.dtype is float16):
        raise noted(refuse("rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu", array.dtype))
    if training and hasattr(array, "alike"):  # a batch: each sample may want slopes of its own
        bits = (generator or default_generator).bits
        drawn = interposed(
            lambda size, kind: unit(bits, size, kind) * (upper - lower) + lower, array.shape, input.dtype, False, input
        )
        return input, drawn.masked_fill(detach(input) > 0, 1), float(lower), float(upper), training
    noise = np.ones(array.shape, array.dtype)
    if training:
        places = array <= 0
        drawn = unit((generator or default_generator).bits, (int(np.count_nonzero(places)),))
        noise[places] = drawn * (upper - lower) + lower
    return input, wrap(noise, input.dtype, shape_of(input)), float(lower), float(upper), training


def rrelu(
    input: Any,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
    *,
    generator: Any = None,
) -> Any:
    """`leaky_relu` with a random slope for each element in training (source: ``torch.nn.functional.rrelu``)."""
    if inplace:
        return rrelu_(input, lower, upper, training, generator=generator)
    return RRELU.apply(_slopes("rrelu", input, lower, upper, training, generator))


def rrelu_(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, *, generator: Any = None
) -> Any:
    """In-place `rrelu`."""
    return RRELU_.inplace(*_slopes("rrelu_", input, lower, upper, training, generator))


FUNCTIONS = [
    "dropout",
    "dropout_",
    "feature_dropout",
    "feature_dropout_",
    "alpha_dropout",
    "alpha_dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "native_dropout",
    "rrelu",
    "rrelu_",
]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {
    "dropout": functional_dropout,
    "alpha_dropout": functional_alpha_dropout,
    "feature_alpha_dropout": functional_feature_alpha_dropout,
    "dropout1d": dropout1d,
    "dropout2d": dropout2d,
    "dropout3d": dropout3d,
    "rrelu": rrelu,
    "rrelu_": rrelu_,
}
