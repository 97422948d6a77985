"""Jacobians by differences and by the tape, whole or along random directions: what gradcheck compares.

A Jacobian has a row for each element of the input and a column for each element of the output. Where an input is
complex, the derivatives along its real and its imaginary part are kept apart until they are compared.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from livetape._tape.tensor import TensorBase, from_array
from livetape.gradients import grad
from livetape.kernels.bits import BitSource
from livetape.kernels.draws import unit32
from livetape.ops.basics import detach, zeros_like

_DEFAULT_SEED = 67280421310721  # of a new Generator: the directions are torch's, and the same in every check


def as_tuple(value: Any) -> tuple[Any, ...]:
    """What a function returned, as a tuple."""
    if isinstance(value, tuple):
        return value
    return tuple(value) if isinstance(value, list) else (value,)


def differentiable(value: Any) -> tuple[Any, ...]:
    """The outputs that require a gradient."""
    return tuple([o for o in as_tuple(value) if o.requires_grad])


class Difference:
    """The derivative of every output along one input, by central differences: one array an output.

    ``real`` and ``imag`` are along the real and the imaginary part of the input; ``imag`` is None for a real one.
    """

    __slots__ = ("imag", "real")

    def __init__(self, real: list[Any], imag: list[Any] | None) -> None:
        self.real = real
        self.imag = imag


# ---------------------------------------------------------------- by differences
def _evaluate(fn: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    return [o.array.copy() for o in as_tuple(fn(*inputs))]


def _slopes(low: list[Any], high: list[Any], eps: float, index: Any) -> list[Any]:
    found = []
    for a, b in zip(low, high):
        where = "" if index is None else f" on index {index}"
        text = f"when inputs are perturbed{where} by {eps}, but got:"
        if a.dtype != b.dtype:
            raise AssertionError(
                f"Expected `func` to return outputs with the same dtype {text} dtypes "
                f"{from_array(a).dtype!r} and {from_array(b).dtype!r}."
            )
        if a.shape != b.shape:
            raise AssertionError(
                f"Expected `func` to return outputs with the same shape {text} shapes "
                f"torch.Size({list(a.shape)}) and torch.Size({list(b.shape)})."
            )
        if a.dtype == np.bool_:
            raise RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                "`logical_xor()` operator instead."
            )
        found.append(((b - a) / (2 * eps)).reshape(-1))
    return found


def _element_slopes(
    fn: Callable[..., Any], inputs: Sequence[Any], array: Any, index: Any, step: Any, eps: float
) -> list[Any]:
    """The slopes at one element, which is moved in the input's own memory and put back."""
    before = array[index]
    try:
        array[index] = before - step
        low = _evaluate(fn, inputs)
        array[index] = before + step
        high = _evaluate(fn, inputs)
    finally:
        array[index] = before
    return _slopes(low, high, eps, index)


def numerical(fn: Callable[..., Any], inputs: Sequence[Any], moved: Any, eps: float) -> Difference:
    """The Jacobians of all outputs with respect to ``moved``, one of the inputs."""
    array = moved.array
    steps = [eps, eps * 1j] if array.dtype.kind == "c" else [eps]
    parts: list[list[Any]] = []
    for step in steps:
        rows = [_element_slopes(fn, inputs, array, index, step, eps) for index in np.ndindex(array.shape)]
        if rows:
            parts.append([np.stack(column) for column in zip(*rows)])
        else:
            parts.append([np.zeros((0, o.size), o.dtype) for o in _evaluate(fn, inputs)])
    return Difference(parts[0], parts[1] if len(parts) > 1 else None)


def numerical_along(
    fn: Callable[..., Any], inputs: Sequence[Any], moved: Any, direction: Any, eps: float
) -> Difference:
    """The derivatives of all outputs along a direction: one array, or a pair for a complex input."""
    array = moved.array
    before = array.copy()

    def slopes(step: Any) -> list[Any]:
        try:
            np.subtract(before, step, out=array, casting="unsafe")
            low = _evaluate(fn, inputs)
            np.add(before, step, out=array, casting="unsafe")
            high = _evaluate(fn, inputs)
        finally:
            array[...] = before
        return _slopes(low, high, eps, None)

    if array.dtype.kind == "c":
        real, imag = direction
        return Difference(slopes(real.reshape(array.shape) * eps), slopes(imag.reshape(array.shape) * (eps * 1j)))
    return Difference(slopes(direction.reshape(array.shape) * eps), None)


# ---------------------------------------------------------------- by the tape
class Analytic:
    """Jacobians by backward(), one an input, and whether their gradients were of the right size and dtype."""

    __slots__ = ("arrays", "sizes_fit", "types_fit")

    def __init__(self, arrays: list[Any], sizes_fit: bool, types_fit: bool) -> None:
        self.arrays = arrays
        self.sizes_fit = sizes_fit
        self.types_fit = types_fit


def analytical(output: Any, inputs: list[Any]) -> Analytic:
    """The Jacobians of ``output`` with respect to ``inputs``: one walk for each of its elements."""
    count = output.array.size
    found = Analytic([np.zeros((i.array.size, count), i.array.dtype) for i in inputs], True, True)
    for k in range(count):
        seed = np.zeros(count, output.array.dtype)
        seed[k] = 1
        grads = grad(output, inputs, from_array(seed.reshape(output.array.shape)), retain_graph=True, allow_unused=True)
        for jacobian, given, input in zip(found.arrays, grads, inputs):
            if given is None:
                continue
            if given.dtype is not input.dtype:
                found.types_fit = False
            if given.array.shape != input.array.shape:
                found.sizes_fit = False
            else:
                jacobian[:, k] = given.array.reshape(-1)
    return found


def analytical_along(output: Any, inputs: list[Any], weights: Any) -> Analytic:
    """As `analytical`, for the sum of the output's elements times ``weights``: one column, one walk."""
    seed = weights.astype(output.array.dtype).reshape(output.array.shape)
    grads = grad(output, inputs, from_array(seed), retain_graph=True, allow_unused=True)
    found = Analytic([], True, True)
    for given, input in zip(grads, inputs):
        if given is None or given.array.shape != input.array.shape:
            found.sizes_fit = found.sizes_fit and given is None
            found.arrays.append(np.zeros(input.array.size, input.array.dtype))
        else:
            found.types_fit = found.types_fit and given.dtype is input.dtype
            found.arrays.append(given.array.reshape(-1))
    return found


def _leaf(tensor: Any) -> Any:
    twin = detach(tensor)
    twin.recorded = tensor.requires_grad
    return twin


def tangents(fn: Callable[..., Any], inputs: Sequence[Any], at: int, direction: Any) -> list[Any]:
    """`pushed` for arrays, each of one dimension."""
    return [t.array.reshape(-1) for t in pushed(fn, inputs, at, from_array(direction))]


def pushed(fn: Callable[..., Any], inputs: Sequence[Any], at: int, direction: Any) -> list[Any]:
    """The derivatives of all outputs along ``direction`` at input number ``at``, by forward mode."""
    forward_ad = importlib.import_module("livetape.autograd.forward_ad")
    with forward_ad.dual_level():
        given: list[Any] = [_leaf(i) if isinstance(i, TensorBase) else i for i in inputs]
        given[at] = forward_ad.make_dual(given[at], direction)
        found = []
        for output in as_tuple(fn(*given)):
            tangent = forward_ad.unpack_dual(output).tangent
            found.append(zeros_like(output) if tangent is None else tangent)
        return found


def forward_jacobians(fn: Callable[..., Any], inputs: Sequence[Any], at: int, unit: Any) -> list[Any]:
    """The Jacobians of all outputs with respect to input number ``at``, along ``unit`` (1 or 1j) at each element."""
    array = inputs[at].array
    rows = []
    for index in np.ndindex(array.shape):
        direction = np.zeros(array.shape, array.dtype)
        direction[index] = unit
        rows.append(tangents(fn, inputs, at, direction))
    if not rows:
        return [np.zeros((0, o.size), o.dtype) for o in _evaluate(fn, inputs)]
    return [np.stack(column) for column in zip(*rows)]


# ---------------------------------------------------------------- random directions
class Directions:
    """Unit vectors of positive random numbers, the same in every check and equal to torch's."""

    def __init__(self) -> None:
        self._bits = BitSource(_DEFAULT_SEED)

    def vector(self, array: Any) -> Any:
        """A real vector with as many elements as ``array``, in its precision."""
        drawn = unit32(self._bits, array.size).astype(array.real.dtype)
        length = np.sqrt((drawn * drawn).sum())
        return drawn / length if drawn.size else drawn

    def of_input(self, array: Any) -> Any:
        """A direction for an input: one vector, or a pair for a complex one."""
        first = self.vector(array)
        return (first, self.vector(array)) if array.dtype.kind == "c" else first
