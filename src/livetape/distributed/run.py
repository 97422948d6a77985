"""Starts a program in several processes of this machine: ``python -m livetape.distributed.run --nproc-per-node 2 x.py``.

Each gets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment, as from torch's ``torchrun``.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import uuid

_POLL = 0.05
_PATIENCE = 5.0


def main(arguments: list[str] | None = None) -> int:
    """Run the program; the first status of a process that is not 0."""
    parser = argparse.ArgumentParser(prog="python -m livetape.distributed.run", description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--nproc-per-node", "--nproc_per_node", type=int, default=1, metavar="N")
    parser.add_argument("--nnodes", type=int, default=1, help="machines; start this once on each")
    parser.add_argument("--node-rank", "--node_rank", type=int, default=0, help="the number of this machine")
    parser.add_argument("--master-addr", "--master_addr", default="127.0.0.1", help="the address of machine 0")
    parser.add_argument("--master-port", "--master_port", type=int, default=0, help="a free port there")
    parser.add_argument("--standalone", action="store_true", help="accepted: one machine, and any free port")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module, as in python -m")
    parser.add_argument("program")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    port = options.master_port or _free_port()
    if options.module:
        command = [sys.executable, "-m", options.program, *options.args]
    else:  # in which `import torch` works too
        command = [sys.executable, "-m", "livetape", "run", options.program, *options.args]
    shared = {
        "MASTER_ADDR": options.master_addr,
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(options.nnodes * options.nproc_per_node),
        "LOCAL_WORLD_SIZE": str(options.nproc_per_node),
        "GROUP_RANK": str(options.node_rank),
        "TORCHELASTIC_RUN_ID": uuid.uuid4().hex,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }
    processes = []
    for local in range(options.nproc_per_node):
        rank = options.node_rank * options.nproc_per_node + local
        own = {"RANK": str(rank), "LOCAL_RANK": str(local)}
        processes.append(subprocess.Popen(command, env={**os.environ, **shared, **own}))
    return _wait(processes)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(processes: list[subprocess.Popen[bytes]]) -> int:
    """Wait for all; one that fails ends the others."""
    status = 0
    try:
        left = list(processes)
        while left and status == 0:
            time.sleep(_POLL)
            for process in list(left):
                code = process.poll()
                if code is not None:
                    left.remove(process)
                    status = status or code
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        end = time.monotonic() + _PATIENCE
        for process in processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    return status


if __name__ == "__main__":
    sys.exit(main())
