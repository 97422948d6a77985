"""New tensors: filled with a number, counted, spaced, or left empty."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.dtypes import BOOL, COMPLEX, SCALAR_TYPE, boolean, default, dtype, int64, of_numpy
from livetape.kernels.ranges import arange_values, linspace_values, logspace_values
from livetape.ops import options
from livetape.ops.dims import as_int, is_integer, no_overload
from livetape.ops.literals import (  # noqa: F401 - exported from here
    as_tensor,
    asarray,
    from_numpy,
    frombuffer,
    legacy_tensor,
    new,
    new_tensor,
    tensor,
)
from livetape.ops.options import finish, kind_of, kind_or_out, need_tensor, number_of, scalar_array, sizes
from livetape.ops.table import row

_OPTIONS = (
    "torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = "
    "False, "
    "bool requires_grad = False)"
)


# ---------------------------------------------------------------- filled
def zeros(
    *args: Any,
    size: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Zeros of the given size: integers or one sequence of them (source: ``torch.zeros``).

    >>> import livetape as torch
    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    kind = kind_or_out("zeros", dtype, out)
    return finish(
        "zeros", np.zeros(sizes("zeros", args, size), kind.np), kind, device, requires_grad, layout, pin_memory, out
    )


def ones(
    *args: Any,
    size: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Ones of the given size (source: ``torch.ones``).

    >>> import livetape as torch
    >>> torch.ones(3, dtype=torch.int64)
    tensor([1, 1, 1])
    """
    kind = kind_or_out("ones", dtype, out)
    return finish(
        "ones", np.ones(sizes("ones", args, size), kind.np), kind, device, requires_grad, layout, pin_memory, out
    )


def empty(
    *args: Any,
    size: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
    memory_format: Any = None,
) -> Any:
    """A tensor whose elements are whatever was in memory (source: ``torch.empty``)."""
    kind = kind_or_out("empty", dtype, out)
    array = np.empty(sizes("empty", args, size), kind.np)
    if memory_format is not None:
        options.check_format("empty", memory_format, array.ndim)
    return finish("empty", array, kind, device, requires_grad, layout, pin_memory, out)


def full(
    size: Any,
    fill_value: Any,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """A tensor filled with a number, of the dtype that the number gives (source: ``torch.full``).

    >>> import livetape as torch
    >>> torch.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    if not isinstance(size, (tuple, list)):
        raise noted(TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"))
    value = number_of("full", fill_value, "fill_value", 2)
    kind = kind_or_out("full", dtype, out, _kind_of_number(value))
    return finish(
        "full",
        _filled(np.empty(sizes("full", (size,)), kind.np), value, kind),
        kind,
        device,
        requires_grad,
        layout,
        pin_memory,
        out,
    )


def _kind_of_number(value: Any) -> dtype:
    if isinstance(value, bool):
        return boolean
    if isinstance(value, int):
        return int64
    return default.dtype.to_complex() if isinstance(value, complex) else default.dtype


def _filled(array: Any, value: Any, kind: dtype) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise noted(OverflowError("int too big to convert"))
    array.fill(scalar_array(value, kind))
    return array


# ---------------------------------------------------------------- like another tensor
def zeros_like(
    input: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
    memory_format: Any = None,
) -> Any:
    """Zeros of another tensor's size and dtype (source: ``torch.zeros_like``)."""
    return _like("zeros_like", input, 0, dtype, layout, device, pin_memory, requires_grad, memory_format)


def ones_like(
    input: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
    memory_format: Any = None,
) -> Any:
    """Ones of another tensor's size and dtype (source: ``torch.ones_like``)."""
    return _like("ones_like", input, 1, dtype, layout, device, pin_memory, requires_grad, memory_format)


def empty_like(
    input: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of another's size and dtype, its elements not set (source: ``torch.empty_like``)."""
    return _like("empty_like", input, None, dtype, layout, device, pin_memory, requires_grad, memory_format)


def full_like(
    input: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of another's size and dtype, filled with a number (source: ``torch.full_like``)."""
    need_tensor("full_like", input)
    value = number_of("full_like", fill_value, "fill_value", 2)
    return _like("full_like", input, value, dtype, layout, device, pin_memory, requires_grad, memory_format)


def _like(
    name: str,
    input: Any,
    value: Any,
    kind: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    requires_grad: Any,
    memory_format: Any,
) -> Any:
    need_tensor(name, input)
    wanted = kind_of(name, kind, input.dtype)
    array = options.empty_like(name, input, wanted, memory_format)
    if value is not None:
        _filled(array, value, wanted)
    return _alike(input, finish(name, array, wanted, device, requires_grad, layout, pin_memory))


def _alike(like: Any, made: Any) -> Any:
    """The new tensor; where a transform has changed what ``like`` is, changed in the same way."""
    array = like.array
    return made if type(array) is np.ndarray or not hasattr(array, "alike") else array.alike(made)


# ---------------------------------------------------------------- of another tensor's dtype
def new_zeros(
    self: Any,
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Zeros of the given size and this tensor's dtype (source: ``torch.Tensor.new_zeros``)."""
    kind = kind_of("new_zeros", dtype, self.dtype)
    array = np.zeros(sizes("new_zeros", args, size), kind.np)
    return _alike(self, finish("new_zeros", array, kind, device, requires_grad, layout, pin_memory))


def new_ones(
    self: Any,
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Ones of the given size and this tensor's dtype (source: ``torch.Tensor.new_ones``)."""
    kind = kind_of("new_ones", dtype, self.dtype)
    array = np.ones(sizes("new_ones", args, size), kind.np)
    return _alike(self, finish("new_ones", array, kind, device, requires_grad, layout, pin_memory))


def new_empty(
    self: Any,
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """A tensor of the given size and this tensor's dtype, not set (source: ``torch.Tensor.new_empty``)."""
    kind = kind_of("new_empty", dtype, self.dtype)
    array = np.empty(sizes("new_empty", args, size), kind.np)
    return _alike(self, finish("new_empty", array, kind, device, requires_grad, layout, pin_memory))


def new_full(
    self: Any,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """A tensor of this one's dtype filled with a number (source: ``torch.Tensor.new_full``)."""
    value = number_of("new_full", fill_value, "fill_value", 2)
    kind = kind_of("new_full", dtype, self.dtype)
    array = _filled(np.empty(sizes("new_full", (size,)), kind.np), value, kind)
    return _alike(self, finish("new_full", array, kind, device, requires_grad, layout, pin_memory))


def new_empty_strided(
    self: Any,
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """`empty_strided` with this tensor's dtype (source: ``torch.Tensor.new_empty_strided``)."""
    return empty_strided(
        size,
        stride,
        dtype=kind_of("new_empty_strided", dtype, self.dtype),
        layout=layout,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
    )


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """A tensor with the given strides, in elements, not set (source: ``torch.empty_strided``)."""
    kind = kind_of("empty_strided", dtype)
    shape, steps = sizes("empty_strided", (size,)), tuple(stride)
    if len(shape) != len(steps):
        raise noted(
            RuntimeError(f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(steps)})")
        )
    if any(s < 0 for s in steps):
        raise noted(
            RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(steps)}")
        )
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, steps)) if all(shape) else 0
    memory = np.empty(extent, kind.np)
    array = np.ndarray(shape, kind.np, memory, 0, [s * kind.itemsize for s in steps])
    return finish("empty_strided", array, kind, device, requires_grad, layout, pin_memory)


def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """A tensor whose dimensions lie in memory in the given order (source: ``torch.empty_permuted``)."""
    kind = kind_of("empty_permuted", dtype)
    shape, order = sizes("empty_permuted", (size,)), tuple(physical_layout)
    if len(shape) != len(order):
        raise noted(
            RuntimeError(
                "Number of dimensions in size does not match the length of the physical_layout; i.e. "
                f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
            )
        )
    if set(order) != {i for i, _ in enumerate(shape)}:
        raise noted(RuntimeError("Dimension out of range or duplicate dim in physical_layout"))
    steps, step = [0] * len(shape), 1
    for d in reversed(order):
        steps[d], step = step, step * max(shape[d], 1)
    array = np.ndarray(shape, kind.np, np.empty(step, kind.np), 0, [n * kind.itemsize for n in steps])
    return finish("empty_permuted", array, kind, device, requires_grad, layout, pin_memory)


# ---------------------------------------------------------------- counted and spaced
_ARANGE = (
    "(Number end, *, Tensor out = None, " + _OPTIONS,
    "(Number start, Number end, *, " + _OPTIONS,
    "(Number start, Number end, Number step = 1, *, Tensor out = None, " + _OPTIONS,
)


def arange(
    *args: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Numbers from ``start`` (0) up to ``end``, which is left out, by ``step`` (1) (source: ``torch.arange``).

    >>> import livetape as torch
    >>> torch.arange(1, 10, 3)
    tensor([1, 4, 7])
    """
    if len(args) == 1 and type(args[0]) is int and start is None and end is None and step is None:
        start, end, step = 0, args[0], 1
    else:
        start, end, step = _range_arguments("arange", args, start, end, step)
    if type(start) is type(end) is type(step) is int:
        unset = int64
    else:
        start, end, step = (_range_number("arange", v, n) for v, n in ((start, "start"), (end, "end"), (step, "step")))
        whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
        unset = int64 if whole else default.dtype
    kind = kind_or_out("arange", dtype, out, unset)
    if kind.category == BOOL or kind.category == COMPLEX:
        raise noted(NotImplementedError(f"\"arange_cpu\" not implemented for '{SCALAR_TYPE[kind]}'"))
    if any(isinstance(v, complex) for v in (start, end, step)):
        raise noted(RuntimeError("value cannot be converted to type double without overflow"))
    return finish(
        "arange", arange_values(start, end, step, kind.np), kind, device, requires_grad, layout, pin_memory, out
    )


def _range_arguments(name: str, args: tuple[Any, ...], start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    if len(args) == 1 and end is None:
        end = args[0]
    elif len(args) == 1 and start is None:
        start = args[0]
    elif len(args) == 2 and (start, end) == (None, None):
        start, end = args
    elif len(args) == 3 and (start, end, step) == (None, None, None):
        start, end, step = args
    elif args or end is None:
        raise noted(no_overload(name, args, *_ARANGE))
    for value in args:
        if not isinstance(value, (int, float, complex, np.generic, TensorBase)) or (
            isinstance(value, TensorBase) and value.array.ndim
        ):
            if len(args) == 1:
                raise noted(
                    TypeError(f"{name}(): argument 'end' (position 1) must be Number, not {type(value).__name__}")
                )
            raise noted(no_overload(name, args, *_ARANGE))
    return 0 if start is None else start, end, 1 if step is None else step


def _range_number(name: str, value: Any, argument: str) -> Any:
    return number_of(name, value, argument, 1)


def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Numbers from ``start`` to ``end``, which is included; use `arange` (source: ``torch.range``)."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent "
        "with Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    start, end, step = (number_of("range", v, n, 1) for v, n in ((start, "start"), (end, "end"), (step, "step")))
    kind = kind_or_out("range", dtype, out)
    return finish(
        "range", arange_values(start, end, step, kind.np, True), kind, device, requires_grad, layout, pin_memory, out
    )


_SPACED = tuple(
    f"({s} start, {e} end, int steps, *, Tensor out = None, {_OPTIONS}"
    for s, e in (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"), ("Number", "Number"))
)
_LOG_SPACED = tuple(s.replace("int steps", "int steps, float base = 10") for s in _SPACED)


def linspace(
    start: Any,
    end: Any,
    steps: Any = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """``steps`` numbers from ``start`` to ``end``, both included, evenly spaced (source: ``torch.linspace``).

    >>> import livetape as torch
    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    first, last, count = _spaced("linspace", start, end, steps, _SPACED)
    kind = kind_or_out("linspace", dtype, out, _spaced_kind(first, last))
    return finish(
        "linspace", linspace_values(first, last, count, kind.np), kind, device, requires_grad, layout, pin_memory, out
    )


def logspace(
    start: Any,
    end: Any,
    steps: Any = None,
    base: Any = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """``base`` to the power of the numbers of `linspace` (source: ``torch.logspace``)."""
    first, last, count = _spaced("logspace", start, end, steps, _LOG_SPACED)
    kind = kind_or_out("logspace", dtype, out, _spaced_kind(first, last))
    return finish(
        "logspace",
        logspace_values(first, last, count, base, kind.np),
        kind,
        device,
        requires_grad,
        layout,
        pin_memory,
        out,
    )


def _spaced(name: str, start: Any, end: Any, steps: Any, signatures: tuple[str, ...]) -> tuple[Any, Any, int]:
    numbers = (int, float, complex, np.generic, TensorBase)
    if steps is None or not is_integer(steps) or not isinstance(start, numbers) or not isinstance(end, numbers):
        given = (start, end) if steps is None else (start, end, steps)
        raise noted(no_overload(name, given, *signatures))
    for value, label in ((start, "start"), (end, "end")):
        if isinstance(value, TensorBase) and value.array.ndim:
            raise noted(
                RuntimeError(
                    f"{name} only supports 0-dimensional start and end tensors, but got {label} with "
                    f"{value.array.ndim} dimension(s)."
                )
            )
    count = as_int(steps)
    if count < 0:
        raise noted(RuntimeError("number of steps must be non-negative"))
    return number_of(name, start, "start", 1), number_of(name, end, "end", 2), count


def _spaced_kind(first: Any, last: Any) -> dtype:
    if isinstance(first, complex) or isinstance(last, complex):
        return default.dtype.to_complex()
    return default.dtype


def eye(
    n: Any,
    m: Any = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """Ones on the diagonal, zeros elsewhere, ``n`` by ``m`` (source: ``torch.eye``).

    >>> import livetape as torch
    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    for position, (value, argument) in enumerate(((n, "n"), (m, "m"))):
        if value is not None or argument == "n":
            if not is_integer(value):
                raise noted(
                    TypeError(
                        f"eye(): argument '{argument}' (position {position + 1}) must be int, not {type(value).__name__}"
                    )
                )
            if as_int(value) < 0:
                raise noted(RuntimeError(f"{argument} must be greater or equal to 0, got {as_int(value)}"))
    kind = kind_or_out("eye", dtype, out)
    array = np.eye(as_int(n), None if m is None else as_int(m), dtype=kind.np)
    return finish("eye", array, kind, device, requires_grad, layout, pin_memory, out)


def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    requires_grad: Any = False,
) -> Any:
    """A 0-d tensor of a number, of the default dtype (source: ``torch.scalar_tensor``)."""
    value = number_of("scalar_tensor", s, "s", 1)
    kind = kind_of("scalar_tensor", dtype)
    return finish("scalar_tensor", scalar_array(value, kind), kind, device, requires_grad, layout, pin_memory)


# ---------------------------------------------------------------- filling what is there
FILL = row(
    "fill",
    lambda self, value: np.broadcast_to(scalar_array(value, _kind_like(self)), self.shape),
    inplace_node="FillBackward2",
    batch="any",
    self=lambda grad: zeros_like(grad),
)
FILL_TENSOR = row(
    "fill",
    lambda self, value: np.broadcast_to(value.astype(self.dtype), self.shape),
    tensors="self value",
    node="FillBackward1",
    inplace_node="FillBackward3",
    key="fill.tensor",
    linear=True,
    batch="fill",
    self=lambda grad: zeros_like(grad),
    value=lambda grad: grad.sum(),
)


def _kind_like(array: Any) -> dtype:
    return of_numpy(array.dtype)


def fill_(self: Any, value: Any) -> Any:
    """Set every element to a number or to a 0-d tensor (source: ``torch.Tensor.fill_``)."""
    if isinstance(value, TensorBase):
        _need_0d(value)
        return FILL_TENSOR.inplace(self, value)
    return FILL.inplace(self, number_of("fill_", value, "value", 1))


def fill(input: Any, value: Any) -> Any:
    """A tensor of this one's size and dtype filled with a number or a 0-d tensor (source: ``torch.fill``)."""
    if isinstance(value, TensorBase):
        _need_0d(value)
        return FILL_TENSOR.apply((input, value))
    return FILL.apply((input, number_of("fill", value, "value", 2)))


def _need_0d(value: Any) -> None:
    if value.array.ndim:
        raise noted(
            RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.array.ndim} dimensions."
            )
        )


ZERO = row("zero", lambda self: np.zeros_like(self), batch="any", self=lambda grad: zeros_like(grad))
FILL.uniform = ZERO.uniform = True


def zero_(self: Any) -> Any:
    """Set every element to 0 (source: ``torch.Tensor.zero_``)."""
    return ZERO.inplace(self)


range = range_
FUNCTIONS = [
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eye",
    "fill",
    "fill_",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "legacy_tensor",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "range",
    "scalar_tensor",
    "tensor",
    "zero_",
    "zeros",
    "zeros_like",
]
METHODS = {
    "fill_": fill_,
    "new": new,
    "new_empty": new_empty,
    "new_empty_strided": new_empty_strided,
    "new_full": new_full,
    "new_ones": new_ones,
    "new_tensor": new_tensor,
    "new_zeros": new_zeros,
    "zero_": zero_,
}
