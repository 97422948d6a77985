"""Losses with the reduction as a number, by which torch has them as ``torch.<name>``: 0 none (the default), 1 mean, 2 sum."""

from __future__ import annotations

from typing import Any

from livetape._tape.explain import noted, type_name
from livetape.ops import distance_loss, label_loss

_NAMES = {1: "mean", 2: "sum"}


def _word(name: str, reduction: Any, position: int) -> str:
    """The reduction's name; numbers that have none do not reduce."""
    if type(reduction) is not int:
        kind = type_name(reduction)
        raise noted(TypeError(f"{name}(): argument 'reduction' (position {position}) must be int, not {kind}"))
    return _NAMES.get(reduction, "none")


def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:
    """`nn.functional.kl_div` (source: ``torch.kl_div``)."""
    loss = distance_loss.kl_div(input, target, reduction="none", log_target=log_target)
    word = _word("kl_div", reduction, 3)
    return loss if word == "none" else getattr(loss, word)()


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 0) -> Any:
    """`nn.functional.hinge_embedding_loss` (source: ``torch.hinge_embedding_loss``)."""
    word = _word("hinge_embedding_loss", reduction, 4)
    return distance_loss.hinge_embedding_loss(input, target, margin, reduction=word)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """`nn.functional.margin_ranking_loss` (source: ``torch.margin_ranking_loss``)."""
    word = _word("margin_ranking_loss", reduction, 5)
    return distance_loss.margin_ranking_loss(input1, input2, target, margin, reduction=word)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """`nn.functional.cosine_embedding_loss` (source: ``torch.cosine_embedding_loss``)."""
    word = _word("cosine_embedding_loss", reduction, 5)
    return distance_loss.cosine_embedding_loss(input1, input2, target, margin, reduction=word)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Any:
    """`nn.functional.triplet_margin_loss` (source: ``torch.triplet_margin_loss``)."""
    word = _word("triplet_margin_loss", reduction, 8)
    return distance_loss.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=word)


def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """`nn.functional.poisson_nll_loss` (source: ``torch.poisson_nll_loss``)."""
    word = _word("poisson_nll_loss", reduction, 6)
    return distance_loss.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=word)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Any:
    """`nn.functional.binary_cross_entropy_with_logits` (source: the function of that name in ``torch``)."""
    word = _word("binary_cross_entropy_with_logits", reduction, 5)
    return label_loss.binary_cross_entropy_with_logits(input, target, weight, reduction=word, pos_weight=pos_weight)


FUNCTIONS = [
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "poisson_nll_loss",
    "triplet_margin_loss",
]
METHODS: dict[str, Any] = {}
