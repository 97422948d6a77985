"""Containers of modules: Sequential, ModuleList and ModuleDict."""

from __future__ import annotations

import importlib
import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from livetape.nn.modules._names import class_text
from livetape.nn.modules.module import Module, _indent

__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]


def absolute_index(index: Any, length: int) -> int:
    """``index`` counted from the front; IndexError if it is out of range."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index + length if index < 0 else index


def _without_digits(names: Iterable[str]) -> list[str]:
    return [name for name in names if not name.isdigit()]


class Container(Module):
    """Deprecated: a plain Module holds children as well."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for key, value in kwargs.items():
            self.add_module(key, value)


class Sequential(Module):
    """Modules called one after another (source: ``torch.nn.Sequential``).

    Takes the modules, or one OrderedDict that names them.
    """

    _modules: dict[str, Module]

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _key(self, index: Any) -> str:
        return list(self._modules)[absolute_index(index, len(self))]

    def _renumber(self) -> None:
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: Any) -> None:
        for key in list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]:
            delattr(self, key)
        self._renumber()

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return _without_digits(super().__dir__())

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {class_text(type(other))} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {class_text(type(other))} is given."
            )
        start = len(self)
        for i, module in enumerate(list(other)):
            self.add_module(str(start + i), module)
        return self

    def __mul__(self, other: Any) -> Sequential:
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    def __rmul__(self, other: Any) -> Sequential:
        return self.__mul__(other)

    def __imul__(self, other: Any) -> Sequential:
        self._check_factor(other)
        start = len(self)
        for i, module in enumerate(list(self) * (other - 1)):
            self.add_module(str(start + i), module)
        return self

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(
                f"unsupported operand type(s) for *: {class_text(type(self))} and {class_text(type(other))}"
            )
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {class_text(type(self))}")

    def pop(self, key: Any) -> Module:
        """Remove and return the module at ``key``."""
        module = self[key]
        del self[key]
        return module  # type: ignore[no-any-return]

    def append(self, module: Module) -> Sequential:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """Insert a module before ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {class_text(Module)}")
        n = len(self._modules)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        if index < 0:
            index += n
        for i in range(n, index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Add the modules of an iterable at the end."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(Module):
    """A list of modules (source: ``torch.nn.ModuleList``)."""

    _modules: dict[str, Module]

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _get_abs_string_index(self, idx: Any) -> str:
        return str(absolute_index(idx, len(self)))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx: Any) -> None:
        for key in list(self._modules)[idx] if isinstance(idx, slice) else [self._get_abs_string_index(idx)]:
            delattr(self, key)
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        combined = ModuleList()
        for i, module in enumerate(chain(self, other)):
            combined.add_module(str(i), module)
        return combined

    def __repr__(self) -> str:
        """Neighbours that print alike share a line: ``(0-2): 3 x ReLU()``."""
        texts = [repr(item) for item in self]
        if not texts:
            return self._get_name() + "()"
        lines = []
        start = 0
        for end in range(1, len(texts) + 1):
            if end < len(texts) and texts[end] == texts[start]:
                continue
            count = end - start
            line = f"({start}): {texts[start]}" if count == 1 else f"({start}-{end - 1}): {count} x {texts[start]}"
            lines.append(_indent(line, 2))
            start = end
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self) -> list[str]:
        return _without_digits(super().__dir__())

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before ``index``."""
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Module:
        """Remove and return the module at ``key``."""
        module = self[key]
        del self[key]
        return module  # type: ignore[no-any-return]

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add the modules of an iterable at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError("ModuleList.extend should be called with an iterable, but got " + type(modules).__name__)
        start = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(start + i), module)
        return self


class ModuleDict(Module):
    """A dictionary of modules (source: ``torch.nn.ModuleDict``)."""

    _modules: dict[str, Module]

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return the module named ``key``."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Pairs of name and module."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of an iterable of pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                + type(modules).__name__
            )
        for key, module in pairs_of(modules, "ModuleDict"):
            self[key] = module


def pairs_of(source: Any, owner: str) -> Iterator[tuple[str, Any]]:
    """The pairs of a mapping, or of an iterable of pairs, which are checked one by one."""
    if isinstance(source, (OrderedDict, ModuleDict, Mapping)):
        yield from source.items()
        return
    for number, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{number} should be Iterable; is{type(pair).__name__}")
        pair = list(pair)
        if len(pair) != 2:
            raise ValueError(f"{owner} update sequence element #{number} has length {len(pair)}; 2 is required")
        yield pair[0], pair[1]


def __getattr__(name: str) -> Any:
    """ParameterList and ParameterDict, which torch defines here; their own file imports this one."""
    if name in ("ParameterDict", "ParameterList"):
        return getattr(importlib.import_module("livetape.nn.modules.parameters"), name)
    raise AttributeError(f"module 'torch.nn.modules.container' has no attribute '{name}'")
