"""Connectionist temporal classification (Graves et al. 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape import ops
from livetape._tape.tensor import from_array
from livetape.autograd.function import Function
from livetape.nn._reduction import get_enum
from livetape.ops.autocasting import single_in_autocast
from livetape.tensor import Tensor


def _log_add(*terms: Any) -> Any:
    """The logarithm of a sum of exponentials; minus infinity where all terms are."""
    largest = np.maximum.reduce(terms)
    safe = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.log(sum(np.exp(term - safe) for term in terms)) + safe


def _shifted(values: Any, by: int) -> Any:
    """``values`` moved along the last axis, with minus infinity moving in."""
    out = np.full_like(values, -np.inf)
    if by > 0:
        out[:, by:] = values[:, :-by]
    else:
        out[:, :by] = values[:, -by:]
    return out


class CtcLoss(Function):
    """The loss of each sequence, by the forward-backward algorithm in logarithms.

    The gradient is that of the unnormalised scores, as torch has it: it is exact behind a log_softmax.
    """

    @staticmethod
    def forward(
        ctx: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: Any, zero_infinity: Any
    ) -> Any:
        lp = log_probs.array.astype(np.float64)
        steps, batch, _ = lp.shape
        lengths, counts = np.asarray(input_lengths), np.asarray(target_lengths)
        width = 2 * (max(target_lengths) if batch else 0) + 1
        labels = np.full((batch, width), blank)  # blanks around and between the labels
        for n, target in enumerate(targets):
            labels[n, 1 : 2 * len(target) : 2] = target
        place = np.arange(width)
        inside = place[None] < 2 * counts[:, None] + 1
        # A label may follow the last but one position, unless that would skip a blank between equal labels.
        skips = np.zeros((batch, width), bool)
        skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
        scores = np.take_along_axis(lp, np.broadcast_to(labels, (steps, batch, width)), 2)
        scores = np.where(inside, scores, -np.inf)
        rows = np.arange(batch)

        alpha = np.full((steps, batch, width), -np.inf)
        if steps:
            alpha[0, :, :2] = scores[0, :, :2]
        for t in range(1, steps):
            last = alpha[t - 1]
            skipped = np.where(skips, _shifted(last, 2), -np.inf)
            alpha[t] = _log_add(last, _shifted(last, 1), skipped) + scores[t]
        end = alpha[np.maximum(lengths - 1, 0), rows]
        last_blank = end[rows, 2 * counts]
        last_label = np.where(counts > 0, end[rows, np.maximum(2 * counts - 1, 0)], -np.inf)
        loss = -_log_add(last_blank, last_label)
        loss = np.where(lengths == 0, np.where(counts == 0, 0.0, np.inf), loss)
        ctx.save_for_backward(log_probs)
        ctx.kept = (scores, labels, skips, lengths, counts, alpha, loss, zero_infinity)
        return from_array(loss.astype(log_probs.array.dtype))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (log_probs,) = ctx.saved_tensors
        scores, labels, skips, lengths, counts, alpha, loss, zero_infinity = ctx.kept
        steps, batch, width = scores.shape
        beta = np.full((steps, batch, width), -np.inf)
        ahead = np.zeros_like(skips)  # whether the position two further may be reached
        ahead[:, :-2] = skips[:, 2:]
        rows = np.arange(batch)
        for t in range(steps - 1, -1, -1):
            if t + 1 < steps:
                after = beta[t + 1]
                skipped = np.where(ahead, _shifted(after, -2), -np.inf)
                beta[t] = _log_add(after, _shifted(after, -1), skipped) + scores[t]
            ends = lengths - 1 == t
            beta[t, ends] = -np.inf
            beta[t, rows[ends], 2 * counts[ends]] = scores[t, rows[ends], 2 * counts[ends]]
            some = ends & (counts > 0)
            beta[t, rows[some], 2 * counts[some] - 1] = scores[t, rows[some], 2 * counts[some] - 1]
        with np.errstate(invalid="ignore"):
            weight = np.exp(alpha + beta - scores + loss[:, None])
        weight = np.where(np.isneginf(scores) | np.isnan(weight), 0.0, weight)
        posterior = np.zeros(log_probs.array.shape)
        for place in range(width):
            where: Any = (slice(None), rows, labels[:, place])
            np.add.at(posterior, where, weight[:, :, place])
        posterior[:, np.isinf(loss)] = np.nan  # of labels that no path leads to
        slope = np.exp(log_probs.array) - posterior
        slope[np.arange(steps)[:, None] >= lengths[None]] = 0
        grad = from_array(slope.astype(log_probs.array.dtype)) * grads[0][None, :, None]
        if zero_infinity:
            grad = grad.masked_fill(from_array(np.isinf(loss)[None, :, None]), 0)
        return (grad, None, None, None, None, None)


CtcLoss._backward_cls.__name__ = "CtcLossBackward0"  # type: ignore[attr-defined]


@single_in_autocast
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative log-probability of label sequences under (T, N, C) log-probabilities, summed over alignments.

    targets   (N, S), padded, or all sequences joined; unbatched inputs have no N
    reduction "mean" divides each loss by its target's length first
    """
    how = get_enum(reduction)
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
        if targets.dim() == 1:
            targets = targets.unsqueeze(0)
    steps, batch, classes = log_probs.shape
    inputs, counts = (
        [int(n) for n in (x.reshape(-1).tolist() if isinstance(x, Tensor) else [x] if isinstance(x, int) else x)]
        for x in (input_lengths, target_lengths)
    )
    while_checking = "(while checking arguments for ctc_loss_allocate_outputs)"
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for found, name in ((inputs, "input_lengths"), (counts, "target_lengths")):
        if len(found) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    for length in inputs:
        if length > steps:
            raise RuntimeError(
                f"Expected input_lengths to have value at most {steps}, but got value {length} " + while_checking
            )
    if targets.dim() == 1:
        if targets.size(0) != sum(counts):
            raise RuntimeError(
                f"Expected tensor to have size {sum(counts)} at dimension 0, but got size "
                f"{targets.size(0)} for argument #2 'targets' {while_checking}"
            )
        rows = [part.tolist() for part in targets.split(counts)]
    else:
        if targets.size(0) != batch:
            raise RuntimeError(
                f"Expected tensor to have size {batch} at dimension 0, but got size {targets.size(0)} "
                f"for argument #2 'targets' {while_checking}"
            )
        if counts and targets.size(1) < max(counts):
            raise RuntimeError(
                f"Expected tensor to have size at least {max(counts)} at dimension 1, but got size "
                f"{targets.size(1)} for argument #2 'targets' {while_checking}"
            )
        rows = [row[:count] for row, count in zip(targets.tolist(), counts, strict=True)]
    loss = CtcLoss.apply(log_probs, rows, inputs, counts, blank, zero_infinity)
    if zero_infinity:
        loss = ops.where(loss.isinf(), ops.zeros((), dtype=loss.dtype), loss)
    if how == 1:
        return (loss / ops.tensor([max(c, 1) for c in counts], dtype=loss.dtype)).mean()
    if how == 2:
        return loss.sum()
    return loss.squeeze(0) if single else loss
