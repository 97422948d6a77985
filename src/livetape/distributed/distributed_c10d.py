"""Starting and ending: which processes there are, and in which groups (source: ``torch.distributed``)."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from livetape.distributed._group import ProcessGroup
from livetape.distributed._transport import MPITransport, SocketTransport, Transport
from livetape.distributed.stores import FileStore, PrefixStore, Store, TCPStore

default_pg_timeout = timedelta(minutes=30)
_BACKENDS = ("gloo", "mpi")
_ABSENT = ("nccl", "ucc", "xccl")
_NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."


class Backend(str):
    """The name of a way of communication; texts in any case."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]

    def __new__(cls, name: Any) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class _World:
    """The default group, and all groups made of its processes."""

    def __init__(self) -> None:
        self.group: ProcessGroup | None = None
        self.store: Store | None = None
        self.groups: list[ProcessGroup] = []
        self.made = 0


_world = _World()


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The default group."""
        return _world.group


class group(metaclass=_WorldMeta):
    """``group.WORLD``: the default group."""


class GroupMember(metaclass=_WorldMeta):
    """``GroupMember.WORLD``: the default group; ``NON_GROUP_MEMBER``: what a process not in a group gets for it."""

    NON_GROUP_MEMBER = -100


# ---------------------------------------------------------------- what there is


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return _world.group is not None


def is_gloo_available() -> bool:
    """True: processes talk over sockets."""
    return True


def is_nccl_available() -> bool:
    """False."""
    return False


def is_mpi_available() -> bool:
    """Whether mpi4py is there to be used."""
    try:
        from mpi4py import MPI  # noqa: F401
    except ImportError:
        return False
    return True


def is_ucc_available() -> bool:
    """False."""
    return False


def is_xccl_available() -> bool:
    """False."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether `init_process_group` takes it."""
    return backend.lower() == "gloo" or (backend.lower() == "mpi" and is_mpi_available())


def is_torchelastic_launched() -> bool:
    """Whether a launcher of torch's kind started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def default_group() -> ProcessGroup:
    """The default group; ValueError if there is none yet."""
    if _world.group is None:
        raise ValueError(_NOT_INITIALIZED)
    return _world.group


_get_default_group = default_group


def group_of(chosen: Any) -> ProcessGroup:
    """The group that a function's argument names."""
    if chosen is None:
        return default_group()
    return chosen  # type: ignore[no-any-return]


def is_outside(chosen: Any) -> bool:
    """Whether this process is no member of a group."""
    return chosen is GroupMember.NON_GROUP_MEMBER


# ---------------------------------------------------------------- the beginning and the end


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Find the other processes, and make the default group of all (source: ``torch.distributed.init_process_group``).

    ``backend``: "gloo" (sockets) or "mpi" (mpi4py). ``init_method``: "env://" (MASTER_ADDR, MASTER_PORT, RANK and
    WORLD_SIZE in the environment; the default), "tcp://host:port" or "file:///path"; or a store, with ``rank`` and
    ``world_size``.
    """
    if _world.group is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and not (world_size > 0 and rank >= 0):
        raise AssertionError("world_size and rank must be positive/non-negative if using store")
    name = Backend(backend if backend is not None else "gloo")
    if ":" in name:  # such as "cpu:gloo,cuda:nccl"
        parts = dict(part.split(":") for part in name.split(","))
        name = Backend(parts.get("cpu", "gloo"))
    timeout = default_pg_timeout if timeout is None else timeout
    transport: Transport
    if name == Backend.MPI:
        if not is_mpi_available():
            raise RuntimeError(
                "Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source on "
                "a host that has MPI installed."
            )
        transport = MPITransport()
    else:
        if store is None:
            store, rank, world_size = _rendezvous(init_method or "env://", rank, world_size, timeout)
        if name in _ABSENT:
            raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in")
        if name not in (*_BACKENDS, Backend.UNDEFINED):
            raise AssertionError(f"Unknown backend type {name.upper()}")
        inside = PrefixStore("default_pg", store)
        inside.set_timeout(timeout)
        transport = SocketTransport(inside, rank, world_size, _own_address(store), timeout.total_seconds())
    _world.store = store
    _world.made = 0
    _world.group = _new_group(range(transport.size), transport, str(name), timeout)


def _own_address(store: Store) -> str:
    """The address at which others reach this process: that of its side of the line to the store, if there is one."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    if isinstance(store, TCPStore):
        return str(store._line.getsockname()[0])
    return "127.0.0.1"


def _new_group(ranks: Any, transport: Transport, backend: str, timeout: timedelta) -> ProcessGroup:
    made = ProcessGroup(_world.made, ranks, transport, backend, timeout)
    _world.made += 1
    _world.groups.append(made)
    return made


def _rendezvous(url: str, rank: int, world_size: int, timeout: timedelta) -> tuple[Store, int, int]:
    """The store that all find at a URL, and this process's rank and the number of processes."""
    parts = urlparse(url)
    query = {key: values[0] for key, values in parse_qs(parts.query).items()}
    rank = int(query.get("rank", rank))
    world_size = int(query.get("world_size", world_size))
    if parts.scheme == "env":
        rank = rank if rank >= 0 else int(_environment("RANK"))
        world_size = world_size if world_size > 0 else int(_environment("WORLD_SIZE"))
        host, port = _environment("MASTER_ADDR"), int(_environment("MASTER_PORT"))
        return TCPStore(host, port, world_size, rank == 0, timeout), rank, world_size
    if parts.scheme == "tcp":
        if parts.port is None or parts.hostname is None:
            raise ValueError("Error initializing torch.distributed using tcp:// rendezvous: port number missing")
        _check_given("tcp", rank, world_size)
        return TCPStore(parts.hostname, parts.port, world_size, rank == 0, timeout), rank, world_size
    if parts.scheme == "file":
        if not parts.path:
            raise ValueError("Error initializing torch.distributed using file:// rendezvous: path missing")
        _check_given("file", rank, world_size)
        made = FileStore(parts.path, world_size)
        made.set_timeout(timeout)
        return made, rank, world_size
    raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")


def _check_given(scheme: str, rank: int, world_size: int) -> None:
    for value, name in ((rank, "rank parameter"), (world_size, "world size parameter")):
        if value == -1:
            raise ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {name} missing")


def _environment(name: str) -> str:
    found = os.environ.get(name)
    if found is None:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, "
            "but not set"
        )
    return found


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; without argument, or for the default group, end all, and the connections."""
    if is_outside(group):
        return
    if group is None or group is _world.group:
        if _world.group is None:
            raise AssertionError("Process group cannot be None")
        for one in _world.groups:
            one.close()
        _world.group.transport.close()
        _world.group, _world.store, _world.groups = None, None, []
        return
    if group not in _world.groups:
        raise ValueError("Invalid process group specified")
    group.close()
    _world.groups.remove(group)


# ---------------------------------------------------------------- groups


def new_group(
    ranks: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some processes. All processes make it; those that are not in it get ``NON_GROUP_MEMBER``."""
    world = default_group()
    ranks = list(range(world.size())) if ranks is None else sorted(ranks)
    if len(ranks) > world.size():
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in ranks:
        if not 0 <= rank < world.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {world.size() - 1} (world_size={world.size()})"
            )
    if world.rank() not in ranks:
        _world.made += 1
        return GroupMember.NON_GROUP_MEMBER
    return _new_group(ranks, world.transport, backend or world.backend, timeout or world.timeout)


def get_rank(group: Any = None) -> int:
    """This process's number in the group; -1 if it is not in it."""
    return -1 if is_outside(group) else group_of(group).rank()


def get_world_size(group: Any = None) -> int:
    """The number of processes in the group; -1 if this one is not in it."""
    return -1 if is_outside(group) else group_of(group).size()


def get_backend(group: Any = None) -> str:
    """The group's backend."""
    if is_outside(group):
        raise ValueError("Invalid process group specified")
    return Backend(group_of(group).backend)  # type: ignore[no-any-return]


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The members' numbers in the default group."""
    return list(group_of(group).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """A process's number in a group, by its number in the default group."""
    found = group_of(group)
    if global_rank not in found.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return found.ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """A process's number in the default group, by its number in a group."""
    found = group_of(group)
    if not 0 <= group_rank < len(found.ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return found.ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number among the processes of this machine, from the environment."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )
