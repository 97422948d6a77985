"""How many threads one operation may use: loops in C++ and matrix products alike."""

from __future__ import annotations

import os
from typing import Any

from livetape.kernels.compiled import native

_state: dict[str, Any] = {"threads": None, "interop": 1, "limits": None}


def get_num_threads() -> int:
    """The threads that one operation may use (source: ``torch.get_num_threads``)."""
    if native is not None:
        return int(native.get_num_threads())
    if _state["threads"] is None:
        return int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))
    return int(_state["threads"])


def set_num_threads(int: int, /) -> None:
    """Set the threads that one operation may use (source: ``torch.set_num_threads``).

    Results do not depend on them.
    """
    if type(int).__name__ not in ("int", "int64"):
        raise TypeError("set_num_threads expects an int, but got " + type(int).__name__)
    if int <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _state["threads"] = int
    if native is None or not native.set_num_threads(int):  # another BLAS than OpenBLAS
        import threadpoolctl

        _state["limits"] = threadpoolctl.threadpool_limits(int, user_api="blas")


def get_num_interop_threads() -> int:
    """The threads that run operations side by side (source: ``torch.get_num_interop_threads``)."""
    return int(_state["interop"])


def set_num_interop_threads(int: int, /) -> None:
    """Accepted for compatibility: operations run one after another (source: ``torch.set_num_interop_threads``)."""
    _state["interop"] = int
