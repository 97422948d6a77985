"""Complex numbers and their parts."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from livetape._tape.explain import broadcast_error, note_call, noted
from livetape._tape.tensor import TensorBase, shape_of
from livetape._tape.views import primitives
from livetape.dtypes import C_NAME, COMPLEX, SCALAR_TYPE, complex64, complex128, dtype, float16, float32, float64
from livetape.ops.autocasting import single_in_autocast
from livetape.ops.basics import conj, storage_offset, sum_to
from livetape.ops.choose import where
from livetape.ops.indexing import SELECT
from livetape.ops.nodes import node_class
from livetape.ops.pointwise import sgn
from livetape.ops.refuse import must_be_tensors
from livetape.ops.table import elementwise, into, row, unary

_COMPLEX = {float32: complex64, float64: complex128}

# ---------------------------------------------------------------- the same memory, seen as pairs of numbers
VIEW_AS_REAL = row(
    "view_as_real",
    lambda self: self[..., None].view(self.real.dtype),
    view=True,
    analytic=False,
    batch="any",
    self=lambda grad: view_as_complex(_together(grad)),
)
VIEW_AS_COMPLEX = row(
    "view_as_complex",
    lambda self: self.view(f"c{2 * self.itemsize}")[..., 0],
    view=True,
    analytic=False,
    batch="any",
    self=lambda grad: view_as_real(grad),
)


def _together(grad: Any) -> Any:
    """A gradient whose pairs lie side by side in memory."""
    array = grad.array
    if array.strides[-1] == array.itemsize and not any(s % (2 * array.itemsize) for s in array.strides[:-1]):
        return grad
    return grad.clone().contiguous()


def _retyped(view: Any, kind: dtype) -> Any:
    """A view that has another dtype than its base."""
    view.dtype = kind
    return view


def _retyping(have: dtype, want: dtype) -> Any:
    """The row that views a tensor of one dtype as the other; None if they are both real or both complex."""
    if have.is_complex == want.is_complex:
        return None
    return VIEW_AS_COMPLEX if want.is_complex else VIEW_AS_REAL


primitives.retyping = _retyping


def view_as_real(input: Any) -> Any:
    """A view with one more dimension, of size 2: the real and the imaginary parts (source: ``torch.view_as_real``).

    >>> import livetape as torch
    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    must_be_tensors("view_as_real", input=input)
    if input.dtype.category != COMPLEX:
        raise noted(RuntimeError("view_as_real is only supported for complex tensors"))
    return _retyped(VIEW_AS_REAL.apply((input,)), input.dtype.to_real())


@single_in_autocast
def view_as_complex(input: Any) -> Any:
    """A view whose numbers' parts are the last dimension, of size 2 (source: ``torch.view_as_complex``)."""
    must_be_tensors("view_as_complex", input=input)
    kind = input.dtype
    if kind not in _COMPLEX:
        raise noted(
            RuntimeError(
                "view_as_complex is only supported for half, float and double tensors, but got a tensor of "
                f"scalar type: {SCALAR_TYPE[kind]}"
            )
        )
    array = input.array
    if array.ndim == 0:
        raise noted(RuntimeError("Input tensor must have one or more dimensions"))
    if array.shape[-1] != 2:
        raise noted(RuntimeError("Tensor must have a last dimension of size 2"))
    if array.size and array.strides[-1] != array.itemsize:
        raise noted(RuntimeError("Tensor must have a last dimension with stride 1"))
    if array.size and any(stride % (2 * array.itemsize) for stride in array.strides[:-1]):
        raise noted(RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension"))
    if storage_offset(input) % 2:
        raise noted(RuntimeError("Tensor must have a storage_offset divisible by 2"))
    return _retyped(VIEW_AS_COMPLEX.apply((input,)), _COMPLEX[kind])


def real(input: Any) -> Any:
    """The real parts, a view; a real tensor is returned as it is (source: ``torch.real``)."""
    must_be_tensors("real", input=input)
    if input.dtype.category != COMPLEX:
        return input
    return SELECT.apply((view_as_real(input), input.array.ndim, 0))


def imag(input: Any) -> Any:
    """The imaginary parts, a view (source: ``torch.imag``)."""
    must_be_tensors("imag", input=input)
    if input.dtype.category != COMPLEX:
        raise noted(RuntimeError("imag is not implemented for tensors with non-complex dtypes."))
    return SELECT.apply((view_as_real(input), input.array.ndim, 1))


def _assigned(part: Any, value: Any) -> None:
    """Copy a tensor or a number into a view of the parts."""
    if not isinstance(value, (TensorBase, Number)):
        raise noted(TypeError(f"can't assign a {type(value).__name__} to a {part.type()}"))
    if not isinstance(value, TensorBase) and getattr(value, "imag", False):
        name = C_NAME[part.dtype]
        raise noted(RuntimeError(f"value cannot be converted to type {name} without overflow"))
    part.copy_(value)


def _set_real(self: Any, value: Any) -> None:
    _assigned(real(self), value)


def _set_imag(self: Any, value: Any) -> None:
    _assigned(imag(self), value)


# ---------------------------------------------------------------- complex numbers from their parts
def _joined(real: Any, imag: Any) -> Any:
    made = np.empty(np.broadcast_shapes(real.shape, imag.shape), f"c{2 * real.itemsize}")
    made.real = real
    made.imag = imag
    return made


def _from_polar(abs: Any, angle: Any) -> Any:
    return _joined(abs * np.cos(angle), abs * np.sin(angle))


COMPLEX_ROW = row(
    "complex",
    _joined,
    tensors="real imag",
    analytic=False,
    linear=True,
    batch="broadcast",
    real=lambda grad, real_size: sum_to(_real_of(grad), real_size),
    imag=lambda grad, imag_size: sum_to(imag(grad), imag_size),
)
POLAR = row(
    "polar",
    _from_polar,
    tensors="abs angle",
    analytic=False,
    batch="broadcast",
    abs=lambda grad, result, abs_size: sum_to(_real_of(conj(grad) * sgn(result)), abs_size),
    angle=lambda grad, result, angle_size: sum_to(_real_of(conj(grad) * (result * 1j)), angle_size),
)
_real_of = real  # in the formulas above, `real` is the name of an input


def _check_parts(name: str, first: Any, second: Any, names: tuple[str, str]) -> None:
    must_be_tensors(name, **{names[0]: first, names[1]: second})
    for part in (first, second):
        if part.dtype not in _COMPLEX and part.dtype is not float16:
            raise noted(
                RuntimeError(
                    "Expected both inputs to be Half, Float or Double tensors but got "
                    f"{SCALAR_TYPE[first.dtype]} and {SCALAR_TYPE[second.dtype]}"
                )
            )
    if first.dtype is not second.dtype:
        raise noted(
            RuntimeError(
                f"Expected object of scalar type {SCALAR_TYPE[first.dtype]} but got scalar type "
                f"{SCALAR_TYPE[second.dtype]} for second argument"
            )
        )
    _ = first.dtype.to_complex().np  # complex32 is an error
    try:
        np.broadcast_shapes(first.array.shape, second.array.shape)
    except ValueError:
        error = broadcast_error(shape_of(first), shape_of(second))
        note_call(error, name, (first, second))
        raise error from None


def _check_out(out: Any, part: Any) -> None:
    kind = part.dtype.to_complex()
    if out.dtype is not kind:
        raise noted(
            RuntimeError(
                f"Expected object of scalar type {SCALAR_TYPE[kind]} but got scalar type {SCALAR_TYPE[out.dtype]} for "
                "argument 'out'"
            )
        )


def complex(real: Any, imag: Any, *, out: Any = None) -> Any:
    """Complex numbers of these real and imaginary parts (source: ``torch.complex``).

    >>> import livetape as torch
    >>> torch.complex(torch.tensor([1.]), torch.tensor([2.]))
    tensor([1.+2.j])
    """
    _check_parts("complex", real, imag, ("real", "imag"))
    if out is not None:
        _check_out(out, real)
        return into(out, complex, real, imag)
    return COMPLEX_ROW.apply((real, imag))


@single_in_autocast
def polar(abs: Any, angle: Any, *, out: Any = None) -> Any:
    """Complex numbers of these absolute values and angles, in radians (source: ``torch.polar``)."""
    _check_parts("polar", abs, angle, ("abs", "angle"))
    if out is not None:
        _check_out(out, abs)
        return into(out, polar, abs, angle)
    return POLAR.apply((abs, angle))


# ---------------------------------------------------------------- angle and conjugate
def _angle(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.arctan2(x.imag, x.real)
    found = np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0))
    return np.where(np.isnan(x), x, found)


def _angle_backward(grad: Any, self: Any) -> Any:
    if self.dtype.category != COMPLEX:
        return grad * 0
    zero = self == 0
    return where(zero, 0, grad * (1j / conj(where(zero, 1, self))))


angle = unary(
    "angle",
    _angle,
    "The angle of each number in the complex plane, in radians; pi for negative real ones.",
    analytic=False,
    self=_angle_backward,
)

CONJ_PHYSICAL = elementwise(
    "conj_physical", np.conjugate, params="self", tensors="self", analytic=False, self=lambda grad: conj_physical(grad)
)
CONJ_PHYSICAL.inplace_class = node_class("ConjPhysicalBackward1")


def conj_physical(input: Any, *, out: Any = None) -> Any:
    """The complex conjugate; a real tensor is returned as it is (source: ``torch.conj_physical``)."""
    if out is not None:
        return into(out, conj_physical, input)
    must_be_tensors("conj_physical", input=input)
    return CONJ_PHYSICAL.call1(input) if input.dtype.category == COMPLEX else input


def conj_physical_(self: Any) -> Any:
    """In-place `conj_physical`."""
    return CONJ_PHYSICAL.inplace(self) if self.dtype.category == COMPLEX else self


def resolve_conj(input: Any) -> Any:
    """The tensor itself: its elements are always stored conjugated already (source: ``torch.resolve_conj``)."""
    return input


def resolve_neg(input: Any) -> Any:
    """The tensor itself: its elements are always stored negated already (source: ``torch.resolve_neg``)."""
    return input


def is_conj(input: Any) -> bool:
    """False: a conjugate is computed at once (source: ``torch.is_conj``)."""
    return False


def is_neg(input: Any) -> bool:
    """False: a negative is computed at once (source: ``torch.is_neg``)."""
    return False


FUNCTIONS = [
    "view_as_real",
    "view_as_complex",
    "real",
    "imag",
    "complex",
    "polar",
    "angle",
    "conj",
    "conj_physical",
    "conj_physical_",
    "resolve_conj",
    "resolve_neg",
    "is_conj",
    "is_neg",
]
METHODS: dict[str, Any] = {
    "angle": angle,
    "conj": conj,
    "conj_physical": conj_physical,
    "conj_physical_": conj_physical_,
    "resolve_conj": resolve_conj,
    "resolve_neg": resolve_neg,
    "is_conj": is_conj,
    "is_neg": is_neg,
    "real": property(real, _set_real),
    "imag": property(imag, _set_imag),
}
