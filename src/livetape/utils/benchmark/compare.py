"""Compare: measurements in a table."""

from __future__ import annotations

from collections.abc import Iterable

from livetape.utils.benchmark.measurement import Measurement, select_unit, trim_sigfig

__all__ = ["Compare"]

_LONG = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}


class Compare:
    """A table for each label: a row for each sub-label, a column for each description."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Show only the figures that mean something."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted: the table has no colours."""

    def highlight_warnings(self) -> None:
        """Accepted: the table has no colours."""

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = list(dict.fromkeys(one.label or one.stmt for one in merged))
        return "\n".join(
            self._table(label, [one for one in merged if (one.label or one.stmt) == label]) for label in labels
        )

    def _table(self, label: str, measured: list[Measurement]) -> str:
        unit, size = select_unit(min(one.median for one in measured))
        columns = list(dict.fromkeys(one.description or "" for one in measured))
        rows: dict[tuple[int, str], dict[str, str]] = {}
        for one in sorted(measured, key=lambda m: m.num_threads):
            value = one.median / size
            if self._trim:
                text = f"{trim_sigfig(value, one.significant_figures):.12g}"
            else:
                text = f"{value:.1f}"
            rows.setdefault((one.num_threads, one.as_row_name), {})[one.description or ""] = text
        first = max(len(f"      {name}") for _, name in rows)
        threads = dict.fromkeys(count for count, _ in rows)
        first = max(first, *(len(f"{count} threads: ") for count in threads))
        widths = {c: max(len(c), *(len(row.get(c, "")) for row in rows.values())) for c in columns}
        body = [" " * first + "  |  " + "  |  ".join(c.center(widths[c]) for c in columns)]
        for count in threads:
            body.append(f"{count} threads: ")
            for (n, name), row in rows.items():
                if n == count:
                    cells = "  |  ".join(row.get(c, "").rjust(widths[c]) for c in columns)
                    body.append(f"      {name}".ljust(first) + "  |  " + cells)
        width = max(map(len, body))
        body = [line + "-" * (width - len(line)) if line.endswith("threads: ") else line for line in body]
        return "\n".join(
            [f"[{f' {label} '.center(width - 2, '-')}]", *body, "", f"Times are in {_LONG[unit]} ({unit}).", ""]
        )
