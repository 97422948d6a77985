"""A profile as a table, with the columns that torch's has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_WIDTH = 12
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_FLOPS = ["FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"]


def time_text(us: float, unit: str | None = None) -> str:
    """A time in microseconds as text, in a unit that fits."""
    if unit not in _UNITS:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    return f"{us / _UNITS[unit]:.3f}{unit}"


def share_text(us: float, total: float) -> str:
    """A part of a time in percent."""
    return f"{us * 100 / total:.2f}%" if total else "NaN"


def memory_text(size: int) -> str:
    """A number of bytes as text, in a unit that fits."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(size) >= 1024**power:
            return f"{size / 1024**power:.2f} {unit}"
    return f"{size} B"


def _shortened(text: str, width: int) -> str:
    """The end of a path."""
    if len(text) <= width:
        return text
    text = text[len(text) - width :]
    return "..." + text[3:] if len(text) > 3 else text


class _Columns:
    """Titles, widths and the side each column is aligned to."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.widths: list[int] = []
        self.sides: list[str] = []

    def add(self, title: str, width: int = _WIDTH, side: str = ">") -> None:
        self.titles.append(title)
        self.widths.append(width)
        self.sides.append(side)

    def rule(self) -> str:
        return "".join(["-" * width + "  " for width in self.widths])

    def line(self, values: Sequence[Any]) -> str:
        return "".join([f"{v: {s}{w}}  " for v, s, w in zip(map(str, values), self.sides, self.widths, strict=True)])

    def length(self) -> int:
        return sum(self.widths) + 2 * len(self.widths) - 2


def _fitting(longest: int, limit: int | None) -> int:
    return longest + 4 if limit is None else min(longest + 4, limit)


def table_of(
    events: Any,
    sort_by: str | None,
    row_limit: int,
    max_src_column_width: int | None,
    max_name_column_width: int | None,
    max_shapes_column_width: int | None,
    header: str | None,
    top_level_events_only: bool,
    time_unit: str | None,
    *,
    profile_memory: bool,
    with_flops: bool,
) -> str:
    """The text of a table of events, see `EventList.table`."""
    if not events:
        return ""
    rows = list(events)
    if sort_by is not None:
        attribute = sort_by.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")
        rows.sort(key=lambda event: getattr(event, attribute), reverse=True)
    stacks = [event.stack for event in rows if event.stack]
    counted = [event.flops for event in rows if event.flops] if with_flops else []
    shaped = any(event.input_shapes for event in rows)

    columns = _Columns()
    columns.add("Name", _fitting(max(len(event.key) for event in rows), max_name_column_width))
    for title in ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"):
        columns.add(title)
    if profile_memory:
        columns.add("CPU Mem")
        columns.add("Self CPU Mem")
    columns.add("# of Calls")
    if shaped:
        columns.add("Input Shapes", _fitting(max(len(str(e.input_shapes)) for e in rows), max_shapes_column_width))
    shapes_width = columns.widths[-1]
    if stacks:
        columns.add(
            "Source Location", _fitting(max(len(call) for stack in stacks for call in stack), max_src_column_width), "<"
        )
    source_width = columns.widths[-1]
    power = 0
    if counted:
        power = max(0, min(math.floor(math.log10(min(counted)) / 3), len(_FLOPS) - 1))
        columns.add(f"Total {_FLOPS[power]}")

    total = sum([event.self_cpu_time_total for event in rows])
    lines = []
    double = "=" * columns.length()
    if header is not None:
        lines += [double, header]
    if top_level_events_only:
        lines += [double, "This report only display top-level ops statistics"]
    lines += [columns.rule(), columns.line(columns.titles), columns.rule()]
    shown = 0
    for event in rows:
        if shown == row_limit:
            break
        if top_level_events_only and event.cpu_parent is not None:
            continue
        shown += 1
        name = event.key
        if max_name_column_width is not None and len(name) >= max_name_column_width - 3:
            name = name[: max_name_column_width - 3] + "..."
        event.self_cpu_percent = share_text(event.self_cpu_time_total, total)
        event.total_cpu_percent = 0 if event.is_async else share_text(event.cpu_time_total, total)
        values = [
            name,
            event.self_cpu_percent,
            time_text(event.self_cpu_time_total, time_unit),
            event.total_cpu_percent,
            time_text(event.cpu_time_total, time_unit),
            time_text(event.cpu_time, time_unit),
        ]
        if profile_memory:
            values += [memory_text(event.cpu_memory_usage), memory_text(event.self_cpu_memory_usage)]
        values.append(str(event.count))
        if shaped:
            values.append(str(event.input_shapes)[:shapes_width])
        calls = event.stack or []
        if stacks:
            values.append(_shortened(calls[0], source_width) if calls else "")
        if counted:
            values.append(f"{event.flops / 1000.0**power:8.3f}" if event.flops else "--")
        lines.append(columns.line(values))
        if stacks:
            before = columns.titles.index("Source Location")
            after = len(columns.titles) - before - 1
            lines += [
                columns.line([""] * before + [_shortened(call, source_width)] + [""] * after) for call in calls[1:]
            ]
            lines.append(columns.line([""] * len(columns.titles)))
    lines += [columns.rule(), f"Self CPU time total: {time_text(total, time_unit)}"]
    return "\n".join(lines) + "\n"
