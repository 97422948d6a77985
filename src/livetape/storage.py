"""The memory that tensors share (source: ``torch.storage``).

A storage here is a window on an array's memory, made when it is asked for; tensors themselves hold arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from livetape import dtypes
from livetape._tape.modes import is_wrapped, local
from livetape.device import CPU
from livetape.dtypes import dtype

__all__ = ["TypedStorage", "UntypedStorage", "memory_of", "storage", "untyped_storage"]

DTYPES = {
    "DoubleStorage": dtypes.float64,
    "FloatStorage": dtypes.float32,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16,
    "LongStorage": dtypes.int64,
    "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8,
    "ByteStorage": dtypes.uint8,
    "BoolStorage": dtypes.boolean,
    "ComplexDoubleStorage": dtypes.complex128,
    "ComplexFloatStorage": dtypes.complex64,
}
"""The dtypes of torch's old storage classes, by whose names files tell the type of their elements."""
NAMES = {kind: name for name, kind in DTYPES.items()}

_WARNING = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This "
    "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)
_warned: list[bool] = []


def extent(array: Any) -> tuple[int, int]:
    """The addresses of an array's lowest byte, and of the one after its highest."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for size, stride in zip(array.shape, array.strides):
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high + array.itemsize


def memory_of(array: Any) -> Any:
    """The bytes from an array's lowest to its highest: a uint8 array of one dimension on the same memory."""
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.uint8)
    low, high = extent(array)
    corner = tuple(slice(-1, None) if stride < 0 else slice(0, 1) for stride in array.strides)
    lowest = array[corner].reshape(-1).view(np.uint8)
    return np.lib.stride_tricks.as_strided(lowest, (high - low,), (1,))


def owner_of(tensor: Any) -> Any:
    """The array whose memory a tensor shares with its views, see `ops.storage_offset`."""
    if tensor.base is not None:
        return tensor.base.array
    array = tensor.array
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class UntypedStorage:
    """Bytes (source: ``torch.UntypedStorage``): as many as the number given, uninitialised, or the values given."""

    __slots__ = ("memory",)

    def __init__(self, values: Any = 0, *, device: Any = None) -> None:
        self.memory: Any = np.empty(values, np.uint8) if isinstance(values, int) else np.array(values, np.uint8)

    @classmethod
    def of(cls, memory: Any) -> UntypedStorage:
        """A storage on the given uint8 array."""
        made = cls.__new__(cls)
        made.memory = memory
        return made

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, *, dtype: Any = None, offset: int = 0, count: int = -1
    ) -> UntypedStorage:
        """A copy of an object's bytes."""
        length = -1 if count < 0 else count * (1 if dtype is None else dtype.itemsize)
        return cls.of(np.frombuffer(buffer, np.uint8, length, offset).copy())

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file; with ``shared`` changes go into the file."""
        return cls.of(np.asarray(np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,))))

    def data_ptr(self) -> int:
        """The address of the first byte; 0 if there is none."""
        return int(self.memory.__array_interface__["data"][0]) if self.memory.size else 0

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self.memory.size)

    size = __len__ = nbytes

    def element_size(self) -> int:
        """1."""
        return 1

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return UntypedStorage.of(self.memory[idx])
        return int(self.memory[self._place(idx)])

    def __setitem__(self, idx: Any, value: Any) -> None:
        self.memory[idx if isinstance(idx, slice) else self._place(idx)] = value

    def _place(self, idx: int) -> int:
        if not -self.memory.size <= idx < self.memory.size:
            raise IndexError(f"index {idx} out of range for storage of size {self.memory.size}")
        return idx

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return self.data_ptr() == other.data_ptr() and self.nbytes() == other.nbytes()

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        found: list[int] = self.memory.tolist()
        return found

    def clone(self) -> UntypedStorage:
        """A copy."""
        return UntypedStorage.of(self.memory.copy())

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        if id(self) not in memo:
            memo[id(self)] = self.clone()
        found: UntypedStorage = memo[id(self)]
        return found

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        """Take over the bytes of another storage of the same size."""
        self.memory[...] = source.memory if isinstance(source, UntypedStorage) else source.untyped().memory
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        self.memory.fill(value)
        return self

    def cpu(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """The storage itself: there is no other device to copy to."""
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """False."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return False

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> str:
        """The name of the class."""
        return "torch.storage.UntypedStorage"

    @property
    def device(self) -> Any:
        """Where the memory is: always the CPU."""
        return CPU

    is_cuda = is_sparse = is_hpu = False

    def __repr__(self) -> str:
        values = "".join(f" {value}\n" for value in self.memory) or " \n"
        return f"{values}[torch.storage.UntypedStorage(device=cpu) of size {self.memory.size}]"


UntypedStorage.__module__ = "torch.storage"


class TypedStorage:
    """Elements of one dtype (source: ``torch.TypedStorage``, which torch is about to give up)."""

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(
        self,
        values: Any = 0,
        *,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        self.dtype: dtype = dtypes.get_default_dtype() if dtype is None else dtype
        if wrap_storage is None:
            made = np.empty(values, self.dtype.np) if isinstance(values, int) else np.array(values, self.dtype.np)
            wrap_storage = UntypedStorage.of(made.view(np.uint8))
        self._untyped_storage = wrap_storage

    @property
    def _array(self) -> Any:
        memory = self._untyped_storage.memory
        return memory[: memory.size - memory.size % self.dtype.itemsize].view(self.dtype.np)

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def data_ptr(self) -> int:
        """The address of the first element; 0 if there is none."""
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not -self.size() <= idx < self.size():
            raise IndexError(f"index {idx} out of range for storage of size {self.size()}")
        return self._python(self._array[idx])

    def __setitem__(self, idx: Any, value: Any) -> None:
        self._array[idx] = value

    def _python(self, value: Any) -> Any:
        return float(value) if self.dtype is dtypes.bfloat16 else value.item()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return [self._python(value) for value in self._array]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def clone(self) -> TypedStorage:
        """A copy."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        """The storage itself."""
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> str:
        """The name of the old class of storages of this dtype."""
        return "torch." + NAMES[self.dtype]

    def pickle_storage_type(self) -> str:
        """The name by which a file tells the dtype."""
        return NAMES[self.dtype]

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return False

    @property
    def device(self) -> Any:
        """Where the memory is: always the CPU."""
        return CPU

    is_cuda = is_sparse = is_hpu = False

    def __repr__(self) -> str:
        values = "".join(f" {value}\n" for value in self.tolist()) or " \n"
        return f"{values}[torch.storage.TypedStorage(dtype={self.dtype}, device=cpu) of size {self.size()}]"


TypedStorage.__module__ = "torch.storage"


def untyped_storage(input: Any) -> UntypedStorage:
    """The memory a tensor shares with its views (source: ``torch.Tensor.untyped_storage``)."""
    if local.levels and is_wrapped(input):
        kind = "BatchedTensorImpl" if hasattr(input.array, "alike") else "TensorWrapper"
        raise NotImplementedError(f"Cannot access storage of {kind}")
    return UntypedStorage.of(memory_of(owner_of(input)))


def typed_storage(input: Any) -> TypedStorage:
    """That memory as elements of the tensor's dtype."""
    return TypedStorage(wrap_storage=untyped_storage(input), dtype=input.dtype)


def storage(input: Any) -> TypedStorage:
    """That memory as elements of the tensor's dtype; torch warns of it once (source: ``torch.Tensor.storage``)."""
    if not _warned:
        _warned.append(True)
        warnings.warn(_WARNING, UserWarning, stacklevel=2)
    return typed_storage(input)


METHODS = {"untyped_storage": untyped_storage, "storage": storage, "_typed_storage": typed_storage}
