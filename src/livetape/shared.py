"""Memory that several processes see: tensors moved into it, and how they are sent to other processes.

A block is a mapping of an anonymous file, which lives as long as any process has it mapped or open. Processes that are
forked see it by themselves; others get the file's descriptor.
"""

from __future__ import annotations

import mmap
import os
import weakref
from typing import Any

import numpy as np

from livetape.storage import extent, memory_of, owner_of


class Block(mmap.mmap):
    """A mapping that knows its file."""

    file: int

    @classmethod
    def of_file(cls, file: int, size: int) -> Block:
        """The mapping of an open file, which it takes over."""
        made = cls(file, size)
        made.file = file
        weakref.finalize(made, os.close, file)
        return made

    @classmethod
    def new(cls, size: int) -> Block:
        """A block of zeros."""
        if hasattr(os, "memfd_create"):
            file = os.memfd_create("livetape")
        else:
            import tempfile  # a tenth of all that livetape imports, for few systems

            with tempfile.TemporaryFile() as unnamed:
                file = os.dup(unnamed.fileno())
        os.truncate(file, size)
        return cls.of_file(file, size)


def block_of(array: Any) -> Block | None:
    """The block that an array lies in, if any."""
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, Block) else None


def is_shared(tensor: Any) -> bool:
    """Whether other processes see the memory (source: ``torch.Tensor.is_shared``)."""
    return block_of(tensor.array) is not None


def share_memory_(tensor: Any) -> Any:
    """Move a tensor, with the base it is a view of, into shared memory (source: ``torch.Tensor.share_memory_``).

    Other tensors that shared its memory before keep theirs.
    """
    if block_of(tensor.array) is not None or tensor.array.size == 0:
        return tensor
    owner = owner_of(tensor)
    memory = memory_of(owner)
    block = Block.new(memory.nbytes)
    moved: Any = np.frombuffer(block, np.uint8)
    moved[...] = memory
    start = extent(owner)[0]
    for moving in (tensor,) if tensor.base is None else (tensor, tensor.base):
        array = moving.array
        place = array.__array_interface__["data"][0] - start
        moving.array = view(moved, place, array.shape, array.strides, array.dtype)
    return tensor


def view(memory: Any, place: int, shape: Any, strides: Any, dtype: Any) -> Any:
    """An array on bytes."""
    return np.ndarray(shape, dtype, memory, place, strides)
