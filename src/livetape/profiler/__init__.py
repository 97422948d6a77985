"""The profiler: what operations cost in time and memory (source: ``torch.profiler``)."""

from __future__ import annotations

from livetape.autograd.profiler import record_function
from livetape.autograd.profiler_util import DeviceType
from livetape.profiler._schedule import ProfilerAction, schedule
from livetape.profiler.profiler import (
    ProfilerActivity,
    kineto_available,
    profile,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
