"""Look into the tape while it runs."""

from __future__ import annotations

from livetape.inspect.lines import line_of, record_lines

__all__ = ["line_of", "record_lines"]
