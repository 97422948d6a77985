"""Comparisons, logic and bits: results that tell, and carry no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import binary_error, noted
from livetape._tape.promotion import promote
from livetape._tape.tensor import TensorBase
from livetape.dtypes import COMPLEX, FLOAT, SCALAR_TYPE
from livetape.ops.basics import zeros_like
from livetape.ops.refuse import check_flags, check_result, must_be_tensors, no_overload, unsupported
from livetape.ops.table import binary, elementwise, into, named, unary


# ---------------------------------------------------------------- comparisons
def _comparison(name: str, kernel: Any, doc: str, ordered: bool) -> Any:
    """A comparison. In place it is recorded, with a gradient of zeros: what was overwritten does not matter."""
    zero: dict[str, Any] = {"self": lambda grad: zeros_like(grad), "other": lambda grad: zeros_like(grad)}
    camel = name.capitalize()
    op = elementwise(name, kernel, promote="bool", node=camel + "Backward1", **zero)
    number = elementwise(
        name, kernel, params="self other", tensors="self other", promote="bool", key=name + ".number", self=zero["self"]
    )
    op.orders = ordered
    call = op.call2

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return into(out, function, input, other)
        if not isinstance(input, TensorBase):
            raise noted(no_overload(name))
        if ordered and (input.dtype.category == COMPLEX or _is_complex(other)):
            _refuse_complex(name, input, other)
        try:
            return call(input, other)
        except TypeError:
            raise noted(no_overload(name)) from None

    def inplace(self: Any, other: Any) -> Any:
        if ordered and (self.dtype.category == COMPLEX or _is_complex(other)):
            _refuse_complex(name, self, other)
        try:
            return (op if isinstance(other, TensorBase) else number).inplace(self, other)
        except TypeError:
            raise noted(no_overload(name + "_")) from None

    return named(function, inplace, op, doc, name)


def _is_complex(value: Any) -> bool:
    return value.dtype.category == COMPLEX if isinstance(value, TensorBase) else isinstance(value, complex)


def _refuse_complex(name: str, input: Any, other: Any) -> None:
    raise noted(NotImplementedError(f"\"{name}_cpu\" not implemented for '{SCALAR_TYPE[promote(name, input, other)]}'"))


eq = _comparison("eq", np.equal, "Whether corresponding elements are equal.", False)
ne = _comparison("ne", np.not_equal, "Whether corresponding elements differ.", False)
lt = _comparison("lt", np.less, "Whether ``input < other``, element by element.", True)
le = _comparison("le", np.less_equal, "Whether ``input <= other``, element by element.", True)
gt = _comparison("gt", np.greater, "Whether ``input > other``, element by element.", True)
ge = _comparison("ge", np.greater_equal, "Whether ``input >= other``, element by element.", True)
not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge


# ---------------------------------------------------------------- bits
def _unsupported(name: str, label: str, error: Exception, values: tuple[Any, ...]) -> Exception:
    """Torch's error in place of NumPy's for a dtype that has no bits; other errors stay as they are."""
    if not any(isinstance(value, TensorBase) for value in values) or any(isinstance(value, str) for value in values):
        return no_overload(name)
    kind = promote(label, *values)
    if kind.category < FLOAT:
        return error
    if all(isinstance(value, TensorBase) for value in values):
        try:
            np.broadcast_shapes(*[value.array.shape for value in values])
        except ValueError:
            return binary_error(name, *values)
    return NotImplementedError(f"\"{label}_cpu\" not implemented for '{SCALAR_TYPE[kind]}'")


def _on_bits(name: str, kernel: Any, doc: str, label: str) -> Any:
    plain = binary(name, kernel, doc)
    call, change = plain.row.call2, plain.row.inplace

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return into(out, function, input, other)
        if not (isinstance(input, TensorBase) or isinstance(other, TensorBase)):
            raise noted(no_overload(name))
        try:
            return call(input, other)
        except (TypeError, AttributeError) as error:
            raise noted(_unsupported(name, label, error, (input, other))) from None

    def inplace(self: Any, other: Any) -> Any:
        check_result(name, self, other)
        try:
            return change(self, other)
        except TypeError as error:
            raise noted(_unsupported(name + "_", label, error, (self, other))) from None

    return named(function, inplace, plain.row, doc, name)


def _shift(ufunc: Any, label: str) -> Any:
    def kernel(self: Any, other: Any) -> Any:
        if self.dtype.kind == "b":  # NumPy makes int8 of it
            raise noted(unsupported(label, self))
        return ufunc(self, other)

    return kernel


bitwise_and = _on_bits("bitwise_and", np.bitwise_and, "The bits set in both.", "bitwise_and")
bitwise_or = _on_bits("bitwise_or", np.bitwise_or, "The bits set in either.", "bitwise_or")
bitwise_xor = _on_bits("bitwise_xor", np.bitwise_xor, "The bits set in one of the two.", "bitwise_xor")
bitwise_left_shift = _on_bits(
    "bitwise_left_shift", _shift(np.left_shift, "lshift"), "The bits moved left by ``other`` places.", "lshift"
)
bitwise_right_shift = _on_bits(
    "bitwise_right_shift",
    _shift(np.right_shift, "rshift"),
    "The bits moved right by ``other`` places; the sign stays.",
    "rshift",
)


def _invert(self: Any) -> Any:
    try:
        return np.invert(self)
    except TypeError:
        raise noted(unsupported("bitwise_not", self)) from None


bitwise_not = unary("bitwise_not", _invert, "All bits turned; for bool, the opposite.", promote="same")


# ---------------------------------------------------------------- logic
def _logical(name: str, kernel: Any, doc: str) -> Any:
    op = elementwise(name, kernel, promote="bool")
    call, change = op.call2, op.inplace

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return into(out, function, input, other)
        if not (isinstance(input, TensorBase) and isinstance(other, TensorBase)):
            must_be_tensors(name, input=input, other=other)
        return call(input, other)

    def inplace(self: Any, other: Any) -> Any:
        must_be_tensors(name + "_", input=self, other=other)
        return change(self, other)

    return named(function, inplace, op, doc, name)


logical_and = _logical("logical_and", np.logical_and, "Whether both are not zero.")
logical_or = _logical("logical_or", np.logical_or, "Whether either is not zero.")
logical_xor = _logical("logical_xor", np.logical_xor, "Whether exactly one is not zero.")
logical_not = unary("logical_not", np.logical_not, "Whether each element is zero.", promote="bool")


# ---------------------------------------------------------------- what kind of number
def _test(name: str, kernel: Any, doc: str, out: bool = False) -> Any:
    made = unary(name, kernel, doc, promote="bool")
    if out:
        return made
    call = made.row.call1

    def function(input: Any) -> Any:
        return call(input)

    return named(function, None, made.row, doc, name)


def _signed_infinity(name: str, ufunc: Any) -> Any:
    def kernel(self: Any) -> Any:
        if self.dtype.kind == "c":
            raise noted(RuntimeError(f"{name} does not support complex inputs."))
        return ufunc(self, self.dtype.type(0)) & np.isinf(self)

    return kernel


def _is_real(self: Any) -> Any:
    return np.equal(self.imag, 0) if self.dtype.kind == "c" else np.ones(self.shape, np.bool_)


isnan = _test("isnan", np.isnan, "Whether each element is NaN.")
isinf = _test("isinf", np.isinf, "Whether each element is infinite.")
isfinite = _test("isfinite", np.isfinite, "Whether each element is neither infinite nor NaN.")
isposinf = _test(
    "isposinf", _signed_infinity("isposinf", np.greater), "Whether each element is positive infinity.", True
)
isneginf = _test("isneginf", _signed_infinity("isneginf", np.less), "Whether each element is negative infinity.", True)
isreal = _test("isreal", _is_real, "Whether each element has no imaginary part.")


# ---------------------------------------------------------------- nearly equal
def _close(self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    same = np.equal(self, other)
    if equal_nan and self.dtype.kind not in "biu":
        same |= np.isnan(self) & np.isnan(other)
    if rtol == 0 and atol == 0:
        return same
    if self.dtype.kind in "biu":
        self, other = self.astype(np.float64), other.astype(np.float64)
    apart = np.abs(self - other)
    return same | (np.isfinite(apart) & (apart <= atol + np.abs(rtol * other)))


CLOSE = elementwise(
    "isclose", lambda self, other, rtol, atol, equal_nan: _close(self, other, rtol, atol, equal_nan), promote="bool"
)


def _check_close(name: str, input: Any, other: Any, rtol: Any, atol: Any, equal_nan: Any) -> tuple[float, float]:
    must_be_tensors(name, input=input, other=other)
    check_flags(name, equal_nan)
    if input.dtype is not other.dtype:
        raise noted(RuntimeError(f"{SCALAR_TYPE[input.dtype]} did not match {SCALAR_TYPE[other.dtype]}"))
    for label, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise noted(RuntimeError(f"{label} must be greater than or equal to zero, but got {_short(value)}"))
    return float(rtol), float(atol)


def _short(value: Any) -> str:
    return f"{float(value):g}"


def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether ``|input - other| <= atol + rtol * |other|``, element by element (source: ``torch.isclose``).

    >>> import livetape as torch
    >>> torch.isclose(torch.tensor([1., 2.]), torch.tensor([1.000001, 3.]))
    tensor([ True, False])
    """
    rtol, atol = _check_close("isclose", input, other, rtol, atol, equal_nan)
    return CLOSE.apply((input, other, rtol, atol, equal_nan))


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, see `isclose` (source: ``torch.allclose``)."""
    _check_close("allclose", input, other, rtol, atol, equal_nan)
    if hasattr(input.array, "alike") or hasattr(other.array, "alike"):
        raise noted(
            RuntimeError(
                "vmap over torch.allclose isn't supported yet. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues if you need this feature."
            )
        )
    return bool(np.all(isclose(input, other, rtol, atol, equal_nan).array))


def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and elements (source: ``torch.equal``)."""
    must_be_tensors("equal", input=input, other=other)
    if hasattr(input.array, "alike") or hasattr(other.array, "alike"):
        raise noted(RuntimeError("Batching rule not implemented for aten::equal. We could not generate a fallback."))
    return input.array.shape == other.array.shape and bool(np.all(np.equal(input.array, other.array)))


_COMPARISONS = [eq, ne, lt, le, gt, ge]
_BITWISE = [bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift, bitwise_right_shift, bitwise_not]
_LOGICAL = [logical_and, logical_or, logical_xor, logical_not]
_ALIASES = {"not_equal": ne, "less": lt, "less_equal": le, "greater": gt, "greater_equal": ge}
_TESTS = [isnan, isinf, isfinite, isposinf, isneginf, isreal, isclose, allclose, equal]

FUNCTIONS = [f.__name__ for f in (*_COMPARISONS, *_BITWISE, *_LOGICAL, *_TESTS)] + list(_ALIASES)
METHODS = {f.__name__: f for f in (*_COMPARISONS, *_BITWISE, *_LOGICAL, *_TESTS)} | _ALIASES
METHODS |= {f.__name__ + "_": f.inplace for f in (*_COMPARISONS, *_BITWISE, *_LOGICAL)}
METHODS |= {alias + "_": f.inplace for alias, f in _ALIASES.items()}
