"""Reading of ``.safetensors`` files: a table in JSON, then the elements of the tensors. There is no code to run."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from livetape import dtypes
from livetape._saving.archive import read_array
from livetape._saving.restore import default_restore_location
from livetape._tape.tensor import from_array
from livetape.device import device
from livetape.storage import UntypedStorage

_DTYPES = {
    "BOOL": dtypes.boolean,
    "U8": dtypes.uint8,
    "I8": dtypes.int8,
    "I16": dtypes.int16,
    "U16": dtypes.uint16,
    "I32": dtypes.int32,
    "U32": dtypes.uint32,
    "I64": dtypes.int64,
    "U64": dtypes.uint64,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "F32": dtypes.float32,
    "F64": dtypes.float64,
    "C64": dtypes.complex64,
}


def load_file(path: Any, map_location: Any = None) -> dict[str, Any]:
    """The tensors of a file, by their names. RuntimeError if the file is damaged."""
    if map_location is not None and not isinstance(map_location, (str, bytes, device)):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device string or "
            "torch.device instead."
        )
    if map_location is not None:
        default_restore_location(
            UntypedStorage(0), map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        )
    with open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size - 8
        size = int.from_bytes(file.read(8), "little")
        if not 2 <= size <= left:
            raise RuntimeError("Error while deserializing header: invalid header length")
        table = json.loads(file.read(size))
        data = read_array(file, left - size)
    return {name: _tensor(name, entry, data) for name, entry in sorted(table.items()) if name != "__metadata__"}


def _tensor(name: str, entry: Any, data: Any) -> Any:
    kind = _DTYPES.get(entry["dtype"])
    if kind is None:
        raise RuntimeError(f"livetape has no dtype for {entry['dtype']}, which tensor {name} is of")
    start, stop = entry["data_offsets"]
    shape = tuple(entry["shape"])
    count = 1
    for extent in shape:
        count *= extent
    if not 0 <= start <= stop <= data.size or stop - start != count * kind.itemsize:
        raise RuntimeError(f"Error while deserializing header: invalid offsets of tensor {name}")
    array: Any = np.empty(shape, kind.np)
    array.reshape(-1).view(np.uint8)[...] = data[start:stop]
    return from_array(array)
