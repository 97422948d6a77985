"""Samples out of a dataset, and into a batch, in the loader's process or a worker's."""

from __future__ import annotations

from typing import Any

from livetape._tape.tensor import wrap
from livetape._tape.views import needs_gradient
from livetape.tensor import Tensor
from livetape.utils.data._utils.collate import collate_tensor_fn, default_collate, default_collate_fn_map
from livetape.utils.data.dataset import Subset, TensorDataset


class _BaseDatasetFetcher:
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch, or the sample, at the indices or index that a sampler gave."""
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes as many samples as there are indices; StopIteration where the dataset ends."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        samples: list[Any] = []
        for _ in possibly_batched_index:
            try:
                samples.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(samples)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Asks for samples by index."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        if self.collate_fn is default_collate:
            batch = _rows(self.dataset, possibly_batched_index)
            if batch is not None:
                return batch
        many = getattr(self.dataset, "__getitems__", None)
        if many:
            return self.collate_fn(many(possibly_batched_index))
        return self.collate_fn([self.dataset[index] for index in possibly_batched_index])


def _rows(dataset: Any, indices: Any) -> list[Any] | None:
    """What `default_collate` makes of rows of plain tensors, taken at once; None if it has to be done one by one."""
    if type(indices) is not list or not indices or default_collate_fn_map.get(Tensor) is not collate_tensor_fn:
        return None
    while type(dataset) is Subset:
        if type(dataset.indices) is not list:
            return None
        try:
            indices = [dataset.indices[index] for index in indices]
        except (IndexError, TypeError):
            return None
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or not all(type(index) is int for index in indices):
        return None
    tensors = dataset.tensors
    for tensor in tensors:
        if type(tensor) is not Tensor or tensor.array.ndim == 0 or needs_gradient(tensor):
            return None
    try:
        return [wrap(tensor.array.take(indices, 0), tensor.dtype, None) for tensor in tensors]
    except IndexError:
        return None
