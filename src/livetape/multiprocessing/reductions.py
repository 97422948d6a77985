"""How a tensor is pickled for another process of this machine: as a piece of shared memory."""

from __future__ import annotations

from multiprocessing import reduction, resource_sharer  # noqa: F401 - not only when a queue's thread first needs it
from typing import Any

import numpy as np

from livetape import dtypes
from livetape._tape.tensor import from_array
from livetape._tape.views import needs_gradient
from livetape.nn.parameter import Parameter
from livetape.shared import Block, block_of, share_memory_, view
from livetape.tensor import Tensor

_COWARD = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
    "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
    "(e.g., putting it on the queue)."
)


def reduce_tensor(tensor: Any) -> Any:
    """What a pickle holds of a tensor, which moves into shared memory."""
    requires_grad = needs_gradient(tensor)
    if requires_grad and tensor.node is not None:
        raise RuntimeError(_COWARD)
    if tensor.array.size == 0:
        return tensor.__reduce_ex__(2)
    share_memory_(tensor)
    array, block = tensor.array, block_of(tensor.array)
    assert block is not None
    whole: Any = np.frombuffer(block, np.uint8)
    place = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    shape = (array.shape, array.strides, tensor.dtype.name)
    kind = None if type(tensor) is Tensor else type(tensor)
    state = dict(tensor.__dict__) or None
    return rebuild_tensor, (kind, reduction.DupFd(block.file), len(block), place, shape, requires_grad, state)


def rebuild_tensor(
    kind: Any, file: Any, size: int, place: int, shape: tuple[Any, Any, str], requires_grad: bool, state: Any
) -> Any:
    """The tensor on the same memory in the receiving process."""
    block = Block.of_file(file.detach(), size)
    memory: Any = np.frombuffer(block, np.uint8)
    sizes, strides, name = shape
    made = from_array(view(memory, place, sizes, strides, dtypes.by_name(name).np))
    if kind is not None:
        made = Tensor._make_subclass(kind, made)
    made.recorded = requires_grad
    if state:
        made.__dict__.update(state)
    return made


def init_reductions() -> None:
    """Have queues, pipes and new processes pickle tensors this way."""
    for kind in (Tensor, Parameter):
        reduction.ForkingPickler.register(kind, reduce_tensor)
