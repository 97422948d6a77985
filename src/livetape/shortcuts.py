"""The usual calls of a few frequent functions, compiled: ``x.sum()`` reaches its row without a Python frame.

A boundary (`livetape.ops.boundary`) tries them first. None says that the call is not the usual one.
"""

from __future__ import annotations

from typing import Any, Final

from livetape._tape.elementwise import Elementwise
from livetape._tape.modes import state
from livetape._tape.record import Op
from livetape._tape.tensor import TensorBase
from livetape.kernels import views
from livetape.ops import activation, reduce, shape

_ACTIVATION: Final[Any] = activation
_REDUCE: Final[Any] = reduce
_SHAPE: Final[Any] = shape
_VIEWS: Final[Any] = views

RELU: Final[Elementwise] = _ACTIVATION.RELU
SUM: Final[Op] = _REDUCE.SUM
VIEW: Final[Op] = _SHAPE.VIEW
VIEWED: Final[Any] = _VIEWS.viewed


def relu(input: object) -> Any:
    """``relu(input)``."""
    return RELU.call1(input) if isinstance(input, TensorBase) else None


def sum(input: object) -> Any:
    """``sum(input)``."""
    return SUM.apply((input,)) if isinstance(input, TensorBase) else None


def viewed(input: object, *sizes: object) -> Any:
    """``reshape(input, *sizes)`` and ``view`` of memory in the usual order."""
    if state.interposed != 0 or not isinstance(input, TensorBase):
        return None
    array = VIEWED(input.array, sizes)
    return None if array is None else VIEW.finish_view((input, array.shape), array)


# The function, its shortcut, and how many arguments that takes at most.
SHORTCUTS: Final[list[tuple[Any, Any, int]]] = [
    (_ACTIVATION.relu, relu, 1),
    (_REDUCE.sum, sum, 1),
    (_SHAPE.reshape, viewed, 32),
    (_SHAPE.view, viewed, 32),
]
