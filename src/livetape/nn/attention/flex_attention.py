"""Attention with scores and masks given by functions of the positions (source: ``torch.nn.attention.flex_attention``).

The functions are called once, with index tensors that broadcast to (B, H, Q, KV), rather than element by element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from livetape import dtypes, ops
from livetape.tensor import Tensor

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

MaskMod = Callable[[Any, Any, Any, Any], Any]


class FlexKernelOptions(TypedDict, total=False):
    """Options of torch's kernels; accepted and without effect."""

    BACKEND: str


class AuxRequest(NamedTuple):
    """What else `flex_attention` is to return."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What else `flex_attention` returned."""

    lse: Any = None
    max_scores: Any = None


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """Lets every position attend to every other."""
    return ops.ones((), dtype=dtypes.boolean)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that lets through what all of them do."""
    if not all(callable(arg) for arg in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def both(b: Any, h: Any, q: Any, kv: Any) -> Any:
        found = ops.ones((), dtype=dtypes.boolean)
        for mask in mask_mods:
            found = found & mask(b, h, q, kv)
        return found

    return both


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask that lets through what any of them does."""
    if not all(callable(arg) for arg in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def either(b: Any, h: Any, q: Any, kv: Any) -> Any:
        found = ops.zeros((), dtype=dtypes.boolean)
        for mask in mask_mods:
            found = found | mask(b, h, q, kv)
        return found

    return either


def _indices(*sizes: int) -> list[Tensor]:
    """An index tensor for each dimension, in the shape that broadcasts."""
    return [ops.arange(n).reshape([n if d == i else 1 for d in range(len(sizes))]) for i, n in enumerate(sizes)]


def create_mask(mod_fn: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """The dense mask (B, H, Q_LEN, KV_LEN) of a function."""
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    return ops.as_tensor(mod_fn(*_indices(*shape))).expand(shape).clone()


class BlockMask:
    """A mask given by a function of the positions, with its shape."""

    def __init__(self, shape: tuple[int, int, int, int], mask_mod: MaskMod | None, BLOCK_SIZE: tuple[int, int]) -> None:
        self.shape = shape
        self.seq_lengths = shape[2:]
        self.mask_mod = mask_mod or noop_mask
        self.BLOCK_SIZE = BLOCK_SIZE

    @property
    def dense(self) -> Tensor:
        """The mask as a bool tensor (B, H, Q, KV)."""
        return create_mask(self.mask_mod, *self.shape)

    def to_dense(self) -> Tensor:
        """1 for every block in which something may attend, (B, H, blocks, blocks)."""
        b, h, q, kv = self.shape
        rows, cols = (-(-n // size) for n, size in zip((q, kv), self.BLOCK_SIZE, strict=True))
        found = ops.zeros((b, h, rows * self.BLOCK_SIZE[0], cols * self.BLOCK_SIZE[1]), dtype=dtypes.int32)
        found[:, :, :q, :kv] = self.dense.to(dtypes.int32)
        return found.view(b, h, rows, self.BLOCK_SIZE[0], cols, self.BLOCK_SIZE[1]).amax((3, 5))

    def sparsity(self) -> float:
        """The percentage of blocks in which nothing attends."""
        blocks = self.to_dense()
        return 100 * (1 - float(blocks.sum()) / blocks.numel())

    def numel(self) -> int:
        """How many pairs of positions there are."""
        return math.prod(self.shape)

    def to(self, device: Any) -> BlockMask:
        """Itself."""
        return self

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = 128,
    _compile: bool = False,
    **options: Any,
) -> BlockMask:
    """The BlockMask of a function of (batch, head, query position, key position)."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask((B or 1, H or 1, Q_LEN, KV_LEN), mask_mod, size)  # type: ignore[arg-type]


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Any = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention of (B, H, L, E), (B, H, S, E) and (B, H, S, Ev) with changed scores.

    ``score_mod(score, b, h, q, kv)`` changes the scaled scores; ``block_mask`` says which pairs may attend.
    """
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if enable_gqa and key.size(1) != query.size(1):
        key = key.repeat_interleave(query.size(1) // key.size(1), 1)
        value = value.repeat_interleave(query.size(1) // value.size(1), 1)
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = ops.matmul(query, key.transpose(-2, -1)) * factor
    places = _indices(*scores.shape)
    if score_mod is not None:
        scores = score_mod(scores, *places)
    if block_mask is not None:
        allowed = ops.as_tensor(block_mask.mask_mod(*places)).expand(scores.shape)
        scores = scores.masked_fill(allowed.logical_not(), -math.inf)
    lse = ops.logsumexp(scores, -1)
    weights = ops.exp(scores - lse.masked_fill(lse == -math.inf, 0.0).unsqueeze(-1))  # nothing to attend to: zeros
    out = ops.matmul(weights, value)
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (out, lse) if return_lse else out
