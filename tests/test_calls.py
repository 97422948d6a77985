"""Positions of arguments in torch's messages: functions count the tensor, methods do not, names have none."""

from __future__ import annotations

from typing import Any

import pytest

import livetape as torch

X = torch.ones(2, 3)
CALLS: list[tuple[Any, str]] = [
    (lambda: torch.argmax(X, "a"), "argmax(): argument 'dim' (position 2) must be int, not str"),
    (lambda: X.argmax("a"), "argmax(): argument 'dim' (position 1) must be int, not str"),
    (lambda: X.argmax(dim="a"), "argmax(): argument 'dim' must be int, not str"),
    (lambda: torch.argmin(X, axis="a"), "argmin(): argument 'dim' must be int, not str"),
    (lambda: torch.transpose(X, "a", 0), "transpose(): argument 'dim0' (position 2) must be int, not str"),
    (lambda: X.transpose("a", 0), "transpose(): argument 'dim0' (position 1) must be int, not str"),
    (lambda: X.transpose(0, "a"), "transpose(): argument 'dim1' (position 2) must be int, not str"),
    (lambda: torch.softmax(X, "a"), "softmax(): argument 'dim' (position 2) must be int, not str"),
    (lambda: X.softmax("a"), "softmax(): argument 'dim' (position 1) must be int, not str"),
    (lambda: torch.kthvalue(X, 1, "a"), "kthvalue(): argument 'dim' (position 3) must be int, not str"),
    (lambda: X.kthvalue(1, "a"), "kthvalue(): argument 'dim' (position 2) must be int, not str"),
    (lambda: torch.topk(X, "a"), "topk(): argument 'k' (position 2) must be int, not str"),
    (
        lambda: torch.amax(X, ("a",)),
        "amax(): argument 'dim' (position 2) must be tuple of ints, but found element of type str at pos 0",
    ),
    (lambda: X.amax(dim=("a",)), "amax(): argument 'dim' must be tuple of ints, not tuple"),
    (lambda: X.sum(0, "a"), "sum(): argument 'keepdim' (position 2) must be bool, not str"),
    (lambda: torch.sum(X, 0, "a"), "sum(): argument 'keepdim' (position 3) must be bool, not str"),
    (
        lambda: torch.flip(X, ("a",)),
        "flip(): argument 'dims' (position 2) must be tuple of ints, but found element of type str at pos 0",
    ),
    (lambda: X.flip("a"), "flip(): argument 'dims' (position 1) must be tuple of ints, not str"),
    (lambda: torch.cat([X], "a"), "cat(): argument 'dim' (position 2) must be int, not str"),
    (lambda: torch.zeros("a"), "zeros(): argument 'size' (position 1) must be tuple of ints, not str"),
]


@pytest.mark.parametrize("at", range(len(CALLS)))
def test_positions(at: int) -> None:
    call, message = CALLS[at]
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == message


def test_calls_that_no_line_shows() -> None:
    for arguments in ((X, "a"),):
        with pytest.raises(TypeError, match=r"'dim' \(position 2\) must be int, not str"):
            torch.argmax(*arguments)
    with pytest.raises(TypeError, match=r"'dim' \(position 2\) must be int, not str"):
        list(map(torch.argmax, [X], ["a"]))
