"""The examples in the docstrings of what is installed. mypyc keeps none: those of compiled modules run uncompiled."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from typing import Any

import pytest

import livetape

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = ["livetape"]
OPTIONAL = {"livetape.utils.tensorboard": "tensorboardX"}


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


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    for package, library in OPTIONAL.items():
        if name.startswith(package):
            pytest.importorskip(library)
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report: list[str] = []
    for test in doctest.DocTestFinder().find(module, name):
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
