"""Make ``import torch`` give livetape, so that a program written for PyTorch runs unchanged.

>>> from livetape import alias
>>> alias.install()
>>> import torch
>>> torch.__name__
'livetape'
>>> alias.uninstall()

``livetape run script.py`` does this for a whole program. Call :func:`install` before anything imports torch: names that
a module took from a real torch earlier stay what they are. A PyTorch that is installed too is hidden meanwhile.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from livetape.version import torch_version

if TYPE_CHECKING:
    from collections.abc import Iterator

ALIAS = "torch"
TARGET = "livetape"


class _Loader(Loader):
    """Hands an existing livetape module to the import system, in place of the empty one it made."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # What stands in sys.modules after this call is what the import gives, untouched: its own __name__ and __spec__.
        sys.modules[module.__name__] = self.found


class _Finder(MetaPathFinder):
    """Resolves ``torch`` and ``torch.x.y`` to ``livetape`` and ``livetape.x.y``, modules or mere attributes."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != ALIAS and not fullname.startswith(ALIAS + "."):
            return None
        found = _resolve(fullname)
        if found is None:
            return None
        # Python looks below packages only, by these two. A plain module, or a mere namespace, has names below it too.
        for name, value in (("__path__", []), ("__spec__", None)):
            if not hasattr(found, name):
                with suppress(AttributeError, TypeError):
                    setattr(found, name, value)
        return ModuleSpec(fullname, _Loader(found), origin=getattr(found, "__file__", None), is_package=True)

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Answers ``importlib.metadata.version("torch")``, which many libraries ask before they import it."""
        if context.name is not None and context.name.lower() == ALIAS:
            yield _distribution()


def _resolve(fullname: str) -> Any:
    """The module or namespace that livetape has under this name, or None."""
    name = TARGET + fullname[len(ALIAS) :]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as fault:
        # Absent itself, or one of its parents is; anything else that is missing is the module's own trouble.
        if fault.name is None or not (name + ".").startswith(fault.name + "."):
            raise
    parent, _, last = fullname.rpartition(".")
    try:
        found = getattr(sys.modules.get(parent), last)
    except (AttributeError, ModuleNotFoundError):  # the latter if the parent loads its attributes late
        return None
    return found if isinstance(found, ModuleType) or not callable(found) else None


def _distribution() -> Any:
    from importlib.metadata import Distribution

    class TorchDistribution(Distribution):
        def read_text(self, filename: str) -> str | None:
            if filename == "METADATA":
                return f"Metadata-Version: 2.1\nName: {ALIAS}\nVersion: {torch_version}\n"
            return None

        def locate_file(self, path: Any) -> Any:
            return importlib.import_module("pathlib").Path(__file__).parent / path

    return TorchDistribution()


_finder = _Finder()
_hidden: dict[str, ModuleType] = {}


def _take_modules() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name == ALIAS or name.startswith(ALIAS + ".")]
    return {name: sys.modules.pop(name) for name in names}


def installed() -> bool:
    """Whether ``import torch`` gives livetape."""
    return _finder in sys.meta_path


def install() -> None:
    """From now on ``import torch`` gives livetape, in this process. Calling it again changes nothing."""
    if not installed():
        _hidden.update(_take_modules())
        sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Undo :func:`install`: ``import torch`` gives again whatever it gave before."""
    if installed():
        sys.meta_path.remove(_finder)
        _take_modules()
        sys.modules.update(_hidden)
        _hidden.clear()
