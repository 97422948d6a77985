"""NumPy scalars and arrays on either side of a tensor: what comes out, as with PyTorch."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import livetape as torch

x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
a = np.array([[1.0, 2.0], [3.0, 5.0]])
whole = torch.tensor([3, 5])
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow)


@pytest.mark.parametrize("op", ARITHMETIC)
def test_numpy_scalars_are_numbers(op):
    for found in (op(x, np.float64(2.0)), op(np.float64(2.0), x), op(x, np.int32(2)), op(np.bool_(True), x)):
        assert type(found) is torch.Tensor
        assert found.dtype is torch.float32
    assert op(whole, np.int64(2)).dtype is op(whole, 2).dtype
    assert torch.equal(op(np.float64(2.0), x), op(2.0, x))


@pytest.mark.parametrize("op", ARITHMETIC)
def test_a_tensor_before_an_array(op):
    found = op(x, a)
    assert (type(found), found.dtype) == (torch.Tensor, torch.float64)
    np.testing.assert_allclose(found.numpy(), op(x.double().numpy(), a))
    assert op(x, np.array(2.0)).dtype is torch.float64


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.floordiv, operator.pow])
def test_an_array_before_a_tensor(op):
    try:
        found = op(a, x)
    except TypeError as error:
        assert "numpy.ndarray" in str(error) or "NumPy arrays" in str(error)
    else:
        np.testing.assert_allclose(np.asarray(found), op(a, x.double().numpy()))


def test_quotients_and_comparisons():
    np.testing.assert_allclose((a / x).numpy(), a / x.numpy(), rtol=1e-6)
    assert (x == a).tolist() == (a == x).tolist() == [[True, True], [True, False]]
    assert (x == np.array(2.0)).tolist() == [[False, True], [False, False]]
    np.testing.assert_allclose(whole.__rdiv__(np.array([6.0, 10.0])).numpy(), 2.0, rtol=1e-6)
    with pytest.raises(TypeError, match=r"unsupported operand"):
        [1.0, 2.0] / x


def test_conversions():
    assert np.asarray(x).dtype == np.float32
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert np.array(x, dtype=np.int32).tolist() == [[1, 2], [3, 4]]
    assert type(np.exp(x)) is torch.Tensor
    with pytest.raises(RuntimeError, match=r"Can't call numpy.. on Tensor that requires grad"):
        np.asarray(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match=r"Got unsupported ScalarType BFloat16"):
        torch.ones(2, dtype=torch.bfloat16).numpy()
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got numpy.float64\)"):
        torch.from_numpy(np.float64(3))


def test_indices():
    assert a[torch.tensor([1, 0])].tolist() == [[3.0, 5.0], [1.0, 2.0]]
    assert [10, 20, 30][torch.tensor(1)] == 20
    assert x[np.int64(1), np.int64(0)].item() == 3.0
    assert x[np.array([True, False])].tolist() == [[1.0, 2.0]]
    assert list(range(torch.tensor(3))) == [0, 1, 2]
    assert torch.zeros(np.int64(2), np.int32(3)).shape == (2, 3)


def test_limits():
    assert torch.finfo(torch.float16).resolution == 0.001
    assert torch.finfo(torch.float64) == torch.finfo(torch.double)
    assert torch.finfo() == torch.finfo(torch.float32)
    assert torch.iinfo(torch.uint16).max == 65535
    with pytest.raises(TypeError, match=r"torch.bool is not supported by torch.iinfo"):
        torch.iinfo(torch.bool)
    with pytest.raises(TypeError, match=r"argument 'type' .position 1. must be torch.dtype, not str"):
        torch.finfo("a")


def test_complex32_is_refused():
    for make in (lambda: x.to(torch.complex32), lambda: x.chalf(), lambda: torch.ones(2, dtype=torch.complex32)):
        with pytest.raises(TypeError, match=r"livetape does not store torch.complex32"):
            make()
