"""The collective operations on tensors, and single messages (source: ``torch.distributed``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livetape._tape.views import needs_gradient
from livetape.distributed._group import ProcessGroup, RedOpType, ReduceOp, Work
from livetape.distributed.distributed_c10d import get_group_rank, group_of, is_outside
from livetape.tensor import Tensor

_INTEGERS_ONLY = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)


def _tensor(value: Any, name: str) -> Any:
    """A tensor's array."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )
    return value.array


def _tensors(values: Any, name: str) -> list[Any]:
    if not isinstance(values, list) or not all(isinstance(value, Tensor) for value in values):
        found = [type(value) for value in values] if isinstance(values, (list, tuple)) else ""
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(values)} with elements of type {found}."
        )
    return [value.array for value in values]


def _same_dtype(*tensors: Any) -> None:
    flat = [t for entry in tensors for t in (entry if isinstance(entry, list) else [entry])]
    for other in flat[1:]:
        if other.dtype is not flat[0].dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {flat[0].dtype} and  {other.dtype}")


def _same_sizes(operation: str, like: Any, arrays: list[Any]) -> None:
    for i, array in enumerate(arrays):
        if array.shape != like.shape:
            want, got = (", ".join(map(str, shape)) for shape in (like.shape, array.shape))
            raise RuntimeError(
                f"ProcessGroupGloo::{operation}: invalid tensor size at index {i} (expected ({want}), got ({got}))"
            )


def _operation(op: Any, array: Any) -> RedOpType:
    if op is RedOpType.PREMUL_SUM:
        raise ValueError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
    if op in _INTEGERS_ONLY and array.dtype.kind not in "iub":
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    return op  # type: ignore[no-any-return]


def _root(group: ProcessGroup, rank: Any, group_rank: Any, operation: str) -> int:
    """The number in the group that two ways of saying it mean."""
    if group_rank is not None:
        return int(group_rank)
    if rank not in group.ranks:
        raise RuntimeError(f"ProcessGroupGloo::{operation}: invalid root rank: {rank}")
    return get_group_rank(group, rank)


def _run(group: ProcessGroup, changed: list[Any], operation: Callable[[], Any], async_op: bool, result: Any) -> Any:
    """Run an operation that changes tensors in place."""
    for tensor in changed:
        if tensor.node is not None and needs_gradient(tensor):
            raise RuntimeError("a collective operation can not change a tensor that is recorded; use detach()")

    def run() -> None:
        operation()
        for tensor in changed:
            tensor.bump_version()

    return group.run(run, async_op, result)


# ---------------------------------------------------------------- collective


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give all processes the values of process ``src``."""
    array = _tensor(tensor, "tensor")
    if is_outside(group):
        return None
    members = group_of(group)
    root = _root(members, src, group_src, "broadcast")
    return _run(members, [tensor], lambda: members.broadcast(array, root), async_op, [tensor])  # type: ignore[no-any-return]


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Give all processes the sum (or another reduction) of the tensors of all.

    >>> import livetape as torch, os, tempfile
    >>> import livetape.distributed as dist
    >>> place = tempfile.mkdtemp()
    >>> dist.init_process_group("gloo", init_method=f"file://{place}/store", rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    array = _tensor(tensor, "tensor")
    if is_outside(group):
        return None
    members, chosen = group_of(group), _operation(op, array)
    return _run(members, [tensor], lambda: members.all_reduce(array, chosen), async_op, [tensor])  # type: ignore[no-any-return]


def all_reduce_coalesced(tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """`all_reduce` for several tensors."""
    arrays = _tensors(tensors, "tensors")
    if is_outside(group):
        return None
    members = group_of(group)

    def reduce() -> None:
        for array in arrays:
            members.all_reduce(array, _operation(op, array))

    return _run(members, tensors, reduce, async_op, tensors)


def reduce(
    tensor: Any,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Give process ``dst`` the sum (or another reduction) of the tensors of all."""
    array = _tensor(tensor, "tensor")
    if is_outside(group):
        return None
    members, chosen = group_of(group), _operation(op, array)
    root = _root(members, dst, group_dst, "reduce")
    return _run(members, [tensor], lambda: members.reduce(array, chosen, root), async_op, [tensor])  # type: ignore[no-any-return]


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Give all processes the tensors of all, in ``tensor_list``."""
    arrays, array = _tensors(tensor_list, "tensor_list"), _tensor(tensor, "tensor")
    _same_dtype(tensor_list, tensor)
    if is_outside(group):
        return None
    members = group_of(group)
    if len(arrays) != members.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
            f"{members.size()}, got {len(arrays)})"
        )
    _same_sizes("allgather", array, arrays)
    return _run(members, tensor_list, lambda: members.all_gather(array, arrays), async_op, tensor_list)  # type: ignore[no-any-return]


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Give all processes the tensors of all, one after another (or stacked) in one tensor."""
    array = _tensor(input_tensor, "input_tensor")
    _tensor(output_tensor, "output_tensor")
    if is_outside(group):
        return None
    members = group_of(group)
    parts = _parts(output_tensor, array, members.size(), "output tensor size must be equal to world_size times input")
    return _run(  # type: ignore[no-any-return]
        members, [output_tensor], lambda: members.all_gather(array, parts), async_op, [output_tensor]
    )


def _parts(whole: Any, part: Any, count: int, complaint: str) -> list[Any]:
    """The pieces of a tensor, of the shape of ``part``, one for each process."""
    if whole.array.size != part.size * count:
        raise ValueError(f"{complaint} tensor size")
    return list(whole.view(count, *part.shape).array)


def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Give process ``dst`` the tensors of all, in ``gather_list``."""
    array = _tensor(tensor, "tensor")
    if is_outside(group):
        return None
    members = group_of(group)
    root = _root(members, 0 if dst is None else dst, group_dst, "gather")
    arrays = None
    if members.rank() == root:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        arrays = _tensors(gather_list, "gather_list")
        _same_dtype(gather_list, tensor)
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    changed = gather_list or []
    return _run(members, changed, lambda: members.gather(array, arrays, root), async_op, changed)  # type: ignore[no-any-return]


def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each process its tensor of process ``src``'s ``scatter_list``."""
    array = _tensor(tensor, "tensor")
    if is_outside(group):
        return None
    members = group_of(group)
    root = _root(members, 0 if src is None else src, group_src, "scatter")
    arrays = None
    if members.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        arrays = _tensors(scatter_list, "scatter_list")
        if len(arrays) != members.size():
            raise RuntimeError(
                f"ProcessGroupGloo::scatter: Incorrect input list size {len(arrays)}. Input list size should be "
                f"{members.size()}, same as size of the process group."
            )
        _same_dtype(scatter_list, tensor)
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    return _run(members, [tensor], lambda: members.scatter(array, arrays, root), async_op, [tensor])  # type: ignore[no-any-return]


def reduce_scatter(
    output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the tensors of ``input_list`` over the processes, and give each process its one."""
    array, arrays = _tensor(output, "output"), _tensors(input_list, "input_list")
    if is_outside(group):
        return None
    members, chosen = group_of(group), _operation(op, array)
    return _run(  # type: ignore[no-any-return]
        members, [output], lambda: members.reduce_scatter(array, arrays, chosen), async_op, [output]
    )


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over the processes, and give each process its piece."""
    array = _tensor(output, "output")
    _tensor(input, "input")
    if is_outside(group):
        return None
    members, chosen = group_of(group), _operation(op, array)
    parts = _parts(input, array, members.size(), "input tensor must be the same size as output size times world size:")
    return _run(  # type: ignore[no-any-return]
        members, [output], lambda: members.reduce_scatter(array, parts, chosen), async_op, [output]
    )


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Send each process its tensor of a list, and receive one from each."""
    out, parts = _tensors(output_tensor_list, "output_tensor_list"), _tensors(input_tensor_list, "input_tensor_list")
    _same_dtype(output_tensor_list, input_tensor_list)
    if is_outside(group):
        return None
    members = group_of(group)
    return _run(  # type: ignore[no-any-return]
        members, output_tensor_list, lambda: members.all_to_all(out, parts), async_op, output_tensor_list
    )


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each process its rows of a tensor, and receive some from each."""
    _tensor(output, "output")
    _tensor(input, "input")
    _same_dtype(output, input)
    if is_outside(group):
        return None
    members = group_of(group)
    out, parts = (
        [piece.array for piece in _split(tensor, sizes, members.size())]
        for tensor, sizes in ((output, output_split_sizes), (input, input_split_sizes))
    )
    return _run(members, [output], lambda: members.all_to_all(out, parts), async_op, [output])  # type: ignore[no-any-return]


def _split(tensor: Any, sizes: Any, count: int) -> Any:
    rows = tensor.size(0)
    if sizes:
        if sum(sizes) != rows:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
        return tensor.split(list(sizes))
    if rows % count:
        raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    return tensor.split(rows // count) if rows else [tensor] * count


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all processes have come here."""
    if is_outside(group):
        return None
    members = group_of(group)
    return members.run(members.barrier, async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """`barrier`."""
    if is_outside(group):
        return
    members = group_of(group)
    before = members.timeout
    members.timeout = timeout or before
    try:
        members.run(members.barrier, False)
    finally:
        members.timeout = before


# ---------------------------------------------------------------- single messages


def _partner(group: ProcessGroup, rank: Any, group_rank: Any, what: str) -> int:
    found = get_group_rank(group, rank) if group_rank is None else group_rank
    if found == group.rank():
        raise ValueError(f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process.")
    return int(found)


def isend(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Send a tensor to process ``dst``, behind the program's back."""
    array = _tensor(tensor, "tensor")
    if is_outside(group):
        return None
    members = group_of(group)
    to = _partner(members, dst, group_dst, "destination")
    return members.run(lambda: members.post(to, array, members.point(tag)), True, [tensor])


def irecv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Receive a tensor from process ``src`` (or any), behind the program's back."""
    _tensor(tensor, "tensor")
    if is_outside(group):
        return None
    members = group_of(group)
    found: list[int] = []
    work = members.run(lambda: found.append(_receive(tensor, src, members, tag, group_src)), True, [tensor])
    assert work is not None
    work._source = lambda: found[0]
    return work


def _receive(tensor: Any, src: Any, members: ProcessGroup, tag: int, group_src: Any) -> int:
    if src is None and group_src is None:
        source, value = members.take_any(tensor.array, tag)
    else:
        number = _partner(members, src, group_src, "source")
        source, value = members.ranks[number], members.take(number, tensor.array, members.point(tag))
    tensor.array[...] = value
    tensor.bump_version()
    return source


def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to process ``dst``."""
    array = _tensor(tensor, "tensor")
    if is_outside(group):
        return
    members = group_of(group)
    members.post(_partner(members, dst, group_dst, "destination"), array, members.point(tag))


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from process ``src``, or from any; the sender's rank."""
    _tensor(tensor, "tensor")
    if is_outside(group):
        return -1
    return _receive(tensor, src, group_of(group), tag, group_src)


class P2POp:
    """`isend` or `irecv` with its arguments, for `batch_isend_irecv`."""

    def __init__(
        self,
        op: Any,
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        _tensor(tensor, "tensor")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = (
            op,
            tensor,
            peer,
            group,
            tag,
            group_peer,
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Start all; sends go before receptions, so that no process waits for a message that is not on its way."""
    works: dict[int, Any] = {}
    for first in (True, False):
        for i, each in enumerate(p2p_op_list):
            if (each.op is isend) == first:
                name = "group_dst" if first else "group_src"
                works[i] = each.op(each.tensor, each.peer, each.group, each.tag, **{name: each.group_peer})
    return [works[i] for i in range(len(p2p_op_list))]
