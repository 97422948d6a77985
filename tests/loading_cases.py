"""Expressions about datasets, samplers, loaders and collating, for torch and livetape alike.

`outcome` evaluates one in the namespace of a library, from seed 3 on, and gives its value, warnings or error as text,
and the next random number.
"""

from __future__ import annotations

import collections
import collections.abc
import random
import warnings
from typing import Any

import numpy as np

Point = collections.namedtuple("Point", "x y")


class Table(collections.abc.Mapping):
    """A mapping that its own class can make of a dict."""

    def __init__(self, values):
        self.values_ = values

    def __getitem__(self, key):
        return self.values_[key]

    def __iter__(self):
        return iter(self.values_)

    def __len__(self):
        return len(self.values_)

    def __repr__(self):
        return f"{type(self).__name__}({self.values_})"


class Stiff(Table):
    """One that its class cannot make."""

    def __init__(self, values, more):
        super().__init__(values)


class Tagged(dict):
    """A dict with an attribute."""


class Items(list):
    """A list of another class."""


def namespace(torch: Any, data: Any) -> dict[str, Any]:
    """What the expressions may use."""

    class Stream(data.IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            info = data.get_worker_info()
            if info is None:
                yield from range(self.n)
            else:
                yield from range(info.id, self.n + info.id * 3, info.num_workers)

        def __repr__(self):
            return "Stream"

    class Sized(Stream):
        def __len__(self):
            return 4

    class Random(data.Dataset):
        """Samples of every random number generator, and of the worker's number."""

        def __len__(self):
            return 12

        def __getitem__(self, i):
            info = data.get_worker_info()
            return (i, random.random(), float(torch.rand(())), float(np.random.rand()), info.id if info else -1)

    class Many(data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return -1

        def __getitems__(self, indices):
            return [10 * i for i in indices]

    class TooFew(Many):
        def __getitems__(self, indices):
            return [1]

    class Half(data.Subset):
        def __getitem__(self, i):
            return 1

    class Faulty(data.Dataset):
        def __init__(self, kind):
            self.kind = kind

        def __len__(self):
            return 6

        def __getitem__(self, i):
            if i == 3:
                if self.kind is OSError:
                    raise OSError(2, "no such thing")
                if self.kind is UnicodeDecodeError:
                    b"\xff".decode()
                raise self.kind("three")
            return i

    class Describing(data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return repr(data.get_worker_info())

        def __repr__(self):
            return "Describing"

    def batches(loader):
        return [plain(batch) for batch in loader]

    def plain(value):
        if isinstance(value, torch.Tensor):
            return value.tolist()
        if isinstance(value, (list, tuple)):
            return [plain(part) for part in value]
        return value

    def patiently(loader):
        """The batches, and the errors between them."""
        found, iterator = [], iter(loader)
        while True:
            try:
                found.append(plain(next(iterator)))
            except StopIteration:
                return found
            except Exception as error:
                found.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")

    def epochs(loader, count):
        return [batches(loader) for _ in range(count)]

    def broken_off(loader):
        """An epoch that was left early, and the next one."""
        return [plain(next(iter(loader))), batches(loader)]

    def measured(loader):
        return [len(loader), batches(loader)]

    def shorten(worker):
        data.get_worker_info().dataset.n = 3

    def fail(worker):
        raise ValueError("not today")

    def described(value):
        """A value, its class, and the attribute of a Tagged."""
        return [value, type(value).__name__, getattr(value, "tag", None), str(getattr(value, "dtype", None))]

    def seeded(seed):
        return torch.Generator().manual_seed(seed)

    def tagged():
        made = Tagged(a=1)
        made.tag = 5
        return made

    names = {name: getattr(data, name) for name in data.__all__ if hasattr(data, name)}
    collate = data._utils.collate.collate
    return {**globals(), **names, **{name: value for name, value in locals().items() if name != "names"}}


def outcome(names: dict[str, Any], expression: str) -> str:
    """What an expression gives."""
    names["torch"].manual_seed(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)  # depends on the machine
        try:
            found = repr(eval(expression, names))
        except Exception as error:
            found = f"{type(error).__name__}: {error!s}".split("\nOriginal")[0]
    found += "".join(f"\n{warning.category.__name__}: {warning.message}" for warning in caught)
    return f"{found}\n{names['torch'].rand(()).item():.6f}"
