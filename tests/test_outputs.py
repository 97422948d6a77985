"""``out=``: what its dtype must be, function by function, with PyTorch's words."""

from __future__ import annotations

import pytest

import livetape as torch
import livetape.nn.functional as F

x = torch.arange(6.0).view(2, 3)
SAME = "Expected out tensor to have dtype float, but got double instead"


@pytest.mark.parametrize(
    ("message", "function", "args"),
    [
        (SAME, torch.mm, (x, x.t())),
        (SAME, torch.addmm, (x[:, :2], x, x.t())),
        (SAME, torch.gather, (x, 1, torch.tensor([[0], [1]]))),
        (SAME, torch.softmax, (x, 1)),
        (SAME, torch.tril, (x,)),
        (SAME, torch.linalg.inv, (torch.eye(2),)),
        (SAME, torch.linalg.cholesky, (torch.eye(2),)),
        (SAME, F.linear, (x, x)),
        (SAME, F.avg_pool2d, (x[None], 1)),
        (SAME, torch.diagonal_copy, (x,)),
        ("Found dtype Double but expected Float", torch.abs, (x,)),
        ("Found dtype Double but expected Float", F.gelu, (x,)),
        ("result dtype Double does not match input dtype Float", torch.dot, (x[0], x[1])),
        ("expected scalar_type Float but found Double", torch.logcumsumexp, (x, 0)),
        (
            "index_select.*: self and result must have the same scalar type",
            torch.index_select,
            (x, 1, torch.tensor([0])),
        ),
        ("take.*: self and out expected to have the same dtype", torch.take, (x, torch.tensor([0]))),
        ("isposinf does not support non-boolean outputs.", torch.isposinf, (x,)),
        ("Expected out type to be Float but got Double", torch.where, (x > 2, x, x)),
        ("linalg.norm expected out tensor dtype Float but got: Double", torch.linalg.norm, (x,)),
    ],
)
def test_outputs_of_the_same_dtype(message, function, args):
    wrong = torch.empty(0, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=message):
        function(*args, out=wrong)
    assert wrong.shape == (0,)
    right = torch.empty(0, dtype=function(*args).dtype)
    assert function(*args, out=right) is right
    assert torch.equal(right, function(*args))


def test_outputs_of_several_results():
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype long int, but got int instead"):
        torch.max(x, 1, out=(torch.empty(0), torch.empty(0, dtype=torch.int32)))
    assert torch.max(x, out=torch.empty((), dtype=torch.float64)).dtype is torch.float64


@pytest.mark.parametrize(
    ("message", "function", "args"),
    [
        ("result type Float can't be cast to the desired output type Long", torch.add, (x, x)),
        ("cholesky_inverse: Expected result to be safely castable", torch.cholesky_inverse, (torch.eye(2),)),
        ("diag: result type Float can't be cast to the desired out= type Long", torch.diag, (x[0],)),
        ("irfft expects a floating point output tensor, but got Long", torch.fft.irfft, (x + 0j,)),
    ],
)
def test_outputs_that_the_result_can_be_cast_to(message, function, args):
    with pytest.raises(RuntimeError, match=message):
        function(*args, out=torch.empty(0, dtype=torch.int64))
    assert function(*args, out=torch.empty(0, dtype=torch.float64)).dtype is torch.float64


SHARED = "unsupported operation: more than one element of the written-to tensor"
OVERLAP = "unsupported operation: some elements of the input tensor and the written-to tensor"
at = torch.tensor([0, 1, 2])


@pytest.mark.parametrize(
    "call",
    [
        lambda y: torch.gather(y, 0, at, out=y),
        lambda y: torch.take(y, at[:2], out=y),
        lambda y: torch.index_select(y, 0, at[:2], out=y),
        lambda y: torch.masked_select(y, y > 1, out=y),
        lambda y: torch.kthvalue(y, 2, out=(y, torch.tensor(0))),
        lambda y: torch.cat((y, y), out=y),
        lambda y: torch.cat((y[:0], y), out=y[1:]),
        lambda y: torch.index_add(torch.zeros(3), 0, at, y, out=y),
        lambda y: torch.scatter(torch.zeros(4), 0, at, y, out=y),
        lambda y: torch.linalg.cross(y, torch.ones(3), out=y),
        lambda y: torch.add(y[:2], 1, out=y[1:]),
        lambda y: torch.cumsum(y[:2], 0, out=y[1:]),
    ],
)
def test_outputs_must_not_overlap_what_is_read(call):
    y = torch.arange(3.0)
    with pytest.raises(RuntimeError, match=OVERLAP):
        call(y)
    assert y.tolist() == [0.0, 1.0, 2.0]


def test_outputs_that_may_overlap_what_is_read():
    y = torch.arange(6.0).view(2, 3)
    assert torch.softmax(y, 1, out=y) is y
    y = torch.arange(4.0).view(2, 2)
    assert torch.mm(y, y, out=y.t()).tolist() == [[2.0, 3.0], [6.0, 11.0]]
    assert torch.tril(y, out=y.t()).tolist() == [[2.0, 0.0], [3.0, 11.0]]
    y = torch.arange(3.0)
    assert torch.exp(y, out=y) is y
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        assert torch.sum(y, out=y).shape == ()


def test_outputs_whose_elements_share_memory():
    with pytest.raises(RuntimeError, match=SHARED):
        torch.add(x, 1, out=torch.zeros(3).expand(2, 3))
    with pytest.raises(RuntimeError, match=SHARED):  # before it gets another size
        torch.abs(x, out=torch.zeros(1).expand(4))
    with pytest.warns(UserWarning, match="was resized"):
        assert torch.cumsum(x, 0, out=torch.zeros(1).expand(4)).shape == (2, 3)


def test_an_output_that_is_read_keeps_its_size():
    y = torch.ones(3)
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        torch.add(y, x, out=y)
