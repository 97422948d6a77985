"""What the families' files declare is what the package offers: functions, methods, torch.nn.functional."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

import livetape as torch
from livetape import ops
from livetape.nn import functional
from livetape.ops.table import TABLE

FAMILIES = [importlib.import_module(f"livetape.ops.{info.name}") for info in pkgutil.iter_modules(ops.__path__)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_functions_are_exported(family: Any) -> None:
    for name in vars(family).get("FUNCTIONS", ()):
        assert getattr(torch, name) is getattr(ops, name)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_methods_are_bound(family: Any) -> None:
    for name in vars(family).get("METHODS", {}):
        assert name in vars(torch.Tensor) or any(name in vars(base) for base in torch.Tensor.__mro__), name


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_functional_is_exported(family: Any) -> None:
    for name in vars(family).get("FUNCTIONAL", ()):
        assert hasattr(functional, name), name


def test_every_in_place_method_has_a_plain_one() -> None:
    only_in_place = {
        "apply_",
        "bernoulli_",
        "cauchy_",
        "copy_",
        "detach_",
        "exponential_",
        "fill_diagonal_",
        "geometric_",
        "log_normal_",
        "map2_",
        "map_",
        "normal_",
        "random_",
        "requires_grad_",
        "resize_",
        "resize_as_",
        "set_",
        "share_memory_",
        "uniform_",
        "zero_",
        "fill_",
    }
    names = set(dir(torch.Tensor))
    for name in names:
        if name.endswith("_") and not name.startswith("_") and name not in only_in_place:
            assert name[:-1] in names, name


def test_nodes_have_torch_names() -> None:
    for op in TABLE.values():
        name = op.node_class.__name__
        assert "Backward" in name or name in ("CopySlices", "CopyBackwards", "NotImplemented"), name


def test_unknown_names_give_torchs_error() -> None:
    with pytest.raises(AttributeError, match="module 'torch' has no attribute 'nonsense'"):
        torch.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nonsense'"):
        torch.ones(1).nonsense  # noqa: B018
