"""Attention as a function."""

from __future__ import annotations

import math
import warnings
from typing import Any

from livetape import dtypes, ops
from livetape.ops.attention import flash_attention, has_flash_attention
from livetape.ops.autocasting import lower_in_autocast
from livetape.ops.outputs import c_name
from livetape.ops.refuse import must_be_tensors
from livetape.tensor import Tensor


@lower_in_autocast
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query key^T / sqrt(E)) value``: (*, L, E), (*, S, E), (*, S, Ev) to (*, L, Ev).

    attn_mask   bool (True: may attend) or added to the scores; broadcasts to (*, L, S)
    is_causal   position i attends to positions up to i
    enable_gqa  key and value may have fewer heads, a divisor of the query's
    """
    _check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa and key.size(-3) != query.size(-3):
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    if has_flash_attention(query, key, value, attn_mask, dropout_p):
        return flash_attention(query, key, value, is_causal, attn_mask, scale)  # type: ignore[no-any-return]
    factor = 1 / math.sqrt(query.size(-1) or 1) if scale is None else scale
    # The root of the factor on either side keeps the scores in range.
    scores = (
        ops.matmul(query * math.sqrt(factor), key.transpose(-2, -1) * math.sqrt(factor))
        if factor > 0
        else (ops.matmul(query, key.transpose(-2, -1)) * factor)
    )
    if is_causal:
        attn_mask = ops.ones((query.size(-2), key.size(-2)), dtype=dtypes.boolean).tril()
    if attn_mask is not None:
        if attn_mask.dtype is dtypes.boolean:
            attn_mask = ops.masked_fill(scores.new_zeros(attn_mask.shape), attn_mask.logical_not(), -math.inf)
        scores = scores + attn_mask
    weights = ops._safe_softmax(scores, -1)  # 0 where there is nothing to attend to
    if dropout_p > 0.0:
        weights = ops.dropout(weights, dropout_p, True)
    return ops.matmul(weights, value)


def _check_attention(query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool) -> None:
    must_be_tensors("scaled_dot_product_attention", query=query, key=key, value=value)
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {c_name(query.dtype)} key.dtype: "
            f"{c_name(key.dtype)} and value.dtype: {c_name(value.dtype)} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if attn_mask is None:
        return
    if attn_mask.dtype not in (dtypes.boolean, dtypes.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{c_name(attn_mask.dtype)} and  query.dtype: {c_name(query.dtype)} instead."
        )
    if is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")


def canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """A mask to be added to scores: bool ones (True: may not attend) get minus infinity."""
    if mask is None:
        return None
    if mask.dtype is not dtypes.boolean and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.is_floating_point():
        return mask
    return ops.zeros(mask.shape, dtype=target_type).masked_fill_(mask, -math.inf)


def none_or_dtype(input: Any) -> Any:
    """The dtype of a tensor; None for None."""
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _check_shapes(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the query has a batch dimension; AssertionError for shapes that do not go together."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    kind, dims = ("batched (3-D)", 3) if batched else ("unbatched (2-D)", 2)
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D "
            f"and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                f"{attn_mask.dim()}-D tensor instead"
            )
        if not batched and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if attn_mask.shape != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return batched


def _project(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Any, ...]:
    """Queries, keys and values by one packed weight, in as few products as the sameness of the inputs allows."""
    size = query.size(-1)
    if key is value:
        if query is key:
            packed = ops.linear(query, weight, bias)
            packed = packed.unflatten(-1, (3, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return packed[0], packed[1], packed[2]
        w_q, w_kv = weight.split([size, size * 2])
        b_q, b_kv = (None, None) if bias is None else bias.split([size, size * 2])
        packed = ops.linear(key, w_kv, b_kv)
        packed = packed.unflatten(-1, (2, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return ops.linear(query, w_q, b_q), packed[0], packed[1]
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(ops.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))


def _pad_end(mask: Tensor | None) -> Tensor | None:
    """A mask with one more key, which may be attended to."""
    if mask is None:
        return None
    return ops.cat([mask, ops.zeros((*mask.shape[:-1], 1), dtype=mask.dtype)], -1)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention of (L, N, E), (S, N, E), (S, N, E): the output and, if needed, the weights.

    Source: ``torch.nn.functional.multi_head_attention_forward``; see `MultiheadAttention` for the options.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    src_len = key.shape[0]
    key_padding_mask = canonical_mask(
        key_padding_mask, "key_padding_mask", none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the hint says it all
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if key_padding_mask is not None:
            is_causal = False
    if embed_dim != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        b_q, b_k, b_v = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q = ops.linear(query, q_proj_weight, b_q)
        k = ops.linear(key, k_proj_weight, b_k)
        v = ops.linear(value, v_proj_weight, b_v)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        if attn_mask.dim() == 2:
            if attn_mask.shape != (tgt_len, src_len):
                raise RuntimeError(
                    f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {(tgt_len, src_len)}."
                )
            attn_mask = attn_mask.unsqueeze(0)
        elif attn_mask.shape != (bsz * num_heads, tgt_len, src_len):
            raise RuntimeError(
                f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be "
                f"{(bsz * num_heads, tgt_len, src_len)}."
            )
    if bias_k is not None and bias_v is not None:
        k = ops.cat([k, bias_k.repeat(1, bsz, 1)])
        v = ops.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask, key_padding_mask = _pad_end(attn_mask), _pad_end(key_padding_mask)

    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    k = k.view(k.shape[0], bsz * num_heads, head_dim).transpose(0, 1) if static_k is None else static_k
    v = v.view(v.shape[0], bsz * num_heads, head_dim).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        nothing = ops.zeros((bsz * num_heads, 1, head_dim), dtype=k.dtype)
        k, v = ops.cat([k, nothing], 1), ops.cat([v, nothing], 1)
        attn_mask, key_padding_mask = _pad_end(attn_mask), _pad_end(key_padding_mask)
    src_len = k.size(1)
    if key_padding_mask is not None:
        for axis, expected in enumerate((bsz, src_len)):
            if key_padding_mask.shape[axis] != expected:
                raise AssertionError(
                    f"Expected key_padded_mask.shape[{axis}] to be {expected}, but got {key_padding_mask.shape[axis]}"
                )
        by_head = key_padding_mask.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1)
        by_head = by_head.reshape(bsz * num_heads, 1, src_len)
        attn_mask = by_head if attn_mask is None else attn_mask + by_head
    if not training:
        dropout_p = 0.0

    weights = None
    if need_weights:
        q_scaled = q * math.sqrt(1.0 / float(head_dim))
        scores = (
            ops.bmm(q_scaled, k.transpose(-2, -1))
            if attn_mask is None
            else ops.baddbmm(attn_mask, q_scaled, k.transpose(-2, -1))
        )
        weights = ops.softmax(scores, -1)
        if dropout_p > 0.0:
            weights = ops.dropout(weights, dropout_p, True)
        out = ops.bmm(weights, v)
        out = out.transpose(0, 1).contiguous().view(tgt_len * bsz, embed_dim)
        out = ops.linear(out, out_proj_weight, out_proj_bias).view(tgt_len, bsz, -1)
        weights = weights.view(bsz, num_heads, tgt_len, src_len)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        if not batched:
            weights = weights.squeeze(0)
    else:
        if attn_mask is not None:
            attn_mask = (
                attn_mask.unsqueeze(0)
                if attn_mask.size(0) == 1 and attn_mask.dim() == 3
                else attn_mask.view(bsz, num_heads, -1, src_len)
            )
        attend: Any = getattr(ops, "scaled_dot_product_attention", scaled_dot_product_attention)
        out = attend(
            q.view(bsz, num_heads, tgt_len, head_dim),
            k.view(bsz, num_heads, src_len, head_dim),
            v.view(bsz, num_heads, src_len, head_dim),
            attn_mask,
            dropout_p,
            is_causal,
        )
        out = out.permute(2, 0, 1, 3).contiguous().view(bsz * tgt_len, embed_dim)
        out = ops.linear(out, out_proj_weight, out_proj_bias).view(tgt_len, bsz, -1)
    return (out if batched else out.squeeze(1)), weights
