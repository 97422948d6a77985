"""Data parallelism within a process (source: ``torch.nn.parallel``): with one CPU device, the module itself."""

from __future__ import annotations

from livetape.nn.parallel.data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
