"""Programs of several processes (source: ``torch.distributed``): over sockets, or by MPI through mpi4py.

``python -m livetape.distributed.run --nproc-per-node 2 train.py`` starts a program in two processes; `init_process_group`
then makes them find each other, and `livetape.nn.parallel.DistributedDataParallel` averages gradients.
"""

from __future__ import annotations

from livetape.distributed import distributed_c10d
from livetape.distributed._collectives import (
    P2POp,
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    gather,
    irecv,
    isend,
    monitored_barrier,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    send,
)
from livetape.distributed._group import ProcessGroup, ReduceOp, Work
from livetape.distributed._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from livetape.distributed.distributed_c10d import (
    Backend,
    GroupMember,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
)
from livetape.distributed.stores import (
    DistError,
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    Store,
    TCPStore,
)

_all_gather_base = all_gather_into_tensor
_reduce_scatter_base = reduce_scatter_tensor
DistBackendError = DistError
reduce_op = ReduceOp

__all__ = [name for name in dir() if not name.startswith("__") and name != "annotations"]
