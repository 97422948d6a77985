"""What datasets may ask: which worker process they are in. Light, for programs that start none."""

from __future__ import annotations

from typing import Any

from livetape.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher

__all__ = ["WorkerInfo", "get_worker_info"]


class _DatasetKind:
    """How a loader gets at samples."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        """The fetcher for a kind of dataset."""
        fetcher = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class WorkerInfo:
    """A worker's number, how many there are, its seed, and its copy of the dataset; not to be changed."""

    __slots__ = ("dataset", "id", "num_workers", "rng", "seed", "worker_method")

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any
    worker_method: str | None

    def __init__(
        self,
        id: int,
        num_workers: int,
        seed: int,
        dataset: Any,
        rng: Any = None,
        worker_method: str | None = "multiprocessing",
    ) -> None:
        values = {
            "id": id,
            "num_workers": num_workers,
            "seed": seed,
            "dataset": dataset,
            "rng": rng,
            "worker_method": worker_method,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __repr__(self) -> str:
        names = ("id", "num_workers", "seed", "dataset", "rng", "worker_method")
        return f"WorkerInfo({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


class Here:
    """Who this process is."""

    worker: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Who this worker process is; None in any other process (source: ``torch.utils.data.get_worker_info``)."""
    return Here.worker
