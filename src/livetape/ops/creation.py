"""New tensors: filled with a number, counted, spaced, or left empty."""

from __future__ import annotations

from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape.dtypes import boolean, default, dtype, int64
from livetape.ops import options
from livetape.ops.dims import as_int, is_integer
from livetape.ops.options import finish, kind_of, kind_or_out, need_tensor, number_of, scalar_array, sizes


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
    array = _unset(shape, steps, kind)
    return finish("empty_strided", array, kind, device, requires_grad, layout, pin_memory)


def _unset(shape: Any, steps: Any, kind: dtype) -> Any:
    """An array with the given strides, in elements. An empty one is part of another: only then NumPy keeps its strides."""
    room = [max(n, 1) for n in shape]
    memory = np.empty(1 + sum((n - 1) * s for n, s in zip(room, steps)), kind.np)
    array = np.ndarray(room, kind.np, memory, 0, [s * kind.itemsize for s in steps])
    return array if all(shape) else array[tuple([slice(n) for n in shape])]


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
    for at, d in enumerate(order):
        if not 0 <= d < len(shape):
            raise noted(
                RuntimeError(
                    f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {d} at index {at}).  "
                    "NB: negative dims not currently supported; file an issue if you want it."
                )
            )
    if len(set(order)) != len(order):
        raise noted(RuntimeError("Duplicate dim not allowed"))
    steps, step = [0] * len(shape), 1
    for d in reversed(order):
        steps[d], step = step, step * max(shape[d], 1)
    array = _unset(shape, steps, kind)
    return finish("empty_permuted", array, kind, device, requires_grad, layout, pin_memory)


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


FUNCTIONS = [
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eye",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "scalar_tensor",
    "zeros",
    "zeros_like",
]
METHODS = {
    "new_empty": new_empty,
    "new_empty_strided": new_empty_strided,
    "new_full": new_full,
    "new_ones": new_ones,
    "new_zeros": new_zeros,
}
