"""What is refused, word for word: each expression and the error that PyTorch 2.13 raises for it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import livetape as torch
import livetape.nn.functional as F
from livetape import nn


def ones(kind: Any, *size: int) -> Any:
    return torch.ones(*size, dtype=kind)


NAMES = {"torch": torch, "F": F, "nn": nn, "ones": ones} | {
    "i8": torch.int8, "i64": torch.int64, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64,
    "flags": torch.tensor([True, False]), "z": torch.tensor([0.0 + 1.0j]), "x": torch.arange(6.0).reshape(2, 3),
}  # fmt: skip

MIXED_PRODUCTS = {
    "ones(i64, 2, 2) @ ones(f16, 2, 2)": "expected m1 and m2 to have the same dtype, but got: long int != c10::Half",
    "ones(torch.uint16, 2, 2) @ ones(f32, 2, 2)": (
        "expected m1 and m2 to have the same dtype, but got: short unsigned int != float"
    ),
    "ones(f32, 2, 2) @ ones(f64, 2)": "addmv input tensors must have the same dtype, but got Double, Float, and Double",
    "torch.mv(ones(i64, 2, 2), ones(f16, 2))": (
        "addmv input tensors must have the same dtype, but got Half, Long, and Half"
    ),
    "torch.addmv(ones(f32, 2), ones(f64, 2, 2), ones(f64, 2))": (
        "addmv input tensors must have the same dtype, but got Float, Double, and Double"
    ),
    "torch.bmm(ones(f32, 1, 2, 2), ones(f64, 1, 2, 2))": "expected scalar type Float but found Double",
    "torch.baddbmm(ones(f32, 1, 2, 2), ones(f64, 1, 2, 2), ones(f64, 1, 2, 2))": (
        "Input dtypes must be the same, got: input float, batch1: double, batch2: double"
    ),
    "torch.addbmm(ones(f32, 2, 2), ones(f64, 1, 2, 2), ones(f64, 1, 2, 2))": (
        "self and mat2 must have the same dtype, but got Float and Double"
    ),
    "torch.addmm(ones(f32, 2), ones(f32, 2, 2), ones(f64, 2, 2))": (
        "self and mat2 must have the same dtype, but got Float and Double"
    ),
    "torch.addmm(ones(f64, 2), ones(f32, 2, 2), ones(f64, 2, 2))": (
        "mat1 and mat2 must have the same dtype, but got Float and Double"
    ),
    "F.linear(ones(f32, 2, 2), ones(f64, 2, 2))": (
        "expected m1 and m2 to have the same dtype, but got: float != double"
    ),
    "F.linear(ones(f32, 2, 2), ones(f64, 2, 2), ones(f32, 2))": (
        "self and mat2 must have the same dtype, but got Float and Double"
    ),
    "nn.Linear(2, 3)(ones(f64, 2))": "mat1 and mat2 must have the same dtype, but got Double and Float",
}
NO_KERNEL = {
    "flags ** flags": "\"pow\" not implemented for 'Bool'",
    "True ** flags": "\"pow\" not implemented for 'Bool'",
    "flags.dot(flags)": "\"dot\" not implemented for 'Bool'",
    "flags @ flags": "\"dot\" not implemented for 'Bool'",
    "flags[None] @ flags": "\"addmv_impl_cpu\" not implemented for 'Bool'",
    "flags[None] @ flags[:, None]": "\"addmm_impl_cpu_\" not implemented for 'Bool'",
    "torch.bmm(flags[None, None], flags[None, :, None])": "\"bmm\" not implemented for 'Bool'",
    "torch.tensor(0.5) < z[0]": "\"lt_cpu\" not implemented for 'ComplexFloat'",
    "torch.ones(1) >= z": "\"ge_cpu\" not implemented for 'ComplexFloat'",
}
OTHERS = {
    "flags ** -1": (RuntimeError, "Integers to negative integer powers are not allowed."),
    "nn.Sequential(nn.ReLU)": (TypeError, "torch.nn.modules.activation.ReLU is not a Module subclass"),
    "nn.Module().register_buffer('a', nn.ReLU())": (
        TypeError,
        "cannot assign 'torch.nn.modules.activation.ReLU' object to buffer 'a' (torch Tensor or None required)",
    ),
    "nn.Sequential() * 1.5": (
        TypeError,
        "unsupported operand type(s) for *: <class 'torch.nn.modules.container.Sequential'> and <class 'float'>",
    ),
    "nn.Sequential().insert(0, 1)": (
        AssertionError,
        "module should be of type: <class 'torch.nn.modules.module.Module'>",
    ),
    "torch.optim.SGD([nn.Linear(1, 1)])": (
        TypeError,
        "optimizer can only optimize Tensors, but one of the params is torch.nn.modules.linear.Linear",
    ),
    "nn.Conv2d(2, 2, 3, padding='x')": (
        ValueError,
        "Invalid padding string 'x', should be one of {'same', 'valid'}",
    ),
    "nn.CrossEntropyLoss(label_smoothing=2.0)(torch.ones(3), torch.tensor(1))": (
        RuntimeError,
        "label_smoothing must be between 0.0 and 1.0. Got: 2",
    ),
    "torch.func.functional_call(nn.Linear(1, 1), {'z': 1, 'a': 1}, torch.ones(1), strict=True)": (
        RuntimeError,
        "Error(s) in reparametrizing for Linear:\n\tUnexpected key(s): 'a', 'z'.\n\tMissing key(s): 'bias', 'weight'.",
    ),
}


def check(expression: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as info:
        eval(expression, dict(NAMES))
    assert str(info.value) == words


@pytest.mark.parametrize("expression", MIXED_PRODUCTS)
def test_products_of_two_dtypes(expression: str) -> None:
    check(expression, RuntimeError, MIXED_PRODUCTS[expression])


@pytest.mark.parametrize("expression", NO_KERNEL)
def test_no_kernel(expression: str) -> None:
    check(expression, NotImplementedError, NO_KERNEL[expression])


@pytest.mark.parametrize("expression", OTHERS)
def test_others(expression: str) -> None:
    check(expression, *OTHERS[expression])


def test_bools_to_the_power_of_a_bool() -> None:
    flags = torch.tensor([True, False])
    assert (flags**True).tolist() == [True, False]
    assert (flags**False).tolist() == [True, True]


@pytest.mark.parametrize("index", ["a", ["a"]])
def test_strings_are_sequences(index: Any) -> None:
    with pytest.warns(UserWarning, match="^Using a non-tuple sequence"), pytest.raises(TypeError) as info:
        torch.arange(5)[index]
    assert str(info.value) == "new(): invalid data type 'str'"


def test_typename_of_a_class() -> None:
    assert torch.typename(nn.Linear) == torch.typename(nn.Linear(1, 1)) == "torch.nn.modules.linear.Linear"
    assert torch.typename(3) == "int"


def test_parameter_dict_notes_a_key_that_is_no_string() -> None:
    held = nn.ParameterDict()
    with pytest.raises(TypeError, match="not a string"):
        held[5] = torch.ones(1)  # type: ignore[index]
    assert list(held.keys()) == [5]


def test_a_schedulers_optimiser_needs_no_collector() -> None:
    gc.disable()
    try:
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        gone = weakref.ref(optimizer)
        del scheduler, optimizer
        assert gone() is None
    finally:
        gc.enable()


TENSORDOT = "contracted dimensions need to match, but first has size 3 in dim {} and second has size 2 in dim 0"
SIZES = {
    "torch.tensordot(x, x, 1)": TENSORDOT.format(-1),
    "torch.tensordot(x, x, ([1], [0]))": TENSORDOT.format(1),
    "F.bilinear(torch.ones(2), torch.ones(3), torch.ones(1, 2, 2))": (
        "bilinear(): input2 size does not match weight size: got 3 but expected 2"
    ),
    "F.bilinear(torch.ones(3), torch.ones(2), torch.ones(1, 2, 2))": (
        "bilinear(): input1 size does not match weight size: got 3 but expected 2"
    ),
    "F.bilinear(torch.ones(1, 2), torch.ones(2, 2), torch.ones(1, 2, 2))": (
        "bilinear(): input batch dimensions do not match at dim 0: got 1 and 2"
    ),
    "F.bilinear(torch.ones(2), torch.ones(1, 2), torch.ones(1, 2, 2))": (
        "bilinear(): input dimensions do not match: got 1 and 2"
    ),
    "F.bilinear(torch.ones(2), torch.ones(2), torch.ones(1, 2, 2), torch.ones(3))": (
        "bilinear(): bias size does not match weight size: got 3 but expected 1"
    ),
    "F.bilinear(torch.ones(2), ones(f64, 2), torch.ones(1, 2, 2))": (
        "All tensors must have the same dtype, got input1: float, input2: double, weight: float"
    ),
    "F.soft_margin_loss(torch.zeros(3, 1), torch.ones(3))": (
        "output with shape [3, 1] doesn't match the broadcast shape [3, 3]"
    ),
}


@pytest.mark.parametrize("expression", SIZES)
def test_sizes(expression: str) -> None:
    check(expression, RuntimeError, SIZES[expression])


def test_limits_of_integers() -> None:
    assert repr(torch.iinfo(torch.int64)) == "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)"
    assert repr(torch.iinfo(torch.int16)) == "iinfo(min=-32768, max=32767, dtype=int16)"


@pytest.mark.parametrize(
    "name", ["floor_divide_", "remainder_", "fmod_", "copysign_", "xlogy_", "__ifloordiv__", "__imod__"]
)
def test_complex_numbers_do_not_fit_in_place(name: str) -> None:
    for other in (torch.tensor([1j, 2]), 1j):
        for kind, word in ((torch.int64, "Long"), (torch.float32, "Float"), (torch.bool, "Bool")):
            with pytest.raises(RuntimeError) as info:
                getattr(torch.ones(2, dtype=kind), name)(other)
            assert str(info.value) == (f"result type ComplexFloat can't be cast to the desired output type {word}")
