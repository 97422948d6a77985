"""Memory shared with other array libraries by the DLPack protocol (source: ``torch.utils.dlpack``)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from livetape._tape.explain import noted
from livetape._tape.views import needs_gradient
from livetape.ops.shared_arrays import from_numpy


class DLDeviceType(IntEnum):
    """The protocol's numbers for kinds of devices: the one that there is."""

    kDLCPU = 1


class _Exporter:
    """A capsule as an object that NumPy reads."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLDeviceType.kDLCPU, 0


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor on the memory of another library's array, or of a DLPack capsule (source: ``torch.from_dlpack``).

    ``copy=True`` copies. Raises RuntimeError for what does not offer its memory.

    >>> import numpy as np
    >>> import livetape as torch
    >>> torch.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    source = ext_tensor
    if not hasattr(source, "__dlpack__"):
        if type(source).__name__ != "PyCapsule":
            raise noted(
                RuntimeError(
                    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
                    "you might have already constructed a tensor from it once."
                )
            )
        source = _Exporter(source)
    array = np.from_dlpack(source)
    return from_numpy(array.copy() if copy or not array.flags.writeable else array)


def dlpack(self: Any, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
    """A capsule by which another library reads this tensor's memory (source: ``torch.Tensor.__dlpack__``)."""
    if needs_gradient(self):
        raise noted(BufferError("Can't export tensors that require gradient, use tensor.detach()"))
    return self.array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(self: Any) -> tuple[DLDeviceType, int]:
    """Where the memory is, in the protocol's numbers (source: ``torch.Tensor.__dlpack_device__``)."""
    return DLDeviceType.kDLCPU, 0


def to_dlpack(tensor: Any) -> Any:
    """A capsule with this tensor's memory, which one `from_dlpack` reads (source: ``torch.utils.dlpack.to_dlpack``)."""
    return dlpack(tensor)


FUNCTIONS = ["from_dlpack", "to_dlpack"]
METHODS = {"__dlpack__": dlpack, "__dlpack_device__": dlpack_device}
