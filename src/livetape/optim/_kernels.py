"""Updates on plain arrays, in place: what the optimisers do where no tape is asked for.

Large arrays are walked in blocks that stay in the cache, since every NumPy call is a pass over memory of its own.
Scalars come as 0-d arrays of the parameter's dtype: NumPy takes them faster than Python numbers, and rounds them as
torch rounds its scalars. The operations and their order are those of torch's single-tensor implementations.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from livetape.dtypes import float32, float64
from livetape.kernels.compiled import compiled

add, subtract, multiply, divide, sqrt, maximum, negative = (
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.sqrt,
    np.maximum,
    np.negative,
)

BLOCK = SMALL = 32768  # elements: six blocks of float32 fit into a usual L2 cache; arrays up to SMALL are one block
FAST = (float32, float64)  # the dtypes that have kernels here; for others tensor operations serve

_scalars: dict[tuple[Any, Any], Any] = {}


def scalar(value: float, kind: Any) -> Any:
    """``value`` as a 0-d array of a dtype; the same object for the same value, for as long as there are not too
    many."""
    key = (value, kind)
    found = _scalars.get(key)
    if found is None:
        if len(_scalars) > 256:  # schedules make a new learning rate every step
            _scalars.clear()
        found = _scalars[key] = np.array(value, kind.np)
    return found


def some(value: float, kind: Any) -> Any:
    """``value`` as a 0-d array, or None for 0."""
    return None if value == 0 else scalar(value, kind)


class _Scratch(threading.local):
    """Two blocks of scratch memory for each dtype, of this thread."""

    def __init__(self) -> None:
        self.blocks: dict[Any, tuple[Any, Any]] = {}

    def of(self, kind: Any) -> tuple[Any, Any]:
        found = self.blocks.get(kind)
        if found is None:
            found = self.blocks[kind] = (np.empty(SMALL, kind), np.empty(SMALL, kind))
        return found


_scratch = _Scratch()


def _flat(arrays: tuple[Any, ...]) -> list[Any] | None:
    """One-dimensional views of contiguous arrays, or None if an array is not contiguous."""
    for array in arrays:
        if not array.flags.c_contiguous:
            return None
    return [array.reshape(-1) for array in arrays]


# ---------------------------------------------------------------- SGD


def _sgd(param: Any, grad: Any, rate: Any, decay: Any) -> None:
    """``param -= rate * (grad + decay * param)``; ``decay`` may be None."""
    size = param.size
    if size == 1:  # Python's arithmetic on numbers is ten times faster than NumPy's on 0-d arrays
        value = param.item()
        step = grad.item()
        if decay is not None:
            step += value * decay.item()
        param.fill(value - step * rate.item())
        return
    if size > SMALL:
        flat = _flat((param, grad))
        if flat is not None:
            scratch, _ = _scratch.of(param.dtype)
            for start in range(0, param.size, BLOCK):
                stop = start + BLOCK
                p, g = flat[0][start:stop], flat[1][start:stop]
                t = scratch[: p.size]
                if decay is not None:
                    multiply(p, decay, t)
                    add(t, g, t)
                    multiply(t, rate, t)
                else:
                    multiply(g, rate, t)
                subtract(p, t, p)
            return
    if decay is not None:
        grad = add(multiply(param, decay), grad)
    subtract(param, multiply(grad, rate), param)


def _sgd_momentum(
    param: Any, grad: Any, buffer: Any, rate: Any, decay: Any, momentum: Any, keep: Any, nesterov: bool
) -> None:
    """``buffer = momentum * buffer + keep * grad``, ``param -= rate * buffer`` (or ``grad + momentum * buffer``).

    ``keep`` is 1 - dampening, or None for 1.
    """
    if param.size == 1:
        value = param.item()
        step = grad.item()
        if decay is not None:
            step += value * decay.item()
        kept = buffer.item() * momentum.item() + (step if keep is None else step * keep.item())
        buffer.fill(kept)
        if nesterov:
            kept = step + kept * momentum.item()
        param.fill(value - kept * rate.item())
        return
    if param.size > SMALL:
        flat = _flat((param, grad, buffer))
        if flat is not None:
            for start in range(0, param.size, BLOCK):
                stop = start + BLOCK
                _momentum_block(
                    flat[0][start:stop], flat[1][start:stop], flat[2][start:stop], rate, decay, momentum, keep, nesterov
                )
            return
    _momentum_block(param, grad, buffer, rate, decay, momentum, keep, nesterov)


def _momentum_block(p: Any, g: Any, b: Any, rate: Any, decay: Any, momentum: Any, keep: Any, nesterov: bool) -> None:
    if decay is not None:
        t = multiply(p, decay)
        g = add(t, g, t)
    multiply(b, momentum, b)
    add(b, g if keep is None else multiply(g, keep), b)
    if nesterov:
        t = multiply(b, momentum)
        add(t, g, t)
        multiply(t, rate, t)
    else:
        t = multiply(b, rate)
    subtract(p, t, p)


sgd, sgd_momentum = compiled("sgd", _sgd), compiled("sgd_momentum", _sgd_momentum)


def sgd_first(param: Any, grad: Any, buffer: Any, rate: Any, decay: Any, momentum: Any, nesterov: bool) -> None:
    """The first step with momentum: the buffer becomes the gradient itself, undampened."""
    if decay is not None:
        grad = add(multiply(param, decay), grad)
    buffer[...] = grad
    if nesterov:
        grad = add(multiply(buffer, momentum), grad)
    subtract(param, multiply(grad, rate), param)


# ---------------------------------------------------------------- Adam


class AdamScalars:
    """The numbers of Adam steps, as 0-d arrays of one dtype."""

    __slots__ = ("beta2", "bias", "decay", "eps", "keep1", "keep2", "shrink", "size")

    def __init__(self, kind: Any, beta1: float, beta2: float, eps: float) -> None:
        self.keep1, self.beta2, self.keep2, self.eps, self.bias, self.size = (
            np.array(x, kind.np) for x in (1 - beta1, beta2, 1 - beta2, eps, 0, 0)
        )
        self.decay: Any = None  # added to the gradient times the parameter
        self.shrink: Any = None  # multiplies the parameter

    def set(self, bias1: float, bias2: float, lr: float, decay: Any) -> None:
        """Set what changes from step to step: the bias corrections of the two means, the rate and the decay."""
        self.bias[()] = bias2**0.5
        self.size[()] = -(lr / bias1)
        self.decay = decay
        self.shrink = None


def adam(param: Any, grad: Any, mean: Any, square: Any, largest: Any, by: AdamScalars) -> None:
    """One Adam step; ``largest`` is the running maximum of ``square`` (AMSGrad) or None."""
    if param.size > SMALL:
        flat = _flat((param, grad, mean, square) if largest is None else (param, grad, mean, square, largest))
        if flat is not None:
            one, two = _scratch.of(param.dtype)
            for start in range(0, param.size, BLOCK):
                stop = start + BLOCK
                p, g, m, s = flat[0][start:stop], flat[1][start:stop], flat[2][start:stop], flat[3][start:stop]
                _adam_block(
                    p, g, m, s, None if largest is None else flat[4][start:stop], by, one[: p.size], two[: p.size]
                )
            return
    _adam_block(param, grad, mean, square, largest, by, np.empty_like(mean), np.empty_like(mean))


def _adam_block(p: Any, g: Any, m: Any, s: Any, largest: Any, by: AdamScalars, t: Any, u: Any) -> None:
    if by.shrink is not None:
        multiply(p, by.shrink, p)
    if by.decay is not None:
        multiply(p, by.decay, u)
        g = add(u, g, u)
    subtract(g, m, t)
    multiply(t, by.keep1, t)
    add(m, t, m)
    multiply(s, by.beta2, s)
    multiply(g, by.keep2, t)
    multiply(t, g, t)
    add(s, t, s)
    if largest is not None:
        maximum(largest, s, out=largest)
        s = largest
    sqrt(s, t)
    divide(t, by.bias, t)
    add(t, by.eps, t)
    multiply(m, by.size, u)
    divide(u, t, u)
    add(p, u, p)
