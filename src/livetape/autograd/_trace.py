"""A profile as a Chrome trace: what ``chrome://tracing``, Perfetto and TensorBoard read."""

from __future__ import annotations

import gzip
import json
import os
import socket
from typing import Any

from livetape.autograd._recorder import BACKWARD, USER, Recorder, Span


def write_trace(
    path: str, recorders: list[Recorder], began: int, ended: int, epoch: int, trace_id: str, metadata: dict[str, Any]
) -> None:
    """Write a trace to a file, compressed if its name ends in ".gz"; times are in ns of `time.perf_counter_ns`.

    epoch    the wall clock's time, in ns, at which that counter was 0
    """
    base = began + epoch
    base -= base % 1_000_000_000
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "trace_id": trace_id,
        **metadata,
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
        "traceEvents": _Events(epoch - base).all(recorders, began, ended),
        "traceName": path,
    }
    text = json.dumps(trace)
    if path.endswith(".gz"):
        with gzip.open(path, "wt") as packed:
            packed.write(text)
    else:
        with open(path, "w") as file:
            file.write(text)


class _Events:
    """The trace's events, times in microseconds."""

    def __init__(self, shift: int) -> None:
        self.shift = shift
        self.pid = os.getpid()
        self.found: list[dict[str, Any]] = []

    def time(self, ns: int) -> float:
        return (ns + self.shift) / 1000

    def all(self, recorders: list[Recorder], began: int, ended: int) -> list[dict[str, Any]]:
        """What all threads did, their names, and the whole span."""
        start = self.time(began)
        self.name("process_name", self.pid, 0, start, {"name": "python"})
        self.name("process_labels", self.pid, 0, start, {"labels": "CPU"})
        self.name("process_sort_index", self.pid, 0, start, {"sort_index": self.pid})
        for thread in dict.fromkeys([r.thread for r in recorders]):
            self.name("thread_name", self.pid, thread, start, {"name": f"thread {thread} (python)"})
        number = 0
        for recorder in recorders:
            number = self.spans(recorder, number)
            self.arrows(recorder)
            self.memory(recorder)
        self.found.append(
            {
                "ph": "X",
                "cat": "Trace",
                "name": "PyTorch Profiler (0)",
                "pid": "Spans",
                "tid": "PyTorch Profiler",
                "ts": start,
                "dur": (ended - began) / 1000,
                "args": {"Op count": 0},
            }
        )
        return self.found

    def name(self, kind: str, pid: int, tid: int, start: float, args: dict[str, Any]) -> None:
        self.found.append({"ph": "M", "name": kind, "ts": start, "pid": pid, "tid": tid, "args": args})

    def spans(self, recorder: Recorder, number: int) -> int:
        """The spans of a thread; ``number`` counts them over all threads."""
        for span in recorder.spans:
            number += 1
            args: dict[str, Any] = {"External id": number, "Ev Idx": number - 1}
            if span.sequence >= 0:
                args["Sequence number"] = span.sequence
                args["Fwd thread id"] = span.forward_thread
            if span.arguments is not None:
                args["Input Dims"] = [a[0] for a in span.arguments]
                args["Input Strides"] = [a[1] for a in span.arguments]
                args["Input type"] = [a[2] for a in span.arguments]
                args["Concrete Inputs"] = [a[3] for a in span.arguments]
            if span.stack:
                args["Call stack"] = ";".join(span.stack)
            category = "python_function" if span.module else "user_annotation" if span.scope == USER else "cpu_op"
            self.found.append(
                {
                    "ph": "X",
                    "cat": category,
                    "name": span.name,
                    "pid": self.pid,
                    "tid": recorder.thread,
                    "ts": self.time(span.start),
                    "dur": (span.end - span.start) / 1000,
                    "args": args,
                }
            )
        return number

    def arrows(self, recorder: Recorder) -> None:
        """An arrow from each operation to the node of a backward that it made."""
        makers: dict[int, Span] = {}
        nodes: dict[int, Span] = {}
        for span in recorder.spans:
            if span.sequence >= 0 and span.forward_thread == 0:
                makers[span.sequence] = span  # the last one: those before it did not make a node
            elif span.scope == BACKWARD and span.sequence >= 0:
                nodes.setdefault(span.sequence, span)
        for number, (sequence, node) in enumerate(nodes.items(), 1):
            maker = makers.get(sequence)
            if maker is not None:
                common = {"id": number, "pid": self.pid, "tid": recorder.thread, "cat": "fwdbwd", "name": "fwdbwd"}
                self.found.append({"ph": "s", "ts": self.time(maker.start), **common})
                self.found.append({"ph": "f", "ts": self.time(node.start), "bp": "e", **common})

    def memory(self, recorder: Recorder) -> None:
        """What memory tensors took and let go of."""
        for time, address, size, total in () if recorder.ledger is None else recorder.ledger.records:
            self.found.append(
                {
                    "ph": "i",
                    "cat": "cpu_instant_event",
                    "s": "t",
                    "name": "[memory]",
                    "pid": self.pid,
                    "tid": recorder.thread,
                    "ts": self.time(time),
                    "args": {
                        "Total Reserved": 0,
                        "Total Allocated": total,
                        "Bytes": size,
                        "Device Id": -1,
                        "Device Type": 0,
                        "Addr": address,
                    },
                }
            )
