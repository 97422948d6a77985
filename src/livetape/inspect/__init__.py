"""Look into the tape while it runs."""

from __future__ import annotations

from livetape.inspect.audit import audit
from livetape.inspect.explain import explain_grad
from livetape.inspect.lines import line_of, record_lines
from livetape.inspect.memory import live_graphs, memory_report
from livetape.inspect.nans import nan_trace, nan_trace_backward
from livetape.inspect.svg import graph_svg
from livetape.inspect.text import graph_text
from livetape.inspect.words import Report

__all__ = [
    "Report",
    "audit",
    "explain_grad",
    "graph_svg",
    "graph_text",
    "line_of",
    "live_graphs",
    "memory_report",
    "nan_trace",
    "nan_trace_backward",
    "record_lines",
]
