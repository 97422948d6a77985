"""Weighted means of two tensors, and sums with a product or a quotient."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.dtypes import FLOAT, INTEGER, SCALAR_TYPE, dtype
from livetape.kernels import pairs
from livetape.ops.refuse import CXX_NAME, does_not_fit, must_be_tensors, no_overload
from livetape.ops.table import elementwise, into, named

# ---------------------------------------------------------------- in between
LERP_NUMBER = elementwise(
    "lerp",
    lambda self, end, weight: pairs.lerp(self, end, weight),
    tensors="self end",
    key="lerp.number",
    self=lambda grad, weight: grad * (1 - weight),
    end=lambda grad, weight: grad * weight,
)
LERP = elementwise(
    "lerp",
    lambda self, end, weight: pairs.lerp(self, end, weight),
    tensors="self end weight",
    node="LerpBackward1",
    self=lambda grad, weight: grad * (1 - weight),
    end=lambda grad, weight: grad * weight,
    weight=lambda grad, self, end: grad * (end - self),
)


def _other_kind(argument: str, kind: dtype, value: Any) -> RuntimeError:
    return RuntimeError(
        f"expected dtype {CXX_NAME.get(kind.name, kind.name)} for `{argument}` but got dtype "
        f"{CXX_NAME.get(value.dtype.name, value.dtype.name)}"
    )


def _lerp_row(name: str, input: Any, end: Any, weight: Any) -> Any:
    tensors = isinstance(input, TensorBase) and isinstance(end, TensorBase)
    if not tensors or not isinstance(weight, (TensorBase, int, float, complex, np.number, np.bool_)):
        raise noted(no_overload(name))
    kind = input.dtype
    if end.dtype is not kind:
        raise noted(_other_kind("end", kind, end))
    if isinstance(weight, TensorBase):
        if weight.dtype is not kind and weight.array.ndim:
            raise noted(_other_kind("weight", kind, weight))
        if kind.category < FLOAT and weight.dtype.category < FLOAT:
            raise noted(NotImplementedError(f"\"lerp_kernel_tensor\" not implemented for '{SCALAR_TYPE[kind]}'"))
        return LERP
    if kind.category < FLOAT:
        raise noted(NotImplementedError(f"\"lerp_kernel_scalar\" not implemented for '{SCALAR_TYPE[kind]}'"))
    if isinstance(weight, complex) and kind.category == FLOAT:
        raise noted(does_not_fit(kind))
    return LERP_NUMBER


def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Any:
    """input + weight * (end - input); ``weight`` is a tensor or a number (source: ``torch.lerp``).

    >>> import livetape as torch
    >>> torch.lerp(torch.tensor([0., 10.]), torch.tensor([10., 20.]), 0.5)
    tensor([ 5., 15.])
    """
    if out is not None:
        return into(out, lerp, input, end, weight)
    return _lerp_row("lerp", input, end, weight).apply((input, end, weight))


def lerp_(self: Any, end: Any, weight: Any) -> Any:
    """In-place `lerp`."""
    return _lerp_row("lerp_", self, end, weight).inplace(self, end, weight)


# ---------------------------------------------------------------- fused sums
ADDCMUL = elementwise(
    "addcmul",
    lambda self, tensor1, tensor2, value: pairs.addcmul(self, tensor1, tensor2, value),
    tensors="self tensor1 tensor2",
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * _times(tensor2, value),
    tensor2=lambda grad, tensor1, value: grad * _times(tensor1, value),
)
ADDCDIV = elementwise(
    "addcdiv",
    lambda self, tensor1, tensor2, value: pairs.addcdiv(self, tensor1, tensor2, value),
    tensors="self tensor1 tensor2",
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * (value / tensor2),
    tensor2=lambda grad, tensor1, tensor2, value: -grad * (_times(tensor1, value) / (tensor2 * tensor2)),
)


def _times(tensor: Any, value: Any) -> Any:
    return tensor if value == 1 else tensor * value


_INTEGER_DIVISION = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
    "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
    "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for "
    "float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), "
    "for all dtypes."
)


def _fused(name: str, op: Any, doc: str) -> Any:
    def arranged(label: str, given: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        if len(given) == 4:  # an older order of the arguments
            input, value, tensor1, tensor2 = given
            warnings.warn(
                f"This overload of {label} is deprecated:\n\t{label}(Tensor input, Number value, Tensor tensor1, "
                "Tensor tensor2, *, Tensor out = None)\nConsider using one of the following signatures instead:\n"
                f"\t{label}(Tensor input, Tensor tensor1, Tensor tensor2, *, Number value = 1, Tensor out = None)",
                UserWarning,
                stacklevel=3,
            )
        else:
            input, tensor1, tensor2 = given
        must_be_tensors(label, input=input, tensor1=tensor1, tensor2=tensor2)
        if name == "addcdiv" and tensor1.dtype.category <= INTEGER and tensor2.dtype.category <= INTEGER:
            raise noted(RuntimeError(_INTEGER_DIVISION))
        return input, tensor1, tensor2, value

    def function(input: Any, tensor1: Any, tensor2: Any, *last: Any, value: Any = 1, out: Any = None) -> Any:
        values = arranged(name, (input, tensor1, tensor2, *last), value)
        if out is not None:
            return into(out, function, *values[:3], value=values[3])
        return op.apply(values)

    def inplace(self: Any, tensor1: Any, tensor2: Any, *last: Any, value: Any = 1) -> Any:
        return op.inplace(*arranged(name + "_", (self, tensor1, tensor2, *last), value))

    return named(function, inplace, op, doc, name)


addcmul = _fused("addcmul", ADDCMUL, "input + value * tensor1 * tensor2.")
addcdiv = _fused("addcdiv", ADDCDIV, "input + value * tensor1 / tensor2, for floating point tensors.")


METHODS = {
    "addcmul": addcmul,
    "addcmul_": addcmul.inplace,
    "addcdiv": addcdiv,
    "addcdiv_": addcdiv.inplace,
    "lerp": lerp,
    "lerp_": lerp_,
}
FUNCTIONS = [
    "lerp",
    "addcmul",
    "addcdiv",
]
