"""What was installed: compiled or not as asked, with all its files and nothing else."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import os
import re
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import livetape
from livetape.cli.main import build_kind

ROOT = Path(__file__).parent.parent
PACKAGE = Path(livetape.__file__).parent
EXPECTED = os.environ.get("LIVETAPE_EXPECT")  # set by the Makefile; unset when the sources are tested in place


def compiled_sources() -> list[str]:
    listed = re.search(r"^COMPILED = \[(.*?)\]$", (ROOT / "setup.py").read_text(), re.MULTILINE | re.DOTALL)
    assert listed is not None
    found = [path for pattern in re.findall(r'"(.*?)"', listed[1]) for path in ROOT.glob(pattern)]
    return [path.relative_to(ROOT / "src").as_posix() for path in found if path.name != "__init__.py"]


@pytest.mark.skipif(EXPECTED is None, reason="no installation is under test")
@pytest.mark.parametrize("source", compiled_sources())
def test_compiled_or_not(source: str) -> None:
    module = importlib.import_module(source.removesuffix(".py").replace("/", "."))
    assert module.__file__ is not None
    assert module.__file__.endswith(tuple(EXTENSION_SUFFIXES)) == (EXPECTED == "compiled")


@pytest.mark.skipif(EXPECTED is None, reason="no installation is under test")
def test_installation() -> None:
    assert build_kind() == {"compiled": "compiled", "pure": "pure Python"}[EXPECTED or ""]
    assert not PACKAGE.is_relative_to(ROOT / "src")
    if EXPECTED == "pure":
        assert not [path for path in PACKAGE.rglob("*") if path.suffix in (".so", ".pyd")]
    files = importlib.metadata.files("livetape") or []
    assert not [file for file in files if "test" in file.parts[0]]


def test_package_data() -> None:
    package = importlib.resources.files("livetape")
    for name in ("py.typed", "data/digits.npz", "data/README.md", "cli/shim/torch.py"):
        assert package.joinpath(name).is_file(), name


@pytest.mark.skipif(EXPECTED is None, reason="no installation is under test")
def test_version() -> None:
    assert importlib.metadata.version("livetape") == livetape.__version__


def test_no_binary_beside_the_sources() -> None:
    assert not [path for path in (ROOT / "src").rglob("*") if path.suffix in (".so", ".pyd")]
