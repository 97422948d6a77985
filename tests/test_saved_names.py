"""What nodes show of the values they save has torch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import livetape as torch


def shown(node: Any) -> list[str]:
    return sorted(name[7:] for name in dir(node) if name.startswith("_saved_"))


def matrix() -> Any:
    return torch.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)


@pytest.mark.parametrize(
    ("fn", "names"),
    [
        (lambda x: x + 1, ["alpha"]),
        (lambda x: x - x, ["alpha"]),
        (lambda x: x.mean(), ["self_sym_numel", "self_sym_sizes"]),
        (lambda x: torch.linalg.eigh(x)[0], ["eigenvalues", "eigenvectors"]),
        (lambda x: torch.linalg.qr(x)[0], ["Q", "R", "mode"]),
        (lambda x: torch.linalg.svd(x)[1], ["S", "S_sym_argsize_minus_1", "U", "Vh", "full_matrices"]),
        (lambda x: torch.linalg.inv(x), ["inverse"]),
        (lambda x: torch.linalg.cholesky(x), ["L", "upper"]),
        (lambda x: x.aminmax(dim=0)[0], ["dim", "keepdim", "max", "min", "self"]),
        (lambda x: x.frexp()[0], ["exponent"]),
        (lambda x: x.unbind()[0], ["dim"]),
        (lambda x: torch.where(x > 1, x, 0.0), ["condition"]),
        (lambda x: torch.cat([x, x]), ["dim"]),
        (lambda x: x.max(0)[0], ["dim", "indices", "keepdim", "self_sym_sizes"]),
    ],
)
def test_names(fn: Callable[[Any], Any], names: list[str]) -> None:
    assert shown(fn(matrix()).grad_fn) == names


def test_values() -> None:
    x = matrix()
    assert x.mean().grad_fn._saved_self_sym_numel == 4
    assert torch.linalg.eigh(x)[0].grad_fn._saved_eigenvalues.shape == (2,)
    assert (x + 1).grad_fn._saved_alpha == 1
    assert torch.linalg.svd(x)[1].grad_fn._saved_S_sym_argsize_minus_1 == 2


def test_dimensions_have_no_sign() -> None:
    node = matrix().mT.grad_fn
    assert (node._saved_dim0, node._saved_dim1) == (18446744073709551614, 18446744073709551615)


def test_what_is_not_of_torch_is_not_listed() -> None:
    node = matrix().exp().grad_fn
    public = [name for name in dir(node) if not name.startswith("_")]
    assert sorted(public) == [
        "metadata",
        "name",
        "next_functions",
        "register_hook",
        "register_prehook",
        "requires_grad",
    ]
    assert node.requires_grad is True
