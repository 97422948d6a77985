"""CUDA devices, of which there are none: what a CPU build of torch answers (source: ``torch.cuda``)."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Literal, NoReturn

from livetape.cuda import amp
from livetape.device import device as device_of

__all__ = ["OutOfMemoryError", "amp", "device", "device_count", "is_available"]

has_half = True
has_magma = False
default_generators: tuple[Any, ...] = ()


class OutOfMemoryError(RuntimeError):
    """Never raised here; named in the ``except`` clauses of programs that run elsewhere too."""


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def get_arch_list() -> list[str]:
    """An empty list."""
    return []


def get_rng_state_all() -> list[Any]:
    """An empty list."""
    return []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Accepted, and has no effect: so are all functions that set seeds."""


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Accepted."""


def manual_seed(seed: int) -> None:
    """Accepted."""


def manual_seed_all(seed: int) -> None:
    """Accepted."""


def seed() -> None:
    """Accepted."""


def seed_all() -> None:
    """Accepted."""


def empty_cache() -> None:
    """Accepted: nothing is held."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """An empty dictionary."""
    return OrderedDict()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Accepted: there is no peak."""


def stream(stream: Any) -> contextlib.AbstractContextManager[Any]:
    """A context that changes nothing."""
    return contextlib.nullcontext()


class device:
    """A context that selects a device: "no device" is all there is to select (source: ``torch.cuda.device``)."""

    def __init__(self, device: Any) -> None:
        index = device if isinstance(device, int) else device_of(device).index
        self.idx = -1 if index is None else index

    def __enter__(self) -> None:
        if self.idx >= 0:
            init()

    def __exit__(self, *error: Any) -> Literal[False]:
        return False


def set_device(device: Any) -> None:
    """Raises, unless the index is negative: there is no device to select."""
    index = device if isinstance(device, int) else device_of(device).index
    if index is None or index >= 0:
        init()


def init(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: there is no CUDA device. So do all functions that ask one for something."""
    raise AssertionError("Torch not compiled with CUDA enabled")


synchronize = current_device = get_device_name = get_device_capability = get_device_properties = init
initial_seed = get_rng_state = mem_get_info = current_stream = default_stream = current_blas_handle = ipc_collect = init
set_per_process_memory_fraction = can_device_access_peer = init


class Stream:
    """Cannot be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """Cannot be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")
