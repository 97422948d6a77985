"""Random number generators and seeds (source: ``torch.random``, ``torch.Generator``).

The numbers themselves are drawn in ``kernels.sampling``, from ``generator.bits``. States pass through here as uint8
arrays of shape (5056,), laid out as torch lays them out, so states saved by torch can be loaded. The tensor layer says
with ``bind`` how to make tensors of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import numpy as np

from livetape.device import CPU
from livetape.device import device as device_of
from livetape.kernels.bits import BitSource

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]

_DEFAULT_SEED = 67280421310721

_NO_GENERATOR = {
    "meta": "META device type not an accelerator.",
    "mkldnn": "MKLDNN device type not an accelerator.",
    "mps": "Cannot execute getNewGenerator() without MPS backend.",
    "xpu": "Cannot get XPU generator without ATen_xpu library.",
    "cuda": "Cannot get CUDA generator without ATen_cuda library.",
}


class _Binding:
    """How the layer above spells a state."""

    wrap: Callable[[np.ndarray], Any] = staticmethod(lambda array: array)
    unwrap: Callable[[Any], Any] = staticmethod(lambda state: state)


def bind(wrap: Callable[[np.ndarray], Any], unwrap: Callable[[Any], Any]) -> None:
    """Say how an array becomes a tensor, and a tensor an array; of what is no tensor, ``unwrap`` wants an attribute."""
    _Binding.wrap, _Binding.unwrap = staticmethod(wrap), staticmethod(unwrap)


class Generator:
    """A stream of random numbers, the same as torch's for the same seed (source: ``torch.Generator``).

    A new one starts from torch's fixed default seed, so that two new generators give the same numbers.

    >>> Generator().manual_seed(3).initial_seed()
    3
    """

    __slots__ = ("__weakref__", "bits")

    def __init__(self, device: Any = None) -> None:
        if not (device is None or isinstance(device, (str, int, device_of))):
            raise TypeError(
                f"Generator(): argument 'device' (position 1) must be torch.device, not {type(device).__name__}"
            )
        kind = CPU.type if device is None else device_of(device).type
        if kind != CPU.type:
            raise RuntimeError(_NO_GENERATOR.get(kind, "Backend doesn`t support getNewGenerator()"))
        self.bits = BitSource(_DEFAULT_SEED)
        _sources.add(self.bits)

    @property
    def device(self) -> device_of:
        """The device of the generator: always the CPU."""
        return CPU

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed, a Python int in [-2**63, 2**64); returns the generator.

        Raises RuntimeError for what is not an int, ValueError for one that is too large.
        """
        self.bits.reseed(_checked_seed(seed))
        return self

    def seed(self) -> int:
        """Start again from a seed the operating system makes up, and return it."""
        chosen = int.from_bytes(os.urandom(8), "little")
        self.bits.reseed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """The seed the generator last started from."""
        return self.bits.seed

    def _state_array(self) -> np.ndarray:
        """A copy of the state as torch lays it out: uint8 of shape (5056,)."""
        return self.bits.state()

    def _load_state_array(self, array: np.ndarray) -> None:
        """Take over a state given as such an array."""
        self.bits.load(array)

    def get_state(self) -> Any:
        """The state: a ByteTensor of 5056 elements."""
        return _Binding.wrap(self._state_array())

    def set_state(self, new_state: Any) -> Generator:
        """Continue from a state that ``get_state`` of this library or of torch gave; returns the generator."""
        self._load_state_array(_array_of(new_state, "expected a torch.ByteTensor, but got {}"))
        return self

    def clone_state(self) -> Generator:
        """A new generator that continues as this one would."""
        twin = Generator()
        twin._load_state_array(self._state_array())
        return twin

    def graphsafe_get_state(self) -> Generator:
        """For CUDA graphs; the CPU has none."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """For CUDA graphs; the CPU has none."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self) -> int:
        """For counter-based generators; the CPU's is none."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> Generator:
        """For counter-based generators; the CPU's is none."""
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.device,), (self.initial_seed(), None, self._state_array())

    def __setstate__(self, state: tuple[int, int | None, Any]) -> None:
        first_seed, _, rng_state = state
        self.manual_seed(first_seed)
        self.set_state(rng_state)

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, np.integer):
        raise TypeError("an integer is required")
    if not isinstance(seed, int) or isinstance(seed, bool):
        name = type(seed).__name__
        raise RuntimeError(
            "manual_seed expected a long, but got " + ("numpy." + name if isinstance(seed, np.generic) else name)
        )
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return seed % 2**64


def _array_of(state: Any, complaint: str) -> np.ndarray:
    array = state
    if not isinstance(state, np.ndarray):
        try:
            array = _Binding.unwrap(state)
        except AttributeError:  # no tensor
            array = None
    if not isinstance(array, np.ndarray):
        raise TypeError(complaint.format(type(state).__name__))
    return array


# ---------------------------------------------------------------- fork
_sources: WeakSet[BitSource] = WeakSet()
_held: list[BitSource] = []


def _hold_all() -> None:
    """Let no draw be under way in another thread while the process forks: the child could never finish it."""
    _held.extend(_sources)
    for source in _held:
        source.lock.acquire()


def _release_all() -> None:
    while _held:
        _held.pop().lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_release_all)


# ---------------------------------------------------------------- the default generator
default_generator = Generator()
default_generator.seed()


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator with anything ``int`` takes, negative or not (source: ``torch.manual_seed``)."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the operating system; returns the seed (source: ``torch.seed``)."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator (source: ``torch.initial_seed``)."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator (source: ``torch.get_rng_state``)."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Set the state of the default generator (source: ``torch.set_rng_state``)."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Put the default generator back, on leaving, to where it was (source: ``torch.random.fork_rng``).

    The devices do not matter: the CPU is the only one with a generator.

    >>> with fork_rng():
    ...     _ = manual_seed(0)
    """
    if device_type is not None:
        device_of(device_type)  # complains of what is none
    if not enabled:
        yield
        return
    state = default_generator._state_array()
    try:
        yield
    finally:
        default_generator._load_state_array(state)


def thread_safe_generator() -> Generator | None:
    """The generator of the data loader's worker thread, None outside one (source: ``torch.random``)."""
    return None
