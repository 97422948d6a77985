"""Comparisons, logic and bits: results that tell, and carry no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase
from livetape.dtypes import FLOAT, SCALAR_TYPE
from livetape.ops.table import binary, unary

# ---------------------------------------------------------------- comparisons
eq = binary("eq", np.equal, "Whether corresponding elements are equal.", promote="bool")
ne = binary("ne", np.not_equal, "Whether corresponding elements differ.", promote="bool")
lt = binary("lt", np.less, "Whether ``input < other``, element by element.", promote="bool")
le = binary("le", np.less_equal, "Whether ``input <= other``, element by element.", promote="bool")
gt = binary("gt", np.greater, "Whether ``input > other``, element by element.", promote="bool")
ge = binary("ge", np.greater_equal, "Whether ``input >= other``, element by element.", promote="bool")
not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge


# ---------------------------------------------------------------- bits
def _unsupported(message: str, error: TypeError, values: tuple[Any, ...]) -> Exception:
    """Torch's error in place of NumPy's for a dtype that has no bits; other errors stay as they are."""
    kind = promote(message, *values)
    if kind.category < FLOAT:
        return error
    return NotImplementedError(f"\"{message}_cpu\" not implemented for '{SCALAR_TYPE[kind]}'")


def _on_bits(name: str, kernel: Any, doc: str, message: str) -> Any:
    plain = binary(name, kernel, doc)
    call, change = plain.row.call2, plain.row.inplace

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return plain(input, other, out=out)
        try:
            return call(input, other)
        except TypeError as error:
            raise _unsupported(message, error, (input, other)) from None

    def inplace(self: Any, other: Any) -> Any:
        try:
            return change(self, other)
        except TypeError as error:
            raise _unsupported(message, error, (self, other)) from None

    for made, model in ((function, plain), (inplace, plain.inplace)):
        made.__name__ = made.__qualname__ = model.__name__
        made.__doc__ = model.__doc__
    function.row = plain.row  # type: ignore[attr-defined]
    function.inplace = inplace  # type: ignore[attr-defined]
    return function


def _shift(ufunc: Any, message: str) -> Any:
    def kernel(self: Any, other: Any) -> Any:
        if self.dtype.kind == "b":  # NumPy makes int8 of it
            raise NotImplementedError(f"\"{message}_cpu\" not implemented for 'Bool'")
        return ufunc(self, other)

    return kernel


bitwise_and = _on_bits("bitwise_and", np.bitwise_and, "The bits set in both.", "bitwise_and")
bitwise_or = _on_bits("bitwise_or", np.bitwise_or, "The bits set in either.", "bitwise_or")
bitwise_xor = _on_bits("bitwise_xor", np.bitwise_xor, "The bits set in one of the two.", "bitwise_xor")
bitwise_left_shift = _on_bits("bitwise_left_shift", _shift(np.left_shift, "lshift"),
                              "The bits moved left by ``other`` places.", "lshift")
bitwise_right_shift = _on_bits("bitwise_right_shift", _shift(np.right_shift, "rshift"),
                               "The bits moved right by ``other`` places; the sign stays.", "rshift")


def _invert(self: Any) -> Any:
    try:
        return np.invert(self)
    except TypeError:
        from_kind = {"float16": "Half", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat",
                     "complex128": "ComplexDouble", "bfloat16": "BFloat16"}[self.dtype.name]
        raise NotImplementedError(f"\"bitwise_not_cpu\" not implemented for '{from_kind}'") from None


bitwise_not = unary("bitwise_not", _invert, "All bits turned; for bool, the opposite.", promote="same")
