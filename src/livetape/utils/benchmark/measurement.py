"""What was measured: times of a statement, and what they say together."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_UNITS = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time in seconds reads best, and its size in seconds."""
    for size, name in reversed(_UNITS):
        if t >= size:
            return name, size
    return _UNITS[0][1], _UNITS[0][0]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to ``n`` figures."""
    if x == 0 or not math.isfinite(x):
        return x
    scale = 10 ** (math.floor(math.log10(abs(x))) + 1 - n)
    return float(round(x / scale) * scale)


@dataclass(frozen=True)
class TaskSpec:
    """What was measured."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label and what is below it, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n" + _indent(self.stmt)

    def setup_str(self) -> str:
        """The setup, if it does anything."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{_indent(self.setup)}" if "\n" in self.setup else f"setup: {self.setup}"


def _indent(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


@dataclass
class Measurement:
    """Times of a statement: ``raw_times`` in seconds for ``number_per_run`` executions each."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds an execution, of every run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of `times`."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The width of the middle half of `times`."""
        low, high = _quartiles(self.times)
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many figures of the median mean something, by the spread."""
        spread = self.iqr / math.sqrt(max(len(self.times), 1))
        if spread == 0 or self.median == 0:
            return 4
        return max(1, min(4, 1 + math.ceil(-math.log10(2 * spread / self.median)))) if spread < self.median else 1

    @property
    def has_warnings(self) -> bool:
        """Whether the spread is large."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the middle half lies within this part of the median."""
        return self.iqr / self.median < threshold if self.median else True

    @property
    def title(self) -> str:
        """What was measured."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """Where it was measured, in the words of who measured it."""
        return "Unspecified env" if self.task_spec.env is None else self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    stmt = property(lambda self: self.task_spec.stmt)
    setup = property(lambda self: self.task_spec.setup)
    label = property(lambda self: self.task_spec.label)
    sub_label = property(lambda self: self.task_spec.sub_label)
    description = property(lambda self: self.task_spec.description)
    num_threads = property(lambda self: self.task_spec.num_threads)

    @staticmethod
    def merge(measurements: Sequence[Measurement]) -> list[Measurement]:
        """One measurement for each thing measured."""
        found: dict[TaskSpec, list[Measurement]] = {}
        for one in measurements:
            found.setdefault(one.task_spec, []).append(one)
        return [Measurement(1, [t for one in group for t in one.times], spec) for spec, group in found.items()]

    def __repr__(self) -> str:
        spec, count = self.task_spec, len(self.raw_times)
        unit, size = select_unit(self.median)
        head = [f"<{type(self).__module__}.{type(self).__name__} object at {hex(id(self))}>", self.title]
        head += [text for text in (spec.description, spec.setup_str()) if text]
        if count == 1:
            lines = [f"  {self.median / size:.2f} {unit}"]
        else:
            lines = [f"  Median: {self.median / size:.2f} {unit}"]
            if count > 3:
                low, high = _quartiles(self.times)
                lines.append(f"  IQR:    {self.iqr / size:.2f} {unit} ({low / size:.2f} to {high / size:.2f})")
        runs = f"{self.number_per_run} runs {'per measurement' if count > 1 else ''}"
        threads = f"{spec.num_threads} thread{'s' if spec.num_threads > 1 else ''}"
        lines.append(f"  {count} measurement{'s' if count > 1 else ''}, {runs}, {threads}")
        if count > 3 and self.has_warnings:
            lines.append(
                f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement."
            )
        return "\n".join(head + lines)


def _quartiles(times: list[float]) -> tuple[float, float]:
    if len(times) == 1:
        return times[0], times[0]
    quarters = statistics.quantiles(times, n=4, method="inclusive")
    return quarters[0], quarters[2]
