"""Printed tensors against texts recorded from torch (tests/record/printing_values.py)."""

from __future__ import annotations

import doctest
import json
import math
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from livetape import dtypes, printing

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "printing.json").read_text())


class Tensor:
    """All that printing asks of a tensor."""

    __module__ = "livetape.tensor"

    def __init__(self, array: Any, dtype: str = "", requires_grad: bool = False, grad_fn: object = None) -> None:
        self.array = np.asarray(array) if not dtype else np.asarray(array).astype(dtypes.by_name(dtype).np)
        self.dtype = dtypes.of_numpy(self.array.dtype)
        self.requires_grad = requires_grad
        self.grad_fn = grad_fn

    def __repr__(self) -> str:
        return printing.tensor_str(self)

    def __format__(self, spec: str) -> str:
        return printing.tensor_format(self, spec)


class Parameter(Tensor):
    __module__ = "livetape.nn.parameter"

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Measured(Tensor):
    """A user's subclass."""

    __module__ = "user"


class Weight(Parameter):
    """A user's subclass of Parameter."""

    __module__ = "user"


class ViewBackward0:
    """A node of the graph."""


@pytest.fixture(autouse=True)
def default_settings() -> Iterator[None]:
    yield
    printing.set_printoptions(profile="default")
    dtypes.set_default_dtype(dtypes.float32)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # values beyond float16's range become inf
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['array']}-{case.get('dtype')}")
def test_prints_as_torch_does(case: dict[str, Any]) -> None:
    grad = case.get("grad")
    array = eval(case["array"], {"np": np})
    tensor = Tensor(array, case["dtype"], grad is not None, ViewBackward0() if grad == "node" else None)
    dtypes.set_default_dtype(dtypes.by_name(case["default"]))
    with printing.printoptions(**case.get("options", {})):
        assert repr(tensor) == case["text"]


def test_grad_fn_drops_the_namespace() -> None:
    node = type("torch::autograd::CopySlices", (), {})()
    assert repr(Tensor([1.0], "float32", True, node)) == "tensor([1.], grad_fn=<CopySlices>)"


def test_grad_fn_that_cannot_be_had_is_invalid() -> None:
    class Broken(Tensor):
        __module__ = "livetape.tensor"

        @property
        def grad_fn(self) -> object:
            raise RuntimeError("a view was modified inplace")

        @grad_fn.setter
        def grad_fn(self, value: object) -> None: ...

    Broken.__name__ = "Tensor"
    assert repr(Broken([1.0], "float32")) == "tensor([1.], grad_fn=<Invalid>)"


def test_subclasses_print_their_own_name() -> None:
    assert repr(Measured(np.arange(20.0), "float32")) == (
        "Measured([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "          14., 15., 16., 17., 18., 19.])"
    )
    assert repr(Parameter([1.0], "float32", True)) == "Parameter containing:\ntensor([1.], requires_grad=True)"
    assert repr(Weight(np.arange(20.0), "float32", True)) == (
        "Parameter containing:\n"
        "Parameter(Weight([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "        14., 15., 16., 17., 18., 19.], requires_grad=True))"
    )


def test_a_subclass_of_the_same_name_is_not_plain() -> None:
    namesake = type("Tensor", (Tensor,), {"__module__": "__main__"})
    assert repr(namesake([1.0], "float32")) == "Tensor([1.])"


def test_contents_given_by_the_caller() -> None:
    assert printing.tensor_str(Tensor(np.ones((0, 3)), "float64", True), contents="[hi]") == (
        "tensor([hi], size=(0, 3), dtype=torch.float64, requires_grad=True)"
    )


def test_tangent_of_a_dual() -> None:
    one, two = Tensor(1.0, "float32"), Tensor(2.0, "float32")
    assert printing.tensor_str(one, tangent=two) == "tensor(1., tangent=2.0)"
    assert printing.tensor_str(Tensor([1.0, 2.0], "float32"), tangent=Tensor([0.5, 0.0], "float32")) == (
        "tensor([1., 2.], tangent=tensor([0.5000, 0.0000]))"
    )


@pytest.mark.filterwarnings("error")
def test_signalling_nan_is_no_warning() -> None:
    array = np.array([0x7FA00000, 0xFFA00000], np.uint32).view(np.float32)
    assert repr(Tensor(array)) == "tensor([nan, nan])"


def test_printing_is_deaf_to_numpy_error_settings() -> None:
    with np.errstate(all="raise"):
        assert repr(Tensor([1e308, 5e-324])) == "tensor([1.0000e+308, 4.9407e-324], dtype=torch.float64)"
        assert repr(Tensor([math.nan, math.inf])) == "tensor([nan, inf], dtype=torch.float64)"


@pytest.mark.parametrize(
    ("value", "dtype", "spec", "text"),
    [
        (3.0, "float32", "", "3.0"),
        (3.14159, "float32", ".2f", "3.14"),
        (7, "int64", "4d", "   7"),
        (12345.0, "float32", ">8.1e", " 1.2e+04"),
        (0.1, "float16", "", "0.0999755859375"),
        (0.1, "bfloat16", "", "0.10009765625"),
        (True, "bool", "", "True"),
        (True, "bool", ".2f", "1.00"),
        (1 + 2j, "complex64", "", "(1+2j)"),
        (9223372036854775813, "uint64", ",", "9,223,372,036,854,775,813"),
    ],
)
def test_a_scalar_formats_as_a_number(value: complex, dtype: str, spec: str, text: str) -> None:
    assert format(Tensor(value, dtype), spec) == text


def test_format_of_all_others_is_the_repr() -> None:
    assert f"{Tensor([2.0], 'float32')}" == "tensor([2.])"
    assert f"{Parameter(2.0, 'float32', True)}" == "Parameter containing:\ntensor(2., requires_grad=True)"
    assert f"{Measured(2.0, 'float32')}" == "Measured(2.)"
    for tensor in (Tensor([2.0]), Parameter(2.0), Measured(2.0)):
        expected = f"unsupported format string passed to {type(tensor).__name__}.__format__"
        with pytest.raises(TypeError, match=expected):
            f"{tensor:.2f}"
    with pytest.raises(ValueError, match="Unknown format code 'd' for object of type 'float'"):
        f"{Tensor(1.0):d}"


def test_options_are_kept_and_given_back() -> None:
    default = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    assert printing.get_printoptions() == default
    printing.set_printoptions(profile="full", precision=7, sci_mode=False)
    assert printing.get_printoptions() == default | {"threshold": math.inf, "precision": 7, "sci_mode": False}
    printing.set_printoptions(linewidth=100)  # torch makes the notation automatic again
    assert printing.get_printoptions() == default | {"threshold": math.inf, "precision": 7, "linewidth": 100}
    printing.set_printoptions(profile="default")
    assert printing.get_printoptions() == default
    with pytest.raises(KeyError), printing.printoptions(edgeitems=1):
        raise KeyError
    assert printing.get_printoptions() == default
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'digits'"):
        printing.set_printoptions(digits=1)  # type: ignore[call-arg]


def test_only_what_is_shown_is_read() -> None:
    array = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (10**6, 10**6), (0, 0))
    assert repr(Tensor(array)).count("1.") == 36


def test_docstrings() -> None:
    assert doctest.testmod(printing).failed == 0
