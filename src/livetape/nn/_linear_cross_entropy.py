"""The cross-entropy of a linear layer's output, whole or in pieces of the batch that need less memory at a time."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

from livetape import dtypes, ops
from livetape.autograd.function import Function, once_differentiable
from livetape.autograd.grad_mode import is_grad_enabled

_POLICIES = ("auto", "accurate", "balanced", "compact")
_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_HALVES = (dtypes.float16, dtypes.bfloat16)


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How :func:`linear_cross_entropy` cuts the batch (source: ``torch.nn.LinearCrossEntropyOptions``).

    The logits of ``batch_chunk_size`` rows stand in memory at a time; ``chunking_method`` chooses that number by shape:
    "aspect_ratio" makes the logits of a piece as large as the input, "aspect_ratio:N" divides that by N. A second
    backward needs ``allow_retain_graph``. Sums are kept in ``acc_dtype``; ``acc_policy`` is only checked.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto") and _factor(self.chunking_method) is None:
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype is not None and self.acc_dtype not in _FLOATS:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, "
                f"got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )

    def _rows(self, batch: int, features: int, classes: int, dtype: Any) -> int:
        """The rows of a piece."""
        method = self.chunking_method
        if method == "auto":
            if self.batch_chunk_size is not None:
                method = None
            else:
                method = "aspect_ratio" if dtype in _HALVES else "aspect_ratio:2"
        rows = batch if self.batch_chunk_size is None else min(self.batch_chunk_size, batch)
        if method is not None:
            target = -(-batch // -(-classes // features))
            rows = min((1 << (target - 1).bit_length()) // (_factor(method) or 1), batch)
            if self.batch_chunk_size is not None and self.batch_chunk_size != rows:
                raise ValueError(
                    f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method ('{method}') give different "
                    f"chunk sizes ({self.batch_chunk_size} vs {rows}); pass only one."
                )
        return max(1, rows)

    def _sums(self, dtype: Any) -> Any:
        """The dtype in which sums are kept."""
        if self.acc_dtype is not None:
            return self.acc_dtype
        return dtypes.float32 if self.acc_policy == "auto" and dtype in _HALVES else dtype


def _factor(method: str | None) -> int | None:
    """N of "aspect_ratio:N"; None for another text."""
    name, colon, number = (method or "").partition(":")
    if name != "aspect_ratio" or (colon and not (number.isdigit() and int(number) > 0)):
        return None
    return int(number) if colon else 1


def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Any:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    ``input`` is (in) or (N, in), ``linear_weight`` (C, in) or (C, d1, ..., in), ``target`` class numbers (N, d1, ...) or
    probabilities (N, C, d1, ...). With ``options`` the batch is computed in pieces, whose logits never stand in memory
    together; such a loss can be differentiated once. Source: ``torch.nn.functional.linear_cross_entropy``.

    >>> import livetape as torch
    >>> torch.nn.functional.linear_cross_entropy(torch.ones(2, 3), torch.zeros(4, 3), torch.tensor([0, 1]))
    tensor(1.3863)
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    features = input.shape[-1]
    if features != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {features} and {linear_weight.shape[-1]}, respectively"
        )
    classes, *more = linear_weight.shape[:-1]
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *more):
        raise RuntimeError(f"expected linear_bias shape {(classes, *more)}, got {tuple(linear_bias.shape)}")
    if more and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    logits_shape = (*input.shape[:-1], classes, *more)
    if tuple(target.shape) == logits_shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if (
            not more
            and reduction in ("mean", "sum", "none")
            and label_smoothing == 0.0
            and target.dtype is dtypes.int64
        ):
            return _in_pieces(input, linear_weight, target, linear_bias, weight, reduction, ignored, options)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
            "label_smoothing == 0, target.dtype == int64, out_features == (). Got "
            f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
            f"out_features={tuple(more)}, tracing=False, "
            f"linear_bias.shape={None if linear_bias is None else tuple(linear_bias.shape)}.",
            stacklevel=2,
        )
    if more:
        linear_weight = linear_weight.reshape((math.prod(more, start=classes), features))
        if linear_bias is not None:
            linear_bias = linear_bias.reshape(math.prod(more, start=classes))
    logits = ops.linear(input, linear_weight, linear_bias)
    if more:
        logits = logits.reshape(logits_shape)
    return ops.cross_entropy(
        logits, target, weight=weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _in_pieces(
    input: Any, weight: Any, target: Any, bias: Any, class_weight: Any, reduction: str, ignored: int, options: Any
) -> Any:
    batched = input.dim() == 2
    if not batched:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    rows = options._rows(input.shape[0], input.shape[1], weight.shape[0], input.dtype)
    pieces = _Pieces(class_weight, ignored, rows, options._sums(input.dtype))
    if reduction == "none":
        losses = _EachLoss.apply(input, weight, bias, target, pieces)
        return losses if batched else losses.squeeze(0)
    return _TotalLoss.apply(
        input, weight, bias, target, pieces, reduction, options.allow_retain_graph, is_grad_enabled()
    )


@dataclasses.dataclass(frozen=True)
class _Pieces:
    """What the losses of a piece depend on, besides the tensors that may need gradients."""

    class_weight: Any
    ignored: int
    rows: int
    sums: Any  # a dtype

    def losses(self, input: Any, weight: Any, bias: Any, target: Any) -> Any:
        """The loss of each row of a piece."""
        logits = ops.linear(input, weight, bias).to(self.sums)
        return ops.cross_entropy(logits, target, weight=self._weights(), ignore_index=self.ignored, reduction="none")

    def _weights(self) -> Any:
        return None if self.class_weight is None else self.class_weight.to(self.sums)

    def parts(self, count: int) -> list[slice]:
        """The rows of each piece."""
        return [slice(start, start + self.rows) for start in range(0, count, self.rows)]

    def divisor(self, target: Any) -> Any:
        """What the mean divides by: the weights of the rows that count."""
        counted = target != self.ignored
        if self.class_weight is None:
            return counted.sum().to(self.sums)
        return (self._weights()[ops.where(counted, target, 0)] * counted).sum()

    def gradients(
        self, input: Any, weight: Any, bias: Any, target: Any, factors: Any, wanted: tuple[bool, bool, bool]
    ) -> list[Any]:
        """The sums over the pieces of the gradients of ``factors * losses``; None for what is not wanted."""
        found = [
            ops.zeros(tensor.shape, dtype=self.sums) if want else None
            for tensor, want in zip((input, weight, bias), wanted)
        ]
        for part in self.parts(input.shape[0]):
            logits = ops.linear(input[part], weight, bias).to(self.sums)
            classes = target[part]
            factor = factors[part] * (classes != self.ignored)
            classes = ops.where(classes != self.ignored, classes, 0)
            if self.class_weight is not None:
                factor = factor * self._weights()[classes]
            slope = ops.softmax(logits, 1)
            slope[ops.arange(len(classes)), classes] -= 1
            slope *= factor.unsqueeze(1)
            if found[0] is not None:
                found[0][part] = slope @ weight.to(self.sums)
            if found[1] is not None:
                found[1] += slope.t() @ input[part].to(self.sums)
            if found[2] is not None:
                found[2] += slope.sum(0)
        return [
            None if value is None else value.to(tensor.dtype) for value, tensor in zip(found, (input, weight, bias))
        ]


class _EachLoss(Function):
    """The loss of every row; the backward computes the logits of each piece again."""

    @staticmethod
    def forward(ctx: Any, input: Any, weight: Any, bias: Any, target: Any, pieces: _Pieces) -> Any:
        ctx.save_for_backward(input, weight, bias, target)
        ctx.pieces = pieces
        parts = [pieces.losses(input[part], weight, bias, target[part]) for part in pieces.parts(len(input))]
        return ops.cat(parts).to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        input, weight, bias, target = ctx.saved_tensors
        factors = grad.to(ctx.pieces.sums)
        found = ctx.pieces.gradients(input, weight, bias, target, factors, ctx.needs_input_grad[:3])
        return (*found, None, None)


class _TotalLoss(Function):
    """The sum or mean; the forward computes the gradients along with the loss, and the backward scales them.

    They count as constants: a second derivative sees the scaling alone, as in torch.
    """

    @staticmethod
    def forward(
        ctx: Any,
        input: Any,
        weight: Any,
        bias: Any,
        target: Any,
        pieces: _Pieces,
        reduction: str,
        keep: bool,
        recording: bool,
    ) -> Any:
        parts = [pieces.losses(input[part], weight, bias, target[part]).sum() for part in pieces.parts(len(input))]
        total = ops.stack(parts).sum() if parts else ops.zeros((), dtype=pieces.sums)
        divisor = pieces.divisor(target) if reduction == "mean" else ops.ones((), dtype=pieces.sums)
        wanted = ctx.needs_input_grad[:3] if recording else (False, False, False)
        if any(wanted):
            factors = (1 / divisor).expand(len(input))
            ctx.gradients = pieces.gradients(input, weight, bias, target, factors, wanted)
        ctx.keep = keep
        return (total / divisor).to(input.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        if ctx.gradients is None:
            raise RuntimeError(
                "linear_cross_entropy chunked backward called twice; retain_graph=True / double backward are not "
                "supported."
            )
        found = [None if value is None else value * grad for value in ctx.gradients]
        if not ctx.keep:
            ctx.gradients = None
        return (*found, None, None, None, None, None)
