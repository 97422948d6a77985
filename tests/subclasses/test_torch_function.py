"""Classes and modes that answer calls by ``__torch_function__``: what PyTorch 2.13 does, says and hands on."""

from __future__ import annotations

import copy
import functools
import io
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import livetape as torch
from livetape import nn, overrides
from livetape.nn import functional as F

resolve_name = overrides.resolve_name


class Plain(torch.Tensor):
    """A subclass that adds nothing."""


class Other(torch.Tensor):
    """A subclass that is no relative of Plain."""


class Noted(torch.Tensor):
    """A subclass that notes what it is asked."""

    log: list[Any] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.log.append((resolve_name(func), len(args), kwargs))
        return super().__torch_function__(func, types, args, kwargs)


class Silent:
    """No tensor; it never answers."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Named:
    """No tensor; it answers with what it was asked."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return resolve_name(func), tuple(t.__name__ for t in types), len(args), kwargs


# ---------------------------------------------------------------- results are of the subclass
@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x + y,
        lambda x, y: y + x,
        lambda x, y: 1 - x,
        lambda x, y: x @ y,
        lambda x, y: -x,
        lambda x, y: x < y,
        lambda x, y: x == 1,
        lambda x, y: x[0],
        lambda x, y: y[x > 1],
        lambda x, y: x.T,
        lambda x, y: x.mT,
        lambda x, y: x.real,
        lambda x, y: x.data,
        lambda x, y: x.detach(),
        lambda x, y: x.view(-1),
        lambda x, y: x.to(torch.float64),
        lambda x, y: x.new_zeros(2),
        lambda x, y: torch.exp(x),
        lambda x, y: torch.zeros_like(x),
        lambda x, y: torch.where(y > 1, x, y),
        lambda x, y: torch.cat((y, x)),
        lambda x, y: torch.stack([x, y]),
        lambda x, y: torch.einsum("ij,jk->ik", y, x),
        lambda x, y: F.softmax(x, dim=0),
        lambda x, y: F.mse_loss(x, y),
        lambda x, y: nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.BatchNorm1d(2), nn.Dropout())(x),
        lambda x, y: nn.LSTM(2, 3)(x)[0],
        lambda x, y: nn.GRUCell(2, 3)(x),
        lambda x, y: nn.RNN(2, 3)(x)[1],
        lambda x, y: torch.linalg.inv(x),
        lambda x, y: torch.fft.fft(x),
        lambda x, y: torch.add(x, nn.Parameter(y)),
        lambda x, y: next(iter(x)),
        lambda x, y: x.add_(1),
        lambda x, y: x.max(0).values,
        lambda x, y: x.split(1)[1],
        lambda x, y: torch.meshgrid(x[0], x[1], indexing="ij")[0],
        lambda x, y: torch.as_tensor(x),
        lambda x, y: copy.copy(x),
        lambda x, y: nn.Parameter(x) * 2,
    ],
)
def test_results_are_of_the_subclass(call: Any) -> None:
    data = [[1.0, 2.0], [3.0, 5.0]]
    found = call(Plain(data), torch.tensor(data))
    assert type(found) is Plain
    torch.manual_seed(0)
    found = call(Plain(data), torch.tensor(data))
    torch.manual_seed(0)
    expected = call(torch.tensor(data), torch.tensor(data))
    assert type(expected) is torch.Tensor
    torch.testing.assert_close(found.as_subclass(torch.Tensor), expected)


def test_results_that_are_not() -> None:
    x = Plain([1.0, 2.0])
    assert type(torch.tensor(x.tolist())) is torch.Tensor
    assert type(x.shape) is torch.Size and type(x.sum().item()) is float and torch.equal(x, x) is True
    x.requires_grad_()
    (x * 2).sum().backward()
    assert type(x.grad) is torch.Tensor and x.grad.tolist() == [2.0, 2.0]  # a property whose tensors stay what they are
    assert type(x[0]._base) is Plain
    assert type(torch.autograd.grad((x * 3).sum(), x)[0]) is Plain
    assert type(nn.Parameter(torch.ones(2)) * 2) is torch.Tensor

    class Weights(nn.Parameter):
        pass

    assert type(Weights(torch.ones(2)) * 2) is torch.Tensor


def test_named_results_stay_named() -> None:
    found = Plain([3.0, 1.0]).sort()
    assert repr(found) == "torch.return_types.sort(\nvalues=Plain([1., 3.]),\nindices=Plain([1, 0]))"
    assert isinstance(found, torch.return_types.sort)


def test_the_tape_runs_through() -> None:
    x = Plain([1.0, 2.0]).requires_grad_()
    y = x * 2
    assert repr(y) == "Plain([2., 4.], grad_fn=<AliasBackward0>)"
    assert type(y.grad_fn.next_functions[0][0]).__name__ == "MulBackward0"
    assert y.grad_fn.next_functions[0][0].next_functions[0][0].variable is x
    (y * y).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0]


def test_a_backward_asks_nobody() -> None:
    x = Noted([1.0, 2.0]).requires_grad_()
    with torch._C.DisableTorchFunctionSubclass():
        loss = (x.exp() * x).sum()
    Noted.log.clear()
    assert type(loss) is torch.Tensor
    loss.backward()
    assert Noted.log == []


def test_in_place() -> None:
    x = torch.ones(2)
    y = x.as_subclass(Plain)
    y.mul_(2)
    y += 1
    y[0] = 9
    assert x.tolist() == [9.0, 3.0] and type(y) is Plain and x._version == y._version == 3
    assert y._base is x and y._is_view()
    x += Plain([1.0, 1.0])
    assert type(x) is Plain


# ---------------------------------------------------------------- what handlers are told
ASKED = [
    (lambda x: x + 1, ("torch.Tensor.add", 2, None)),
    (lambda x: 1 + x, ("torch.Tensor.add", 2, None)),
    (lambda x: torch.ones(2) * x, ("torch.Tensor.mul", 2, None)),
    (lambda x: 1 - x, ("torch.Tensor.__rsub__", 2, {})),
    (lambda x: 2 / x, ("torch.Tensor.__rtruediv__", 2, {})),
    (lambda x: x // 2, ("torch.Tensor.__floordiv__", 2, {})),
    (lambda x: x % 2, ("torch.Tensor.remainder", 2, None)),
    (lambda x: x**2, ("torch.Tensor.__pow__", 2, {})),
    (lambda x: 2**x, ("torch.Tensor.__rpow__", 2, {})),
    (lambda x: -x, ("torch.Tensor.neg", 1, None)),
    (lambda x: abs(x), ("torch.Tensor.abs", 1, None)),
    (lambda x: torch.ones(2) < x, ("torch.Tensor.gt", 2, None)),
    (lambda x: x == 1, ("torch.Tensor.__eq__", 2, None)),
    (lambda x: x != 1, ("torch.Tensor.ne", 2, None)),
    (lambda x: x[0], ("torch.Tensor.__getitem__", 2, None)),
    (lambda x: x.__setitem__(0, 1.0), ("torch.Tensor.__setitem__", 3, None)),
    (lambda x: len(x), ("torch.Tensor.__len__", 1, {})),
    (lambda x: 1.0 in x, ("torch.Tensor.__contains__", 2, {})),
    (lambda x: repr(x), ("torch.Tensor.__repr__", 1, {"tensor_contents": None})),
    (lambda x: f"{x}", ("torch.Tensor.__format__", 2, {})),
    (lambda x: x.shape, ("torch.Tensor.shape.__get__", 1, None)),
    (lambda x: x.dtype, ("torch.Tensor.dtype.__get__", 1, None)),
    (lambda x: x.mT if x.ndim > 1 else x.real, ("torch.Tensor.ndim.__get__", 1, None)),
    (lambda x: x.grad, ("torch.Tensor.grad.__get__", 1, None)),
    (lambda x: setattr(x, "requires_grad", True), ("torch.Tensor.requires_grad.__set__", 2, None)),
    (lambda x: x.size(0), ("torch.Tensor.size", 2, None)),
    (lambda x: x.sum(), ("torch.Tensor.sum", 1, None)),
    (lambda x: torch.sum(x, dim=0), ("torch.sum", 1, {"dim": 0})),
    (lambda x: torch.add(x, 1, alpha=2), ("torch.add", 2, {"alpha": 2})),
    (lambda x: torch.split(x, 1), ("torch.functional.split", 2, {"dim": 0})),
    (lambda x: x.split(1), ("torch.Tensor.split", 2, {"dim": 0})),
    (lambda x: x.norm(), ("torch.Tensor.norm", 1, {"p": "fro", "dim": None, "keepdim": False, "dtype": None})),
    (lambda x: torch.linalg.norm(x), ("torch.linalg.norm", 1, None)),
    (lambda x: torch.special.erf(x), ("torch.special.erf", 1, None)),
    (lambda x: F.relu(x), ("torch.nn.functional.relu", 1, {"inplace": False})),
    (lambda x: nn.ReLU()(x), ("torch.nn.functional.relu", 1, {"inplace": False})),
    (lambda x: F.gelu(x), ("torch.nn.functional.gelu", 1, None)),
    (lambda x: F.softmax(x, 0), ("torch.nn.functional.softmax", 1, {"dim": 0, "_stacklevel": 3, "dtype": None})),
    (
        lambda x: F.mse_loss(x, torch.ones(2)),
        (
            "torch.nn.functional.mse_loss",
            2,
            {"size_average": None, "reduce": None, "reduction": "mean", "weight": None},
        ),
    ),
    (
        lambda x: F.layer_norm(x, (2,)),
        ("torch.nn.functional.layer_norm", 2, {"weight": None, "bias": None, "eps": 1e-05}),
    ),
]


@pytest.mark.parametrize(("call", "expected"), ASKED, ids=[e[0] for _, e in ASKED])
def test_what_a_handler_is_asked(call: Any, expected: Any) -> None:
    x = Noted([1.0, 2.0])
    Noted.log.clear()
    call(x)
    assert Noted.log[0] == expected


def test_what_is_not_asked() -> None:
    x = Noted([1.0, 2.0])
    Noted.log.clear()
    assert torch.is_tensor(x) and hash(x) and torch.as_tensor(x) is x
    assert type(x.as_subclass(Plain)) is Plain
    assert Noted.log == []


def test_functions_keep_their_identity() -> None:
    seen = []

    class Keeps(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = Keeps([[1.0]])
    torch.mean(x), x.mean(), x.T, x[0], F.relu(x), x + 1
    table = {
        torch.mean,
        torch.Tensor.mean,
        torch.Tensor.T.__get__,
        torch.Tensor.__getitem__,
        F.relu,
        torch.Tensor.add,
    }
    assert len(seen) == 6 and set(seen) == table


# ---------------------------------------------------------------- who is asked first
def test_subclasses_come_first_then_from_left_to_right() -> None:
    order: list[str] = []

    class First(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            order.append(cls.__name__)
            return NotImplemented

    class Second(First):
        pass

    a, b = First([1.0]), Second([1.0])
    with pytest.raises(TypeError) as caught:
        torch.add(a, b)
    assert order == ["Second", "First"]
    assert str(caught.value) == (
        "Multiple dispatch failed for 'torch.add'; all __torch_function__ handlers returned NotImplemented:\n\n"
        f"  - tensor subclass {Second!r}\n  - tensor subclass {First!r}\n\n"
        "For more information, try re-running with TORCH_LOGS=not_implemented"
    )
    order.clear()
    with pytest.raises(TypeError):
        torch.stack([a, torch.ones(1), b])
    assert order == ["Second", "First"]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, d: torch.mean(d), "Multiple dispatch failed for 'torch.mean'; all __torch_function__"),
        (lambda x, d: x.add(d), "Multiple dispatch failed for 'torch.Tensor.add'; all"),
        (lambda x, d: torch.linalg.inv(d), "Multiple dispatch failed for 'torch.linalg.linalg_inv'; all"),
        (lambda x, d: F.linear(x, d), "Multiple dispatch failed for 'torch.nn.linear'; all"),
        (lambda x, d: torch.exp(x, out=d), "Multiple dispatch failed for 'torch.exp'; all"),
        (lambda x, d: x + d, r"unsupported operand type\(s\) for \+: 'Tensor' and 'Silent'"),
        (lambda x, d: d @ x, r"unsupported operand type\(s\) for @: 'Silent' and 'Tensor'"),
        (
            lambda x, d: F.relu(d),
            r"no implementation found for 'torch.nn.functional.relu' on types that implement __torch_function__: "
            r"\[<class '.*Silent'>\]$",
        ),
        (
            lambda x, d: torch.tensordot(d, x),
            r"no implementation found for 'torch.functional.tensordot' on types that implement __torch_function__: "
            r"\[<class '.*Silent'>, <class 'torch.Tensor'>\]$",
        ),
        (lambda x, d: Plain([1.0]) + Other([1.0]), r"unsupported operand type\(s\) for \+: 'Plain' and 'Other'"),
        (lambda x, d: torch.add(Plain([1.0]), Other([1.0])), "Multiple dispatch failed for 'torch.add'; all"),
    ],
)
def test_when_nobody_answers(call: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call(torch.ones(2, 2), Silent())


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x, d: torch.add(x, d), ("torch.add", ("Named",), 2, None)),
        (lambda x, d: torch.add(d, 3, alpha=2), ("torch.add", ("Named",), 2, {"alpha": 2})),
        (lambda x, d: x.mul(d), ("torch.Tensor.mul", ("Named",), 2, None)),
        (lambda x, d: x * d, ("torch.Tensor.mul", ("Named",), 2, None)),
        (lambda x, d: d - x, ("torch.Tensor.__rsub__", ("Tensor", "Named"), 2, {})),
        (lambda x, d: torch.cat([x, d]), ("torch.cat", ("Named",), 1, None)),
        (lambda x, d: F.relu(d), ("torch.nn.functional.relu", ("Named",), 1, {"inplace": False})),
        (lambda x, d: nn.Linear(2, 2)(d), ("torch.nn.functional.linear", ("Named",), 3, None)),
        (lambda x, d: torch.einsum("ij->i", d), ("torch.functional.einsum", ("Named",), 2, {})),
    ],
)
def test_classes_that_are_no_tensors_answer(call: Any, expected: Any) -> None:
    assert call(torch.ones(2, 2), Named()) == expected


def test_the_first_class_that_is_no_tensor() -> None:
    """In a program that had no such class before: with each of these calls as the first that meets one."""
    for call in ("x + d", "d + x", "torch.add(x, d)", "F.relu(d)", "torch.stack([x, d])", "x.mul(d)", "torch.mean(d)"):
        program = (
            "import livetape as torch\nF = torch.nn.functional\n"
            "class D:\n"
            "    @classmethod\n"
            "    def __torch_function__(cls, func, types, args=(), kwargs=None): return func.__name__, len(args)\n"
            f"x, d = torch.ones(2), D()\nprint({call}, {call} == {call})"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(") True\n") and done.stdout.startswith("('"), (call, done.stdout)


def test_a_plain_method_is_deprecated() -> None:
    class Method:
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return 3

    with pytest.warns(UserWarning, match="Defining your `__torch_function__` as a plain method is deprecated"):
        assert torch.mean(Method()) == 3


# ---------------------------------------------------------------- the examples of torch's notes, in other words
class Diagonal:
    """A multiple of the identity matrix."""

    known: dict[Any, Any] = {}

    def __init__(self, size: int, value: float) -> None:
        self.size, self.value = size, value

    def matrix(self) -> Any:
        return self.value * torch.eye(self.size)

    def __repr__(self) -> str:
        return f"Diagonal({self.size}, {self.value})"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in cls.known or not all(issubclass(t, (torch.Tensor, Diagonal)) for t in types):
            args = [a.matrix() if isinstance(a, Diagonal) else a for a in args]
            return func(*args, **(kwargs or {}))
        return cls.known[func](*args, **(kwargs or {}))


def implements(function: Any) -> Any:
    def register(own: Any) -> Any:
        Diagonal.known[function] = functools.wraps(function)(own)
        return own

    return register


@implements(torch.mean)
def diagonal_mean(input: Any) -> float:
    return float(input.value) / input.size


@implements(torch.add)
def diagonal_add(input: Any, other: Any) -> Any:
    if isinstance(input, Diagonal) and isinstance(other, Diagonal):
        return Diagonal(input.size, input.value + other.value)
    return torch.add(*[v.matrix() if isinstance(v, Diagonal) else v for v in (input, other)])


def test_a_class_with_a_table_of_functions() -> None:
    d = Diagonal(3, 2.0)
    assert torch.mean(d) == 2.0 / 3
    assert repr(torch.add(d, d)) == "Diagonal(3, 4.0)"
    assert torch.add(torch.ones(3, 3), d).tolist() == [[3.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 1.0, 3.0]]
    assert torch.mul(d, torch.arange(3.0)).tolist() == [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 4.0]]


class WithNote:
    """A tensor and a note, which results inherit."""

    def __init__(self, data: Any, note: str) -> None:
        self.tensor, self.note = torch.as_tensor(data), note

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        notes = tuple(a.note for a in args if hasattr(a, "note"))
        found = func(*[getattr(a, "tensor", a) for a in args], **(kwargs or {}))
        return cls(found, notes[0])


def test_a_class_that_wraps_a_tensor() -> None:
    found = torch.add(WithNote([[1.0, 2.0]], "in metres"), torch.tensor([[1.0, 4.0]]))
    assert found.note == "in metres" and found.tensor.tolist() == [[2.0, 6.0]]
    assert torch.mul(torch.ones(2), WithNote([1.0, 2.0], "b")).note == "b"


class WithName(torch.Tensor):
    """A subclass that makes its objects itself, as programs often write it."""

    @staticmethod
    def __new__(cls: Any, data: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(cls, data, *args, **kwargs)

    def __init__(self, data: Any, name: str) -> None:
        super().__init__()
        self.of = name


def test_a_subclass_that_makes_its_objects() -> None:
    x = WithName([1.0, 2.0], "a")
    assert repr(x) == "WithName([1., 2.])" and x.of == "a"
    assert repr(x + 1) == "WithName([2., 3.])" and not hasattr(x + 1, "of")
    data = torch.ones(2, dtype=torch.float64, requires_grad=True)
    shared = WithName(data, "b")
    assert shared.dtype is torch.float64 and shared.requires_grad and shared.data_ptr() == data.data_ptr()
    shared.sum().backward()
    assert data.grad.tolist() == [1.0, 1.0]

    class Initialised(torch.Tensor):
        def __init__(self, *args: Any) -> None:
            super().__init__()
            self.extra = len(args)

    assert Initialised([1.0]).tolist() == [1.0] and Initialised([1.0]).extra == 1


# ---------------------------------------------------------------- switches
def test_switches() -> None:
    x = Plain([1.0, 2.0])
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is type(x[:1]) is type(x.clone()) is torch.Tensor
        with pytest.raises(TypeError, match=r"^add\(\): argument 'input' \(position 1\) must be Tensor, not Named$"):
            torch.add(Named(), 1)
    assert type(x + 1) is Plain

    class Quiet(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    assert type(Quiet([1.0]) + 1) is torch.Tensor
    assert nn.Parameter.__torch_function__ is torch._C._disabled_torch_function_impl
    with torch._C.DisableTorchFunction():
        assert not overrides.has_torch_function_unary(x)
    assert overrides.has_torch_function_unary(x)


def test_the_default_handler_declines_for_strangers() -> None:
    x = Plain([1.0])
    assert torch.Tensor.__torch_function__(torch.add, (Plain,), (x, 1)) is NotImplemented
    assert Plain.__torch_function__(torch.add, (Other,), (x, 1)) is NotImplemented
    assert type(Plain.__torch_function__(torch.add, (torch.Tensor,), (torch.ones(1), 1))) is Plain


# ---------------------------------------------------------------- modes
class Noting(overrides.TorchFunctionMode):
    def __init__(self, log: list[Any], tag: str = "") -> None:
        self.log, self.tag = log, tag

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.log.append((self.tag + str(resolve_name(func)), [t.__name__ for t in types], len(args), kwargs))
        return func(*args, **(kwargs or {}))


def test_modes() -> None:
    x, log = torch.ones(2), []  # type: ignore[var-annotated]
    with Noting(log):
        torch.zeros(2, device="cpu")
        x + 1
        F.relu(x)
        x.shape  # noqa: B018
        x[0] = 1
        len(x)
        torch.tensor([1.0])
        Plain([1.0]) * 2
        torch.is_tensor(x)
        torch.is_grad_enabled()
    assert log == [
        ("torch.zeros", [], 1, {"device": "cpu"}),
        ("torch.Tensor.add", [], 2, None),
        ("torch.nn.functional.relu", ["Tensor"], 1, {"inplace": False}),
        ("torch.Tensor.shape.__get__", ["Tensor"], 1, None),
        ("torch.Tensor.__setitem__", [], 3, None),
        ("torch.Tensor.__len__", ["Tensor"], 1, {}),
        ("torch.tensor", [], 1, None),
        ("torch.Tensor.mul", ["Plain"], 2, None),
    ]
    log.clear()
    x + 1
    assert log == [] and overrides._get_current_function_mode() is None


def test_modes_are_nested() -> None:
    log: list[Any] = []
    with Noting(log, "a:") as outer, Noting(log, "b:") as inner:
        assert overrides._get_current_function_mode_stack() == [outer, inner]
        torch.ones(1)
        with overrides.BaseTorchFunctionMode():
            torch.neg(torch.ones(1))
    names = [entry[0] for entry in log]
    assert names == ["b:torch.ones", "a:torch.ones"] * 2 + ["b:torch.neg", "a:torch.neg"]
    log.clear()
    with Noting(log):
        with torch._C.DisableTorchFunctionSubclass():
            torch.neg(Plain([1.0]))
        with torch._C.DisableTorchFunction():
            torch.neg(torch.ones(1))
    assert [entry[:2] for entry in log] == [("torch.neg", [])]


def test_a_mode_may_change_calls_and_use_itself() -> None:
    class Doubled(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.add:
                with self:
                    return torch.mul(*args)
            if func is torch.mul:
                return "answered"
            return func(*args, **(kwargs or {}))

    with Doubled():
        assert torch.add(torch.ones(1), 2) == "answered"


def test_a_mode_that_does_not_answer() -> None:
    class Declines(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    x = torch.ones(2)
    with Declines() as mode:
        with pytest.raises(TypeError) as caught:
            torch.ones(1)
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Tensor' and 'int'"):
            x + 1
        with pytest.raises(TypeError) as python:
            F.relu(x)
    assert str(caught.value) == (
        "Multiple dispatch failed for 'torch.ones'; all __torch_function__ handlers returned NotImplemented:\n\n"
        f"  - mode object {mode!r}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )
    assert str(python.value) == (
        "no implementation found for 'torch.nn.functional.relu' on types that implement __torch_function__: [] nor in "
        f"mode {mode!r}"
    )
    with pytest.raises(NotImplementedError), overrides.TorchFunctionMode():
        torch.ones(1)
    assert (x + 1).tolist() == [2.0, 2.0]
    with pytest.warns(UserWarning, match=r"`Mode.push\(\)` is no longer necessary"):
        assert type(Declines.push()) is Declines


# ---------------------------------------------------------------- torch.overrides
def test_functions_of_a_program() -> None:
    def apart(a: Any, b: Any, *, scale: float = 1.0) -> Any:
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(apart, (a, b), a, b, scale=scale)
        return (a - b).abs() * scale

    assert apart(torch.tensor(1.0), torch.tensor(3.0)).item() == 2.0
    assert apart(Named(), 1)[1:] == (("Named",), 2, {"scale": 1.0})
    with pytest.raises(TypeError) as caught:
        apart(Silent(), Plain([1.0]))
    assert str(caught.value) == (
        f"no implementation found for '{__name__}.apart' on types that implement __torch_function__: "
        f"[{Silent!r}, {Plain!r}]"
    )

    @overrides.wrap_torch_function(lambda a: (a,))
    def wrapped(a: Any) -> Any:
        """Documented."""
        return a + 1

    assert wrapped.__name__ == "wrapped" and wrapped.__doc__ == "Documented."
    assert wrapped(torch.ones(1)).tolist() == [2.0] and wrapped(Named())[1:] == (("Named",), 1, {})
    log: list[Any] = []
    with Noting(log):
        assert overrides.has_torch_function(()) and overrides.has_torch_function_variadic(1, 2)
        wrapped(torch.ones(1))
    assert [entry[0] for entry in log] == ["torch.ones", "None"]


def test_questions() -> None:
    x, p = torch.ones(1), nn.Parameter(torch.ones(1))
    assert not overrides.has_torch_function((x, p)) and not overrides.has_torch_function_variadic(1, "a")
    assert overrides.has_torch_function((x, Plain([1.0]))) and overrides.has_torch_function_unary(Silent())
    assert overrides.is_tensor_like(x) and overrides.is_tensor_like(Silent()) and not overrides.is_tensor_like(3)
    assert [
        overrides.is_tensor_method_or_property(f)
        for f in (torch.add, torch.Tensor.add, torch.Tensor.T.__get__, torch.Tensor.__add__, len)
    ] == [False, True, True, True, False]
    assert resolve_name(torch.conv2d) == "torch.nn.functional.conv2d" and resolve_name(torch.tanh) == "torch.tanh"
    assert resolve_name(torch.einsum) == "torch.functional.einsum" and resolve_name(len) is None
    assert resolve_name(torch.Tensor.grad.__set__) == "torch.Tensor.grad.__set__"
    assert overrides.get_default_nowrap_functions() == {
        torch.Tensor._base.__get__,
        torch.Tensor.grad.__get__,
        torch.Tensor._grad.__get__,
    }
    can = overrides.get_overridable_functions()
    assert torch.add in can[torch] and F.relu in can[F] and torch.Tensor.add in can[torch.Tensor]
    assert torch.zeros in overrides.get_ignored_functions() and torch.zeros not in can[torch]
    testing = overrides.get_testing_overrides()
    assert testing[torch.add](1, 2) == -1 and testing[F.relu](1) == -1
    with pytest.raises(RuntimeError, match="outside of '__torch_dispatch__' is not allowed"):
        with overrides.enable_reentrant_dispatch():
            pass


def test_every_overridable_function_of_torch_is_offered() -> None:
    """Whatever else its arguments are: a class that is no tensor is asked before anything is said about them."""
    d = Named()
    missed = []
    for function in overrides.get_overridable_functions()[torch]:
        try:
            if function(d)[0] != resolve_name(function):
                missed.append(resolve_name(function))
        except Exception:
            missed.append(resolve_name(function))
    assert missed == []


def test_one_level_further() -> None:
    seen: list[Any] = []

    class Through(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(resolve_name(func))
            return overrides.redispatch_function(func, types, args, kwargs)

    found = torch.neg(Through([1.0]))
    assert seen == ["torch.neg"] and type(found) is torch.Tensor


# ---------------------------------------------------------------- made, copied, kept
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.as_subclass(3), TypeError, r"cls must be a type \(got int\)"),
        (
            lambda x: x.as_subclass(int),
            TypeError,
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor.",
        ),
        (lambda x: torch.Tensor._make_subclass(3, x), TypeError, r"cls must be a type \(got int\)"),
        (
            lambda x: torch.Tensor._make_subclass(Plain, 3),
            TypeError,
            r"_make_subclass\(\): argument 'data' \(position 2\) must be Tensor, not int",
        ),
        (
            lambda x: torch.Tensor._make_subclass(Plain, x.long(), True),
            RuntimeError,
            "Only Tensors of floating point and complex dtype can require gradients",
        ),
    ],
)
def test_errors_of_making(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call(torch.ones(2))


def test_making() -> None:
    x = torch.ones(2, requires_grad=True)
    assert torch.Tensor._make_subclass(Plain, x * 2, True).is_leaf
    y = x.as_subclass(Plain)
    assert repr(y) == "Plain([1., 1.], grad_fn=<AliasBackward0>)" and y._base is x
    assert type(y.as_subclass(torch.Tensor)) is torch.Tensor
    assert Plain(3, 2).shape == (3, 2) and Plain((1, 2)).tolist() == [1.0, 2.0] and Plain().shape == (0,)


def test_copied_and_kept() -> None:
    x = Plain([1.0, 2.0])
    x.tag = 3
    for twin in (pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert type(twin) is Plain and twin.tag == 3 and twin.tolist() == [1.0, 2.0]
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    found = torch.load(file, weights_only=False)["x"]
    assert type(found) is Plain and found.tag == 3


def test_in_modules() -> None:
    layer = nn.Linear(2, 2)
    layer.weight = nn.Parameter(Plain(torch.ones(2, 2)))
    assert type(layer.weight) is Plain and isinstance(layer.weight, nn.Parameter)
    assert repr(layer.weight) == "Parameter(Plain([[1., 1.],\n       [1., 1.]], requires_grad=True))"
    found = layer(torch.ones(2))
    assert type(found) is Plain
    found.sum().backward()
    torch.optim.SGD(layer.parameters(), lr=0.5).step()
    assert layer.weight.tolist() == [[0.5, 0.5], [0.5, 0.5]] and type(layer.weight) is Plain


# ---------------------------------------------------------------- plain tensors
def test_plain_tensors_are_as_before() -> None:
    """The same program before and after a class answers calls."""
    program = """
import livetape as torch
from livetape import nn

def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), torch.arange(5) % 2)
        loss.backward()
        optimizer.step()
    y = x.T @ x - 2 * x[0] + (x[:3] > 0)
    y += 1
    y[0] = x[0]
    errors = []
    for wrong in (lambda: x + "a", lambda: torch.add(x, []), lambda: torch.sum(3), lambda: x.exp(1), lambda: x @ 2):
        try:
            wrong()
        except Exception as error:
            errors.append((type(error), str(error)))
    kinds = type(y), type(loss), type(x.grad), type(x.max(0)), type(x.shape)
    return repr(y), repr(loss), repr(list(model.parameters())), errors, kinds, x == "a", x.dtype, loss.grad_fn.name()

before = run()

class Sub(torch.Tensor):
    pass

assert type(Sub([1.0]) + 1) is Sub
after = run()
assert before == after, (before, after)
print("same")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "same\n", done.stderr


def test_numbers_from_numpy() -> None:
    x = Plain([1.0, 2.0])
    assert np.asarray(x).tolist() == [1.0, 2.0] and float(x[1]) == 2.0 and x.tolist() == [1.0, 2.0]
