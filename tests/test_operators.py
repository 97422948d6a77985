"""docs/operators.md says what the table, the samples and the record of PyTorch's operator database say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_page_of_operators_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("write_operators", ROOT / "tools" / "write_operators.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = (ROOT / "docs" / "operators.md").read_text()
    assert tool.page() == text, "run: python tools/write_operators.py"
