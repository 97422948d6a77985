"""The Python operators of a tensor, compiled: ``a + b`` reaches its row without a Python frame."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from mypy_extensions import mypyc_attr

from livetape._tape.elementwise import Elementwise
from livetape._tape.modes import state
from livetape._tape.overriding import answers, arm
from livetape._tape.promotion import of_number
from livetape._tape.record import Op
from livetape._tape.tensor import TensorBase, from_array, shape_of
from livetape.dtypes import COMPLEX, FLOAT
from livetape.ops import arithmetic, compare, indexing, powers, products

OPS: Final[Any] = arithmetic
_COMPARE: Final[Any] = compare
_POWERS: Final[Any] = powers
_PRODUCTS: Final[Any] = products
_INDEXING: Final[Any] = indexing

ADD: Final[Elementwise] = OPS.ADD
MUL: Final[Elementwise] = OPS.mul.row
DIV: Final[Elementwise] = OPS.DIV
EQ: Final[Elementwise] = _COMPARE.eq.row
NE: Final[Elementwise] = _COMPARE.ne.row
LT: Final[Elementwise] = _COMPARE.lt.row
LE: Final[Elementwise] = _COMPARE.le.row
GT: Final[Elementwise] = _COMPARE.gt.row
GE: Final[Elementwise] = _COMPARE.ge.row
MM: Final[Op] = _PRODUCTS.MM
MATMUL: Final[Any] = _PRODUCTS.matmul
NEG: Final[Any] = OPS.neg
GETITEM: Final[Any] = _INDEXING.getitem
SELECT: Final[Op] = _INDEXING.SELECT
SETITEM: Final[Any] = _INDEXING.setitem
AND: Final[Any] = _COMPARE.bitwise_and
OR: Final[Any] = _COMPARE.bitwise_or
XOR: Final[Any] = _COMPARE.bitwise_xor
NOT: Final[Any] = _COMPARE.bitwise_not
SHIFT_LEFT: Final[Any] = _COMPARE.bitwise_left_shift
SHIFT_RIGHT: Final[Any] = _COMPARE.bitwise_right_shift


def is_operand(value: object) -> bool:
    """Whether an operator takes this as its other side."""
    if isinstance(value, TensorBase) or type(value) is float or type(value) is int:
        return True
    return of_number(value) is not None


def foreign(tensor: object, other: object, name: str) -> Any:
    """What an operator gives for another side that is no operand: the answer of its class, if that has one."""
    if state.overriding or not answers(type(other)):
        return NotImplemented
    arm()  # the operator is offered now
    return getattr(tensor, name)(other)


@mypyc_attr(allow_interpreted_subclasses=True)
class Operators(TensorBase):
    """A tensor with Python's operators."""

    __slots__ = ()

    def __add__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return ADD.pair(self, other)
        return ADD.call2(self, other) if is_operand(other) else foreign(self, other, "__add__")

    def __radd__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return ADD.pair(self, other)
        return ADD.call2(self, other) if is_operand(other) else foreign(self, other, "__radd__")

    def __sub__(self, other: object) -> Any:
        return OPS.sub(self, other) if is_operand(other) else foreign(self, other, "__sub__")

    def __rsub__(self, other: object) -> Any:
        return OPS.rsub(self, other) if is_operand(other) else foreign(self, other, "__rsub__")

    def __mul__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return MUL.pair(self, other)
        return MUL.call2(self, other) if is_operand(other) else foreign(self, other, "__mul__")

    def __rmul__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return MUL.pair(self, other)
        return MUL.call2(self, other) if is_operand(other) else foreign(self, other, "__rmul__")

    def __truediv__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return DIV.pair(self, other)
        return DIV.call2(self, other) if is_operand(other) else foreign(self, other, "__truediv__")

    def __rtruediv__(self, other: object) -> Any:
        if isinstance(other, np.ndarray):  # as torch: the product is NumPy's to do
            inverse: Any = OPS.reciprocal(self)
            return inverse * other
        return MUL.call2(OPS.reciprocal(self), other) if is_operand(other) else foreign(self, other, "__rtruediv__")

    def __floordiv__(self, other: object) -> Any:
        return OPS.floor_divide(self, other) if is_operand(other) else foreign(self, other, "__floordiv__")

    def __rfloordiv__(self, other: object) -> Any:
        return OPS.floor_divide(other, self) if is_operand(other) else foreign(self, other, "__rfloordiv__")

    def __mod__(self, other: object) -> Any:
        return OPS.remainder(self, other) if is_operand(other) else foreign(self, other, "__mod__")

    def __rmod__(self, other: object) -> Any:
        return OPS.remainder(other, self) if is_operand(other) else foreign(self, other, "__rmod__")

    def __pow__(self, other: object) -> Any:
        return _POWERS.pow(self, other) if is_operand(other) else foreign(self, other, "__pow__")

    def __rpow__(self, other: object) -> Any:
        return _POWERS.pow(other, self) if is_operand(other) else foreign(self, other, "__rpow__")

    def __matmul__(self, other: object) -> Any:
        if isinstance(other, TensorBase) and self.dtype is other.dtype and self.dtype.itemsize > 2:
            left: tuple[int, ...] = shape_of(self)  # as plain tuples: Size has an index operator of its own
            right: tuple[int, ...] = shape_of(other)
            if len(left) == 2 and len(right) == 2 and left[1] == right[0]:
                return MM.apply2(self, other)
        return MATMUL(self, other) if isinstance(other, TensorBase) else foreign(self, other, "__matmul__")

    def __rmatmul__(self, other: object) -> Any:
        return MATMUL(other, self) if isinstance(other, TensorBase) else foreign(self, other, "__rmatmul__")

    def __neg__(self) -> Any:
        return NEG(self)

    def __pos__(self) -> Any:
        return OPS.positive(self)

    def __and__(self, other: object) -> Any:
        return AND(self, other) if is_operand(other) else foreign(self, other, "__and__")

    def __rand__(self, other: object) -> Any:
        return AND(self, other) if is_operand(other) else foreign(self, other, "__rand__")

    def __or__(self, other: object) -> Any:
        return OR(self, other) if is_operand(other) else foreign(self, other, "__or__")

    def __ror__(self, other: object) -> Any:
        return OR(self, other) if is_operand(other) else foreign(self, other, "__ror__")

    def __xor__(self, other: object) -> Any:
        return XOR(self, other) if is_operand(other) else foreign(self, other, "__xor__")

    def __rxor__(self, other: object) -> Any:
        return XOR(self, other) if is_operand(other) else foreign(self, other, "__rxor__")

    def __invert__(self) -> Any:
        if self.dtype.category >= FLOAT:
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return NOT(self)

    def __lshift__(self, other: object) -> Any:
        return SHIFT_LEFT(self, other) if is_operand(other) else foreign(self, other, "__lshift__")

    def __rlshift__(self, other: object) -> Any:
        return SHIFT_LEFT(other, self) if is_operand(other) else foreign(self, other, "__rlshift__")

    def __rshift__(self, other: object) -> Any:
        return SHIFT_RIGHT(self, other) if is_operand(other) else foreign(self, other, "__rshift__")

    def __rrshift__(self, other: object) -> Any:
        return SHIFT_RIGHT(other, self) if is_operand(other) else foreign(self, other, "__rrshift__")

    def __iadd__(self, other: object) -> Any:
        return OPS.add_(self, other) if is_operand(other) else foreign(self, other, "__iadd__")

    def __isub__(self, other: object) -> Any:
        return OPS.sub_(self, other) if is_operand(other) else foreign(self, other, "__isub__")

    def __imul__(self, other: object) -> Any:
        return MUL.inplace(self, other) if is_operand(other) else foreign(self, other, "__imul__")

    def __itruediv__(self, other: object) -> Any:
        return DIV.inplace(self, other) if is_operand(other) else foreign(self, other, "__itruediv__")

    def __ifloordiv__(self, other: object) -> Any:
        return OPS.floor_divide_(self, other) if is_operand(other) else foreign(self, other, "__ifloordiv__")

    def __imod__(self, other: object) -> Any:
        return OPS.remainder_(self, other) if is_operand(other) else foreign(self, other, "__imod__")

    def __ipow__(self, other: object) -> Any:
        return _POWERS.pow_(self, other) if is_operand(other) else foreign(self, other, "__ipow__")

    def __iand__(self, other: object) -> Any:
        return AND.inplace(self, other) if is_operand(other) else foreign(self, other, "__iand__")

    def __ior__(self, other: object) -> Any:
        return OR.inplace(self, other) if is_operand(other) else foreign(self, other, "__ior__")

    def __ixor__(self, other: object) -> Any:
        return XOR.inplace(self, other) if is_operand(other) else foreign(self, other, "__ixor__")

    def __ilshift__(self, other: object) -> Any:
        return SHIFT_LEFT.inplace(self, other) if is_operand(other) else foreign(self, other, "__ilshift__")

    def __irshift__(self, other: object) -> Any:
        return SHIFT_RIGHT.inplace(self, other) if is_operand(other) else foreign(self, other, "__irshift__")

    def __lt__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return (
                LT.pair(self, other)
                if self.dtype.category != COMPLEX != other.dtype.category
                else _COMPARE.lt(self, other)
            )
        return _COMPARE.lt(self, other) if is_operand(other) else foreign(self, other, "__lt__")

    def __le__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return (
                LE.pair(self, other)
                if self.dtype.category != COMPLEX != other.dtype.category
                else _COMPARE.le(self, other)
            )
        return _COMPARE.le(self, other) if is_operand(other) else foreign(self, other, "__le__")

    def __gt__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return (
                GT.pair(self, other)
                if self.dtype.category != COMPLEX != other.dtype.category
                else _COMPARE.gt(self, other)
            )
        return _COMPARE.gt(self, other) if is_operand(other) else foreign(self, other, "__gt__")

    def __ge__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return (
                GE.pair(self, other)
                if self.dtype.category != COMPLEX != other.dtype.category
                else _COMPARE.ge(self, other)
            )
        return _COMPARE.ge(self, other) if is_operand(other) else foreign(self, other, "__ge__")

    def __eq__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return EQ.pair(self, other)
        if isinstance(other, np.ndarray):  # the other comparisons are NumPy's to do
            return EQ.call2(self, from_array(other))
        return EQ.call2(self, other) if is_operand(other) else foreign(self, other, "__eq__")

    def __ne__(self, other: object) -> Any:
        if isinstance(other, TensorBase):
            return NE.pair(self, other)
        return NE.call2(self, other) if is_operand(other) else foreign(self, other, "__ne__")

    def __hash__(self) -> int:
        return id(self) >> 4

    def __getitem__(self, index: object) -> Any:
        if type(index) is int and state.interposed == 0:
            array = self.array
            if array.ndim > 1:
                try:
                    row = array[index]
                except IndexError:
                    return GETITEM(self, index)  # with torch's words
                return SELECT.finish_view((self, 0, index), row)
        return GETITEM(self, index)

    def __setitem__(self, index: object, value: object) -> None:
        SETITEM(self, index, value)
