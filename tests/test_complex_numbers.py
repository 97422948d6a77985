"""Powers of complex tensors, and numbers written into tensors and their parts."""

from __future__ import annotations

import pytest

import livetape as torch


def test_powers_by_the_logarithm() -> None:
    z = torch.tensor([1j, 2 + 1j, -1.0, 1 + 1j])
    whole = torch.tensor([1.0, 2.0, 3.0, 2.0])
    assert repr(z**whole) == (
        "tensor([-4.3711e-08+1.0000e+00j,  3.0000e+00+4.0000e+00j,\n"
        "        -1.0000e+00-2.3850e-08j, -8.7423e-08+2.0000e+00j])"
    )
    assert repr(z**4) == "tensor([ 1.+1.7485e-07j, -7.+2.4000e+01j,  1.+3.4969e-07j, -4.-3.4969e-07j])"
    assert repr(z**2) == "tensor([-1.+0.j,  3.+4.j,  1.-0.j,  0.+2.j])"
    assert repr((1 + 1j) ** torch.tensor([1.0, 2.0])) == "tensor([ 1.0000e+00+1.0000j, -8.7423e-08+2.0000j])"


def test_nought_to_a_power() -> None:
    assert (torch.tensor([0j, 0j]) ** torch.tensor([2.0, 0.0])).tolist() == [0j, 1 + 0j]


def test_numbers_are_copied() -> None:
    x = torch.ones(2)
    assert x.copy_(5).tolist() == [5.0, 5.0]
    assert x.copy_(2.5).tolist() == [2.5, 2.5]
    assert torch.ones(1, dtype=torch.complex64).copy_(1j).tolist() == [1j]
    y = torch.ones(1, requires_grad=True).mul(2).copy_(3)
    assert repr(y) == "tensor([3.], grad_fn=<CopyBackwards>)"
    with pytest.raises(TypeError, match=r"^copy_\(\): argument 'other' \(position 1\) must be Tensor, not str"):
        x.copy_("a")


def test_numbers_are_assigned_to_parts() -> None:
    z = torch.ones(2, dtype=torch.complex64)
    z.real = 3
    z.imag = 2.5
    assert z.tolist() == [3 + 2.5j, 3 + 2.5j]
    with pytest.raises(TypeError, match=r"^can't assign a str to a torch\.FloatTensor"):
        z.imag = "a"
    with pytest.raises(RuntimeError, match=r"^value cannot be converted to type float without overflow"):
        z.real = 1j
