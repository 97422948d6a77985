"""Where the time goes: the profiler and its blocks (source: ``torch.autograd.profiler``)."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable
from typing import Any

from livetape._tape.modes import local, push_interposer, remove_interposer
from livetape.autograd._blocks import record_function
from livetape.autograd._recorder import USER, Recorder
from livetape.autograd._trace import write_trace
from livetape.autograd.profiler_util import (
    MEMORY_EVENT_NAME,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    MemRecordsAcc,
)
from livetape.thread_modes import profiled

__all__ = [
    "EventList",
    "FunctionEvent",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "profile",
    "record_function",
]


def _device_warnings(use_cuda: bool, use_device: str | None) -> None:
    """Torch's words about devices that are not there."""
    if use_cuda:
        warnings.warn(
            "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
            FutureWarning,
            stacklevel=3,
        )
        use_device = "cuda"
    if use_device == "cuda":
        warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=3)
    elif use_device is not None:
        warnings.warn(f"The {use_device} is not a valid device option.", stacklevel=3)


class profile:
    """A context that notes what the operations in this thread, forward and backward, cost.

    record_shapes     the shapes of arguments too
    with_flops        an estimate of floating point operations, for matrix products and convolutions
    profile_memory    the memory that tensors take and let go of; buffers inside an operation are not seen
    with_stack        the program's calls at each operation, and at each node of a backward those of the operation
    enabled           False: do nothing

    Source: ``torch.autograd.profiler.profile``; what torch offers for other devices is accepted and has no effect.

    >>> import livetape as torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     (x * x).sum().backward()
    >>> [e.key for e in prof.key_averages()][:4]
    ['aten::mul', 'aten::sum', 'autograd::engine::evaluate_function: SumBackward0', 'SumBackward0']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:
        self.enabled = enabled
        if not enabled:
            return
        if use_cuda or use_device is not None:
            _device_warnings(use_cuda, use_device)
        if not (use_cpu or use_kineto):
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_cpu = use_cpu
        self.use_device = None
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.entered = False
        self.trace_id = ""
        self._recorder: Recorder | None = None
        self._recorders: list[Recorder] = []  # all of them, if events are to be kept
        self._began = self._ended = 0
        self._epoch = 0
        self._metadata: dict[str, Any] = {}
        self._events: EventList | None = None

    # ------------------------------------------------------------ on and off
    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self._stop()

    def _start(self) -> None:
        recorder = Recorder(self.record_shapes, self.profile_memory, self.with_stack, self.with_flops)
        for prepare in profiled:
            prepare()
        if self.use_cpu:
            recorder.start()
        self.entered = True
        self._recorder = recorder
        callback = self.custom_trace_id_callback
        self.trace_id = callback() if callback is not None else uuid.uuid4().hex.upper()
        now = time.perf_counter_ns()
        if not (self.acc_events and self._recorders):
            self._began = now
            self._recorders = []
        self._epoch = time.time_ns() - now
        self._events = None

    def _stop(self) -> None:
        recorder = self._recorder
        if recorder is not None and recorder.running:
            recorder.stop()
            self._recorders.append(recorder)
        self._ended = time.perf_counter_ns()

    def toggle_collection_dynamic(self, enabled: bool, activities: Any = ()) -> None:
        """Stop to watch for a while, or go on, inside the block."""
        recorder = self._recorder
        if recorder is None or local.recorder is not recorder:
            return
        remove_interposer(recorder)
        if enabled:
            push_interposer(recorder)
            local.interposers = (recorder, *local.interposers[:-1])

    # ------------------------------------------------------------ what came out
    @property
    def function_events(self) -> EventList:
        """The events, in the order of their beginning."""
        if self._events is None:
            done = self.enabled and self._recorders and not (self._recorder is not None and self._recorder.running)
            if not done:
                return EventList()
            found: list[FunctionEvent] = []
            for recorder in self._recorders:
                _to_events(recorder, self._began, found)
            self._events = EventList(found, profile_memory=self.profile_memory, with_flops=self.with_flops)
            self._events._build_tree()
        return self._events

    def __repr__(self) -> str:
        return repr(self.function_events) if self._is_done() else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return self.table() if self._is_done() else "<unfinished torch.autograd.profile>"

    def _is_done(self) -> bool:
        return bool(self.enabled and self._recorders and not (self._recorder is not None and self._recorder.running))

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table, see `EventList.table`."""
        return self.function_events.table(
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
        )

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over events of the same name, see `EventList.key_averages`."""
        events = self.function_events
        if not self._is_done():
            return events
        return events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """One sum of all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time that passed in events, each moment counted once."""
        return self.function_events.self_cpu_time_total  # type: ignore[no-any-return]

    def export_chrome_trace(self, path: str) -> None:
        """Write a file for ``chrome://tracing``, Perfetto or TensorBoard; compressed if its name ends in ".gz"."""
        if not self._is_done():
            raise RuntimeError("Profiler didn't finish running")
        write_trace(path, self._recorders, self._began, self._ended, self._epoch, self.trace_id, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the program's calls and the times, for flame graphs."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)


def _to_events(recorder: Recorder, began: int, found: list[FunctionEvent]) -> None:
    """Add the events of a thread to ``found``."""
    records = [] if recorder.ledger is None else recorder.ledger.records
    memory = MemRecordsAcc([(_Record(time, size), None) for time, _, size, _ in records])
    outside = {id(record): record for record, _ in memory.in_interval(0, 1 << 63)}
    for span in recorder.spans:
        usage = 0
        for record, _ in memory.in_interval(span.start, span.end):
            usage += record.size
            outside.pop(id(record), None)
        given = span.arguments
        step = span.name.startswith("ProfilerStep#")
        found.append(
            FunctionEvent(
                id=len(found),
                name="ProfilerStep*" if step else span.name,
                trace_name=span.name,
                overload_name="",
                thread=1,
                start_us=(span.start - began) / 1000,
                end_us=(span.end - began) / 1000,
                fwd_thread=span.forward_thread,
                input_shapes=[] if given is None else [[] if a[2] == "TensorList" else a[0] for a in given],
                structured_input_shapes=[] if given is None else [a[0] for a in given],
                structured_input_strides=[] if given is None else [a[1] for a in given],
                input_dtypes=[] if given is None else [a[2] for a in given],
                concrete_inputs=[] if given is None else [a[3] for a in given],
                stack=span.stack or [],
                scope=span.scope,
                cpu_memory_usage=usage,
                sequence_nr=span.sequence,
                flops=span.flops,
                is_user_annotation=span.scope == USER and not span.module,
                is_python_function=span.module,
            )
        )
    for record in outside.values():
        at = (record.start_ns() - began) / 1000
        found.append(
            FunctionEvent(
                len(found), MEMORY_EVENT_NAME, 1, at, at, "", 0, [], [], cpu_memory_usage=record.size, flops=0
            )
        )


class _Record:
    """A change of memory."""

    __slots__ = ("size", "time")

    def __init__(self, time: int, size: int) -> None:
        self.time = time
        self.size = size

    def start_ns(self) -> int:
        return self.time


# ---------------------------------------------------------------- other devices' profilers
class emit_itt:
    """Blocks for Intel's VTune, which livetape does not talk to: the context does nothing."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self) -> emit_itt | None:
        return self if self.enabled else None

    def __exit__(self, *error: object) -> None:
        pass


class emit_nvtx(emit_itt):
    """Blocks for NVIDIA's profilers, which need CUDA: entering raises AssertionError."""

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        raise AssertionError("Torch not compiled with CUDA enabled")
