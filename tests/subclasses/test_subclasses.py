"""Subclasses of Tensor that make their objects themselves."""

from __future__ import annotations

import copy
from typing import Any

import livetape as torch


class Tagged(torch.Tensor):
    def __new__(cls, data: Any, tag: str) -> Any:
        made = torch.as_tensor(data).as_subclass(cls)
        made.tag = tag
        return made


class Shared(torch.Tensor):
    @staticmethod
    def __new__(cls: Any, data: Any, *, tag: str) -> Any:
        made = torch.Tensor._make_subclass(cls, data, data.requires_grad)
        made.tag = tag
        return made


def test_what_new_makes_is_not_filled_again() -> None:
    made = Tagged([1.0, 2.0], "a")
    assert repr(made) == "Tagged([1., 2.])" and made.tag == "a" and type(made) is Tagged
    assert copy.deepcopy(made).tag == "a"
    data = torch.ones(2, requires_grad=True)
    shared = Shared(data, tag="b")
    assert shared.tag == "b" and shared.requires_grad and shared.data_ptr() == data.data_ptr()


def test_subclasses_that_add_nothing_are_made_as_tensors_are() -> None:
    class Plain(torch.Tensor):
        pass

    assert Plain([1, 2]).tolist() == [1.0, 2.0] and Plain(2, 3).shape == (2, 3)
