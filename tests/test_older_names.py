"""Functions of older programs, tensors of files, and rounding as quantized numbers would."""

from __future__ import annotations

import numpy as np
import pytest

import livetape as torch


@pytest.mark.parametrize("name", ["eig", "lstsq", "solve", "symeig", "matrix_rank"])
def test_removed_functions_say_what_took_their_place(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"deprecated since version 1\.9 and is now removed\. .*torch\.linalg"):
        getattr(torch, name)(*[torch.ones(2, 2)] * (2 if name in ("lstsq", "solve") else 1))


def test_resize_out_of_place() -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert x.resize(3, 2).shape == (3, 2)
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match=r"requested resize to 7 \(7 elements in total\)"):
        x.resize(7)


def test_detached_by_functions() -> None:
    x = torch.ones(2, requires_grad=True)
    assert torch.detach(x * 2).grad_fn is None
    y = x * 2
    assert torch.detach_(y) is y
    assert not y.requires_grad
    assert torch.get_device(x) == -1


def test_a_slice_leads_back_to_what_it_is_of() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    back = torch.slice_inverse(x[0:1], x, 0, 0, 1)
    assert back.tolist() == x.tolist()
    assert back.data_ptr() == x.data_ptr()


def test_tensors_of_files(tmp_path) -> None:
    path = str(tmp_path / "values")
    shared = torch.from_file(path, shared=True, size=3)
    shared.copy_(torch.tensor([1.0, 2.0, 3.0]))
    assert np.fromfile(path, np.float32).tolist() == [1, 2, 3]
    own = torch.from_file(path, size=2)
    own.zero_()
    assert shared.tolist() == [1, 2, 3]
    assert torch.from_file(path, size=1, dtype=torch.int32).dtype == torch.int32
    with pytest.raises(RuntimeError, match="size <12> is smaller than the required mapping size <20>"):
        torch.from_file(path, size=5)
    with pytest.raises(RuntimeError, match="unable to open file"):
        torch.from_file(path + "x", size=5)


def test_rounded_as_quantized_numbers() -> None:
    x = torch.tensor([-3.0, -0.3, 0.2, 1, 5], requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.5, 1, 0, 5)
    assert y.tolist() == [-0.5, -0.5, 0, 1, 2]
    assert type(y.grad_fn).__name__ == "FakeQuantizePerTensorAffineCachemaskBackward0"
    y.backward(torch.arange(1.0, 6))
    assert x.grad.tolist() == [0, 2, 3, 4, 0]
    rare = torch.tensor([0.25, 0.75, -0.25, float("nan"), float("inf")])
    assert torch.fake_quantize_per_tensor_affine(rare, 0.5, 0, -128, 127).tolist() == [0, 1, 0, -64, 63.5]
    scale, zero = torch.tensor([0.5, 0.1]), torch.tensor([1, 0], dtype=torch.int32)
    found = torch.fake_quantize_per_channel_affine(torch.full((2, 1), 3.0), scale, zero, 0, 0, 3)
    torch.testing.assert_close(found, torch.tensor([[1.0], [0.3]]))
    with pytest.raises(RuntimeError, match="`zero_point` must be between"):
        torch.fake_quantize_per_tensor_affine(x, 0.5, 8, 0, 7)
