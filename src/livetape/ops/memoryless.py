"""torch's gradients that are zero without having memory, for those who ask for torch's answers."""

from __future__ import annotations

from typing import Any, NoReturn

from livetape._tape.explain import noted
from livetape._tape.overriding import _disabled_torch_function_impl
from livetape._tape.tensor import factory
from livetape.ops.basics import zeros_like

_classes: dict[Any, Any] = {}


def _no_list(self: Any) -> NoReturn:
    raise noted(RuntimeError("tolist() shouldn't be called on a tensor with unallocated storage"))


def _no_numpy(self: Any, *, force: bool = False) -> Any:
    if not force:
        raise noted(RuntimeError(" Cannot convert a ZeroTensor to numpy. Set force=True if you need the zero array."))
    return self.array.copy()


def memoryless(grad: Any) -> Any:
    """Zeros like ``grad`` that refuse to be read as memory (torch: ``torch._efficientzerotensor``)."""
    base = factory.tensor
    if base not in _classes:
        members = {"__slots__": (), "tolist": _no_list, "numpy": _no_numpy, "_is_zerotensor": lambda self: True}
        members["__torch_function__"] = _disabled_torch_function_impl  # it is no class of the program's
        _classes[base] = type(base.__name__, (base,), members)
    found = zeros_like(grad)
    found.__class__ = _classes[base]
    return found
