"""Storages as files name them."""

from __future__ import annotations

from typing import Any

from livetape.storage import DTYPES, TypedStorage, UntypedStorage


class StorageType:
    """One of torch's old storage classes, of which only the dtype matters. KeyError for other names."""

    __slots__ = ("_dtype", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._dtype = DTYPES[name]

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._dtype

    def __reduce__(self) -> Any:
        return StorageType, (self._name,)

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


class LoadedStorage(TypedStorage):
    """A storage out of a file. ``later`` collects what is to be done once its elements have been read."""

    __slots__ = ("later",)

    def __init__(self, memory: Any, kind: Any, later: list[Any] | None = None) -> None:
        super().__init__(
            wrap_storage=memory if isinstance(memory, UntypedStorage) else UntypedStorage.of(memory), dtype=kind
        )
        self.later = later
