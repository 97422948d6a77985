"""Scaled dot-product attention in one row, where torch has one on the CPU; `nn._attention` composes the other cases."""

from __future__ import annotations

import math
from typing import Any

from livetape._tape.modes import is_transformed
from livetape._tape.tensor import shape_of
from livetape.dtypes import FLOAT, boolean
from livetape.kernels import attention as kernels
from livetape.ops.creation import ones
from livetape.ops.placing import masked_fill
from livetape.ops.products import matmul
from livetape.ops.softmax import softmax
from livetape.ops.table import row


def _factor(size: Any, scale: float | None) -> float:
    return 1 / math.sqrt(size[-1]) if scale is None else scale


def _weights(query: Any, key: Any, is_causal: bool, attn_mask: Any, scale: float) -> Any:
    """The weights of the values by operations."""
    scores = matmul(query, key.mT) * scale
    for mask in (attn_mask, ones(shape_of(scores)[-2:], dtype=boolean).tril() if is_causal else None):
        if mask is not None:
            scores = masked_fill(scores, mask.logical_not(), -math.inf) if mask.dtype is boolean else scores + mask
    weights = softmax(scores, -1)
    empty = (scores == -math.inf).all(-1, keepdim=True)  # nothing to attend to
    return masked_fill(weights, empty, 0.0) if empty.any() else weights


def _composed_gradients(
    grad: Any, query: Any, key: Any, value: Any, is_causal: bool, attn_mask: Any, scale: float
) -> tuple[Any, Any, Any]:
    """The gradients of query, key and value by operations."""
    weights = _weights(query, key, is_causal, attn_mask, scale)
    by_weights = matmul(grad, value.mT)
    by_scores = weights * (by_weights - (weights * by_weights).sum(-1, keepdim=True)) * scale
    return matmul(by_scores, key), matmul(by_scores.mT, query), matmul(weights.mT, grad)


def _gradients(
    grad: Any,
    query: Any,
    key: Any,
    value: Any,
    result0: Any,
    result1: Any,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Any,
    scale: Any,
) -> Any:
    if is_transformed():
        return _composed_gradients(grad, query, key, value, is_causal, attn_mask, _factor(shape_of(query), scale))
    return FLASH_BACKWARD.apply((grad, query, key, value, result0, result1, dropout_p, is_causal, attn_mask, scale))


def _second(
    grads: Any, grad_out: Any, query: Any, key: Any, value: Any, is_causal: bool, attn_mask: Any, scale: Any
) -> Any:
    """The gradients of grad_out, query, key and value, from those of the gradients of query, key and value."""
    factor = _factor(shape_of(query), scale)
    to_query, to_key, to_value = grads
    weights = _weights(query, key, is_causal, attn_mask, factor)
    by_weights = matmul(grad_out, value.mT)
    centred = by_weights - (weights * by_weights).sum(-1, keepdim=True)
    by_scores = weights * centred * factor
    by_grad = by_query = by_key = by_value = to_weights = None
    to_scores = None  # what comes back to ``weights * centred``
    if to_query is not None:
        to_scores = matmul(to_query, key.mT) * factor
        by_key = matmul(by_scores.mT, to_query)
    if to_key is not None:
        to_scores = _plus(to_scores, matmul(query, to_key.mT) * factor)
        by_query = matmul(by_scores, to_key)
    if to_value is not None:
        by_grad = matmul(weights, to_value)
        to_weights = matmul(grad_out, to_value.mT)
    if to_scores is not None:
        dot = (weights * to_scores).sum(-1, keepdim=True)
        to_products = weights * (to_scores - dot)
        by_grad = _plus(by_grad, matmul(to_products, value))
        by_value = matmul(to_products.mT, grad_out)
        to_weights = _plus(to_weights, to_scores * centred - by_weights * dot)
    back = weights * (to_weights - (weights * to_weights).sum(-1, keepdim=True)) * factor
    return by_grad, _plus(by_query, matmul(back, key)), _plus(by_key, matmul(back.mT, query)), by_value


def _plus(total: Any, more: Any) -> Any:
    return more if total is None else total + more


FLASH = row(
    "_scaled_dot_product_flash_attention_for_cpu",
    lambda query, key, value, dropout_p, is_causal, attn_mask, scale: kernels.attention(
        query, key, value, attn_mask, is_causal, _factor(query.shape, scale)
    ),
    tensors="query key value attn_mask",
    outputs=2,
)
FLASH.joint("query key value", _gradients)
FLASH_BACKWARD = row(
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    lambda grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale: (
        kernels.attention_backward(
            grad_out, query, key, value, out, logsumexp, attn_mask, is_causal, _factor(query.shape, scale)
        )
    ),
    tensors="grad_out query key value out logsumexp attn_mask",
    outputs=3,
)
FLASH_BACKWARD.joint("grad_out query key value", _second)


def _fits(mask: Any, query: Any, key: Any) -> bool:
    size, wanted = mask.array.shape, (*query.array.shape[:3], key.array.shape[2])
    return len(size) in (2, 4) and all(n in (1, w) for n, w in zip(size, wanted[4 - len(size) :]))


def has_flash_attention(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float) -> bool:
    """Whether torch computes these in one operation on the CPU: batches of heads of one width, without dropout."""
    q, k, v = query.array, key.array, value.array
    return (
        dropout_p == 0.0
        and q.ndim == k.ndim == v.ndim == 4
        and q.shape[:2] == k.shape[:2] == v.shape[:2]
        and q.shape[3] == k.shape[3] == v.shape[3]
        and k.shape[2] == v.shape[2]
        and q.size > 0
        and k.size > 0
        and query.dtype is key.dtype is value.dtype
        and query.dtype.category == FLOAT
        and all(a.shape[3] == 1 or a.strides[3] == a.itemsize for a in (q, k, v))
        and (attn_mask is None or (not attn_mask.requires_grad and _fits(attn_mask, query, key)))
        and not is_transformed()
    )


def flash_attention(query: Any, key: Any, value: Any, is_causal: bool, attn_mask: Any, scale: float | None) -> Any:
    """softmax(query key^T scale) value, where `has_flash_attention`."""
    return FLASH.apply((query, key, value, 0.0, is_causal, attn_mask, scale))[0]


FUNCTIONS: list[str] = []
METHODS: dict[str, Any] = {}
FUNCTIONAL: dict[str, Any] = {}
