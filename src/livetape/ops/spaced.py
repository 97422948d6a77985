"""Numbers counted and spaced."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.tensor import TensorBase
from livetape.dtypes import BOOL, COMPLEX, SCALAR_TYPE, default, dtype, int64
from livetape.kernels.ranges import arange_values, linspace_values, logspace_values
from livetape.ops.dims import as_int, is_integer
from livetape.ops.options import finish, kind_or_out, number_of
from livetape.ops.refuse import no_overload


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
        raise noted(no_overload(name))
    for value in args:
        if not isinstance(value, (int, float, complex, np.generic, TensorBase)) or (
            isinstance(value, TensorBase) and value.array.ndim
        ):
            if len(args) == 1:
                raise noted(
                    TypeError(f"{name}(): argument 'end' (position 1) must be Number, not {type(value).__name__}")
                )
            raise noted(no_overload(name))
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
    first, last, count = _spaced("linspace", start, end, steps)
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
    first, last, count = _spaced("logspace", start, end, steps)
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


def _spaced(name: str, start: Any, end: Any, steps: Any) -> tuple[Any, Any, int]:
    numbers = (int, float, complex, np.generic, TensorBase)
    if steps is None or not is_integer(steps) or not isinstance(start, numbers) or not isinstance(end, numbers):
        raise noted(no_overload(name))
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


range = range_


FUNCTIONS = [
    "arange",
    "linspace",
    "logspace",
    "range",
]
