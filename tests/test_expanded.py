"""Tensors whose elements share memory: how their copies lie, and which changes of them are refused."""

import pytest

import livetape as torch

SHARED = "more than one element of the written-to tensor refers to a single memory location"


@pytest.mark.parametrize(
    ("shape", "stride", "copy"),
    [
        ((2, 3), (0, 1), (3, 1)),
        ((2, 4, 3), (3, 0, 1), (12, 3, 1)),
        ((4, 2, 3), (0, 3, 1), (6, 3, 1)),
        ((3, 4, 2), (1, 0, 3), (1, 3, 12)),
        ((3, 4, 2), (0, 1, 4), (8, 1, 4)),
        ((2, 2, 3, 4), (12, 0, 1, 3), (24, 12, 1, 3)),
    ],
)
def test_copies_of_expanded_tensors_lie_as_in_torch(shape, stride, copy):
    x = torch.arange(100.0).as_strided(shape, stride)
    assert x.clone().stride() == copy
    assert x.double().stride() == copy
    assert torch.empty_like(x).stride() == copy
    assert torch.equal(x.clone(), x) and torch.equal(x.long().float(), x)


def test_a_clone_of_an_expanded_tensor_can_be_viewed_flat():
    assert torch.arange(3.0).expand(2, 3).clone().view(6).tolist() == [0, 1, 2, 0, 1, 2]


def test_new_dimensions_of_one_element_have_the_stride_of_their_neighbours_whole():
    assert torch.ones(2).expand(1, 2).stride() == (2, 1)
    assert torch.ones(2).expand(3, 1, 2).stride() == (0, 2, 1)
    assert torch.ones(()).expand(1).stride() == (0,)


def test_the_gradient_of_a_sum_is_an_expanded_tensor():
    for shape in ((2, 3), (200, 300)):
        x = torch.ones(shape, requires_grad=True)
        assert torch.autograd.grad(x.sum(), x)[0].stride() == (0, 0)
        assert torch.autograd.grad(x.sum(1), x, torch.ones(shape[0]))[0].stride() == (1, 0)
        assert torch.autograd.grad(x.mean(), x)[0].is_contiguous()
        y = x * 1
        y.register_hook(lambda g: g.add_(1))
        with pytest.raises(RuntimeError, match=SHARED):
            y.sum().backward()
        y = x * 1
        y.register_hook(lambda g: g.mul_(2))
        y.mean().backward()
        assert torch.allclose(x.grad, torch.full(shape, 2 / x.numel()))


def test_gradients_of_sums_do_not_share_memory_with_leaves():
    x = torch.ones(1, requires_grad=True)
    v = torch.tensor(1.0)
    x.sum().backward(v)
    x.grad.add_(1)
    assert v.item() == 1


def test_triangles_of_expanded_tensors():
    assert torch.arange(1.0, 4).expand(2, 3).tril_().tolist() == [[1, 0, 0], [1, 0, 0]]
    assert torch.arange(1.0, 4).expand(3, 3).triu_(1).tolist() == [[0, 0, 0]] * 3
    assert torch.arange(1.0, 4).unsqueeze(1).expand(3, 3).tril_().tolist() == [[0] * 3, [0] * 3, [3] * 3]


def test_a_number_at_a_mask_of_an_expanded_tensor_warns_twice():
    x = torch.arange(3.0).expand(2, 3)
    with pytest.warns(UserWarning) as seen:
        x[x > 0] = 4
    assert [str(w.message).split()[2] for w in seen] == ["index_put_", "masked_fill_"]
    assert x.tolist() == [[0, 4, 4]] * 2


@pytest.mark.parametrize(
    "make",
    [
        lambda out: torch.rand(3, out=out),
        lambda out: torch.randn(3, out=out),
        lambda out: torch.randint(3, (3,), out=out),
        lambda out: torch.arange(3, out=out),
        lambda out: torch.linspace(0, 1, 3, out=out),
        lambda out: torch.logspace(0, 1, 3, out=out),
    ],
)
def test_different_numbers_are_not_written_into_one_element(make):
    with pytest.raises(RuntimeError, match=SHARED):
        make(torch.zeros(1).expand(3))


def test_empty_leaves_its_out_as_it_is():
    out = torch.ones(3)
    assert torch.empty(3, out=out) is out
    assert out.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: torch.ones(2, 2).addmv_(torch.ones(3), torch.ones(3)), RuntimeError, "expected, got 2, 1, 1"),
        (lambda: torch.ones(2).addmv_(torch.ones(2, 3), torch.ones(2)), RuntimeError, "size mismatch, got input (2)"),
        (
            lambda: torch.ones(1).addmv_(torch.ones(2, 3), torch.ones(3)),
            RuntimeError,
            "Bad in-place call: input tensor size [1] and output tensor size [2] should match",
        ),
        (
            lambda: torch.ones(2).addmm_(torch.ones(2, 2), torch.ones(2, 2)),
            RuntimeError,
            "Bad in-place call: input tensor size [2] and output tensor size [2, 2] should match",
        ),
        (
            lambda: torch.ones(2, 2).baddbmm_(torch.ones(2, 2, 2), torch.ones(2, 2, 2)),
            RuntimeError,
            "Bad in-place call: input tensor size [2, 2] and output tensor size [2, 2, 2] should match",
        ),
        (
            lambda: torch.baddbmm(torch.ones(2, 2), torch.ones(2), torch.ones(2, 2, 2)),
            IndexError,
            "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
        ),
        (
            lambda: torch.ones(2, 2).addr_(torch.ones(3), torch.ones(3)),
            RuntimeError,
            "size mismatch, input: [2, 2], v1: [3], v2: [3]",
        ),
        (lambda: torch.ones(2).addr_(torch.ones(2), torch.ones(2)), RuntimeError, "2D tensor expected, got 1D tensor"),
    ],
)
def test_sums_with_products_in_place_check_their_sizes(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)
