"""Forward mode: tensors that carry a tangent through every operation (source: ``torch.autograd.forward_ad``).

>>> import livetape as torch
>>> import livetape.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor([1., 2.]), torch.tensor([1., 0.]))
...     fwAD.unpack_dual(x * x).tangent
tensor([2., 0.])
"""

from __future__ import annotations

from typing import Any, NamedTuple

from livetape._tape.modes import local, push_interposer, remove_interposer
from livetape._tape.tensor import TensorBase, shape_of
from livetape.autograd._dual import DualLevel, size_error
from livetape.autograd.grad_mode import decorated
from livetape.ops.nodes import node_class
from livetape.ops.table import TABLE

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

ALIAS, VIEW = TABLE["alias"], TABLE["view"]
ALIAS, VIEW = TABLE["alias"], TABLE["view"]
_current_level = -1  # of torch, which knows one level: 0 inside it
_IDENTITY = node_class("Identity")


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor; ``tangent`` is None for one that has none."""

    primal: Any
    tangent: Any


def _level() -> Any:
    """This thread's level, or None."""
    for interposer in reversed(local.interposers):
        if isinstance(interposer, DualLevel) and not interposer.functional:
            return interposer
    return None


def enter_dual_level() -> int:
    """Enter a level, in which tensors may have tangents; returns its number, 0. One level is all there is."""
    global _current_level
    if _level() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    push_interposer(DualLevel(False))
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the level: its tangents are gone."""
    global _current_level
    current = _level()
    if current is None:
        raise RuntimeError("Dual level must be a positive number.")
    if level is not None and level != 0:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    remove_interposer(current)
    _current_level = -1


class dual_level:
    """A context manager, or decorator, inside which forward mode works.

    >>> import livetape as torch
    >>> with dual_level():
    ...     print(make_dual(torch.ones(1), torch.ones(1)) * 3)
    tensor([3.], tangent=tensor([3.]))
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: Any) -> None:
        exit_dual_level()

    def __call__(self, target: Any) -> Any:
        return decorated(type(self), target)


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of ``tensor`` that carries ``tangent``, a tensor of the same size.

    Raises ValueError unless both are of a floating point or complex dtype, RuntimeError outside a level, for a tangent of
    another size, and for a tensor that has one already.
    """
    current = _level()
    if current is None and (level is None or level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if current is None or (level is not None and level != 0):
        raise RuntimeError("Invalid level given to _make_dual")
    if current.entry(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is "
            "not supported."
        )
    if current.entry(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    if shape_of(tangent) != shape_of(tensor):
        raise RuntimeError(size_error(tensor, tangent))
    dual = VIEW.apply((tensor, shape_of(tensor)))
    current.set(dual, tangent, False)
    return dual


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal, as a view, and the tangent of a tensor; the tangent is None if it has none."""
    current = _level()
    if current is None:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if level is not None and level > 0:
        raise RuntimeError("Invalid level given to _fw_primal")
    tangent = current.tangent(tensor) if level is None or level == 0 else None
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(_without_tangent(tensor, current), tangent)


def _without_tangent(tensor: Any, level: DualLevel) -> Any:
    """A view of a tensor that has no tangent of this level."""
    stack = local.interposers
    local.interposers = tuple([i for i in stack if i is not level])
    try:
        primal = ALIAS.apply((tensor,))
    finally:
        local.interposers = stack
    node = primal.node
    if node is not None:
        named = _IDENTITY()
        named._op, named._edges, named._saved = node._op, node._edges, node._saved
        primal.node = named
    level.forget(primal)  # or it would be found at its base
    return primal
