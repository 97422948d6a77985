"""What a row has to do at least, and how long that takes at the limits that were measured on this machine.

A floor is no forecast: it lets all arithmetic run at the speed of a large matrix product, all memory traffic overlap with it
and at the full bandwidth, and adds the bare calls of small kernels, as if the tape and Python cost nothing.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

FUNCTION = 20  # operations for a value of exp, tanh and their like: a polynomial, and what surrounds it
WINOGRAD = 4  # so many times fewer products a 3x3 convolution of stride 1 needs by F(4x4)


@dataclass(frozen=True)
class Work:
    """``flops`` operations in float32, ``bytes`` that must be read or written, and ``calls`` of small kernels by name."""

    flops: float = 0
    bytes: float = 0
    calls: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Work) -> Work:
        calls = dict(Counter(self.calls) + Counter(other.calls))
        return Work(self.flops + other.flops, self.bytes + other.bytes, calls)

    def __mul__(self, times: int) -> Work:
        return Work(self.flops * times, self.bytes * times, {name: n * times for name, n in self.calls.items()})


@dataclass(frozen=True)
class Limits:
    """The machine: operations a second, bytes a second from a size on of what is moved, and seconds a call."""

    peak: float
    bandwidth: list[tuple[float, float]]
    calls: Mapping[str, float]

    def speed(self, size: float) -> float:
        """The bandwidth for so many bytes."""
        return [speed for start, speed in self.bandwidth if start <= size][-1]


def floor(work: Work, limits: Limits) -> tuple[float, str]:
    """The seconds that ``work`` takes at least, and what most of them are for: operations, memory or calls."""
    parts = {
        "operations": work.flops / limits.peak,
        "memory": work.bytes / limits.speed(work.bytes),
        "calls": sum(limits.calls[name] * count for name, count in work.calls.items()),
    }
    return max(parts["operations"], parts["memory"]) + parts["calls"], max(parts, key=lambda name: parts[name])


# ---------------------------------------------------------------- parts of rows
def passes(elements: int, arrays: int, flops: float = 1) -> Work:
    """A pass over ``arrays`` arrays of so many float32 elements, read or written, with ``flops`` for each element."""
    return Work(flops * elements, 4 * arrays * elements)


def linear(rows: int, inputs: int, outputs: int, first: bool = False) -> Work:
    """A linear layer, forward and backward; the first one's input needs no gradient. Weights pass three times."""
    product = 2 * rows * inputs * outputs
    return Work((2 if first else 3) * product, 4 * ((2 if first else 3) * inputs * outputs + rows * (inputs + outputs)))


def convolution(
    images: int, inputs: int, outputs: int, kernel: int, size: int, stride: int = 1, first: bool = False
) -> Work:
    """A convolution with square outputs of ``size``, forward and backward; 3x3 of stride 1 with Winograd's products."""
    product = 2 * images * inputs * outputs * kernel**2 * size**2
    cheap = product / WINOGRAD if kernel == 3 and stride == 1 else product
    moved = images * (inputs * (size * stride) ** 2 + outputs * size**2)
    return Work(product + (cheap if first else 2 * cheap), 4 * 2 * moved)


def update(parameters: int, arrays: int) -> Work:
    """An optimiser's step that reads or writes so many arrays of the parameters' size."""
    return passes(parameters, arrays, 2 * arrays)


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def clock(threads: int) -> Callable[[], float]:
    """The processor's seconds for one thread, which a busy machine does not lengthen; a clock's for more."""
    return time.process_time if threads == 1 else time.perf_counter
