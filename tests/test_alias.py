"""``import torch`` giving livetape: identity, attribute-only submodules, and a real torch that loses."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import livetape
import livetape.nn.functional
from livetape import alias
from livetape.version import torch_version


@pytest.fixture
def aliased() -> Iterator[None]:
    alias.install()
    yield
    alias.uninstall()


@pytest.mark.usefixtures("aliased")
def test_modules_are_the_very_same() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.autograd import Function

    assert torch is livetape
    assert nn is livetape.nn
    assert F is livetape.nn.functional
    assert Function is livetape.autograd.Function
    assert sys.modules["torch.nn"] is livetape.nn


@pytest.mark.usefixtures("aliased")
def test_livetape_keeps_its_own_name_and_spec() -> None:
    import torch.nn

    assert torch.nn.__name__ == "livetape.nn"
    assert torch.nn.__spec__ is not None and torch.nn.__spec__.name == "livetape.nn"


@pytest.mark.usefixtures("aliased")
def test_attributes_that_are_no_modules_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = types.ModuleType("inner")
    inner.__dict__["deepest"] = types.SimpleNamespace(answer=42)
    monkeypatch.setattr(livetape, "outer_for_test", types.SimpleNamespace(inner=inner), raising=False)

    import torch.outer_for_test.inner.deepest as deepest  # type: ignore[import-not-found]

    assert deepest.answer == 42
    assert importlib.import_module("torch.outer_for_test.inner") is inner


@pytest.mark.usefixtures("aliased")
def test_absent_module() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'torch\.no_such_thing'$"):
        importlib.import_module("torch.no_such_thing")
    assert importlib.util.find_spec("torch.no_such_thing") is None
    assert importlib.util.find_spec("torch") is not None


@pytest.mark.usefixtures("aliased")
def test_a_function_is_no_module() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch.zeros")


@pytest.mark.usefixtures("aliased")
def test_distribution_version() -> None:
    assert importlib.metadata.version("torch") == torch_version


def test_uninstall_restores_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    real, real_nn = types.ModuleType("torch"), types.ModuleType("torch.nn")
    monkeypatch.setitem(sys.modules, "torch", real)
    monkeypatch.setitem(sys.modules, "torch.nn", real_nn)
    alias.install()
    alias.install()
    assert alias.installed()
    import torch.nn

    assert torch is livetape and torch.nn is livetape.nn
    alias.uninstall()
    alias.uninstall()
    assert not alias.installed()
    assert sys.modules["torch"] is real and sys.modules["torch.nn"] is real_nn


def test_a_torch_on_the_path_loses(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('the real torch was imported')")
    code = "from livetape import alias; alias.install(); import torch; print(torch.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "livetape\n"
