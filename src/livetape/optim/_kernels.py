"""Updates on plain arrays, in place: what the optimisers do where no tape is asked for.

Each takes the arrays of all parameters that make the same step in one flat list, and its numbers as Python floats. Here
are the NumPy twins of the loops in C++. They walk large arrays in blocks that stay in the cache, since every NumPy call
is a pass over memory of its own. The operations and their order are those of torch's single-tensor implementations.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape.dtypes import float32, float64
from livetape.kernels.compiled import compiled

add, subtract, multiply, divide, sqrt, maximum = np.add, np.subtract, np.multiply, np.divide, np.sqrt, np.maximum

BLOCK = SMALL = 32768  # elements: six blocks of float32 fit into a usual L2 cache; arrays up to SMALL are one block
FAST = (float32, float64)  # the dtypes that have kernels here; for others tensor operations serve


class _Scratch(threading.local):
    """Two blocks of scratch memory for each dtype, of this thread."""

    def __init__(self) -> None:
        self.blocks: dict[Any, tuple[Any, Any]] = {}

    def of(self, kind: Any, count: int) -> tuple[Any, Any]:
        found = self.blocks.get(kind)
        if found is None:
            found = self.blocks[kind] = (np.empty(SMALL, kind), np.empty(SMALL, kind))
        return found[0][:count], found[1][:count]


_scratch = _Scratch()


def _each(flat: list[Any], width: int, step: Callable[..., None], *numbers: Any) -> None:
    """``step(*arrays, scratch, scratch, *numbers)`` for the arrays of each parameter, large ones a block at a time.

    Numbers become 0-d arrays of the parameter's dtype: NumPy takes them faster, and rounds them as torch its scalars.
    """
    for first in range(0, len(flat), width):
        arrays = flat[first : first + width]
        param = arrays[0]
        kind = param.dtype
        values = [n if n is None or type(n) is bool else np.array(n, kind) for n in numbers]
        if all(a is None or a.flags.c_contiguous for a in arrays):
            arrays = [None if a is None else a.reshape(-1) for a in arrays]
            for start in range(0, param.size, BLOCK):
                parts = [None if a is None else a[start : start + BLOCK] for a in arrays]
                step(*parts, *_scratch.of(kind, min(BLOCK, param.size - start)), *values)
        else:
            step(*arrays, np.empty_like(param), np.empty_like(param), *values)


def _slope(param: Any, grad: Any, decay: Any, turn: bool, out: Any) -> Any:
    """The gradient as the formulas use it: turned for maximisation, with ``decay * param`` added."""
    if turn:
        grad = np.negative(grad, out)
    if decay is None:
        return grad
    return add(multiply(param, decay), grad, out)


# ---------------------------------------------------------------- SGD


def _sgd_step(p: Any, g: Any, t: Any, u: Any, rate: Any, decay: Any, turn: bool) -> None:
    subtract(p, multiply(_slope(p, g, decay, turn, u), rate, t), p)


def _sgd(flat: list[Any], rate: float, decay: float | None, turn: bool) -> None:
    """``param -= rate * (grad + decay * param)`` for [param, grad, ...]; with ``turn`` grad has the other sign."""
    _each(flat, 2, _sgd_step, rate, decay, turn)


def _momentum_step(
    p: Any, g: Any, b: Any, t: Any, u: Any, rate: Any, decay: Any, momentum: Any, keep: Any, nesterov: bool, turn: bool
) -> None:
    g = _slope(p, g, decay, turn, u)
    multiply(b, momentum, b)
    add(b, multiply(g, keep, t), b)
    if nesterov:
        multiply(b, momentum, t)
        add(t, g, t)
        multiply(t, rate, t)
    else:
        multiply(b, rate, t)
    subtract(p, t, p)


def _sgd_momentum(
    flat: list[Any], rate: float, decay: float | None, momentum: float, keep: float, nesterov: bool, turn: bool
) -> None:
    """For [param, grad, buffer, ...]: ``buffer = momentum * buffer + keep * grad``, ``param -= rate * buffer``.

    With ``nesterov``, ``rate * (grad + momentum * buffer)``. ``keep`` is 1 - dampening.
    """
    _each(flat, 3, _momentum_step, rate, decay, momentum, keep, nesterov, turn)


# ---------------------------------------------------------------- Adam


def _adam_step(
    p: Any, g: Any, m: Any, s: Any, largest: Any, t: Any, u: Any,
    rate: Any, keep: Any, second: Any, keep_second: Any, eps: Any, bias: Any, decay: Any, shrink: Any, turn: bool,
) -> None:  # fmt: skip
    if shrink is not None:
        multiply(p, shrink, p)
    g = _slope(p, g, decay, turn, u)
    subtract(g, m, t)
    multiply(t, keep, t)
    add(m, t, m)
    multiply(s, second, s)
    multiply(g, keep_second, t)
    multiply(t, g, t)
    add(s, t, s)
    if largest is not None:
        maximum(largest, s, out=largest)
        s = largest
    sqrt(s, t)
    divide(t, bias, t)
    add(t, eps, t)
    multiply(m, rate, u)
    divide(u, t, u)
    subtract(p, u, p)


def _adam(
    flat: list[Any], rate: float, keep: float, second: float, keep_second: float, eps: float, bias: float,
    decay: float | None, shrink: float | None, turn: bool,
) -> None:  # fmt: skip
    """One Adam step for [param, grad, mean, square, largest, ...].

    ``largest`` is the running maximum of ``square`` (AMSGrad) or None. ``rate`` is corrected for the first mean's bias,
    ``bias`` is the root of the second's. ``decay`` times the parameter is added to the gradient; ``shrink`` multiplies
    the parameter.
    """
    _each(flat, 5, _adam_step, rate, keep, second, keep_second, eps, bias, decay, shrink, turn)


# ---------------------------------------------------------------- RMSprop and Adagrad


def _rmsprop_step(
    p: Any, g: Any, s: Any, m: Any, b: Any, t: Any, u: Any,
    rate: Any, second: Any, keep_second: Any, eps: Any, decay: Any, momentum: Any, centered: bool, turn: bool,
) -> None:  # fmt: skip
    g = _slope(p, g, decay, turn, u)
    multiply(s, second, s)
    multiply(g, keep_second, t)
    multiply(t, g, t)
    add(s, t, s)
    if centered:
        subtract(g, m, t)
        multiply(t, keep_second, t)
        add(m, t, m)
        multiply(m, m, t)
        subtract(s, t, t)
        sqrt(t, t)
    else:
        sqrt(s, t)
    add(t, eps, t)
    if b is None:
        divide(multiply(g, rate), t, t)
    else:
        divide(g, t, t)
        multiply(b, momentum, b)
        add(b, t, b)
        multiply(b, rate, t)
    subtract(p, t, p)


def _rmsprop(
    flat: list[Any], rate: float, second: float, keep_second: float, eps: float, decay: float | None, momentum: float,
    centered: bool, turn: bool,
) -> None:  # fmt: skip
    """One RMSprop step for [param, grad, square, mean or None, buffer or None, ...]."""
    _each(flat, 5, _rmsprop_step, rate, second, keep_second, eps, decay, momentum, centered, turn)


def _adagrad_step(p: Any, g: Any, s: Any, t: Any, u: Any, rate: Any, eps: Any, decay: Any, turn: bool) -> None:
    g = _slope(p, g, decay, turn, u)
    multiply(g, g, t)
    add(s, t, s)
    sqrt(s, t)
    add(t, eps, t)
    multiply(g, rate, u)
    divide(u, t, u)
    subtract(p, u, p)


def _adagrad(flat: list[Any], rate: float, eps: float, decay: float | None, turn: bool) -> None:
    """One Adagrad step for [param, grad, sum of squares, ...]."""
    _each(flat, 3, _adagrad_step, rate, eps, decay, turn)


sgd, sgd_momentum, adam = compiled("sgd", _sgd), compiled("sgd_momentum", _sgd_momentum), compiled("adam", _adam)
rmsprop, adagrad = compiled("rmsprop", _rmsprop), compiled("adagrad", _adagrad)
