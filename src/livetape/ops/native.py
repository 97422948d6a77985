"""Functions that torch's public ones are made of, by the names it has for them: some are public too.

`ATEN` holds those that are reached as ``torch.ops.aten.<name>`` only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import from_array, shape_of
from livetape.kernels import softmax as kernels
from livetape.ops.basics import detach
from livetape.ops.batch_norm import BATCH_NORM, batch_norm_row
from livetape.ops.dims import wrap_dim
from livetape.ops.dropout import NATIVE_DROPOUT_BACKWARD
from livetape.ops.indexing import INDEX, INDEX_PUT
from livetape.ops.interpolate import resample
from livetape.ops.joining import cat
from livetape.ops.normalization import GROUP_NORM
from livetape.ops.padding import constant_pad_nd
from livetape.ops.pooling import AT_PLACES, PLACES_BACKWARD
from livetape.ops.shape import reshape
from livetape.ops.softmax import LOG_SOFTMAX_BACKWARD, SOFTMAX_BACKWARD
from livetape.ops.table import row

# ---------------------------------------------------------------- normalization
LEGIT = batch_norm_row("_native_batch_norm_legit", "NativeBatchNormLegitBackward0")
NO_STATS = batch_norm_row(
    "_native_batch_norm_legit", "NativeBatchNormLegitBackward1", "_native_batch_norm_legit.no_stats"
)
NO_TRAINING = batch_norm_row("_native_batch_norm_legit_no_training", "NativeBatchNormLegitNoTrainingBackward0")
WITH_UPDATE = batch_norm_row("_batch_norm_with_update", "BatchNormWithUpdateBackward0")


def _statistics(found: Any) -> Any:
    """The result, and the statistics without a history."""
    return found[0], *[detach(f) for f in found[1:]]


def native_batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """`batch_norm` with the means and reciprocal deviations (source: ``torch.native_batch_norm``)."""
    return _statistics(BATCH_NORM.apply((input, weight, bias, running_mean, running_var, training, momentum, eps)))


def _native_batch_norm_legit(input: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    """`native_batch_norm`; without running statistics among its arguments, those of the batch."""
    if len(rest) == 3:
        return _statistics(NO_STATS.apply((input, weight, bias, None, None, *rest)))
    return _statistics(LEGIT.apply((input, weight, bias, *rest)))


def _native_batch_norm_legit_no_training(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> Any:
    """`native_batch_norm` in evaluation."""
    return _statistics(NO_TRAINING.apply((input, weight, bias, running_mean, running_var, False, momentum, eps)))


def _batch_norm_with_update(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> Any:
    """`native_batch_norm` in training, with an empty tensor that other devices need."""
    found = WITH_UPDATE.apply((input, weight, bias, running_mean, running_var, True, momentum, eps))
    return *_statistics(found), from_array(np.empty(0, np.uint8))


def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    """`group_norm` with the means and reciprocal deviations (source: ``torch.native_group_norm``)."""
    return GROUP_NORM.apply((input, weight, bias, N, C, HxW, group, eps))


# ---------------------------------------------------------------- softmax
def _safe(self: Any, dim: int) -> Any:
    found = kernels.softmax(self, dim)
    nothing = (np.asarray(self, np.float32 if self.itemsize == 2 else self.dtype) == -math.inf).all(dim, keepdims=True)
    return np.where(nothing, np.zeros((), found.dtype), found) if nothing.any() else found


SAFE_SOFTMAX = row(
    "_safe_softmax",
    _safe,
    node="SafeSoftmaxBackward0",
    batch="dim",
    self=lambda grad, result, dim: SOFTMAX_BACKWARD.apply((grad, result, dim)),
)


def _safe_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """`softmax`, 0 where all elements are minus infinity."""
    if dtype is not None and dtype is not self.dtype:
        self = self.to(dtype)
    return SAFE_SOFTMAX.apply((self, wrap_dim(dim, self.array.ndim)))


def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of a softmax's input, in ``input_dtype``."""
    found = SOFTMAX_BACKWARD.apply((grad_output, output, wrap_dim(dim, output.array.ndim)))
    return found if found.dtype is input_dtype else found.to(input_dtype)


def _log_softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of a log_softmax's input, in ``input_dtype``."""
    found = LOG_SOFTMAX_BACKWARD.apply((grad_output, output, wrap_dim(dim, output.array.ndim)))
    return found if found.dtype is input_dtype else found.to(input_dtype)


# ---------------------------------------------------------------- indices
def _at(indices: Any, size: Any) -> Any:
    """Index tensors, brought into range: what lies outside is masked."""
    found = []
    for i, index in enumerate(indices):
        found.append(None if index is None else index.clamp(-size[i], size[i] - 1))
    return tuple(found)


MASKED_INDEX = row(
    "_unsafe_masked_index",
    lambda self, mask, indices, fill: np.where(mask, INDEX.kernel(self, indices), np.asarray(fill, self.dtype)),
    tensors="self mask indices",
    self=lambda grad, self_size, mask, indices: _unsafe_masked_index_put_accumulate(
        grad.new_zeros(self_size), mask, indices, grad
    ),
)
MASKED_PUT = row(
    "_unsafe_masked_index_put_accumulate",
    lambda self, mask, indices, values: INDEX_PUT.kernel(
        self, indices, np.where(mask, values, np.zeros((), self.dtype)), True
    ),
    tensors="self mask indices values",
    self=lambda grad: grad,
    values=lambda grad, mask, indices: _unsafe_masked_index(grad, mask, indices, 0),
)


def _unsafe_masked_index(self: Any, mask: Any, indices: Any, fill: Any) -> Any:
    """``self[indices]`` where the mask is true, else ``fill``; only there are the indices looked at."""
    return MASKED_INDEX.apply((self, mask, _at(indices, shape_of(self)), fill))


def _unsafe_masked_index_put_accumulate(self: Any, mask: Any, indices: Any, values: Any) -> Any:
    """A copy to which the values where the mask is true are added at ``indices``."""
    return MASKED_PUT.apply((self, mask, _at(indices, shape_of(self)), values))


def _slice(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """``self[start:end:step]`` along ``dim``."""
    key: list[Any] = [slice(None)] * wrap_dim(dim, self.array.ndim)
    return self[(*key, slice(start, end, step))]


def _chunk_cat(tensors: Any, dim: int, num_chunks: int) -> Any:
    """The chunks of the tensors along ``dim``, padded to one size, flattened behind it and joined, [..., chunks, *]."""
    _check_chunk_cat(tensors, dim, num_chunks)
    rows = []
    for tensor in tensors:
        size = shape_of(tensor)
        axis = wrap_dim(dim, len(size))
        each = -(-size[axis] // num_chunks)
        padding = [0, 0] * (len(size) - axis - 1) + [0, each * num_chunks - size[axis]]
        whole = constant_pad_nd(tensor, padding) if padding[-1] else tensor
        rows.append(reshape(whole, *size[:axis], num_chunks, -1))
    return cat(rows, -1)


def _check_chunk_cat(tensors: Any, dim: int, num_chunks: int) -> None:
    ndims = {t.array.ndim for t in tensors}
    wrong = None
    if not tensors:
        wrong = "a non-empty input tensor list"
    elif not all(t.array.size for t in tensors):
        wrong = "non-empty tensor"
    elif num_chunks < 1:
        wrong = "positive num_chunks"
    elif dim < 0 and len(ndims) > 1:
        wrong = "non-negative dim when input tensors have different ndims"
    elif dim >= min(ndims):
        wrong = "dim < ndim for all input tensors"
    elif len({tuple(shape_of(t)[:dim]) for t in tensors}) > 1 and dim >= 0:
        wrong = "same sizes of 0,...,dim-1 dimensions for all tensors"
    if wrong is not None:
        raise noted(RuntimeError(f"_chunk_cat expects {wrong}"))


def _upsample_bilinear2d_aa(
    self: Any, output_size: Any, align_corners: bool, scales_h: Any = None, scales_w: Any = None, **other: Any
) -> Any:
    """`nn.functional.interpolate` with an antialiasing filter; ``scale_factors`` stand for both scales."""
    factors = other.get("scale_factors", (scales_h, scales_w))
    if output_size is None:
        output_size = [int(n * f) for n, f in zip(shape_of(self)[2:], factors)]
    return resample(self, list(output_size), "bilinear", align_corners, factors, True)


MAX_POOL_AT = row(
    "max_pool2d_with_indices_backward",
    lambda grad_output, self, indices: PLACES_BACKWARD.kernel(grad_output, indices, tuple(self.shape[-2:])),
    tensors="grad_output self indices",
    node="MaxPool2DWithIndicesBackwardBackward0",
    key="max_pool2d_with_indices_backward.indices",
    grad_output=lambda grad, indices: AT_PLACES.apply((grad, indices, 2)),
    self=lambda grad, self_size: grad.new_zeros(self_size),
)


ATEN: dict[str, Callable[..., Any]] = {
    "_batch_norm_with_update": _batch_norm_with_update,
    "_upsample_bilinear2d_aa": _upsample_bilinear2d_aa,
    "max_pool2d_with_indices_backward": lambda grad_output, self, *_: MAX_POOL_AT.apply((grad_output, self, _[-1])),
    "native_dropout_backward": lambda grad_output, mask, scale: NATIVE_DROPOUT_BACKWARD.apply(
        (grad_output, mask, scale)
    ),
    "slice": _slice,
}
FUNCTIONS = [
    "_chunk_cat",
    "_log_softmax_backward_data",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training",
    "_safe_softmax",
    "_softmax_backward_data",
    "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
    "native_batch_norm",
    "native_group_norm",
]
METHODS: dict[str, Any] = {}
