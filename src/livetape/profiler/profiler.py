"""profile: the profiler with a schedule, and with modules (source: ``torch.profiler.profiler``)."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from livetape.autograd import profiler as autograd_profiler
from livetape.autograd.profiler import record_function
from livetape.autograd.profiler_util import EventList
from livetape.profiler._modules import ModuleSpans
from livetape.profiler._schedule import ProfilerAction


class ProfilerActivity(enum.Enum):
    """What to profile: there is the CPU, and nothing else (source: ``torch.profiler.ProfilerActivity``)."""

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether torch's way to profile is there: livetape's own takes its place."""
    return True


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """An ``on_trace_ready`` that writes each trace into a directory, where TensorBoard finds it.

    worker_name    the first part of the files' names; default: "host_pid"
    """

    def handler(prof: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        end = ".pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}{end}"))

    return handler


def _known(activities: Iterable[Any]) -> set[ProfilerActivity]:
    """The activities asked for, each once."""
    found: set[ProfilerActivity] = set()
    for entry in activities:
        for activity in entry if isinstance(entry, dict) else (entry,):
            if not isinstance(activity, ProfilerActivity):
                raise AssertionError("No valid profiler activities found")
            if activity in found:
                raise ValueError(f"Activity {activity} specified more than once")
            found.add(activity)
    if not found:
        raise AssertionError("No valid profiler activities found")
    return found


class profile:
    """A context that notes what operations cost, step by step if there is a schedule (source: ``torch.profiler.profile``).

    activities        what to profile; only `ProfilerActivity.CPU` has an effect
    schedule          what to do in each step, see `livetape.profiler.schedule`; None: record all the time
    on_trace_ready    called with the profile at the end of each cycle
    record_shapes     the shapes of arguments too
    profile_memory    the memory that tensors take and let go of; buffers inside an operation are not seen
    with_stack        the program's calls at each operation, and the modules
    with_flops        an estimate of floating point operations, for matrix products and convolutions
    with_modules      the modules: an event for each call, as "nn.Module: Linear_0"
    acc_events        keep the events of earlier cycles

    >>> import livetape as torch
    >>> from livetape.profiler import ProfilerActivity, profile
    >>> net = torch.nn.Linear(2, 3)
    >>> with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    ...     net(torch.ones(4, 2)).sum().backward()
    >>> [(e.name, e.input_shapes) for e in prof.events()][:3]
    [('aten::t', [[3, 2]]), ('aten::addmm', [[3], [4, 2], [2, 3], [], [], []]), ('aten::sum', [[4, 3]])]
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = supported_activities() if activities is None else _known(activities)
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.profiler: autograd_profiler.profile | None = None
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.preset_metadata: dict[str, str] = {}
        self._modules: ModuleSpans | None = None
        self._step: record_function | None = None
        self._cycles = 0

    # ------------------------------------------------------------ on and off
    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the first step."""
        self._go(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End the last step."""
        self._end_step()
        self._go(self.current_action, None)

    def step(self) -> None:
        """Say that the next step begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._go(before, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _go(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """What is to be done between two steps."""
        save, record, warm = ProfilerAction.RECORD_AND_SAVE, ProfilerAction.RECORD, ProfilerAction.WARMUP
        recording = before in (record, save)
        if before is warm and after is ProfilerAction.NONE:
            warnings.warn("Incorrect schedule: WARMUP followed by NONE", stacklevel=3)
        if recording:
            if before is record and after in (ProfilerAction.NONE, warm):
                warnings.warn(f"Incorrect schedule: RECORD followed by {after.name}", stacklevel=3)  # type: ignore[union-attr]
            elif before is record and after in (record, save):
                return
            self.stop_trace()
            if before is save or after is None:
                self._trace_ready()
        if after in (record, save):
            if before is not warm:
                self.prepare_trace()
            self.start_trace()
        elif after is warm and before is not warm:
            self.prepare_trace()
        elif before is warm:
            self.start_trace()
            self.stop_trace()

    def prepare_trace(self) -> None:
        """Make ready for a cycle."""
        if self.profiler is not None and not self.acc_events:
            self._cycles += 1
            if self._cycles == 1:
                warnings.warn(
                    "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
                    "reported. To keep events across cycles, set acc_events=True.",
                    stacklevel=2,
                )
        if self.profiler is None or not self.acc_events:
            self.profiler = autograd_profiler.profile(
                record_shapes=self.record_shapes,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_flops=self.with_flops,
                with_modules=self.with_modules,
                use_cpu=ProfilerActivity.CPU in self.activities,
                use_kineto=True,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
            )

    def start_trace(self) -> None:
        """Begin to record."""
        profiler = self._initialised("starting trace")
        profiler._start()
        for name in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, name):
                profiler._metadata[name] = 1
        for key, value in self.preset_metadata.items():
            self.add_metadata_json(key, value)
        if self.with_stack or self.with_modules:
            self._modules = ModuleSpans()

    def stop_trace(self) -> None:
        """End recording."""
        profiler = self._initialised("stopping trace")
        if self._modules is not None:
            self._modules.remove()
            self._modules = None
        profiler._stop()

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Stop to watch for a while, or go on, inside the block."""
        if self.profiler is not None and ProfilerActivity.CPU in activities:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def _initialised(self, what: str) -> autograd_profiler.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self.profiler

    def _trace_ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # ------------------------------------------------------------ what came out
    def events(self) -> EventList:
        """The events of the last cycle, in the order of their beginning."""
        return self._initialised("accessing events").function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over events of the same name, and of the same input shapes or last ``group_by_stack_n`` calls."""
        profiler = self._initialised("getting key averages")
        return profiler.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write a file for ``chrome://tracing``, Perfetto or TensorBoard; compressed if its name ends in ".gz"."""
        self._initialised("exporting chrome trace").export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the program's calls and the times, for flame graphs; ``with_stack`` must have been asked for."""
        self._initialised("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the trace."""
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value to the trace, given as JSON."""
        if self.profiler is not None:
            self.profiler._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Add a value, given as JSON, to each trace that begins from now on."""
        self.preset_metadata[key] = value

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Let ``callback`` name the traces that begin from now on."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the trace."""
        return None if self.profiler is None else self.profiler.trace_id
