"""The Python operators of a tensor, compiled: ``a + b`` reaches its row without a Python frame."""

from __future__ import annotations

from typing import Any, Final

from mypy_extensions import mypyc_attr

from livetape._tape.promotion import of_number
from livetape._tape.record import Elementwise
from livetape._tape.tensor import TensorBase
from livetape.ops import arithmetic, compare, indexing, products

ADD: Final[Elementwise] = arithmetic.ADD
SUB: Final[Elementwise] = arithmetic.SUB
MUL: Final[Elementwise] = arithmetic.mul.row
DIV: Final[Elementwise] = arithmetic.DIV
EQ: Final[Elementwise] = compare.eq.row
NE: Final[Elementwise] = compare.ne.row
LT: Final[Elementwise] = compare.lt.row
LE: Final[Elementwise] = compare.le.row
GT: Final[Elementwise] = compare.gt.row
GE: Final[Elementwise] = compare.ge.row
OPS: Final[Any] = arithmetic
MATMUL: Final[Any] = products.matmul
NEG: Final[Any] = arithmetic.neg
GETITEM: Final[Any] = indexing.getitem
SETITEM: Final[Any] = indexing.setitem
AND: Final[Any] = compare.bitwise_and
OR: Final[Any] = compare.bitwise_or
XOR: Final[Any] = compare.bitwise_xor
NOT: Final[Any] = compare.bitwise_not
SHIFT_LEFT: Final[Any] = compare.bitwise_left_shift
SHIFT_RIGHT: Final[Any] = compare.bitwise_right_shift


def is_operand(value: object) -> bool:
    """Whether an operator takes this as its other side."""
    if isinstance(value, TensorBase) or type(value) is float or type(value) is int:
        return True
    return of_number(value) is not None


@mypyc_attr(allow_interpreted_subclasses=True)
class Operators(TensorBase):
    """A tensor with Python's operators."""

    __slots__ = ()

    def __add__(self, other: object) -> Any:
        return ADD.call2(self, other) if is_operand(other) else NotImplemented

    def __radd__(self, other: object) -> Any:
        return ADD.call2(self, other) if is_operand(other) else NotImplemented

    def __sub__(self, other: object) -> Any:
        return OPS.sub(self, other) if is_operand(other) else NotImplemented

    def __rsub__(self, other: object) -> Any:
        return OPS.rsub(self, other) if is_operand(other) else NotImplemented

    def __mul__(self, other: object) -> Any:
        return MUL.call2(self, other) if is_operand(other) else NotImplemented

    def __rmul__(self, other: object) -> Any:
        return MUL.call2(self, other) if is_operand(other) else NotImplemented

    def __truediv__(self, other: object) -> Any:
        return DIV.call2(self, other) if is_operand(other) else NotImplemented

    def __rtruediv__(self, other: object) -> Any:
        return MUL.call2(OPS.reciprocal(self), other) if is_operand(other) else NotImplemented

    def __floordiv__(self, other: object) -> Any:
        return OPS.floor_divide(self, other) if is_operand(other) else NotImplemented

    def __rfloordiv__(self, other: object) -> Any:
        return OPS.floor_divide(other, self) if is_operand(other) else NotImplemented

    def __mod__(self, other: object) -> Any:
        return OPS.remainder(self, other) if is_operand(other) else NotImplemented

    def __rmod__(self, other: object) -> Any:
        return OPS.remainder(other, self) if is_operand(other) else NotImplemented

    def __pow__(self, other: object) -> Any:
        return OPS.pow(self, other) if is_operand(other) else NotImplemented

    def __rpow__(self, other: object) -> Any:
        return OPS.pow(other, self) if is_operand(other) else NotImplemented

    def __matmul__(self, other: object) -> Any:
        return MATMUL(self, other)

    def __rmatmul__(self, other: object) -> Any:
        return MATMUL(other, self)

    def __neg__(self) -> Any:
        return NEG(self)

    def __pos__(self) -> Any:
        return OPS.positive(self)

    def __and__(self, other: object) -> Any:
        return AND(self, other) if is_operand(other) else NotImplemented

    def __rand__(self, other: object) -> Any:
        return AND(self, other) if is_operand(other) else NotImplemented

    def __or__(self, other: object) -> Any:
        return OR(self, other) if is_operand(other) else NotImplemented

    def __ror__(self, other: object) -> Any:
        return OR(self, other) if is_operand(other) else NotImplemented

    def __xor__(self, other: object) -> Any:
        return XOR(self, other) if is_operand(other) else NotImplemented

    def __rxor__(self, other: object) -> Any:
        return XOR(self, other) if is_operand(other) else NotImplemented

    def __invert__(self) -> Any:
        return NOT(self)

    def __lshift__(self, other: object) -> Any:
        return SHIFT_LEFT(self, other) if is_operand(other) else NotImplemented

    def __rlshift__(self, other: object) -> Any:
        return SHIFT_LEFT(other, self) if is_operand(other) else NotImplemented

    def __rshift__(self, other: object) -> Any:
        return SHIFT_RIGHT(self, other) if is_operand(other) else NotImplemented

    def __rrshift__(self, other: object) -> Any:
        return SHIFT_RIGHT(other, self) if is_operand(other) else NotImplemented

    def __iadd__(self, other: object) -> Any:
        return OPS.add_(self, other) if is_operand(other) else NotImplemented

    def __isub__(self, other: object) -> Any:
        return OPS.sub_(self, other) if is_operand(other) else NotImplemented

    def __imul__(self, other: object) -> Any:
        return MUL.inplace(self, other) if is_operand(other) else NotImplemented

    def __itruediv__(self, other: object) -> Any:
        return DIV.inplace(self, other) if is_operand(other) else NotImplemented

    def __ifloordiv__(self, other: object) -> Any:
        return OPS.floor_divide_(self, other) if is_operand(other) else NotImplemented

    def __imod__(self, other: object) -> Any:
        return OPS.remainder_(self, other) if is_operand(other) else NotImplemented

    def __ipow__(self, other: object) -> Any:
        return OPS.pow_(self, other) if is_operand(other) else NotImplemented

    def __iand__(self, other: object) -> Any:
        return AND.inplace(self, other) if is_operand(other) else NotImplemented

    def __ior__(self, other: object) -> Any:
        return OR.inplace(self, other) if is_operand(other) else NotImplemented

    def __ixor__(self, other: object) -> Any:
        return XOR.inplace(self, other) if is_operand(other) else NotImplemented

    def __ilshift__(self, other: object) -> Any:
        return SHIFT_LEFT.inplace(self, other) if is_operand(other) else NotImplemented

    def __irshift__(self, other: object) -> Any:
        return SHIFT_RIGHT.inplace(self, other) if is_operand(other) else NotImplemented

    def __lt__(self, other: object) -> Any:
        return LT.call2(self, other) if is_operand(other) else NotImplemented

    def __le__(self, other: object) -> Any:
        return LE.call2(self, other) if is_operand(other) else NotImplemented

    def __gt__(self, other: object) -> Any:
        return GT.call2(self, other) if is_operand(other) else NotImplemented

    def __ge__(self, other: object) -> Any:
        return GE.call2(self, other) if is_operand(other) else NotImplemented

    def __eq__(self, other: object) -> Any:
        return EQ.call2(self, other) if is_operand(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return NE.call2(self, other) if is_operand(other) else NotImplemented

    def __hash__(self) -> int:
        return id(self) >> 4

    def __getitem__(self, index: object) -> Any:
        return GETITEM(self, index)

    def __setitem__(self, index: object, value: object) -> None:
        SETITEM(self, index, value)
