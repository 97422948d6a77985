"""What things are called in files: by torch's names, so that torch and livetape read each other's."""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import Any

from livetape.dtypes import dtype
from livetape.layout import layout
from livetape.random import Generator

_HERE = "livetape"
_TORCH = "torch"
# Modules of livetape that torch has not, and where it has what they hold.
_ELSEWHERE = (
    ("torch.distributions._elementwise_transforms", "torch.distributions.transforms"),
    ("torch.distributions._transform", "torch.distributions.transforms"),
    ("torch.distributions._vector_transforms", "torch.distributions.transforms"),
    ("torch.nn._linear_cross_entropy", "torch.nn.modules.linear_cross_entropy_options"),
    ("torch.nn.modules._state", "torch.nn.modules.module"),
    ("torch.nn.modules.attention", "torch.nn.modules.activation"),
    ("torch.nn.modules.linear_cross_entropy", "torch.nn.modules.loss"),
    ("torch.nn.modules.parameters", "torch.nn.modules.container"),
    ("torch.optim._schedule", "torch.optim.lr_scheduler"),
    ("torch.optim.adafactor", "torch.optim"),
    ("torch.optim.muon", "torch.optim"),
)
_MOVED = {"AdamW": "torch.optim.adamw", "ChannelShuffle": "torch.nn.modules.channelshuffle"}


def _root() -> Any:
    return importlib.import_module(_HERE)


def _is_torch(module: str) -> bool:
    return module == _TORCH or module.startswith(_TORCH + ".")


def find(module: str, name: str) -> Any:
    """What livetape has for a global of torch's; AttributeError if nothing."""
    if module == "torch._C":
        if name == "Generator":
            return Generator
        if name == "_VariableFunctionsClass":  # torch's functions are pickled as its attributes
            return _root()
    try:
        found = importlib.import_module(_HERE + module[len(_TORCH) :])
        for part in name.split("."):
            found = getattr(found, part)
    except (AttributeError, ModuleNotFoundError):
        error = AttributeError(f"Can't get attribute '{name}' on <module '{module}'>")
        error.add_note(f"livetape has no {module}.{name}, which this file asks for.")
        raise error from None
    return found


def torch_name(obj: Any, name: str | None = None) -> tuple[str, str] | None:
    """The module and name by which torch finds a class or function of livetape; None for those of others."""
    if isinstance(obj, dtype):
        return _TORCH, obj.name
    module = getattr(obj, "__module__", None)
    name = name or getattr(obj, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if module == _HERE or module.startswith(_HERE + "."):
        module = _TORCH + module[len(_HERE) :]
    elif not _is_torch(module):
        return None
    if obj is Generator:
        return "torch._C", "Generator"
    for prefix, place in _ELSEWHERE:
        if module.startswith(prefix):
            module = place
            break
    if name in _MOVED and module.startswith((_TORCH + ".optim.", _TORCH + ".nn.")):
        module = _MOVED[name]
    places = [_TORCH, "torch.nn.functional"] if isinstance(obj, FunctionType) else [_TORCH]
    for place in [*places, module]:
        try:
            if find(place, name) is obj:
                return place, name
        except AttributeError:
            continue
    return None


def get_layout(name: str) -> layout:
    """The layout of this name, such as "torch.strided"; KeyError for others."""
    found = getattr(_root(), name.removeprefix("torch."), None)
    if not isinstance(found, layout):
        raise KeyError(name)
    return found
