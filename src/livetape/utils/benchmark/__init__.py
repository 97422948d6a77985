"""Measuring how long statements take (source: ``torch.utils.benchmark``)."""

from __future__ import annotations

from timeit import default_timer as timer

from livetape.utils.benchmark.compare import Compare
from livetape.utils.benchmark.measurement import Measurement, TaskSpec, select_unit, trim_sigfig
from livetape.utils.benchmark.timer import Timer

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig"]
