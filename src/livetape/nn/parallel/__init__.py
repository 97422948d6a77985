"""Data parallelism (source: ``torch.nn.parallel``): over processes, or, with one CPU device, the module itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livetape.nn._lazy import lazy as _lazy

if TYPE_CHECKING:
    from livetape.nn.parallel.data_parallel import DataParallel, data_parallel, parallel_apply
    from livetape.nn.parallel.distributed import DistributedDataParallel

__getattr__, __dir__, __all__ = _lazy(
    __name__,
    {
        "data_parallel": "DataParallel data_parallel parallel_apply",
        "distributed": "DistributedDataParallel",
    },
)
