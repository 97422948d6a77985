"""Functions of older programs: some still work, others say what took their place."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from livetape._tape.explain import noted
from livetape._tape.tensor import shape_of
from livetape.ops.options import ints


def _gone(name: str, advice: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        text = f"This function was deprecated since version 1.9 and is now removed. {advice}"
        raise noted(RuntimeError(text))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Removed from PyTorch. {advice} (source: ``torch.{name}``)"
    return function


eig = _gone("eig", "`torch.linalg.eig` gives complex eigenvalues and eigenvectors.")
lstsq = _gone("lstsq", "`torch.linalg.lstsq` has its arguments reversed.")
solve = _gone("solve", "`torch.linalg.solve` has its arguments reversed.")
symeig = _gone("symeig", "`torch.linalg.eigh` reads the lower triangle by default.")
matrix_rank = _gone("matrix_rank", "Please use the `torch.linalg.matrix_rank` function instead.")


def reinforce(self: Any, reward: Any) -> Any:
    """Removed from PyTorch (source: ``torch.Tensor.reinforce``)."""
    raise noted(RuntimeError("reinforce() was removed.\nUse torch.distributions instead."))


def resize(self: Any, *sizes: Any) -> Any:
    """`reshape` under its old name (source: ``torch.Tensor.resize``)."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    return _resize(self, ints("resize", sizes))


def resize_as(self: Any, tensor: Any) -> Any:
    """`reshape` to the size of another tensor under its old name (source: ``torch.Tensor.resize_as``)."""
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=2)
    return _resize(self, shape_of(tensor))


def _resize(self: Any, sizes: tuple[int, ...]) -> Any:
    has, wanted = math.prod(shape_of(self)), math.prod(sizes)
    if has != wanted:
        given, own = ("x".join(map(str, s)) for s in (sizes, shape_of(self)))
        raise noted(
            RuntimeError(
                f"requested resize to {given} ({wanted} elements in total), but the given tensor has a size of {own} "
                f"({has} elements). autograd's resize can only change the shape of a given tensor, while preserving the "
                "number of elements. "
            )
        )
    return self.contiguous().view(sizes)


FUNCTIONS = ["eig", "lstsq", "solve", "symeig", "matrix_rank"]
METHODS = {
    "eig": eig,
    "lstsq": lstsq,
    "solve": solve,
    "symeig": symeig,
    "reinforce": reinforce,
    "resize": resize,
    "resize_as": resize_as,
}
