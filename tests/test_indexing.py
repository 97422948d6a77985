"""Indices between brackets: what PyTorch says of those that do not fit."""

from __future__ import annotations

import warnings

import pytest

import livetape as torch

x = torch.arange(48.0).view(2, 3, 4, 2)
MASK = torch.tensor([True, False, True, False])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ((None, 3), "index 3 is out of bounds for dimension 1 with size 2"),
        ((Ellipsis, -4), "index -4 is out of bounds for dimension 1 with size 2"),
        ((0, 0, 5), "index 5 is out of bounds for dimension 2 with size 4"),
        ((Ellipsis, MASK), r"The shape of the mask \[4\] at index 0 does not match .* at index 3"),
        ((0, 0, 0, 0, 0), "too many indices for tensor of dimension 4"),
    ],
)
def test_out_of_bounds(index, message):
    with pytest.raises(IndexError, match=message):
        x[index]
    with pytest.raises(IndexError, match=message):
        x.clone()[index] = 0


def test_byte_masks_take_no_number():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="masked_fill_ only supports boolean masks"):
            x.clone()[torch.tensor([1, 0], dtype=torch.uint8)] = 1.0


def test_a_slice_that_begins_before_the_start_is_one():
    leaf = x.clone().requires_grad_()
    assert leaf[-5:].grad_fn.name() == "SliceBackward0"


def test_places_named_twice():
    flags = torch.tensor([True, False, False])
    at = torch.tensor([1, 1, 2, 2, 0])
    values = torch.tensor([True, False, False, True, False])
    assert torch.index_put(flags, (at,), values, True).tolist() == [True, True, True]
    assert flags.index_add(0, at, values).tolist() == [True, True, True]
