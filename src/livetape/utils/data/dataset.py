"""Datasets: something with ``__getitem__`` and ``__len__``, or something to iterate over."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Generic, Iterable, TypeVar  # noqa: UP035 - this one: its place among the base classes is known

from livetape import ops
from livetape._tape.explain import with_note
from livetape.random import Generator, default_generator

__all__ = [
    "Dataset",
    "IterableDataset",
    "TensorDataset",
    "StackDataset",
    "ConcatDataset",
    "ChainDataset",
    "Subset",
    "random_split",
]

_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """A map from keys, mostly 0 to ``len(self) - 1``, to samples (source: ``torch.utils.data.Dataset``).

    Subclasses write ``__getitem__``, mostly ``__len__`` too, and may write ``__getitems__(indices)``, which gives a
    list of samples at once.
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[_T_co]) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """A stream of samples: subclasses write ``__iter__`` (source: ``torch.utils.data.IterableDataset``).

    With several workers each iterates over its own copy: see `get_worker_info` for sharing the samples out.
    """

    def __add__(self, other: Dataset[_T_co]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Samples that are the rows of tensors with equal first dimensions (source: ``torch.utils.data.TensorDataset``).

    >>> import livetape as torch
    >>> from livetape.utils.data import TensorDataset
    >>> TensorDataset(torch.tensor([1, 2]), torch.tensor([3., 4.]))[1]
    (tensor(2), tensor(4.))
    """

    tensors: tuple[Any, ...]

    def __init__(self, *tensors: Any) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            sizes = ", ".join(str(tensor.size(0)) for tensor in tensors)
            raise with_note(AssertionError("Size mismatch between tensors"), f"The first dimensions are {sizes}.")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


def _fetch(dataset: Any, indices: list[Any]) -> Any:
    """Several samples, all at once if the dataset can."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(indices)
    return [dataset[index] for index in indices]


class StackDataset(Dataset[Any]):
    """Datasets of equal length side by side (source: ``torch.utils.data.StackDataset``).

    A sample is a tuple of theirs, or a dict if they were given by keyword.

    >>> from livetape.utils.data import StackDataset
    >>> StackDataset(image=[1, 2], text=["a", "b"])[0]
    {'image': 1, 'text': 'a'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, "
                "but both types are given."
            )
        members = list(args or kwargs.values())
        if not members:
            raise ValueError("At least one dataset should be passed")
        self._length = len(members[0])
        if any(len(member) != self._length for member in members):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """The samples at ``indices``, asked of each dataset together where it can."""
        keyed = isinstance(self.datasets, dict)
        members = self.datasets.values() if isinstance(self.datasets, dict) else self.datasets
        columns = []
        for dataset in members:
            column = _fetch(dataset, indices)
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
            columns.append(column)
        samples = list(zip(*columns))
        return [dict(zip(self.datasets, sample)) for sample in samples] if keyed else samples

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """Datasets one after another (source: ``torch.utils.data.ConcatDataset``)."""

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The lengths of the datasets, summed up."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - self.cumulative_sizes[which - 1] if which else idx]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of `cumulative_sizes`."""
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Streams one after another (source: ``torch.utils.data.ChainDataset``)."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[_T_co]):
    """Some samples of a dataset, by their indices (source: ``torch.utils.data.Subset``).

    A subclass that changes ``__getitem__`` has to change ``__getitems__`` too: NotImplementedError otherwise.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your custom "
                "logic. A simple implementation:\n\ndef __getitems__(self, indices):\n    return [self.__getitem__(idx) "
                "for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> Any:
        """The samples at ``indices``, all at once if the dataset can."""
        return _fetch(self.dataset, [self.indices[idx] for idx in indices])

    def __len__(self) -> int:
        return len(self.indices)


def _counts(total: int, fractions: Sequence[float]) -> list[int]:
    """Whole numbers in the given proportions: rounded down, and what is left over shared out from the first on."""
    counts = []
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts.append(math.floor(total * fraction))
    for i in range(total - sum(counts)):
        counts[i % len(counts)] += 1
    for i, count in enumerate(counts):
        if count == 0:
            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3)
    return counts


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[Any]]:
    """Split a dataset at random into parts of given lengths, or fractions that add up to 1.

    ValueError if the lengths do not add up to the dataset's (source: ``torch.utils.data.random_split``).

    >>> import livetape as torch
    >>> from livetape.utils.data import random_split
    >>> _ = torch.manual_seed(0)
    >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _counts(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise with_note(
            ValueError("Sum of input lengths does not equal the length of the input dataset!"),
            f"The lengths add up to {sum(lengths)}, the dataset has {len(dataset)} samples.",
        )
    order = ops.randperm(sum(lengths), generator=generator).tolist()
    stops: list[Any] = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[stop - length : stop]) for stop, length in zip(stops, lengths)]
