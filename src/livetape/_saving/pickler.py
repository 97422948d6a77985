"""Pickles in which tensors are named pieces of memory, and livetape's names are torch's.

Tensors whose memory overlaps share a storage in the file, and again when they are loaded. A view takes its base's memory
along, as in torch; a tensor that is no view takes its own only, even if it lies in a larger array.
"""

from __future__ import annotations

import bisect
import io
import pickle
from collections import OrderedDict
from types import FunctionType
from typing import Any

import numpy as np

from livetape import _utils, dtypes
from livetape._saving import names
from livetape._saving.storages import StorageType
from livetape._tape.tensor import TensorBase
from livetape._tape.views import needs_gradient
from livetape.device import device
from livetape.hooks import warn_if_has_hooks
from livetape.layout import layout
from livetape.nn.parameter import Parameter
from livetape.random import Generator
from livetape.size import Size
from livetape.storage import NAMES, TypedStorage, UntypedStorage, extent, memory_of
from livetape.tensor import Tensor


class Piece:
    """A piece of memory that goes into the file: its key there, its addresses, and arrays that lie in it."""

    __slots__ = ("arrays", "dtype", "high", "key", "low")

    def __init__(self, key: str, low: int, high: int, kind: Any) -> None:
        self.key = key
        self.low = low
        self.high = high
        self.dtype = kind
        # Also so that the address of a tensor made while pickling is not given to the next one.
        self.arrays: list[Any] = []

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        return self.high - self.low

    def memory(self) -> Any:
        """Its bytes."""
        if not self.nbytes:
            return np.empty(0, np.uint8)
        lowest = min(self.arrays, key=lambda array: extent(array)[0])
        return np.lib.stride_tricks.as_strided(memory_of(lowest), (self.nbytes,), (1,))


class Ref:
    """Stands for a storage while it is pickled: a piece, seen as elements of a dtype, or as bytes."""

    __slots__ = ("kind", "piece")

    def __init__(self, piece: Piece, kind: Any) -> None:
        self.piece = piece
        self.kind = kind


class Pieces:
    """The pieces found so far. ``joined`` tells what an earlier attempt found to overlap."""

    def __init__(self, joined: list[tuple[int, int]] | None = None) -> None:
        self.found: dict[tuple[int, int], Piece] = {}
        self.order: list[Piece] = []
        self.joined = joined or []

    def piece(self, kind: Any, *arrays: Any) -> Piece:
        """The piece in which arrays, the parts of one memory, lie."""
        extents = [extent(array) for array in arrays]
        low, high = min(start for start, _ in extents), max(stop for _, stop in extents)
        at = bisect.bisect_right(self.joined, low, key=lambda part: part[0]) - 1
        if at >= 0 and high <= self.joined[at][1]:
            low, high = self.joined[at]
        piece = self.found.get((low, high)) if low < high else None
        if piece is None:
            piece = Piece(str(len(self.order)), low, high, kind)
            self.order.append(piece)
            if low < high:
                self.found[low, high] = piece
        elif piece.dtype is not kind:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        piece.arrays.extend(arrays)
        return piece

    def overlaps(self) -> list[tuple[int, int]]:
        """The stretches of memory that the pieces make up, if any of them overlap."""
        joined: list[tuple[int, int]] = []
        for low, high in sorted(self.found):
            if joined and low < joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], high)
            else:
                joined.append((low, high))
        return joined if len(joined) < len(self.found) else []


class Global:
    """Written as a global of torch's that livetape has under another name, or as no object at all."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.module}.{self.name} is only a name")  # pickle wants to see something callable


_globals: dict[str, Global] = {}
_PLAIN = {int, float, bool, str, type(None), tuple, list, dict, Global, Ref}


def _global(path: str) -> Global:
    """The one Global of this path: pickle recognises what it wrote before by identity."""
    found = _globals.get(path)
    if found is None:
        found = _globals[path] = Global(*path.rsplit(".", 1))
    return found


class _Mixin:
    """What is special about torch's pickles. ``pieces`` collects the memory of tensors."""

    pieces: Pieces
    more: tuple[Any, ...] = ()  # what the id of a storage has at its end
    by_name: bool  # whether this pickler can write names that cannot be imported here

    def persistent_id(self, obj: Any) -> Any:
        """Storages are kept outside the pickle."""
        kind = type(obj)
        if kind is Ref:
            return self._storage(obj)
        if kind is not UntypedStorage and kind is not TypedStorage:
            return None
        seen_as = None if kind is UntypedStorage else obj.dtype
        return self._storage(Ref(self.pieces.piece(seen_as or dtypes.uint8, obj.untyped().memory), seen_as))

    def _storage(self, ref: Ref) -> tuple[Any, ...]:
        kind, piece = ref.kind, ref.piece
        where: Any
        if kind is None:
            where = _global("torch.storage.UntypedStorage") if self.by_name else UntypedStorage
            return ("storage", where, piece.key, "cpu", piece.nbytes, *self.more)
        name = NAMES[kind]
        where = _global("torch." + name) if self.by_name else StorageType(name)
        return ("storage", where, piece.key, "cpu", piece.nbytes // kind.itemsize, *self.more)

    def _name(self, path: str, function: Any) -> Any:
        return _global(path) if self.by_name else function

    def reducer_override(self, obj: Any) -> Any:
        """How an object is taken apart; NotImplemented for the usual way."""
        if isinstance(obj, TensorBase):
            return self._reduce(obj)
        kind = type(obj)
        if kind is Size:
            return self._name("torch.Size", Size), (tuple(obj),)
        if kind is dtypes.dtype:
            return obj.name if self.by_name else obj.__reduce__()
        if kind is device:
            return self._name("torch.device", device), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if kind is layout:
            return self._name("torch.serialization._get_layout", names.get_layout), (str(obj),)
        if kind is Generator:
            return (
                self._name("torch._C.Generator", Generator),
                (obj.device,),
                (obj.initial_seed(), None, obj.get_state()),
            )
        return NotImplemented

    def _reduce(self, tensor: Any) -> Any:
        kind = type(tensor)
        attributes = tensor.__dict__
        if kind.__reduce_ex__ is Parameter.__reduce_ex__:
            rest: tuple[Any, ...] = (tensor.data, tensor.requires_grad, OrderedDict())
            if not attributes:
                return self._name("torch._utils._rebuild_parameter", _utils._rebuild_parameter), rest
            return (
                self._name("torch._utils._rebuild_parameter_with_state", _utils._rebuild_parameter_with_state),
                (*rest, attributes),
            )
        if kind.__reduce_ex__ is not Tensor.__reduce_ex__:
            return NotImplemented
        warn_if_has_hooks(tensor)
        function, args = self._reduce_plain(tensor)
        if kind is Tensor and not attributes:
            return function, args
        state = tensor.__getstate__() if kind.__getstate__ is not object.__getstate__ else attributes or None
        return (
            self._name("torch._tensor._rebuild_from_type_v2", _utils._rebuild_from_type_v2),
            (function, kind, args, state),
        )

    def _reduce_plain(self, tensor: Any) -> Any:
        array, kind = tensor.array, tensor.dtype
        if any(stride < 0 or stride % array.itemsize for stride in array.strides):
            array = array.copy("C")
        base = tensor.base
        arrays = [array] if base is None or array is not tensor.array else [base.array, array]
        typed = kind in NAMES
        piece = self.pieces.piece(kind if typed else dtypes.uint8, *arrays)
        offset, rest = divmod(extent(array)[0] - piece.low, kind.itemsize) if piece.nbytes else (0, 0)
        if rest:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        stride = tuple(step // array.itemsize for step in array.strides) if array.size else _strides(array.shape)
        args: tuple[Any, ...] = (
            Ref(piece, kind if typed else None),
            offset,
            tuple(array.shape),
            stride,
            needs_gradient(tensor),
            OrderedDict(),
        )
        if typed:
            return self._name("torch._utils._rebuild_tensor_v2", _utils._rebuild_tensor_v2), args
        return self._name("torch._utils._rebuild_tensor_v3", _utils._rebuild_tensor_v3), (*args, kind)


def _strides(shape: Any) -> tuple[int, ...]:
    """The strides that torch gives an empty tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))


def pickler_class(base: Any) -> Any:
    """A pickler for torch's files, on top of a pickle module's one.

    The names are written by pickle's Python implementation, as the one in C insists that they can be imported. Other
    modules' picklers are used as they are: those in C then write livetape's own names.
    """
    if base is pickle.Pickler:
        base = pickle._Pickler  # type: ignore[attr-defined]
    dispatch = getattr(base, "dispatch", None)
    if not isinstance(dispatch, dict):
        return type("Pickler", (_Mixin, base), {"by_name": False})

    class Pickler(_Mixin, base):
        by_name = True

        def save(self, obj: Any, save_persistent_id: bool = True) -> None:
            kind = type(obj)
            if kind not in _PLAIN:
                super().save(obj, save_persistent_id)
                return
            # As the original does; but these have no other ways to be taken apart, and need not be asked.
            self.framer.commit_frame()
            if kind is Ref:
                self.save_pers(self._storage(obj))
                return
            known = self.memo.get(id(obj))
            if known is None:
                self.dispatch[kind](self, obj)
            else:
                self.write(self.get(known[0]))

        def save_global(self, obj: Any, name: str | None = None) -> None:
            found = (obj.module, obj.name) if type(obj) is Global else names.torch_name(obj, name)
            if found is None:
                try:
                    super().save_global(obj, name)
                except pickle.PicklingError:
                    pickle.dumps(obj, self.proto)  # the usual pickler's error, which has other words
                    raise
                return
            if self.proto >= 4:
                self.save(found[0])
                self.save(found[1])
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + "\n".join([*found, ""]).encode())
            self.memoize(obj)

    def save_one(self: Any, obj: Any) -> None:
        if type(obj) is FunctionType or names.torch_name(obj) is not None:
            self.save_global(obj)
        else:  # the type of None and the like
            dispatch[type(obj)](self, obj)

    Pickler.dispatch = {**dispatch, Global: Pickler.save_global, FunctionType: save_one, type: save_one}
    return Pickler


def dump(obj: Any, pickle_module: Any, protocol: int, more: tuple[Any, ...] = ()) -> tuple[bytes, list[Piece]]:
    """The pickle of an object, and the pieces of memory that it names, in the order of their keys."""
    kind = pickler_class(pickle_module.Pickler)
    attempts = [Pieces()]  # all kept: arrays that were made while pickling keep their addresses
    while True:
        stream = io.BytesIO()
        pickler = kind(stream, protocol=protocol)
        pickler.pieces = attempts[-1]
        pickler.more = more
        pickler.dump(obj)
        joined = attempts[-1].overlaps()
        if not joined or len(attempts) == 3:  # tensors that are made anew each time may overlap each time
            return stream.getvalue(), attempts[-1].order
        attempts.append(Pieces(joined))
