"""A sampler that gives each of several processes its share."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

from livetape import ops
from livetape.random import Generator
from livetape.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


def _group() -> Any:
    """The distributed package."""
    try:
        found = importlib.import_module("livetape.distributed")
    except ImportError:
        found = None
    if found is None or not found.is_available():
        raise RuntimeError("Requires distributed package to be available")
    return found


class DistributedSampler(Sampler[Any]):
    """The share of one process in a dataset's indices (source: ``torch.utils.data.DistributedSampler``).

    Every process gets equally many: the first indices are repeated, or the last dropped with ``drop_last=True``.
    Call `set_epoch` before each epoch to shuffle anew.

    >>> from livetape.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(7), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 5, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        replicas: int = _group().get_world_size() if num_replicas is None else num_replicas
        here: int = _group().get_rank() if rank is None else rank
        if not 0 <= here < replicas:
            raise ValueError(f"Invalid rank {here}, rank should be in the interval [0, {replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = replicas
        self.rank = here
        self.epoch = 0
        self.drop_last = drop_last
        self.num_samples = len(dataset) // replicas if drop_last else math.ceil(len(dataset) / replicas)
        self.total_size = self.num_samples * replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = ops.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if len(indices) < self.total_size:
            indices *= math.ceil(self.total_size / len(indices))
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next iterations: with ``shuffle`` each epoch has one of its own."""
        self.epoch = epoch
