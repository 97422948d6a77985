"""Lookups in tables: embedding, embedding_bag and one_hot."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.modes import local, set_grad
from livetape._tape.tensor import TensorBase, counter_of, from_array, shape_of, wrap
from livetape._tape.views import check_inplace
from livetape.dtypes import SCALAR_TYPE, int32, int64
from livetape.kernels import embedding as kernels
from livetape.ops.refuse import must_be_tensors, must_have
from livetape.ops.table import row

# ---------------------------------------------------------------- embedding
EMBEDDING_BACKWARD = row(
    "embedding_dense_backward",
    lambda grad_output, indices, num_weights, padding_idx, scale_grad_by_freq: kernels.embedding_backward(
        grad_output, indices, num_weights, padding_idx, scale_grad_by_freq
    ),
    tensors="grad_output indices",
    linear=True,
    batch="embedding_backward",
    grad_output=lambda grad, indices, num_weights, padding_idx, scale_grad_by_freq: _looked_up(
        grad, indices, num_weights, padding_idx, scale_grad_by_freq
    ),
)


def _looked_up(grad: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    """The transpose of embedding_backward: rows of ``grad``, 0 for padding."""
    found = EMBEDDING.apply((grad, indices, padding_idx, scale_grad_by_freq))
    if scale_grad_by_freq:
        counts = np.bincount(indices.array.reshape(-1), minlength=num_weights)[indices.array]
        found = found / from_array(counts.astype(grad.array.dtype)[..., None])
    if padding_idx >= 0:
        found = found * from_array((indices.array != padding_idx).astype(grad.array.dtype)[..., None])
    return found


EMBEDDING = row(
    "embedding",
    lambda weight, indices, padding_idx, scale_grad_by_freq: kernels.lookup(weight, indices),
    tensors="weight indices",
    linear=True,
    batch="embedding",
    weight=lambda grad, weight_size, indices, padding_idx, scale_grad_by_freq: EMBEDDING_BACKWARD.apply(
        (grad, indices, weight_size[0], padding_idx, scale_grad_by_freq)
    ),
    selects=True,
)


def _check_index_type(indices: Any, name: str) -> None:
    if indices.dtype is not int64 and indices.dtype is not int32:
        raise noted(
            RuntimeError(
                "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
                f"Int; but got torch.{SCALAR_TYPE[indices.dtype]}Tensor instead (while checking arguments "
                f"for {name})"
            )
        )


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """The rows of ``weight`` at ``indices``: (n, D) and (...) give (..., D) (source: ``torch.embedding``)."""
    for position, (name, value) in enumerate((("weight", weight), ("indices", indices)), 1):
        if not isinstance(value, TensorBase):
            raise noted(
                TypeError(
                    f"embedding(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
                )
            )
    if weight.array.ndim != 2:
        raise noted(RuntimeError("'weight' must be 2-D"))
    if indices.dtype is not int64:
        _check_index_type(indices, "embedding")
    if not kernels.check_indices(indices.array, weight.array.shape[0]):
        raise noted(IndexError("index out of range in self"))
    return EMBEDDING.apply((weight, indices, padding_idx, scale_grad_by_freq))


def _padding(padding_idx: int | None, count: int, where: str) -> int:
    """``padding_idx`` as a number from 0, or -1 for none."""
    if padding_idx is None:
        return -1
    if padding_idx > 0:
        assert padding_idx < count, where
    elif padding_idx < 0:
        assert padding_idx >= -count, where
        padding_idx += count
    return padding_idx


def _renormalize(weight: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    before = local.grad
    set_grad(False)
    try:
        check_inplace(weight, False)
        kernels.renormalize(weight.array, indices.array, max_norm, norm_type)
        counter_of(weight).bump()
    finally:
        set_grad(before)


def embedding_renorm_(self: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Scale the rows at ``indices`` down to ``max_norm`` in place (source: ``torch.embedding_renorm_``)."""
    _renormalize(self, indices, max_norm, norm_type)
    return self


def functional_embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of ``weight`` at the indices ``input`` (source: ``torch.nn.functional.embedding``).

    >>> import livetape as torch
    >>> torch.nn.functional.embedding(torch.tensor([1, 0]), torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if padding_idx is not None:
        padding_idx = _padding(padding_idx, weight.array.shape[0], "Padding_idx must be within num_embeddings")
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


# ---------------------------------------------------------------- bags
def _bag_weight(
    grad: Any,
    weight_size: Any,
    indices: Any,
    offsets: Any,
    mode: int,
    per_sample_weights: Any,
    padding_idx: int,
    scale_grad_by_freq: bool,
    result1: Any,
) -> Any:
    count = weight_size[0]
    if mode == kernels.MAX:
        if padding_idx < 0 and offsets.array.size and indices.array.size == 0:
            return grad.new_zeros(weight_size)
        bags = kernels.bag_of(offsets.array, indices.array.size)
        kept = indices.array != padding_idx if padding_idx >= 0 else None
        filled = (kernels.bag_counts(bags, kept, offsets.array.size) > 0).astype(grad.array.dtype)[:, None]
        return grad.new_zeros(weight_size).scatter_add(0, result1, grad * from_array(filled))
    rows = _bag_rows(grad, indices, offsets, mode, padding_idx)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    return EMBEDDING_BACKWARD.apply((rows, indices, count, padding_idx, scale_grad_by_freq))


def _bag_rows(grad: Any, indices: Any, offsets: Any, mode: int, padding_idx: int) -> Any:
    """The gradient of each looked-up row."""
    bags = kernels.bag_of(offsets.array, indices.array.size)
    if mode == kernels.MEAN:
        kept = indices.array != padding_idx if padding_idx >= 0 else None
        counts = np.maximum(kernels.bag_counts(bags, kept, offsets.array.size), 1)
        grad = grad / from_array(counts.astype(grad.array.dtype)[:, None])
    return grad.index_select(0, from_array(bags))


def _bag_samples(grad: Any, weight: Any, indices: Any, offsets: Any, mode: int, padding_idx: int) -> Any:
    found = (_bag_rows(grad, indices, offsets, mode, padding_idx) * weight.index_select(0, indices)).sum(1)
    if padding_idx >= 0:
        found = found * from_array((indices.array != padding_idx).astype(grad.array.dtype))
    return found


EMBEDDING_BAG = row(
    "embedding_bag",
    lambda weight, indices, offsets, mode, per_sample_weights, padding_idx, scale_grad_by_freq: kernels.embedding_bag(
        weight, indices, offsets, mode, per_sample_weights, padding_idx
    ),
    tensors="weight indices offsets per_sample_weights",
    outputs=2,
    weight=_bag_weight,
    per_sample_weights=_bag_samples,
)


def embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Sums (mode 0), means (1) or maxima (2) of bags of rows (source: ``torch.embedding_bag``).

    Returns the bags, each index's bag, the bags' sizes, and for maxima the rows they came from.
    """
    _check_index_type(indices, "embedding_bag")
    _check_index_type(offsets, "embedding_bag")
    places, starts = indices.array, offsets.array
    if starts.size and starts[0] != 0:
        raise noted(
            RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                f"position 0. However, got {int(starts[0])}\n[ torch.LongTensor{{}} ]"
            )
        )
    if starts.size and starts[-1] > places.size:
        raise noted(
            RuntimeError(
                f"offsets[-1] can not be greater than input's length {places.size} but got offsets[-1] of {int(starts[-1])}"
            )
        )
    if include_last_offset:
        starts = starts[:-1]
        offsets = from_array(starts)
    count = weight.array.shape[0]
    if not kernels.check_indices(places, count):
        at = int(np.flatnonzero((places < 0) | (places >= count))[0])
        raise noted(
            RuntimeError(
                f"Index {at} of input takes value {int(places[at])} which is not in the valid range [0, {count})"
            )
        )
    padding = -1 if padding_idx is None else padding_idx
    found, origin = EMBEDDING_BAG.apply(
        (weight, indices, offsets, mode, per_sample_weights, padding, scale_grad_by_freq)
    )
    bags = kernels.bag_of(starts, places.size)
    sizes = kernels.bag_counts(bags, places != padding if padding >= 0 else None, starts.size)
    of_index = bags if mode != kernels.SUM or per_sample_weights is not None else np.empty(0, np.int64)
    sizes = from_array(sizes.astype(np.int64))
    return found, from_array(of_index), sizes, origin if mode == kernels.MAX else sizes


def functional_embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """The sum, mean or maximum of bags of rows: ``input`` (B, n), or (n) with the bags' ``offsets``.

    Source: ``torch.nn.functional.embedding_bag``.
    """
    if weight.dtype is int64 and isinstance(input, TensorBase) and input.dtype.is_floating_point:
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, "
            "...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    must_have("dim", input)
    if per_sample_weights is not None and shape_of(input) != shape_of(per_sample_weights):
        raise noted(
            ValueError(
                f"embedding_bag: If per_sample_weights ({shape_of(per_sample_weights)}) is not None, then it "
                f"must have the same shape as the input ({shape_of(input)})"
            )
        )
    if input.array.ndim == 2:
        if offsets is not None:
            raise noted(
                ValueError(
                    "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                    f"fixed length sequences. However, found offsets of type {type(offsets)}"
                )
            )
        batch, length = input.array.shape
        kind = input.dtype
        offsets = wrap(np.arange(batch, dtype=kind.np) * kind.np.type(length), kind, None)
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.array.ndim == 1:
        if offsets is None:
            raise noted(ValueError("offsets has to be a 1D Tensor but got None"))
        if offsets.array.ndim != 1:
            raise noted(ValueError("offsets has to be a 1D Tensor"))
    else:
        raise noted(ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.array.ndim}"))
    numbers = {"sum": kernels.SUM, "mean": kernels.MEAN, "max": kernels.MAX}
    if mode not in numbers:
        raise noted(ValueError("mode has to be one of sum, mean or max"))
    if mode == "max" and scale_grad_by_freq:
        raise noted(ValueError("max mode does not support scaling the gradient by the frequency"))
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise noted(
            NotImplementedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                f"supported for mode='sum' (got mode='{mode}'). Please open a feature request on "
                "GitHub."
            )
        )
    padding = (
        None
        if padding_idx is None
        else _padding(padding_idx, weight.array.shape[0], "padding_idx must be within the number of embeddings")
    )
    return embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        numbers[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding,
    )[0]


# ---------------------------------------------------------------- one_hot
def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """0 and 1 in a new last dimension, 1 at each index (source: ``torch.nn.functional.one_hot``).

    >>> import livetape as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    must_be_tensors("one_hot", input=tensor)
    if isinstance(num_classes, bool) or not hasattr(num_classes, "__index__"):
        raise noted(
            TypeError(f"one_hot(): argument 'num_classes' (position 2) must be int, not {type(num_classes).__name__}")
        )
    if tensor.dtype is not int64:
        raise noted(RuntimeError("one_hot is only applicable to index tensor of type LongTensor."))
    indices = tensor.array
    if not indices.size:
        if num_classes <= 0:
            raise noted(RuntimeError("Can not infer total number of classes from empty tensor."))
        return wrap(np.zeros((*indices.shape, num_classes), np.int64), int64, None)
    if indices.min() < 0:
        raise noted(RuntimeError("Class values must be non-negative."))
    largest = int(indices.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif num_classes <= largest:
        raise noted(RuntimeError("Class values must be smaller than num_classes."))
    found = np.zeros((indices.size, num_classes), np.int64)
    found[np.arange(indices.size), indices.reshape(-1)] = 1
    return wrap(found.reshape(*indices.shape, num_classes), int64, None)


FUNCTIONS = ["embedding", "embedding_bag", "embedding_renorm_"]
METHODS: dict[str, Any] = {}
FUNCTIONAL = {"embedding": functional_embedding, "embedding_bag": functional_embedding_bag, "one_hot": one_hot}
