"""Python objects between processes, by pickle: only among processes that trust each other."""

from __future__ import annotations

import pickle
from typing import Any

from livetape.distributed._group import ProcessGroup
from livetape.distributed.distributed_c10d import get_group_rank, group_of, is_outside


def _root(members: ProcessGroup, rank: Any, group_rank: Any) -> int:
    return int(group_rank) if group_rank is not None else get_group_rank(members, 0 if rank is None else rank)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Give all processes the objects of all, in ``object_list``."""
    if is_outside(group):
        return
    members = group_of(group)
    data = pickle.dumps(obj)

    def gather() -> None:
        for other in members._others():
            members.post_bytes(other, data)
        for other in range(members.size()):
            found = data if other == members.rank() else members.take_bytes(other)
            object_list[other] = pickle.loads(found)

    members.run(gather, False)


def gather_object(
    obj: Any, object_gather_list: Any = None, dst: int | None = None, group: Any = None, group_dst: int | None = None
) -> None:
    """Give process ``dst`` the objects of all, in ``object_gather_list``."""
    if is_outside(group):
        return
    members = group_of(group)
    root = _root(members, dst, group_dst)
    if members.rank() == root:
        if not object_gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    elif object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    data = pickle.dumps(obj)

    def gather() -> None:
        if members.rank() != root:
            members.post_bytes(root, data)
            return
        for other in range(members.size()):
            object_gather_list[other] = pickle.loads(data if other == root else members.take_bytes(other))

    members.run(gather, False)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Give all processes the objects of process ``src``."""
    if is_outside(group):
        return
    members = group_of(group)
    root = _root(members, src, group_src)

    def broadcast() -> None:
        if members.rank() == root:
            data = pickle.dumps(object_list)
            for other in members._others():
                members.post_bytes(other, data)
        else:
            object_list[:] = pickle.loads(members.take_bytes(root))

    members.run(broadcast, False)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Any = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Give each process its object of process ``src``'s list, as the first of its own."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    if is_outside(group):
        return
    members = group_of(group)
    root = _root(members, src, group_src)

    def scatter() -> None:
        if members.rank() != root:
            scatter_object_output_list[0] = pickle.loads(members.take_bytes(root))
            return
        for other in members._others():
            members.post_bytes(other, pickle.dumps(scatter_object_input_list[other]))
        scatter_object_output_list[0] = pickle.loads(pickle.dumps(scatter_object_input_list[root]))

    members.run(scatter, False)


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None
) -> None:
    """Send objects to process ``dst``."""
    if is_outside(group):
        return
    members = group_of(group)
    members.post_bytes(_root(members, dst, group_dst), pickle.dumps(object_list), members.point(-1))


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> int:
    """Receive objects from process ``src``, or from any; the sender's rank."""
    if is_outside(group):
        return -1
    members = group_of(group)
    source = None if src is None and group_src is None else members.ranks[_root(members, src, group_src)]
    found, data = members.transport.receive(source, members.point(-1), members.timeout.total_seconds())
    object_list[:] = pickle.loads(data)
    return found
