"""Memory shared by DLPack, the layout of dense tensors, functions for each element, numbers in the place of symbols."""

from __future__ import annotations

import numpy as np
import pytest

import livetape as torch
from livetape.autograd import forward_ad as fwAD
from livetape.utils import dlpack


# ---------------------------------------------------------------- DLPack
def test_dlpack_shares_memory_both_ways() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    array = np.from_dlpack(x)
    array[0, 0] = 7
    assert x[0, 0] == 7
    back = torch.from_dlpack(array)
    back[1, 2] = 9
    assert x[1, 2] == 9
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert x.__dlpack_device__() == (1, 0)


def test_a_capsule_is_read_once() -> None:
    capsule = dlpack.to_dlpack(torch.ones(2))
    assert dlpack.from_dlpack(capsule).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="invalid capsule"):
        torch.from_dlpack(3)
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        torch.ones(2, requires_grad=True).__dlpack__()


# ---------------------------------------------------------------- layout
def test_every_tensor_is_dense() -> None:
    x = torch.ones(2, 3)
    assert x.to_dense() is x
    assert x.to_dense(torch.float64).dtype is torch.float64
    assert (x.dense_dim(), x.sparse_dim(), x.is_distributed()) == (2, 0, False)
    with pytest.raises(RuntimeError, match="coalesce expected sparse coordinate tensor layout but got Strided"):
        x.coalesce()
    with pytest.raises(RuntimeError, match=r"^values expected sparse tensor layout but got Strided"):
        x.values()


def test_the_order_of_dimensions() -> None:
    x = torch.ones(2, 3, 4)
    assert x.dim_order() == (0, 1, 2)
    assert x.permute(2, 0, 1).dim_order() == (1, 2, 0)
    with pytest.raises(RuntimeError, match="does not have unique dim order"):
        torch.ones(1, 2).dim_order(ambiguity_check=True)


# ---------------------------------------------------------------- element by element
def test_functions_for_each_element() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x[:, 1].apply_(lambda v: v * 10)
    assert x.tolist() == [[1, 20], [3, 40]]
    assert torch.tensor([0, 1]).apply_(lambda v: v + 1.7).tolist() == [1, 2]
    assert x.map_(torch.tensor([1.0, 2.0]), lambda a, b: a + b).tolist() == [[2, 22], [4, 42]]
    assert x.map2_(x, x, lambda a, b, c: a + b + c).tolist() == [[6, 66], [12, 126]]
    assert x._version == 3


def test_a_function_that_fails_changes_nothing() -> None:
    x = torch.ones(3)
    with pytest.raises(TypeError, match="must be real number, not str"):
        x.apply_(lambda v: "a")
    with pytest.raises(ZeroDivisionError):
        x.apply_(lambda v: v / 0)
    assert x.tolist() == [1, 1, 1]
    assert x._version == 0
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        torch.ones(2, requires_grad=True).apply_(abs)
    with pytest.raises(TypeError, match=r"map_: expected torch.FloatTensor for 'other' \(got torch.LongTensor\)"):
        x.map_(torch.tensor([1]), min)


# ---------------------------------------------------------------- settings and symbols
def test_the_deterministic_debug_mode() -> None:
    try:
        for name, number in (("warn", 1), ("error", 2), ("default", 0)):
            torch.set_deterministic_debug_mode(name)
            assert torch.get_deterministic_debug_mode() == number
        with pytest.raises(RuntimeError, match="expected 0, 1, or 2, but got 5"):
            torch.set_deterministic_debug_mode(5)
    finally:
        torch.use_deterministic_algorithms(False)


def test_branches_are_taken_and_sizes_are_numbers() -> None:
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    y = torch.cond(x.sum() > 1, torch.sin, torch.abs, (x,))
    assert type(y.grad_fn).__name__ == "AbsBackward0"
    assert (torch.sym_int(3.7), torch.sym_max(2, 1.0), torch.sym_not(True), torch.sym_sum([1, 2])) == (3, 2.0, False, 3)


# ---------------------------------------------------------------- the layout of results
@pytest.mark.parametrize(
    "text",
    [
        "x.softmax(0)", "x.log_softmax(1)", "x.cumsum(0)", "x.cumprod(1)", "x.logcumsumexp(0)", "x.renorm(2, 0, 1.0)",
        "x.gather(0, i)", "x.index_copy(1, j, x[:, :1])", "torch.fft.fft(x)", "torch.fft.rfft(x)",
        "torch.nn.functional.layer_norm(x, (4,))", "z.prod(0)", "z.var(0)", "torch.std_mean(z, 0)[0]", "z.max(0)[0]",
        "z.min(1)[1]", "z.aminmax(dim=0)[0]",
    ],
)  # fmt: skip
def test_results_that_are_contiguous_whatever_the_arguments(text: str) -> None:
    values = {"torch": torch, "x": torch.rand(4, 3).T, "z": torch.rand(4, 3, 2).permute(2, 1, 0)}
    values |= {"i": torch.zeros(3, 4, dtype=torch.int64), "j": torch.tensor([2])}
    found = eval(text, values)
    assert found.is_contiguous()
    torch.testing.assert_close(found, eval(text, {k: v.contiguous() if k in "xz" else v for k, v in values.items()}))


def test_views_of_memory_that_is_not_contiguous() -> None:
    x = torch.rand(2, 3, 4, requires_grad=True)
    assert x.reshape(6, 4).grad_fn.name() == "ViewBackward0"
    alias = x[:, ::2].reshape(2, 2, 2, 2)
    assert alias.grad_fn.name() == "ReshapeAliasBackward0" and alias._base is x
    assert x.mT.reshape(-1).grad_fn.name() == "UnsafeViewBackward0"
    assert torch.kron(x[0], torch.ones(1, 1)).grad_fn.name() == "UnsafeViewBackward0"
    alias.sum().backward()
    assert x.grad[0, :, 0].tolist() == [1, 0, 1]


# ---------------------------------------------------------------- views by strides
@pytest.mark.parametrize(
    ("size", "stride", "offset", "message"),
    [
        (
            (2, 2),
            (200, 200),
            0,
            "setStorage: sizes .* requiring a storage size of 1604 are out of bounds for .* size 64",
        ),
        ((2, 2), (1, -2), 0, r"as_strided: Negative strides are not supported at the moment, got strides: \[1, -2\]"),
        ((2, 2), (1,), 0, "mismatch in length of strides and shape"),
        ((2, 2), (1, 2), -1, "Tensor: invalid storage offset -1"),
        ((2, -1), (1, 2), 0, r"Storage size calculation overflowed with sizes=\[2, -1\] and strides=\[1, 2\]"),
    ],
)
def test_what_strides_cannot_describe(
    size: tuple[int, ...], stride: tuple[int, ...], offset: int, message: str
) -> None:
    x = torch.zeros(4, 4)
    with pytest.raises(RuntimeError, match=message):
        x.as_strided(size, stride, offset)
    with pytest.raises(RuntimeError, match=message):
        torch.as_strided_scatter(x, torch.ones(2, 2), size, stride, offset)


def test_as_strided_scatter_counts_in_memory() -> None:
    x = torch.arange(16.0).view(4, 4)
    two = torch.ones(2)
    assert torch.as_strided_scatter(x.t(), two, (2,), (1,), 5)[1:3, 1].tolist() == [1.0, 1.0]
    assert torch.as_strided_scatter(x[:, 1:], two, (2,), (1,), 5)[1].tolist() == [1.0, 1.0, 7.0]
    assert torch.equal(torch.as_strided_scatter(x[::2], two, (2,), (1,), 5), x[::2])  # between its rows
    assert torch.as_strided_scatter(torch.arange(16.0)[4:], two, (2,), (1,), 3)[:2].tolist() == [1.0, 5.0]
    assert torch.as_strided_scatter(torch.arange(2.0).expand(2, 2), two, (2,), (1,), 0).tolist() == [[1, 1], [0, 1]]
    with pytest.raises(RuntimeError, match="unsupported operation: more than one element"):
        torch.as_strided_scatter(x, torch.ones(2, 3), (2, 3), (0, 1))


def test_as_strided_scatter_of_a_transposed_tensor_is_differentiable() -> None:
    x = torch.arange(6.0, dtype=torch.float64).view(2, 3).t().requires_grad_()
    src = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, src: torch.as_strided_scatter(x, src, (2,), (2,), 1), (x, src))
    torch.as_strided_scatter(x, src, (2,), (2,), 1).mul(torch.arange(6.0).view(3, 2)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0.0, 0.0], [0.0, 3.0], [4.0, 5.0]]
    assert src.grad is not None and src.grad.tolist() == [2.0, 1.0]


def test_the_tangent_of_a_view_is_zero_beyond_its_tensor() -> None:
    part = torch.arange(8.0)[2:6]
    with fwAD.dual_level():
        dual = fwAD.make_dual(part, torch.tensor([1.0, 2.0, 3.0, 4.0]))
        found = fwAD.unpack_dual(dual.as_strided((2, 2), (1, 2), 1)).tangent
        assert found.tolist() == [[0.0, 2.0], [1.0, 3.0]]


def test_strides_of_empty_tensors() -> None:
    assert torch.empty_permuted((1, 0, 5, 1), (0, 1, 3, 2)).stride() == (5, 5, 1, 5)
    assert torch.zeros(2).new_empty_strided((2, 0), (3, 4)).stride() == (3, 4)
    assert torch.zeros(3, 4)[:0].t().stride() == (1, 4)
    with pytest.raises(RuntimeError, match="Duplicate dim not allowed"):
        torch.empty_permuted((2, 3), (0, 0))
    with pytest.raises(RuntimeError, match=r"expected to be between 0 and 1, but got -1 at index 1\)"):
        torch.empty_permuted((2, 3), (0, -1))
