"""Objects to files and back: ``save`` and ``load`` (source: ``torch.serialization``).

Files are torch's, both ways. Loading runs no code of a file, unless ``weights_only=False`` says so. A file that is saved
to replaces the old one only once it is complete.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from livetape._saving import legacy, names, options, pickler, safetensors, unpickler
from livetape._saving.archive import ArchiveReader, ArchiveWriter
from livetape._saving.files import is_path, is_zipfile, reading, writing
from livetape._saving.options import LoadEndianness
from livetape._saving.restore import default_restore_location, location_tag, register_package, restorer
from livetape._saving.storages import LoadedStorage, StorageType
from livetape.dtypes import uint8
from livetape.storage import UntypedStorage

__all__ = [
    "SourceChangeWarning",
    "register_package",
    "location_tag",
    "default_restore_location",
    "save",
    "load",
    "StorageType",
    "LoadEndianness",
    "get_crc32_options",
    "set_crc32_options",
    "get_default_load_endianness",
    "set_default_load_endianness",
    "get_default_mmap_options",
    "set_default_mmap_options",
    "clear_safe_globals",
    "get_safe_globals",
    "add_safe_globals",
    "safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "skip_data",
]

DEFAULT_PROTOCOL = 2

_get_layout = names.get_layout  # the name by which files ask for it

_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. "
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
    "execution. Do it only if you got the file from a trusted source."
)
_DOCS = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)


class SourceChangeWarning(Warning):
    """The source of a saved class has changed; livetape does not compare."""


# ---------------------------------------------------------------- settings
def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed of files that do not tell; None for little endian."""
    return options.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order assumed of files that do not tell."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    options.load.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` writes checksums."""
    return options.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether `save` writes checksums. Without, zip tools complain; `load` does not look at them."""
    options.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """How ``load(mmap=True)`` maps files: ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``."""
    return options.load.mmap_flags


class set_default_mmap_options:
    """Set how ``load(mmap=True)`` maps files; as a context, for a while.

    ``mmap.MAP_PRIVATE`` keeps changes in memory, ``mmap.MAP_SHARED`` brings them into the file.
    """

    def __init__(self, flags: int) -> None:
        if sys.platform == "win32":
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (1, 2):  # MAP_SHARED, MAP_PRIVATE
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = options.load.mmap_flags
        options.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        options.load.mmap_flags = self.prev


class skip_data:
    """Within this context `save` leaves the elements of tensors out, and `load` does not read them."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = options.local.skip_data
        options.local.skip_data = True

    def __exit__(self, *exc: object) -> None:
        options.local.skip_data = self._before


# ---------------------------------------------------------------- trust
def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files use these classes and functions, or pairs of one and the path that files have for it."""
    unpickler.trust(safe_globals)


def get_safe_globals() -> list[Any]:
    """The classes and functions that files may use besides those allowed anyway."""
    return unpickler.trusted()


def clear_safe_globals() -> None:
    """Let files use nothing but what is allowed anyway."""
    unpickler.distrust()


class safe_globals:
    """Within this context files may use these classes and functions."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        unpickler.trust(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        unpickler.distrust(self.safe_globals)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The paths of the classes and functions a file asks for that it may not use. Nothing is made of the file."""
    with reading(f) as file:
        if not is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = ArchiveReader(file)
        if archive.has("constants.pkl"):
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
            )
        asked = unpickler.globals_in(io.BytesIO(archive.record("data.pkl")))
    return list(asked - set(unpickler.ALLOWED) - set(unpickler.trusted_paths()))


# ---------------------------------------------------------------- saving
def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object to a path or a file object, in the format of torch (source: ``torch.save``).

    A path gets its new content all at once, when all is written. Tensors that share memory do so again when loaded.

    >>> import io
    >>> import livetape as torch
    >>> f = io.BytesIO()
    >>> torch.save({"epoch": 3, "weight": torch.ones(2)}, f)
    >>> _ = f.seek(0)
    >>> torch.load(f)
    {'epoch': 3, 'weight': tensor([1., 1.])}
    """
    if not is_path(f):
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        if not callable(f.write):
            raise TypeError(f"Buffer of {str(type(f)).strip('<>')} has no callable attribute 'write'")
        _save(
            obj,
            f,
            "archive",
            pickle_module,
            pickle_protocol,
            _use_new_zipfile_serialization,
            not _disable_byteorder_record,
        )
        f.flush()
        return
    path = os.fspath(f)
    name = os.path.splitext(os.path.basename(path))[0]
    with writing(path) as file:
        _save(
            obj,
            file,
            name if name.isascii() else "archive",
            pickle_module,
            pickle_protocol,
            _use_new_zipfile_serialization,
            not _disable_byteorder_record,
        )


def _save(obj: object, file: Any, name: str, pickle_module: Any, protocol: int, zipped: bool, order: bool) -> None:
    skip = options.local.skip_data
    if not zipped:
        if skip:
            raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
        legacy.save(obj, file, pickle_module, protocol)
        return
    data, pieces = pickler.dump(obj, pickle_module, protocol)
    alignment = options.save.storage_alignment
    archive = ArchiveWriter(file, name, options.save.compute_crc32, alignment)
    archive.record("data.pkl", data)
    archive.record(".format_version", b"1")
    archive.record(".storage_alignment", str(alignment).encode())
    if order:
        archive.record("byteorder", sys.byteorder.encode())
    for piece in pieces:
        if skip:
            archive.space(f"data/{piece.key}", piece.nbytes)
        else:
            archive.record(f"data/{piece.key}", piece.memory())
    archive.finish()


# ---------------------------------------------------------------- loading
def _explained(fault: pickle.UnpicklingError) -> pickle.UnpicklingError:
    """torch's text around an error of the unpickler that runs no code."""
    message = str(fault)
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return pickle.UnpicklingError(
            "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps "
            f"only if you trust the source of the checkpoint\033[0m. \n\t(1) {_UNSAFE}\n\t(2) Alternatively, to load with "
            "`weights_only=True` please check the recommended steps in the following error message.\n\tWeightsUnpickler "
            f"error: {message}{_DOCS}"
        )
    text = f"Weights only load failed. {_UNSAFE}\n"
    if not re.search(r"whose module (\S+) is blocked", message):
        text += (
            "Please file an issue with the following so that we can make `weights_only=True` compatible with your use "
            "case: WeightsUnpickler error: "
        )
    return pickle.UnpicklingError(f"{text}\n\n{message}{_DOCS}")


def _weights_only(asked: bool | None, pickle_module: Any) -> bool:
    """Whether to load without running code, by the argument and torch's environment variables."""
    chosen = pickle_module is None if asked is None else asked
    force, refuse = (
        os.getenv(name, "0").lower() in ("1", "y", "yes", "true")
        for name in ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    )
    if force and refuse:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, "
            "but both were set."
        )
    if force:
        chosen = True
    elif refuse and asked is None:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was "
            "not explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        chosen = False
    if chosen and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return chosen


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load what `save`, or torch's, has saved to a path or file object (source: ``torch.load``).

    Unless ``weights_only=False``, no code of the file is run: it may hold tensors, numbers, texts and collections, and
    what `add_safe_globals` allows; UnpicklingError otherwise. With ``mmap=True`` the elements of tensors stay in the file
    until they are used. ``map_location`` says where storages go, which is the CPU.
    """
    safely = _weights_only(weights_only, pickle_module)
    if pickle_load_args and safely:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    pickle_load_args.setdefault("encoding", "utf-8")
    read = _reader(None if safely else pickle_module or pickle, pickle_load_args)
    mapped = options.load.mmap if mmap is None else mmap
    if is_path(f) and os.fspath(f).endswith(".safetensors"):
        return safetensors.load_file(f, map_location)
    with reading(f) as file:
        try:
            if is_zipfile(file):
                return _load(file, f, map_location, read, mapped, safely)
            if mapped:
                name = f"{f}, " if isinstance(f, str) else ""
                raise RuntimeError(
                    f"mmap can only be used with files saved with `torch.save({name}"
                    "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this "
                    "option in order to use mmap."
                )
            _refuse_tar(file, safely)
            return legacy.load(file, restorer(map_location), read, options.local.skip_data)
        except pickle.UnpicklingError as fault:
            if safely:
                raise _explained(fault) from None
            raise


def _refuse_tar(file: Any, safely: bool) -> None:
    start = file.tell()
    head = file.read(262)
    file.seek(start)
    if head[257:] == b"ustar":
        if safely:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. " + _UNSAFE
            )
        raise RuntimeError(
            "This file has the .tar format of torch before version 0.1.10, which livetape does not read. "
            "Load it with PyTorch, and save it again."
        )


def _reader(pickle_module: Any, arguments: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """A function that reads one pickle: without running code if no module is given."""
    if pickle_module is None:
        kind: Any = unpickler.Unpickler
    else:

        class Unpickler(pickle_module.Unpickler):
            """Finds what torch's names mean here."""

            def find_class(self, module: str, name: str) -> Any:
                if "Storage" in name:
                    try:
                        return StorageType(name)
                    except KeyError:
                        pass
                if module == "torch" or module.startswith("torch."):
                    return names.find("torch._tensor" if module == "torch.tensor" else module, name)
                return super().find_class(module, name)

        kind = Unpickler

    def read(file: Any, persistent_load: Any) -> Any:
        reader = kind(file, **arguments)
        if persistent_load is not None:
            reader.persistent_load = persistent_load
        return reader.load()

    return read


def _load(file: Any, f: Any, map_location: Any, read: Callable[[Any, Any], Any], mapped: bool, safely: bool) -> Any:
    archive = ArchiveReader(file)
    if archive.has("constants.pkl"):
        warnings.warn(
            "'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' "
            "(call 'torch.jit.load' directly to silence this warning)",
            UserWarning,
            stacklevel=3,
        )
        if safely:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. " + _UNSAFE
            )
        raise RuntimeError(
            "livetape does not run TorchScript. Save the module's state_dict with PyTorch, and load that."
        )
    whole = None
    if mapped:
        if not is_path(f):
            raise ValueError("f must be a file path in order to use the mmap argument")
        array: Any = np.memmap(f, np.uint8, "r+" if options.load.mmap_flags == 1 else "c")
        whole = memoryview(array)
    storages = _Storages(archive, restorer(map_location), whole)
    return read(io.BytesIO(archive.record("data.pkl")), storages.persistent_load)


class _Storages:
    """The storages of a zip file, read when the pickle asks for them."""

    def __init__(self, archive: ArchiveReader, restore: Callable[[Any, str], Any], whole: Any) -> None:
        self.archive = archive
        self.restore = restore
        self.whole = whole
        self.swap = _byte_order(archive) != sys.byteorder
        self.found: dict[Any, LoadedStorage] = {}

    def persistent_load(self, saved_id: Any) -> Any:
        """The storage of an id."""
        if not isinstance(saved_id, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved_id).__name__}")
        kind = saved_id[0].decode("ascii") if isinstance(saved_id[0], bytes) else saved_id[0]
        if kind != "storage":
            raise AssertionError(f"Unknown typename for persistent_load, expected 'storage' but got '{kind}'")
        storage_type, key, location, numel = saved_id[1:]
        dtype = uint8 if storage_type is UntypedStorage else storage_type.dtype
        found = self.found.get(key)
        if found is None:
            memory = self._read(f"data/{key}", numel * dtype.itemsize)
            if self.swap and dtype.itemsize > 1:
                memory = legacy.swapped(memory, dtype)
            location = location.decode("ascii") if isinstance(location, bytes) else location
            restored = self.restore(UntypedStorage.of(memory), location)
            found = LoadedStorage(restored.untyped(), dtype)
            if found.data_ptr():
                self.found[key] = found
        return found

    def _read(self, name: str, size: int) -> Any:
        there = self.archive.size(name)
        if there != size:
            raise RuntimeError(
                f"record size ({there} bytes) does not match expected size ({size} bytes = {size} elements * "
                "1 bytes/element) for dtype Byte"
            )
        if options.local.skip_data:
            return np.zeros(size, np.uint8)
        if self.whole is not None and size:
            place = self.archive.place(name)
            if place + size > self.whole.nbytes:
                raise RuntimeError(f"the file is too short for {name}")
            return np.frombuffer(self.whole, np.uint8, size, place)
        return self.archive.array(name)


def _byte_order(archive: ArchiveReader) -> str:
    if archive.has("byteorder"):
        order = archive.record("byteorder")
        if order not in (b"little", b"big"):
            raise ValueError("Unknown endianness type: " + order.decode())
        return order.decode()
    assumed = options.load.endianness
    if assumed is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if assumed is LoadEndianness.BIG else "little"
