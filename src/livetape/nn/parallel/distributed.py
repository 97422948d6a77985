"""DistributedDataParallel: the same module in several processes, whose gradients are averaged in every backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from livetape import ops
from livetape._pytree import tree_leaves
from livetape._tape.modes import is_recording
from livetape._tape.tensor import from_array
from livetape.distributed import ReduceOp
from livetape.distributed.distributed_c10d import default_group
from livetape.nn.modules.module import Module
from livetape.nn.parameter import is_lazy
from livetape.tensor import Tensor

__all__ = ["DistributedDataParallel", "GradBucket"]

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your "
    "module has parameters that were not used in producing loss. You can enable unused parameter detection by passing the "
    "keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure "
    "all `forward` function outputs participate in calculating loss. \nIf you already have done the above, then the "
    "distributed data parallel module wasn't able to locate the output tensors in the return value of your module's "
    "`forward` function. Please include the loss function and the structure of the return value of `forward` of your "
    "module when reporting this issue (e.g. list, dict, iterable)."
)


class GradBucket:
    """Gradients of one dtype, joined, as a communication hook gets them (source: ``torch.distributed.GradBucket``)."""

    def __init__(self, index: int, buffer: Tensor, parameters: list[Any], last: bool) -> None:
        self._index, self._buffer, self._parameters, self._last = index, buffer, parameters, last

    def index(self) -> int:
        """The number of the bucket in this backward."""
        return self._index

    def buffer(self) -> Tensor:
        """The gradients as one vector."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another vector in its place."""
        self._buffer = buffer

    def gradients(self) -> list[Any]:
        """The gradients, views of the vector."""
        found, start = [], 0
        for param in self._parameters:
            found.append(self._buffer[start : start + param.numel()].view(param.shape))
            start += param.numel()
        return found

    def parameters(self) -> list[Any]:
        """The parameters that they belong to."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether no bucket follows."""
        return self._last


class DistributedDataParallel(Module):
    """Calls ``module``; the backward averages its gradients over the processes of a group.

    Parameters and buffers begin as the first process has them; buffers are sent from it again before every forward. A
    backward that leaves parameters out needs ``find_unused_parameters``. Source:
    ``torch.nn.parallel.DistributedDataParallel``.
    """

    def __init__(
        self,
        module: Any,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: Any = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Any = None,
    ) -> None:
        super().__init__()
        self.process_group = default_group() if process_group is None else process_group
        params = list(module.parameters())
        if any(is_lazy(param) for param in params):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. "
                "Run a dummy forward pass to correctly initialize the modules"
            )
        if not any(param.requires_grad for param in params):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/"
                f"multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, output_device "
                f"{output_device}, and module parameters { ({param.device for param in params}) }."
            )
        self.module = module
        self.device_ids = None
        self.output_device = None
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.bucket_bytes = int((25 if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored
        self._watch()
        if init_sync:
            self._same_shapes()
            for tensor in [*self._named(module.named_parameters()), *self._named(module.named_buffers())]:
                self._broadcast(tensor)

    def _named(self, entries: Any) -> list[Any]:
        return [value for name, value in entries if name not in self.parameters_to_ignore]

    def _watch(self) -> None:
        """Have every parameter tell when its gradient is there."""
        this = weakref.ref(self)
        self._trained = [p for p in self._named(self.module.named_parameters()) if p.requires_grad]
        self._awaited: set[int] = set()  # the parameters whose gradients the running backward still has to bring
        self._used: set[int] = set()
        self._begun = False
        self._hook: tuple[Any, Callable[[Any, GradBucket], Any]] | None = None

        def tell(param: Any) -> None:
            owner = this()
            if owner is not None:
                owner._arrived(param)

        self._handles = [param.register_post_accumulate_grad_hook(tell) for param in self._trained]

    def _same_shapes(self) -> None:
        """RuntimeError if another process has other parameters."""
        sizes = [len(self._trained), *(n for param in self._trained for n in (param.dim(), *param.shape))]
        mine = np.array([len(sizes), hash(tuple(sizes)) % 2**61], np.int64)
        theirs = mine.copy()
        self.process_group.run(lambda: self.process_group.broadcast(theirs, 0), False)
        if (mine != theirs).any():
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {self.process_group.rank()} has "
                f"{len(self._trained)} params, while rank 0 has inconsistent params or shapes."
            )

    def _broadcast(self, tensor: Any) -> None:
        if self.process_group.size() > 1:
            self.process_group.run(lambda: self.process_group.broadcast(tensor.array, 0), False)
            tensor.bump_version()

    # ------------------------------------------------------------ a step

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncs = is_recording() and self.require_backward_grad_sync
        if syncs and self._begun and self._awaited:
            missing = [i for i, param in enumerate(self._trained) if id(param) in self._awaited]
            raise RuntimeError(
                f"{_UNFINISHED}\nParameter indices which did not receive grad for rank {self.process_group.rank()}: "
                + " ".join(map(str, missing))
            )
        if self.broadcast_buffers:
            for buffer in self._named(self.module.named_buffers()):
                self._broadcast(buffer)
        found = self.module(*inputs, **kwargs)
        self._awaited = set()
        self._begun = False
        if syncs:
            everything = {id(param) for param in self._trained}
            self._used = self._reachable(found) if self.find_unused_parameters else everything
            self._awaited = set(self._used)
        return found

    def _reachable(self, found: Any) -> set[int]:
        """The parameters that a result depends on."""
        wanted = {id(param) for param in self._trained}
        used: set[int] = set()
        seen: set[Any] = set()
        ahead = [leaf for leaf in tree_leaves(found) if isinstance(leaf, Tensor)]
        used.update(id(leaf) for leaf in ahead if id(leaf) in wanted)
        nodes = [leaf.grad_fn for leaf in ahead if leaf.grad_fn is not None]
        while nodes:
            node = nodes.pop()
            if node in seen:
                continue
            seen.add(node)
            variable = getattr(node, "variable", None)
            if variable is not None:
                used.add(id(variable))
            nodes.extend(edge[0] for edge in node.next_functions if edge[0] is not None)
        return used & wanted

    def _arrived(self, param: Any) -> None:
        if id(param) not in self._awaited:
            return
        self._begun = True
        self._awaited.discard(id(param))
        if not self._awaited:
            self._begun = False
            self._average()

    def _average(self) -> None:
        """Replace every gradient by its mean over the processes."""
        group = self.process_group
        if group.size() == 1 and self._hook is None:
            return
        params = self._trained
        if self.find_unused_parameters:  # what no process has used keeps its gradient, or None
            used = np.array([id(param) in self._used for param in params], np.int8)
            group.run(lambda: group.all_reduce(used, ReduceOp.MAX), False)
            params = [param for param, flag in zip(params, used, strict=True) if flag]
            for param in params:
                if param.grad is None:
                    param.grad = ops.zeros_like(param, requires_grad=False)
        buckets = self._buckets(params)
        for number, members in enumerate(buckets):
            joined = np.concatenate([param.grad.array.reshape(-1) for param in members])
            if self._hook is None:
                joined /= group.size()
                group.run(partial(group.all_reduce, joined, ReduceOp.SUM), False)
            else:
                state, hook = self._hook
                vector: Any = from_array(joined)
                bucket = GradBucket(number, vector, members, number == len(buckets) - 1)
                joined = _value(hook(state, bucket)).array
            start = 0
            for param in members:
                grad = param.grad
                grad.array[...] = joined[start : start + grad.array.size].reshape(grad.array.shape)
                grad.bump_version()
                start += grad.array.size

    def _buckets(self, params: list[Any]) -> list[list[Any]]:
        """The parameters by dtype, in pieces of about ``bucket_cap_mb``."""
        found: list[list[Any]] = []
        for kind in dict.fromkeys(param.grad.dtype for param in params):
            size = self.bucket_bytes
            for param in params:
                if param.grad.dtype is not kind:
                    continue
                if size >= self.bucket_bytes:
                    found.append([])
                    size = 0
                found[-1].append(param)
                size += param.grad.array.nbytes
        return found

    # ------------------------------------------------------------ use

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within the block, backwards of forwards made there only accumulate gradients in this process."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Let ``hook(state, bucket)`` average gradients: it returns a future of the vector."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        self._hook = (state, hook)

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        return {"world_size": self.process_group.size(), "rank": self.process_group.rank()}

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        for name in ("process_group", "_handles", "_trained", "_awaited", "_used", "_begun", "_hook"):
            state.pop(name)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = default_group()
        self._watch()


def _value(future: Any) -> Any:
    found = future.wait() if hasattr(future, "wait") else future
    return found[0] if isinstance(found, (list, tuple)) else found
