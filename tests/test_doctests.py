"""The examples in the docstrings, of compiled modules too: these pytest's own collector cannot read."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import types
from typing import Any

import pytest

import livetape

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = ["livetape"]


def _below(paths: Any, prefix: str) -> None:
    for found in pkgutil.iter_modules(paths, prefix):
        if found.name == "livetape.__main__":
            continue
        MODULES.append(found.name)
        if found.ispkg:
            spec = found.module_finder.find_spec(found.name, None)  # type: ignore[call-arg]
            assert spec is not None
            _below(spec.submodule_search_locations, found.name + ".")


_below(livetape.__path__, "livetape.")


class Finder(doctest.DocTestFinder):
    """Finds docstrings in objects that are called like functions, too: the operations."""

    def _find(self, tests: Any, obj: Any, name: str, module: Any, *rest: Any) -> None:
        super()._find(tests, obj, name, module, *rest)  # type: ignore[misc]
        if not isinstance(obj, types.ModuleType) or not obj.__name__.startswith("livetape.ops."):
            return
        for attribute, value in vars(obj).items():
            if type(value).__module__.startswith("livetape._tape.") and getattr(value, "__doc__", None):
                test = self._get_test(value, f"{name}.{attribute}", module, *rest[1:3])  # type: ignore[attr-defined]
                if test is not None:
                    tests.append(test)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report: list[str] = []
    for test in Finder(exclude_empty=True).find(module, name):
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
