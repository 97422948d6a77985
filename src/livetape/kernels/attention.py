"""Scaled dot-product attention on plain arrays (N, heads, rows, width), forward and backward.

The C++ functions (``native/attention.cpp``) work in tiles that stay in cache; their NumPy twins hold all scores at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape.kernels.compiled import compiled

Array = Any


def _scores(query: Array, key: Array, mask: Array | None, causal: bool, scale: float) -> Array:
    scores = np.matmul(query, key.swapaxes(2, 3))
    scores *= scale
    if mask is not None and mask.dtype.kind == "b":
        scores[np.broadcast_to(~mask, scores.shape)] = -np.inf
    elif mask is not None:
        scores += mask
    if causal:
        rows, columns = scores.shape[2:]
        scores[..., np.arange(columns) > np.arange(rows)[:, None]] = -np.inf
    return scores


def _like(made: Array, array: Array) -> Array:
    """The same with heads inside of rows in memory if those of ``array`` lie so."""
    if array.shape[1] == 1 or array.shape[2] == 1 or array.strides[1] >= array.strides[2]:
        return np.ascontiguousarray(made)
    return np.ascontiguousarray(made.swapaxes(1, 2)).swapaxes(1, 2)


def _attention(
    query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float
) -> tuple[Array, Array]:
    """The result, and the logarithm of each query's sum of exponentials: 0 and -inf where it attends to nothing.

    mask    True: may attend; or numbers that are added to the scores
    causal  a query attends to keys up to its own number
    """
    kind = query.dtype
    if kind.itemsize == 2:
        wide = [a.astype(np.float32) for a in (query, key, value)]
        if mask is not None and mask.dtype.kind != "b":
            mask = mask.astype(np.float32)
        found, logs = attention(*wide, mask, causal, scale)
        return found.astype(kind), logs
    scores = _scores(query, key, mask, causal, scale)
    top = scores.max(axis=3, keepdims=True)
    top[top == -np.inf] = 0
    np.subtract(scores, top, out=scores)
    np.exp(scores, out=scores)
    total = scores.sum(axis=3, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = (top + np.log(total))[..., 0]
    found = np.matmul(scores, value)
    found /= np.where(total == 0, 1, total)
    return _like(found, query), logs


def _attention_backward(
    grad: Array,
    query: Array,
    key: Array,
    value: Array,
    result: Array,
    logs: Array,
    mask: Array | None,
    causal: bool,
    scale: float,
) -> tuple[Array, Array, Array]:
    """The gradients of query, key and value."""
    kind = query.dtype
    if kind.itemsize == 2:
        wide = [a.astype(np.float32) for a in (grad, query, key, value, result)]
        if mask is not None and mask.dtype.kind != "b":
            mask = mask.astype(np.float32)
        found = attention_backward(*wide, logs, mask, causal, scale)
        return found[0].astype(kind), found[1].astype(kind), found[2].astype(kind)
    logs = logs[..., None]
    scores = _scores(query, key, mask, causal, scale)
    weights = np.exp(scores - np.where(logs == -np.inf, 0, logs))
    dot = np.add.reduce(grad * result, axis=3, keepdims=True)
    by_scores = np.where(weights == 0, 0, weights * (np.matmul(grad, value.swapaxes(2, 3)) - dot) * kind.type(scale))
    return (
        _like(np.matmul(by_scores, key), query),
        _like(np.matmul(by_scores.swapaxes(2, 3), query), key),
        _like(np.matmul(weights.swapaxes(2, 3), grad), value),
    )


attention = compiled("attention", _attention)
attention_backward = compiled("attention_backward", _attention_backward)
