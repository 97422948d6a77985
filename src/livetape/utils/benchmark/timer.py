"""Timer: how long a statement takes."""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from typing import Any

from livetape.threads import get_num_threads, set_num_threads
from livetape.utils.benchmark.measurement import Measurement, TaskSpec

__all__ = ["Timer"]


class Timer:
    """Measures ``stmt`` with ``num_threads`` threads (source: ``torch.utils.benchmark.Timer``).

    >>> from livetape.utils.benchmark import Timer
    >>> measured = Timer("x + 1", "x = 1").timeit(100)
    >>> measured.number_per_run, measured.mean < 1
    (100, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py", "language.python"):
            raise ValueError("livetape measures Python only")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        names = dict(globals or {})
        if "torch" not in names:
            names["torch"] = sys.modules["livetape"]
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._globals = names
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _time(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One run of ``number`` executions, after a short one."""
        self._time(max(number // 100, 2))
        return Measurement(number, [self._time(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> Any:
        """Not offered, as in torch: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> Any:
        """Not offered, as in torch: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block(self, min_run_time: float) -> int:
        """So many executions that reading the clock costs nothing beside them."""
        overhead = sorted(timeit.Timer().timeit(0) for _ in range(5))[2]
        number = 1
        while True:
            taken = self._time(number)
            if taken > min_run_time / 1000 and overhead / taken <= 1e-4:
                return number
            if taken > min_run_time:
                return number
            number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], None] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Runs for ``min_run_time`` seconds in all."""
        number = self._block(min_run_time)
        times: list[float] = []
        while not times or sum(times) < min_run_time:
            times.append(self._time(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], None] | None = None,
    ) -> Measurement:
        """Runs until the middle half of the times lies within ``threshold`` of the median, or ``max_run_time`` is over."""
        number = self._block(0.05)
        times: list[float] = []
        while True:
            times.append(self._time(number))
            if callback is not None:
                callback(number, times[-1])
            found = Measurement(number, times, self._task_spec)
            total = sum(times)
            if total >= max_run_time or (
                total >= min_run_time and len(times) >= 4 and found.meets_confidence(threshold)
            ):
                return found
