"""Changes in place as torch has them: what lost its value, views of other dtypes, shared memory, set_ and out=."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import livetape as torch

MODIFIED = r"has been modified by an inplace operation: .* which is output 0 of {}, is at version 1; expected version 0"
OVERLAPS = "some elements of the input tensor and the written-to tensor refer to a single memory location"


def leaf(*shape: int) -> Any:
    torch.manual_seed(1)
    return torch.randn(*shape, requires_grad=True)


# ---------------------------------------------------------------- what needs its own old value
@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda y: y.mul_(y), "Mul"),
        (lambda y: y.atan2_(y), "Atan2"),
        (lambda y: y.addcmul_(y, y), "Addcmul"),
        (lambda y: y.lerp_(y, y), "Lerp1"),
        (lambda y: y[0].mul_(y[1]), "AsStrided"),
    ],
)
def test_an_argument_that_is_changed_with_the_target(change: Callable[[Any], Any], name: str) -> None:
    y = leaf(3) * 2
    change(y)
    with pytest.raises(RuntimeError, match=MODIFIED.format(name)):
        y.sum().backward()


def test_matrices_too() -> None:
    y = leaf(3, 3) * 2
    y.addmm_(y, y)
    with pytest.raises(RuntimeError, match=MODIFIED.format("Addmm")):
        y.sum().backward()


@pytest.mark.parametrize(
    ("change", "slope"),
    [
        (lambda y: y.pow_(2), lambda x: 8 * x),
        (lambda y: y.add_(y), lambda x: 4 + 0 * x),
        (lambda y: y.sub_(y * 3), lambda x: -4 + 0 * x),
        (lambda y: y.mul_(y.exp()), lambda x: 2 * (1 + 2 * x) * (2 * x).exp()),
        (lambda y: y.copy_(y), lambda x: 2 + 0 * x),
        (lambda y: y.mul_(y.clone()), lambda x: 8 * x),
    ],
)
def test_what_needs_no_value_that_is_gone(change: Callable[[Any], Any], slope: Callable[[Any], Any]) -> None:
    x = leaf(3)
    y = x * 2
    change(y)
    y.sum().backward()
    assert torch.allclose(x.grad, slope(x.detach()))


# ---------------------------------------------------------------- views
def test_a_view_follows_its_base_to_requiring_gradients() -> None:
    x = torch.zeros(3)
    v, whole = x[:1], x.view(torch.int32)
    x.requires_grad_()
    assert v.requires_grad and v.is_leaf and not whole.requires_grad
    y = v * 3
    assert y.requires_grad and y.grad_fn.next_functions[0] == (None, 0), "its gradient goes nowhere"
    y.sum().backward()
    assert v.grad is None and x.grad is None
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        v.backward(torch.ones(1))
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad((v * 3).sum(), v)
    (torch.cat([v, v]) * 3).sum().backward()
    v.requires_grad_()
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3] and x.grad is None


def test_views_made_without_recording() -> None:
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        v = x.view(3)
    assert v.requires_grad and v.is_leaf
    v.exp().sum().backward()
    (v * v).sum().backward(inputs=[v])
    assert v.grad is None and x.grad is None
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        (x * 2).sum().backward(inputs=[torch.ones(3)])
    with torch.no_grad():
        v.add_(1)
        w, z = v[1:], v * 2
    assert w.is_leaf and z.tolist() == [4, 4, 4], "what is not recorded does not ask for the view's history"
    with pytest.raises(RuntimeError, match="was created in no_grad mode and its base or another view of its base"):
        v[0]


def test_a_view_of_a_view_made_in_inference_mode() -> None:
    c = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        v = c.view(3)
        assert not v.data.is_inference()
    with pytest.raises(
        RuntimeError, match=r"^A view was created in inference mode and is being modified inplace in normal"
    ):
        v.add_(1)
    with pytest.raises(
        RuntimeError, match="Output 0 of Select is a view of a view which was created in inference mode"
    ):
        v[0].add_(1)


def test_the_parts_of_complex_numbers() -> None:
    torch.manual_seed(0)
    for part, other in (("real", "imag"), ("imag", "real")):
        x = torch.randn(3, dtype=torch.complex64, requires_grad=True)
        y = x * 2
        getattr(y, part).mul_(3)
        assert y.grad_fn.name() == "torch::autograd::CopySlices"
        (y.abs() ** 2).sum().backward()
        found = torch.view_as_real(x.grad)
        first, second = (0, 1) if part == "real" else (1, 0)
        assert torch.allclose(found[:, first], 72 * getattr(x, part).detach())
        assert torch.allclose(found[:, second], 8 * getattr(x, other).detach())


def test_pairs_as_complex_numbers() -> None:
    x = leaf(4)
    y = x * 2
    v = torch.view_as_complex(y.view(2, 2))
    v.mul_(1j)
    (y * torch.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert x.grad.tolist() == [20, -2, 2000, -200]
    assert v.grad_fn.name() == "AsStridedBackward0"
    w = torch.view_as_real(torch.zeros(2, dtype=torch.complex64))
    w.copy_(leaf(2, 2))
    assert w._base.grad_fn is not None and w.grad_fn.name() == "AsStridedBackward0"


def test_parts_are_differentiable_twice() -> None:
    def changed(t: Any) -> Any:
        y = t * t
        y.real.mul_(t.imag)
        return torch.view_as_real(y).pow(2).sum()

    x = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(changed, (x,))
    assert torch.autograd.gradgradcheck(changed, (x,))


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
def test_a_gradient_that_is_recorded_is_a_copy() -> None:
    x = leaf(3)
    (x * x).sum().backward(create_graph=True)
    assert x.grad.grad_fn.name() == "torch::autograd::CopyBackwards"
    assert torch.autograd.grad(x.grad.sum(), x)[0].tolist() == [2, 2, 2]
    x.grad = None


# ---------------------------------------------------------------- memory that is shared
def square() -> Any:
    return torch.arange(12.0).reshape(3, 4).clone()


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.sub_(a[1]),
        lambda a: a[1:].copy_(a[:-1]),
        lambda a: a.__setitem__(slice(1, None), a[:-1]),
        lambda a: a.scatter_(0, torch.zeros(1, 4, dtype=torch.long), a[1:2]),
        lambda a: a.scatter_add_(0, torch.zeros(1, 4, dtype=torch.long), a[1:2]),
        lambda a: a.index_copy_(0, torch.tensor([0]), a[1:2]),
        lambda a: a.index_add_(0, torch.tensor([0]), a[1:2]),
        lambda a: a.put_(torch.tensor([0]), a[0, :1]),
        lambda a: torch.add(a[:-1], 1, out=a[1:]),
        lambda a: torch.maximum(a[:-1], a[:-1], out=a[1:]),
        lambda a: torch.gather(a, 0, torch.zeros(3, 4, dtype=torch.long), out=a),
        lambda a: torch.index_select(a, 0, torch.tensor([1, 0, 2]), out=a),
        lambda a: torch.cat([a[:1], a[1:2]], out=a[:2]),
        lambda a: torch.stack([a[0], a[1]], out=a[:2]),
    ],
)
def test_writing_over_what_is_still_read(change: Callable[[Any], Any]) -> None:
    a = square()
    before = a.clone()
    with pytest.raises(RuntimeError, match=OVERLAPS):
        change(a)
    assert torch.equal(a, before)


@pytest.mark.parametrize(
    ("change", "first"),
    [
        (lambda a: a.add_(a), [0, 2, 4, 6]),
        (lambda a: a.add_(a[:]), [0, 2, 4, 6]),
        (lambda a: a[0].add_(a[1]), [4, 6, 8, 10]),
        (lambda a: a[:, ::2].add_(a[:, 1::2]), [1, 1, 5, 3]),
        (lambda a: torch.add(a, 1, out=a), [1, 2, 3, 4]),
        (lambda a: torch.sum(a, 0, out=a[0]), [12, 15, 18, 21]),
        (lambda a: torch.sin(a[0] * 0, out=a[0]), [0, 0, 0, 0]),
        (lambda a: a.__setitem__(0, a[1]), [4, 5, 6, 7]),
        (lambda a: a.__setitem__(0, a.sum(0)), [12, 15, 18, 21]),
    ],
)
def test_writing_over_what_is_read_no_more(change: Callable[[Any], Any], first: list[float]) -> None:
    a = square()
    change(a)
    assert a[0].tolist() == first


def test_an_output_that_is_a_view_grows_in_its_memory() -> None:
    for start, whole in ((0, [2, 2, 2, 0]), (1, [0, 2, 2, 2])):
        x = torch.zeros(4)
        v = x[start : start + 2]
        with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
            torch.add(torch.ones(3), 1, out=v)
        assert v.tolist() == [2, 2, 2] and x.tolist() == whole
    y = torch.zeros(4)
    torch.add(torch.ones(2, 2), 1, out=y.view(2, 2))
    assert y.tolist() == [2, 2, 2, 2] and y._version == 1


# ---------------------------------------------------------------- set_
def test_set_takes_over_memory() -> None:
    x, y = torch.ones(3), torch.arange(8.0)
    assert x.set_(y) is x
    y[0] = 9
    assert x.tolist() == [9, 1, 2, 3, 4, 5, 6, 7]
    assert (x._version, y._version, x._base) == (1, 1, None)
    assert x.set_(y[3:]).storage_offset() == 3
    assert x.set_(y.view(2, 4).t()).stride() == (1, 4)
    assert x.set_(y, 2, (2, 2)).tolist() == [[2, 3], [4, 5]]
    assert x.set_(source=y, storage_offset=1, size=(2,), stride=(3,)).tolist() == [1, 4]
    assert x.set_(y.untyped_storage(), 1, (2, 2), (2, 1)).tolist() == [[1, 2], [3, 4]]
    assert x.set_(y.untyped_storage()).shape == (8,)
    assert x.set_(y.untyped_storage(), 0, (3, 4)).shape == (3, 4)
    assert x.set_().shape == (0,)
    whole = torch.ones(3, dtype=torch.int32).set_(torch.ones(2).untyped_storage())
    assert whole.tolist() == [0x3F800000] * 2
    base = torch.ones(3)
    part = base[1:]
    base.set_(torch.zeros(5))
    assert part.tolist() == [1, 1]


def test_set_and_gradients() -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        leaf(3).set_(torch.zeros(3))
    x = leaf(3)
    with torch.no_grad():
        x.set_(torch.zeros(4))
    assert x.requires_grad and x.is_leaf and x.shape == (4,)
    y = x * 2
    y.set_(torch.zeros(2))
    assert type(y.grad_fn).__name__ == "NotImplemented"
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        y.sum().backward()
    assert torch.ones(3).set_(x * 2).requires_grad
    a, w = torch.ones(3), leaf(3)
    z = w * a
    a.set_(torch.zeros(3))
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.sum().backward()


def test_set_refuses() -> None:
    x, y = torch.ones(3), torch.arange(8.0)
    for call, kind, message in (
        (
            lambda: x.set_(torch.arange(3)),
            RuntimeError,
            "Could not set tensor of type long int to a tensor of type float",
        ),
        (lambda: x.set_(5), TypeError, r"set_\(\) received an invalid combination of arguments - got \(int\)"),
        (lambda: x.set_(y, 1), TypeError, r"got \(Tensor, int\), but expected one of"),
        (lambda: x.set_(y.untyped_storage(), -1, (2,)), RuntimeError, "Tensor: invalid storage offset -1"),
        (lambda: x.set_(y, 0, (2, -1), (1, 1)), RuntimeError, "numel: integer multiplication overflow"),
        (lambda: x.set_(y, 0, (2, 2), (1,)), RuntimeError, r"unequal size length \(2\) and stride length \(1\)"),
        (lambda: x.set_(y, 0, (2,), (-1,)), RuntimeError, r"overflowed with sizes=\[2\] and strides=\[-1\]"),
    ):
        with pytest.raises(kind, match=message):
            call()
    assert x.tolist() == [1, 1, 1] and x._version == 0


def test_changes_of_views_that_torch_does_not_record() -> None:
    c = torch.zeros(4)
    x = torch.ones(4, requires_grad=True)
    with torch.inference_mode():
        v = c.view(4)
    v.add_(1).mul_(2)  # nothing here requires a gradient
    v[0] = 5.0
    assert c.tolist() == [5, 2, 2, 2]
    a, _ = c.chunk(2)
    for view, value, words in ((v, x, "created in inference mode"), (a, x, "a function that returns multiple views")):
        for change in (view.add_, view.copy_):
            with pytest.raises(RuntimeError, match=words):  # also where the shapes would not do
                change(value)
    assert not c.requires_grad and c.tolist() == [5, 2, 2, 2]


def test_writes_to_expanded_tensors() -> None:
    shared = "more than one element of the written-to tensor refers to a single memory location"
    t = torch.zeros(1, 3).expand(2, 3)
    for index in (..., slice(None), (slice(None), 0)):
        with pytest.raises(RuntimeError, match=shared):
            t[index] = 2.0
    t[0] = torch.ones(3)
    t[1:] = 2.0
    assert t.tolist() == [[2, 2, 2], [2, 2, 2]]
    mask = torch.tensor([[True, False, True], [False, False, True]])
    with pytest.warns(UserWarning, match="Use of index_put_ on expanded tensors is deprecated"):
        t[torch.tensor([0])] = torch.zeros(3)
    assert t.tolist() == [[0, 0, 0], [0, 0, 0]]
    with pytest.warns(UserWarning, match=r"Use of masked_fill_ on expanded tensors .* tensor\[mask\] = scalar"):
        t.masked_fill_(mask, 1)
    assert t.tolist() == [[1, 0, 1], [1, 0, 1]]
    with pytest.warns(UserWarning, match="Use of index_fill_ on expanded tensors"):
        t.index_fill_(1, torch.tensor([1]), 3)
    assert t.tolist() == [[1, 3, 1], [1, 3, 1]]


def test_words_for_values_with_too_many_dimensions() -> None:
    a, z = torch.zeros(2, 3), torch.zeros(())
    many = r"size=\[3\]\): the number of sizes provided \(1\) must be greater or equal to the number of dimensions"
    with pytest.raises(RuntimeError, match=r"expand\(torch.FloatTensor\{\[2, 2\]\}, " + many):
        a[0] = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match=r"expand\(CPUBoolType\{\[2, 2\]\}, " + many):
        a[0] = torch.ones(2, 2, dtype=torch.bool)
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 0"):
        z[..., 0]
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        z[0] = 1
    with pytest.raises(IndexError, match=r"slice\(\) cannot be applied to a 0-dim tensor."):
        z[:] = 1


def test_views_follow_what_their_base_is_told() -> None:
    x = torch.zeros(3)
    v, w = x[:1], x[:2]
    x.requires_grad_()
    assert v.requires_grad and w.requires_grad
    x.requires_grad_(False)
    assert not v.requires_grad
    v.requires_grad_()
    x.requires_grad_()
    x.requires_grad_(False)
    assert v.requires_grad and not w.requires_grad
    y = torch.ones(2, requires_grad=True) * 2
    with torch.inference_mode():
        assert y.detach_().requires_grad, "nothing is recorded here, and nothing forgotten"


def test_a_view_of_a_tensor_that_was_detached_in_place() -> None:
    x = torch.ones(4, requires_grad=True)
    v = x.view(2, 2)
    x.detach_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        v.add_(1)
    y = torch.zeros(2, 3)
    y[...] = y[0]  # the value is expanded first: what then shares memory is left to the program, as in torch
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        y.copy_(y[0])


def test_index_put_and_shared_memory() -> None:
    shared = "some elements of the input tensor and the written-to tensor refer to a single memory location"
    a, i = torch.arange(4.0), torch.tensor([1, 0])
    for accumulate in (False, True):
        for value in (a[:2], a[2:], a[0]):
            with pytest.raises(RuntimeError, match=shared):
                a.index_put_((i,), value, accumulate=accumulate)
    with pytest.raises(RuntimeError, match=shared):
        a[i] = a[:2]
    with pytest.raises(RuntimeError, match=shared):
        i[i] = 5
    mask = torch.tensor([True, False])
    mask[mask] = torch.tensor([False])  # masks are read before
    a[a > 1] = a[a > 1] * 2
    assert a.tolist() == [0, 1, 4, 6] and mask.tolist() == [False, False]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1, 3).expand(2, 3).fill_(torch.tensor(1.0))
    assert torch.zeros(1, 3).expand(2, 3).fill_(1.0).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_names_of_results_written_into_tensors() -> None:
    out = (torch.empty(0), torch.empty(0, dtype=torch.int64))
    found = torch.max(torch.tensor([[1.0, 2.0]]), 1, out=out)
    assert type(found) is torch.return_types.max_out and found[0] is out[0] and found.values.tolist() == [2]
    assert repr(found).startswith("torch.return_types.max_out(\nvalues=tensor([2.]),")
    assert type(torch.max(torch.tensor([[1.0, 2.0]]), 1)) is torch.return_types.max
    assert type(torch.slogdet(torch.eye(2), out=(torch.empty(0), torch.empty(0)))) is torch.return_types.slogdet_out


def test_a_tensor_is_copied_into_itself() -> None:
    t = torch.ones(1, 3).expand(2, 3)
    assert t.copy_(t) is t
    y = torch.ones(3, 3).t()
    y.expand(1, 3, 3)[0].mul_(0.5)
    assert y.tolist() == [[0.5] * 3] * 3, "an expanded view of memory that is not contiguous can be written to"


def test_copies_within_the_same_memory_in_forward_mode() -> None:
    with torch.autograd.forward_ad.dual_level():
        c = torch.arange(9.0).view(3, 3)
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
            c[1:].copy_(c[:2])
        assert c.copy_(c) is c
