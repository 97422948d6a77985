"""Events of a profile, their sums and averages (source: ``torch.autograd.profiler_util``).

Times are in microseconds, memory is in bytes.
"""

from __future__ import annotations

import bisect
import enum
import itertools
import json
from collections import namedtuple
from collections.abc import Iterable, Iterator
from typing import Any

from livetape.autograd._profiler_table import table_of, time_text

__all__ = [
    "DeviceType",
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
]

MEMORY_EVENT_NAME = "[memory]"


class DeviceType(enum.Enum):
    """Where an event ran: always the CPU."""

    CPU = 0
    CUDA = 1

    def __repr__(self) -> str:
        return f"<DeviceType.{self.name}: {self.value}>"


class Interval:
    """A span of time (source: ``torch.autograd.profiler_util.Interval``)."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """The time between its ends."""
        return self.end - self.start


Kernel = namedtuple("Kernel", ("name", "device", "duration"))


class FormattedTimesMixin:
    """Times as text, and their means over ``count`` calls."""

    count: int
    cpu_time_total: Any
    self_cpu_time_total: Any
    device_time_total: Any
    self_device_time_total: Any

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """0: there is no other device."""
        return self.device_time_total / self.count if self.count else 0.0

    cpu_time_str = property(lambda self: time_text(self.cpu_time))
    cpu_time_total_str = property(lambda self: time_text(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: time_text(self.self_cpu_time_total))
    device_time_str = property(lambda self: time_text(self.device_time))
    device_time_total_str = property(lambda self: time_text(self.device_time_total))
    self_device_time_total_str = property(lambda self: time_text(self.self_device_time_total))


class FunctionEvent(FormattedTimesMixin):
    """One operation, node or block of a profile.

    name, key           what ran
    time_range          when
    thread              in which thread, by number
    scope               0: an operation, 1: a node of a backward, 7: a block named by the program
    sequence_nr         of the node that the operation made, or that ran; -1: none
    cpu_parent, cpu_children    the events around it and directly inside it
    input_shapes        of the arguments, where asked for; [] for what is no tensor
    stack               the program's calls, the innermost first, where asked for
    cpu_memory_usage    bytes taken and not let go of while it ran, what is inside it included
    """

    device_time_total = self_device_time_total = device_memory_usage = self_device_memory_usage = 0
    is_legacy = is_remote = False
    node_id = -1
    device_index = 0
    use_device: str | None = None

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: Any = None,
        scope: int = 0,
        cpu_memory_usage: int = 0,
        is_async: bool = False,
        sequence_nr: int = -1,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: Any = None,
        is_user_annotation: bool = False,
        is_python_function: bool = False,
        structured_input_shapes: Any = None,
        structured_input_strides: Any = None,
        input_dtypes: Any = None,
    ) -> None:
        self.id = id
        self.name = name
        self.overload_name = overload_name
        self.trace_name = trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels: list[Any] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes = input_shapes
        self.concrete_inputs = concrete_inputs
        self.kwinputs: Any = None
        self.stack = stack
        self.scope = scope
        self.cpu_memory_usage = cpu_memory_usage
        self.is_async = is_async
        self.sequence_nr = sequence_nr
        self.device_type = DeviceType.CPU
        self.device_resource_id = thread
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.is_python_function = is_python_function
        self.structured_input_shapes = structured_input_shapes
        self.structured_input_strides = structured_input_strides
        self.input_dtypes = input_dtypes
        self.self_cpu_percent: Any = -1
        self.total_cpu_percent: Any = -1

    @property
    def key(self) -> str:
        """What events are grouped by: the name."""
        return self.name

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Note an event directly inside this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Note the event that this one is directly inside."""
        self.cpu_parent = parent

    @property
    def cpu_time_total(self) -> float:
        """The time from begin to end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """The time that was spent in no event inside this one."""
        if self.is_async:
            return 0
        return self.cpu_time_total - sum([child.cpu_time_total for child in self.cpu_children])

    @property
    def self_cpu_memory_usage(self) -> int:
        """The memory that no event inside this one took."""
        if self.is_async:
            return 0
        return self.cpu_memory_usage - sum([child.cpu_memory_usage for child in self.cpu_children])

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} device_type=DeviceType.CPU "
            f"node_id={self.node_id} cpu_time={self.cpu_time_str} start_us={self.time_range.start} "
            f"end_us={self.time_range.end} cpu_children={[child.id for child in self.cpu_children]} "
            f"None_time={self.device_time_str} name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} None_memory_usage=0 is_async={self.is_async} is_remote=False "
            f"seq_nr={self.sequence_nr} is_legacy=False>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of events of one kind; ``cpu_time`` is the mean over the ``count`` calls."""

    device_time_total = self_device_time_total = device_memory_usage = self_device_memory_usage = 0
    is_legacy = is_remote = False

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.cpu_time_total: Any = 0
        self.self_cpu_time_total: Any = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: Any = None
        self.scope: int | None = None
        self.cpu_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.cpu_children: Any = None
        self.cpu_parent: Any = None
        self.device_type = DeviceType.CPU
        self.use_device: str | None = None
        self.is_user_annotation: bool | None = False
        self.flops: Any = None
        self.self_cpu_percent: Any = -1
        self.total_cpu_percent: Any = -1

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or another sum, of the same kind."""
        if self.key is None:
            self.key = other.key
            self.node_id = other.node_id
            self.is_async = other.is_async
            self.cpu_parent, self.cpu_children = other.cpu_parent, other.cpu_children
            self.overload_name, self.input_shapes = other.overload_name, other.input_shapes
            self.stack, self.scope = other.stack, other.scope
            self.is_user_annotation = other.is_user_annotation
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.count += other.count
        if other.flops is not None:
            self.flops = other.flops + (self.flops or 0)
        return self

    def __iadd__(self, other: Any) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
            f" self_cuda_time={self.self_device_time_total_str} cuda_time={self.device_time_str} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage=0>"
        )


class MemRecordsAcc:
    """Finds the memory records of a span of time: pairs of (a record with ``start_ns()``, anything)."""

    def __init__(self, mem_records: Any) -> None:
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._times = [record[0].start_ns() for record in self._records]

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """The records from ``start_ns`` to ``end_ns``, both included."""
        first = bisect.bisect_left(self._times, start_ns)
        yield from self._records[first : bisect.bisect_right(self._times, end_ns)]


_METRICS = [f"self_{device}_time_total" for device in ("cpu", "cuda", "xpu", "privateuse1")]


class EventList(list[Any]):
    """Events in the order in which they began, or sums of them (source: ``torch.autograd.profiler_util.EventList``)."""

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:
        super().__init__(events)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False

    def __str__(self) -> str:
        return self.table()

    # ------------------------------------------------------------ what is inside what
    def _build_tree(self) -> None:
        """Find each event's parent and children."""
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """An event is inside another if its time is, in the same thread."""

        def place(event: FunctionEvent) -> Any:
            return event.thread, event.time_range.start, -event.time_range.end

        for _, group in itertools.groupby(sorted([e for e in self if not e.is_async], key=place), lambda e: e.thread):
            around: list[FunctionEvent] = []
            for event in group:
                start, end = event.time_range.start, event.time_range.end
                while around and (start >= around[-1].time_range.end or end > around[-1].time_range.end):
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _remove_dup_nodes(self) -> None:
        """An event that is all that its parent of the same name does is taken for the parent's."""
        dropped = set()
        for event in self:
            parent = event.cpu_parent
            while parent is not None and parent.name == event.name and len(parent.cpu_children) == 1:
                dropped.add(id(event))
                parent.cpu_children = event.cpu_children
                for child in event.cpu_children:
                    child.set_cpu_parent(parent)
                if len(parent.cpu_children) != 1:
                    break
                event = parent.cpu_children[0]
        if dropped:
            self[:] = [event for event in self if id(event) not in dropped]

    def _set_backward_stacktraces(self) -> None:
        """What a backward runs belongs to the line of the operation that made its node."""
        forward: dict[Any, Any] = {}
        nodes: list[tuple[FunctionEvent, FunctionEvent]] = []
        for event in self:
            node: FunctionEvent | None = event
            while node is not None and node.scope != 1:
                node = node.cpu_parent
            if node is not None:
                nodes.append((event, node))
            elif event.stack is not None:
                forward.setdefault((event.sequence_nr, event.thread), event.stack)
        for event, node in nodes:
            event.stack = forward.get((node.sequence_nr, node.fwd_thread), [])

    # ------------------------------------------------------------ sums
    @property
    def self_cpu_time_total(self) -> Any:
        """The time of all events, each moment counted once."""
        return sum([event.self_cpu_time_total for event in self])

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums of events of the same name, and of the same input shapes or last ``group_by_stack_n`` calls."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = [event.key, event.is_user_annotation]
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n > 0:
                key += event.stack[:group_by_stack_n]
            sums.setdefault(tuple(key), FunctionEventAvg()).add(event)
        found = EventList(
            sums.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        for total in found:
            total.stack = (total.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                total.input_shapes = ""
            if not group_by_overload_name:
                total.overload_name = ""
        return found

    def total_average(self) -> FunctionEventAvg:
        """One sum of all events, as key "Total"."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
            total.key = None
        total.key = "Total"
        return total

    # ------------------------------------------------------------ as text and files
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
        """The events as a table.

        sort_by      an attribute, largest first: cpu_time_total, self_cpu_time_total, cpu_time, count, cpu_memory_usage,
                     self_cpu_memory_usage; None: in the order of their beginning
        row_limit    how many to show; -1: all
        time_unit    "s", "ms" or "us" for all times; None: what fits each
        """
        return table_of(
            self,
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write the names and times of the events for ``chrome://tracing``; a profile's own method writes more."""
        with open(path, "w") as file:
            json.dump(
                [
                    {
                        "name": event.trace_name,
                        "ph": "X",
                        "ts": event.time_range.start,
                        "dur": event.time_range.elapsed_us(),
                        "tid": event.thread,
                        "pid": "CPU functions",
                        "args": {},
                    }
                    for event in self
                    if event.trace_name is not None
                ],
                file,
            )

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can write."""
        return list(_METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """Write a line for each event, its calls and its time in whole microseconds, as flame graph programs read it."""
        if metric not in _METRICS:
            raise ValueError("metric should be one of: " + str(_METRICS))
        attribute = metric if metric == _METRICS[0] else "self_device_time_total"
        plain = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                value = int(getattr(event, attribute))
                if event.stack and value > 0:
                    file.write(";".join([call.translate(plain) for call in reversed(event.stack)]) + f" {value}\n")
